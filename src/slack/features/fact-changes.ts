import type { EditedFacts } from '../../names/fact-changes.ts';
import { GUARDED } from '../../names/portfolio.ts';
import type { FactsChange } from '../../names/ports.ts';
import { peopleAmong } from '../../orders/approvers.ts';
import type { PendingChange } from '../../policy/pending-changes.ts';
import type { ActionCall, Feature, Interaction } from '../feature.ts';
import { SlackApiError } from '../platform/web.ts';
import { type MessagePlace, postMessage } from '../post-message.ts';
import type { Message } from '../views/blocks.ts';
import { decidedFacts, factsRefusalText, waitingFacts, waitingText } from '../views/fact-changes.ts';
import { savedText } from '../views/portfolio.ts';
import { changesFile } from './changes-file.ts';
import { handOver } from './send-file.ts';

/*
 * What decides about orders is itself decided by two: the question to the second person, and its buttons. A button carries
 * the id of what waits; on a click everything is read again.
 */

/** Where no channel can be posted in, at most this many people are written to. */
const MAX_PEOPLE = 20;

/**
 * What to tell who edited names, after the question about what waits was posted.
 * @param place where the edit was asked for
 * @param isOfOne the edit was about one name
 */
export async function editedText(
  call: Interaction,
  place: MessagePlace,
  { changed, waiting }: EditedFacts,
  isOfOne: boolean,
): Promise<string> {
  // A name that becomes guarded is looked at without waiting for its next routine look.
  const { portfolio, names, log } = call.deps;
  for (const [name, { tags }] of await portfolio.findMany(changed))
    if (tags.includes(GUARDED)) await names.requestLook(name);
  log.info({ by: call.person.id, names: changed.length }, 'details of names changed');
  const saved = waiting !== undefined && changed.length === 0 ? [] : [savedText(changed, isOfOne)];
  return [...saved, ...(waiting === undefined ? [] : [await askSecondPerson(call, place, waiting)])].join(
    ' ',
  );
}

/**
 * Posts the question where the change was asked for, else in the approvers' channel, else to each of them.
 * @returns what to tell who asked
 */
export async function askSecondPerson(
  call: Interaction,
  place: MessagePlace,
  waiting: PendingChange<FactsChange>,
): Promise<string> {
  const { facts, settings, directory, log } = call.deps;
  const [approvers, { approvalChannel }] = await Promise.all([facts.approversOf(waiting), settings()]);
  log.info({ by: waiting.askedBy, changeId: waiting.id }, 'a change of names waits for a second person');
  const question = waitingFacts(waiting, approvers);
  // Others do not see a direct message with who asked.
  const channels = [
    ...(/^[CG]/.test(place.channelId) ? [place] : []),
    ...(approvalChannel === undefined ? [] : [{ channelId: approvalChannel }]),
  ];
  for (const channel of channels)
    if (await isPosted(call, async () => channel, question)) return waitingText(waiting, channel);
  const { people } = await peopleAmong(directory, approvers);
  const reached: string[] = [];
  for (const userId of people.filter((each) => each !== waiting.askedBy).slice(0, MAX_PEOPLE)) {
    const direct = async () => ({ channelId: await directory.directMessage(userId) });
    if (await isPosted(call, direct, question)) reached.push(userId);
  }
  return waitingText(waiting, reached);
}

async function isPosted(
  { deps }: Interaction,
  placeOf: () => Promise<MessagePlace>,
  said: Message,
): Promise<boolean> {
  try {
    await postMessage(deps.web, await placeOf(), said);
    return true;
  } catch (err) {
    if (!(err instanceof SlackApiError)) throw err;
    deps.log.warn({ err }, 'asking for the confirmation of a change of names');
    return false;
  }
}

function decide(decision: 'confirmed' | 'dropped') {
  return async (call: ActionCall): Promise<void> => {
    const { facts, names, log } = call.deps;
    const by = call.person.id;
    const outcome = await (decision === 'confirmed' ? facts.confirm : facts.dismiss)(call.value, by);
    if (!outcome.ok) return call.respond(factsRefusalText(outcome.refusal));
    call.acknowledge();
    log.info({ by, changeId: call.value, decision }, 'a change of names was decided');
    await call.respond(decidedFacts(outcome.pending, decision, by), { replace: true });
    for (const { name, after } of decision === 'confirmed' ? outcome.pending.change.names : [])
      if (after?.tags.includes(GUARDED)) await names.requestLook(name);
  };
}

/** Hands over all that changes, and offers to confirm it beside that. */
async function lookAtFacts(call: ActionCall): Promise<void> {
  const { facts } = call.deps;
  const waiting = await facts.find(call.value);
  if (waiting === undefined) return call.respond(factsRefusalText({ code: 'change_gone' }));
  const problem = await handOver(call, changesFile(waiting.change.names));
  await call.respond(problem ?? waitingFacts(waiting, await facts.approversOf(waiting), true));
}

export const factChanges: Feature = {
  actions: [
    { id: 'facts_confirm', needs: 'member', run: decide('confirmed') },
    { id: 'facts_dismiss', needs: 'member', run: decide('dropped') },
    { id: 'facts_look', needs: 'member', run: lookAtFacts },
  ],
};
