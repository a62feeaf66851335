import { z } from 'zod';
import type { ListedName } from '../../expiry/expiry.ts';
import { chunksOf } from '../../lib/collections.ts';
import { renewalDaysOf, waitingOfListed } from '../approvals/waiting.ts';
import type { SlackContext } from '../context.ts';
import { type ActionCall, type Feature, type FormFeature, formOrigin } from '../feature.ts';
import { section, textMessage } from '../kit/blocks.ts';
import { fieldsOf, readForm } from '../kit/form.ts';
import { gateOf } from '../names/fact-changes.ts';
import { neededOwner, noteField } from '../names/owner-fields.ts';
import { ownerIssue } from '../names/owners.ts';
import { ownersIssueText } from '../names/portfolio.view.ts';
import { openForm } from '../open-form.ts';
import { directMessageTo, type NotificationPlanner } from '../outbound/notify.ts';
import { formatName } from './expiry.view.ts';
import {
  handedOverText,
  isOpen,
  keptText,
  OWN_ALREADY,
  type QuestionPart,
  questionMessage,
} from './owner-question.view.ts';
import { formatWatchRefusal } from './watch-list.view.ts';

/* The daily question to an owner, and the answers. */

const NAMES_PER_MESSAGE = 20;

/** One message a day for each owner; more names follow in its thread. Answers update it. */
export function createOwnerQuestionPlanner(context: SlackContext): NotificationPlanner {
  return async ({ id, notifications }, send) => {
    const [owner = ''] = id.split(' ');
    // Nobody reads messages to a person who left.
    const names = (await context.expiry.askedIn(id)).filter(({ domain }) => domain.ownerLeftAt === undefined);
    const open = names.filter(isOpen).length;
    const parts = chunksOf(names, NAMES_PER_MESSAGE);
    const known = notifications.filter(({ message }) => message !== undefined).length;
    let thread: { readonly channelId: string; readonly ts: string } | undefined;
    for (let part = 0; part < Math.max(parts.length, known); part += 1) {
      const listed = parts[part] ?? [];
      const first = thread;
      const { at } = await send({
        purpose: `part:${part + 1}`,
        version: JSON.stringify([
          // The first message includes the count of all names.
          part === 0 ? open : 0,
          ...listed.map(({ domain: { name, question, lapse } }) => [name, question?.kept, lapse]),
        ]),
        since: names[0]?.domain.question?.at ?? context.now(),
        places: [
          first === undefined
            ? directMessageTo(context.directory, owner)
            : async () => ({ channelId: first.channelId, threadTs: first.ts }),
        ],
        message: async () => questionMessage(await partOf(context, listed, open), part === 0),
      });
      if (at === undefined) return undefined;
      thread ??= at;
    }
    return undefined;
  };
}

export async function partOf(
  context: SlackContext,
  names: readonly ListedName[],
  open: number,
): Promise<QuestionPart> {
  const [costOf, renewals, details] = await Promise.all([
    waitingOfListed(context),
    renewalDaysOf(context, names),
    context.portfolio.findMany(names.map(({ domain }) => domain.name)),
  ]);
  const notes = new Map(
    [...details].flatMap(([name, { note }]) => (note === undefined ? [] : [[name, note] as const])),
  );
  return { names, open, costOf, renewals, notes };
}

async function keep(call: ActionCall): Promise<void> {
  const { context, person, value: name } = call;
  const given = { name, by: person.id };
  const outcome = await context.expiry.answerQuestion(given, { kind: 'name_kept' }, gateOf(call));
  if (outcome.ok) context.notifyDue();
  await call.respond(outcome.ok ? keptText(name) : formatWatchRefusal(outcome.refusal));
}

const handover = z.object({
  owner: neededOwner('Gets a message with the same question.'),
  note: noteField({ hint: 'For the new owner.' }),
});

const handoverForm: FormFeature<'handover'> = {
  form: { name: 'handover', title: 'Hand over a name', submit: 'Hand over', fields: fieldsOf(handover) },

  render: (_call, { subject = '' }) => ({ intro: [section(formatName(subject))] }),

  async submit(call) {
    const read = readForm(handover, call.values);
    if ('errors' in read) return read;
    const { owner: to, note: reason } = read.value;
    const { context, person, origin } = call;
    if (to === person.id) return { errors: { owner: OWN_ALREADY } };
    const issue = await ownerIssue(context, to);
    if (issue !== undefined) return { errors: { owner: ownersIssueText(issue) } };
    const given = { name: origin.subject ?? '', by: person.id };
    const answer = { kind: 'name_handed_over', to, reason } as const;
    const outcome = await context.expiry.answerQuestion(given, answer, gateOf(call));
    if (!outcome.ok) return { errors: { owner: formatWatchRefusal(outcome.refusal) } };
    context.notifyDue();
    return { say: textMessage(handedOverText(given.name, to)) };
  },
};

export const ownerQuestion = {
  forms: [handoverForm],
  actions: [
    { id: 'owner_keep', run: keep },
    { id: 'owner_handover', run: (call) => openForm(call, handoverForm, formOrigin(call, call.value)) },
  ],
} as const satisfies Feature;
