import { z } from 'zod';
import { type ActionCall, type Feature, type FormFeature, toFormOrigin } from '../feature.ts';
import { section, textMessage } from '../kit/blocks.ts';
import { parseForm, toFields } from '../kit/form.ts';
import { createChangeSaver } from '../names/name-changes.ts';
import { noteField, requiredOwnerField } from '../names/owner-fields.ts';
import { findOwnerIssue } from '../names/owners.ts';
import { ownersIssueText } from '../names/portfolio.view.ts';
import { openForm } from '../open-form.ts';
import { formatName } from './expiry.view.ts';
import { ALREADY_OWNER, handedOverText, keptText } from './owner-question.view.ts';
import { formatWatchRefusal } from './watch-list.view.ts';

async function keepName(call: ActionCall): Promise<void> {
  const { context, person, value: name } = call;
  const outcome = await context.expiry.answerOwnerQuestion(
    { name, by: person.id },
    { kind: 'name_kept' },
    createChangeSaver(call),
  );
  if (outcome.ok) context.notifyDue();
  await call.respond(outcome.ok ? keptText(name) : formatWatchRefusal(outcome.refusal));
}

const handoverSchema = z.object({
  owner: requiredOwnerField('I’ll ask this person whether to keep the name.'),
  note: noteField({ hint: 'Shown to the new owner.' }),
});

const handoverForm: FormFeature<'handover'> = {
  form: {
    name: 'handover',
    title: 'Hand over a name',
    submit: 'Hand over',
    fields: toFields(handoverSchema),
  },

  render: (_call, { subject = '' }) => ({ intro: [section(formatName(subject))] }),

  async submit(call) {
    const parsed = parseForm(handoverSchema, call.values);
    if ('errors' in parsed) return parsed;
    const { owner, note: reason } = parsed.value;
    const { context, person, origin } = call;
    if (owner === person.id) return { errors: { owner: ALREADY_OWNER } };
    const issue = await findOwnerIssue(context, owner);
    if (issue !== undefined) return { errors: { owner: ownersIssueText(issue) } };
    const { subject: name = '' } = origin;
    const outcome = await context.expiry.answerOwnerQuestion(
      { name, by: person.id },
      { kind: 'name_handed_over', to: owner, reason },
      createChangeSaver(call),
    );
    if (!outcome.ok) return { errors: { owner: formatWatchRefusal(outcome.refusal) } };
    context.notifyDue();
    return { reply: textMessage(handedOverText(name, owner)) };
  },
};

export const ownerQuestion = {
  forms: [handoverForm],
  actions: [
    { id: 'owner_keep', run: keepName },
    { id: 'owner_handover', run: (call) => openForm(call, handoverForm, toFormOrigin(call, call.value)) },
  ],
} as const satisfies Feature;
