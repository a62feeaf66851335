import type { ProposalOf } from '../../approvals/proposals/proposal.ts';
import type { SaveChanges } from '../../expiry/watch-list.ts';
import { iterateSlices } from '../../lib/collections.ts';
import {
  DETAIL_COLUMNS,
  formatDetailCells,
  GUARDED_TAG,
  type NameLimit,
  type ProposedNameChanges,
} from '../../names/portfolio.ts';
import type { EditResult } from '../../names/protected-changes.ts';
import { type ActionCall, type Feature, type Interaction, toFormOrigin } from '../feature.ts';
import { formatCount } from '../kit/blocks.ts';
import { formatCsvFile } from '../kit/csv-file.ts';
import { loadAudience } from '../proposals/proposal-notifications.ts';
import { confirmProposal, withdrawProposal } from '../proposals/proposals.ts';
import { buildProposalMessage, proposalRefusalText } from '../proposals/views.ts';
import { type TextFile, trySendFile } from '../send-file.ts';
import { confirmationRequestedText, nameLimitText } from './name-changes.view.ts';
import { savedText } from './portfolio.view.ts';

/*
 * Requests to confirm changes to protected fields. Buttons contain only the change's id, so each click reads its
 * current state.
 */

export function createChangeSaver(call: Interaction): SaveChanges {
  return (changes) =>
    call.context.protectedChanges.changeReminders(changes, call.person.id, toFormOrigin(call));
}

/**
 * Requests lookups of names that are now guarded, and asks for confirmation if the edit needs it.
 * @param isSingle whether only one name was edited
 * @returns the reply
 */
export async function completeEdit(
  call: Interaction,
  outcome: EditResult | NameLimit,
  isSingle: boolean,
): Promise<string> {
  if (typeof outcome === 'string') return nameLimitText(outcome);
  const { changedNames, proposal } = outcome;
  call.context.notifyDue();

  const { portfolio, names, log } = call.context;
  for await (const slice of iterateSlices(changedNames))
    for (const [name, { tags }] of await portfolio.findMany(slice))
      if (tags.includes(GUARDED_TAG)) await names.requestLookup(name);
  log.info({ by: call.person.id, names: changedNames.length }, 'names changed');
  const texts =
    proposal !== undefined && changedNames.length === 0 ? [] : [savedText(changedNames, isSingle)];
  return [...texts, ...(proposal === undefined ? [] : [await requestConfirmation(call, proposal)])].join(' ');
}

/**
 * Asks other people to confirm a change.
 * @returns the reply to the person who proposed it
 */
export async function requestConfirmation(
  { context }: Interaction,
  proposal: ProposalOf<'facts'>,
): Promise<string> {
  const { id, proposer } = proposal;
  context.log.info({ by: proposer, changeId: id }, 'a name change needs confirmation');
  context.notifyDue();
  const { channels, people } = await loadAudience(context, proposal);
  return confirmationRequestedText(proposal, channels[0] ?? people);
}

/** Sends the whole change as a file, with the button to confirm it. */
async function showAllChanges(call: ActionCall): Promise<void> {
  const { context, person, value } = call;
  const proposal = await context.proposals.find(['facts'], value);
  if (proposal === undefined) return call.respond(proposalRefusalText('facts', { code: 'gone' }));
  const problem = await trySendFile(call, await createChangesFile(proposal.payload.names));
  await call.respond(problem ?? (await buildProposalMessage(context, proposal, person.id, true)));
}

export const nameChanges = {
  actions: [
    { id: 'facts_confirm', run: (call) => confirmProposal(call, ['facts']) },
    { id: 'facts_dismiss', run: (call) => withdrawProposal(call, ['facts']) },
    { id: 'facts_look', run: showAllChanges },
  ],
} as const satisfies Feature;

export async function createChangesFile(changes: ProposedNameChanges['names']): Promise<TextFile> {
  const toCells = (details: ProposedNameChanges['names'][number]['after']) =>
    details === undefined ? DETAIL_COLUMNS.map(() => '') : formatDetailCells(details);
  const header = [
    'name',
    ...DETAIL_COLUMNS.map((field) => `${field}_before`),
    ...DETAIL_COLUMNS.map((field) => `${field}_after`),
    'watched_after',
    'expires_before',
    'expires_after',
  ];
  const formatUtcDay = (date: Date | undefined) => date?.toISOString().slice(0, 10) ?? '';
  const rows = changes.map(({ name, before, after, date }) => [
    name,
    ...toCells(before),
    ...toCells(after),
    after === undefined ? 'no' : 'yes',
    formatUtcDay(date?.before?.at),
    formatUtcDay(date?.after),
  ]);
  return {
    text: await formatCsvFile([header, ...rows]),
    filename: 'domain-steward-names-plan.csv',
    description: `The plan with ${formatCount(changes.length, 'change')}`,
  };
}
