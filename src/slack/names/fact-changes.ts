import type { Gate } from '../../expiry/watch-list.ts';
import { slicesOf } from '../../lib/collections.ts';
import { DETAIL_COLUMNS, detailCells, GUARDED } from '../../names/portfolio.ts';
import type { FactsChange, NameLimit } from '../../names/ports.ts';
import type { DecidedFacts, EditedFacts, FactsRefusal } from '../../names/protected-changes.ts';
import type { PendingChange } from '../../policy/pending-changes.ts';
import { offerLink } from '../approvals/signing/offer-link.ts';
import { type ActionCall, type Feature, formOrigin, type Interaction } from '../feature.ts';
import { count } from '../kit/blocks.ts';
import { csvFile } from '../kit/csv-file.ts';
import { handOver, type TextFile } from '../send-file.ts';
import { approversToAsk } from '../settings/pending-change-notifications.ts';
import { endedFacts, factsHashIn, factsRefusalText, waitingFacts, waitingText } from './fact-changes.view.ts';
import { savedText } from './portfolio.view.ts';

/*
 * What decides about orders is itself decided by two: the question to the second person, and its buttons. A button carries
 * the id of what waits; on a click everything is read again.
 */

/** The gate for changes that a person asks for here. */
export function gateOf(call: Interaction): Gate {
  return (changes) => call.context.facts.changeReminders(changes, call.person.id, formOrigin(call));
}

/**
 * What to tell who edited names.
 * @param isOfOne the edit was about one name
 */
export async function editedText(
  call: Interaction,
  outcome: EditedFacts | NameLimit,
  isOfOne: boolean,
): Promise<string> {
  if (typeof outcome === 'string') return factsRefusalText({ code: outcome });
  const { changed, waiting } = outcome;
  call.context.notifyDue();
  // A name that becomes guarded is looked at without waiting for its next routine look.
  const { portfolio, names, log } = call.context;
  for await (const slice of slicesOf(changed))
    for (const [name, { tags }] of await portfolio.findMany(slice))
      if (tags.includes(GUARDED)) await names.requestLook(name);
  log.info({ by: call.person.id, names: changed.length }, 'details of names changed');
  const saved = waiting !== undefined && changed.length === 0 ? [] : [savedText(changed, isOfOne)];
  return [...saved, ...(waiting === undefined ? [] : [await askSecondPerson(call, waiting)])].join(' ');
}

/** Has the question to the second person posted. @returns what to tell who asked */
export async function askSecondPerson(
  { context }: Interaction,
  waiting: PendingChange<FactsChange>,
): Promise<string> {
  context.log.info(
    { by: waiting.askedBy, changeId: waiting.id },
    'a change of names waits for a second person',
  );
  context.notifyDue();
  const { channels, people } = await approversToAsk(context, waiting);
  return waitingText(waiting, channels[0] ?? people);
}

async function confirm(call: ActionCall): Promise<void> {
  const shown = factsHashIn(call.blockId);
  const outcome = await call.context.facts.confirm(call.value, { userId: call.person.id }, shown);
  await showConfirmation(call, outcome, true);
}

/** Shows what became of a click that confirms a change. */
export async function showConfirmation(
  call: ActionCall,
  outcome: DecidedFacts,
  replace: boolean,
): Promise<void> {
  const { facts, notifyDue, log, names } = call.context;
  const by = call.person.id;
  notifyDue();
  if (!outcome.ok) {
    if (outcome.refusal.code === 'needs_signature') return offerLink(call, 'facts', outcome.refusal.id);
    return refuse(call, outcome.refusal);
  }
  call.acknowledge();
  const { pending, isComplete } = outcome;
  log.info({ by, changeId: pending.id, isComplete }, 'a change of names was confirmed');
  if (!isComplete) return call.respond(waitingFacts(pending, await facts.progressOf(pending)), { replace });
  await call.respond(endedFacts(pending, { outcome: 'confirmed', by }), { replace });
  for (const { name, after } of pending.change.names)
    if (after?.tags.includes(GUARDED)) await names.requestLook(name);
}

async function dismiss(call: ActionCall): Promise<void> {
  const { facts, notifyDue, log } = call.context;
  const by = call.person.id;
  const outcome = await facts.dismiss(call.value, by);
  notifyDue();
  if (!outcome.ok) return refuse(call, outcome.refusal);
  call.acknowledge();
  log.info({ by, changeId: call.value }, 'a change of names was dropped');
  await call.respond(endedFacts(outcome.pending, { outcome: 'dismissed', by }), { replace: true });
}

/** Gives the reason. A change that is no longer as shown is shown again. */
async function refuse(call: ActionCall, refusal: FactsRefusal): Promise<void> {
  await call.respond(factsRefusalText(refusal));
  if (refusal.code === 'change_stale' && refusal.again !== undefined)
    await call.respond(waitingFacts(refusal.again, await call.context.facts.progressOf(refusal.again)));
}

/** Hands over all that changes, and offers to confirm it beside that. */
async function lookAtFacts(call: ActionCall): Promise<void> {
  const { facts } = call.context;
  const waiting = await facts.find(call.value);
  if (waiting === undefined) return call.respond(factsRefusalText({ code: 'change_gone' }));
  const problem = await handOver(call, await changesFile(waiting.change.names));
  await call.respond(problem ?? waitingFacts(waiting, await facts.progressOf(waiting), true));
}

export const factChanges = {
  actions: [
    { id: 'facts_confirm', run: confirm },
    { id: 'facts_dismiss', run: dismiss },
    { id: 'facts_look', run: lookAtFacts },
  ],
} as const satisfies Feature;

/** All that changes of names, as a CSV file. */
export async function changesFile(changes: FactsChange['names']): Promise<TextFile> {
  const cells = (details: FactsChange['names'][number]['after']) =>
    details === undefined ? DETAIL_COLUMNS.map(() => '') : detailCells(details);
  const header = [
    'name',
    ...DETAIL_COLUMNS.map((field) => `${field}_before`),
    ...DETAIL_COLUMNS.map((field) => `${field}_after`),
    'watched_after',
    'expires_before',
    'expires_after',
  ];
  const dayOf = (at: Date | undefined) => at?.toISOString().slice(0, 10) ?? '';
  const rows = changes.map(({ name, before, after, date }) => [
    name,
    ...cells(before),
    ...cells(after),
    after === undefined ? 'no' : 'yes',
    dayOf(date?.before?.at),
    dayOf(date?.after),
  ]);
  return {
    text: await csvFile([header, ...rows]),
    filename: 'domain-steward-names-plan.csv',
    what: `The plan with ${count(changes.length, 'change')}`,
  };
}
