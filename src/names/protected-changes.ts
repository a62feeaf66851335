import type { Confirmers } from '../approvals/proposals/decide-confirmation.ts';
import type { ProposalOf } from '../approvals/proposals/proposal.ts';
import { compareAndSwap } from '../lib/compare-and-swap.ts';
import { loadActiveMandates } from '../mandates/life.ts';
import type { OrdersContext } from '../orders/context.ts';
import type { MessagePlace } from '../outbox/notifications.ts';
import { toAffectedName } from '../policy/subject.ts';
import type { NamesContext } from './context.ts';
import {
  type ChangedName,
  type DetailsChange,
  listEditedNames,
  type NameLimit,
  NO_DETAILS,
  type ProposedNameChanges,
  type ReminderChange,
} from './portfolio.ts';
import type { ReportProgress } from './ports.ts';
import {
  createRequirementFinder,
  mergeAllRequirements,
  type Protection,
  separateChanges,
} from './weakening.ts';

/**
 * Applies changes that affect who is notified about a name, or which rules apply to it. `weakening.ts`
 * decides which changes need confirmation:
 *
 * field           needs confirmation                                   announced
 * tags            tag in a rule, budget or mandate; `guarded` removed  the request and the outcome
 * watched         covered by a rule, mandate, open incident or order   the request and the outcome
 * date            later than another person's date                     the request and the outcome
 * owner, channel  never                                                in the reminder channel
 * snooze          never (it ends before the last reminder)             in the thread
 * handover        never                                                in the reminder channel, to new owner
 * lapse           always (protected names: as their rules require)     in the thread
 */

export interface ProtectionContext extends OrdersContext {
  readonly names: NamesContext;
}

export type FactsProposal = ProposalOf<'facts' | 'lapse'>;

export interface EditResult {
  readonly changedNames: readonly string[];
  readonly proposal: ProposalOf<'facts'> | undefined;
}

export type UnwatchOutcome =
  | { readonly kind: 'unwatched' | 'not_watched' }
  | { readonly kind: 'waiting'; readonly proposal: ProposalOf<'facts'> };

export type ProtectedChanges = ReturnType<typeof createProtectedChanges>;

export function createProtectedChanges(context: ProtectionContext) {
  const { portfolio, now } = context.names;
  return {
    changeDetails: (edits: ReadonlyMap<string, DetailsChange>, by: string, origin: MessagePlace) =>
      applyEdits(
        context,
        'changing names',
        async () => listEditedNames(await portfolio.findMany([...edits.keys()]), edits),
        { by, origin },
      ),
    applyImport: (hash: string, by: string, origin: MessagePlace, progress: ReportProgress) =>
      compareAndSwap(
        'applying an import',
        () => portfolio.findImportPlan(hash, by, now(), progress),
        async (plan) => {
          if (plan === 'gone' || 'stale' in plan) return plan;
          return writeAllowedChanges(context, plan.changedNames, { by, origin }, { hash, progress });
        },
      ),
    unwatch: (name: string, by: string, origin: MessagePlace) => unwatch(context, name, { by, origin }),
    /** @returns `changed` on a conflict */
    changeReminders: (changes: readonly ReminderChange[], by: string, origin: MessagePlace) =>
      changeReminders(context, changes, { by, origin }),
    findConfirmers: (proposal: FactsProposal) => findConfirmers(context, proposal),
  };
}

interface ChangeRequest {
  readonly by: string;
  /** Where the change was requested. */
  readonly origin: MessagePlace | undefined;
}

async function proposeChanges(
  { names: { proposals, now }, loadSettings }: ProtectionContext,
  names: ProposedNameChanges['names'],
  { by: proposer, origin }: ChangeRequest,
): Promise<ProposalOf<'facts'>> {
  const proposedAt = now();
  const { approvalTtlMs } = await loadSettings();
  const expiresAt = new Date(proposedAt.getTime() + approvalTtlMs);
  const input = { kind: 'facts', payload: { names }, proposer, proposedAt, expiresAt, origin } as const;
  const proposal = await proposals.propose(input);
  if (proposal.kind !== 'facts') throw new Error(`unexpected kind of proposal: ${proposal.kind}`);
  return proposal;
}

/** Proposes requested lapses, and withdraws the lapse proposals of names that are watched again or kept. */
async function proposeLapses(
  { names: { proposals, now } }: ProtectionContext,
  changes: readonly ChangedName[],
  by: string,
): Promise<void> {
  for (const { name, before, decision } of changes) {
    if (decision?.kind === 'name_watched' || decision?.kind === 'name_kept') {
      const openProposal = await proposals.find(['lapse'], name, now());
      if (openProposal !== undefined) await proposals.withdraw(openProposal, by, now());
    }
    if (decision?.kind !== 'lapse_requested') continue;
    const { origin, reason } = decision;
    const lapseDecision = {
      kind: 'lapse_confirmed',
      reason,
      askedBy: by,
      ...(origin && { origin }),
    } as const;
    const payload = { names: [{ name, before, after: before, decision: lapseDecision }] };
    const proposedAt = now();
    await proposals.propose({ kind: 'lapse', subject: name, payload, proposer: by, proposedAt, origin });
  }
}

/**
 * Writes the changes that need no confirmation, and proposes the others.
 * @returns undefined on a conflict
 */
async function writeAllowedChanges(
  context: ProtectionContext,
  changes: readonly ChangedName[],
  request: ChangeRequest,
  plan?: { readonly hash: string; readonly progress: ReportProgress },
): Promise<EditResult | 'gone' | NameLimit | undefined> {
  const { by } = request;
  const { portfolio, now } = context.names;
  const { allowed, changesToConfirm } = await separateChanges(
    changes,
    by,
    await loadProtection(context, changes),
  );
  const outcome = await portfolio.write(allowed, by, now(), plan?.hash, plan?.progress);
  if (outcome === 'changed') return undefined;
  if (outcome !== 'written') return outcome;
  await proposeLapses(context, allowed.changes, by);
  return {
    changedNames: allowed.changes.map(({ name }) => name),
    proposal:
      changesToConfirm.length === 0 ? undefined : await proposeChanges(context, changesToConfirm, request),
  };
}

function applyEdits(
  context: ProtectionContext,
  description: string,
  loadChanges: () => Promise<readonly ChangedName[]>,
  request: ChangeRequest,
): Promise<EditResult | NameLimit> {
  return compareAndSwap(description, loadChanges, async (changes) => {
    const outcome = await writeAllowedChanges(context, changes, request);
    return outcome === 'gone' ? undefined : outcome;
  });
}

async function unwatch(
  context: ProtectionContext,
  name: string,
  request: ChangeRequest,
): Promise<UnwatchOutcome> {
  const loadChanges = async () =>
    [...(await context.names.portfolio.findMany([name]))].map(([, before]) => ({
      name,
      before,
      after: undefined,
    }));
  const outcome = await applyEdits(context, `unwatching ${name}`, loadChanges, request);
  if (typeof outcome === 'string') throw new Error(`unwatching a name exceeded a limit: ${outcome}`);
  if (outcome.proposal !== undefined) return { kind: 'waiting', proposal: outcome.proposal };
  return { kind: outcome.changedNames.length > 0 ? 'unwatched' : 'not_watched' };
}

async function changeReminders(
  context: ProtectionContext,
  reminderChanges: readonly ReminderChange[],
  request: ChangeRequest,
): Promise<EditResult | 'changed' | NameLimit> {
  const watchedNames = reminderChanges.flatMap(({ name, isNew }) => (isNew ? [] : [name]));
  const detailsByName = await context.names.portfolio.findMany(watchedNames);
  const changes = reminderChanges.flatMap((change) => {
    const before = change.isNew ? NO_DETAILS : detailsByName.get(change.name);
    if (before === undefined) return [];
    return [{ ...change, before, after: { ...before, owner: change.owner ?? before.owner } }];
  });
  const outcome = await writeAllowedChanges(context, changes, request);
  return outcome === undefined || outcome === 'gone' ? 'changed' : outcome;
}

const OPEN_STATES = ['PENDING', 'APPROVED', 'EXECUTING', 'UNKNOWN'] as const;

async function loadProtection(
  context: ProtectionContext,
  changes: readonly ChangedName[],
): Promise<Protection> {
  const parentNames = changes.flatMap(({ name }) =>
    toAffectedName(name, 'host').hosts.filter((host) => host !== name),
  );
  const unwatchedNames = changes.flatMap(({ name, after }) => (after === undefined ? [name] : []));
  const [settings, policy, budgets, mandates, parentTags, incidents, ...orders] = await Promise.all([
    context.loadSettings(),
    context.policy.loadCurrentPolicy(),
    context.names.budgets.list(),
    loadActiveMandates(context, 'system'),
    parentNames.length === 0
      ? new Map<string, readonly string[]>()
      : context.names.portfolio.findTags([...new Set(parentNames)]),
    unwatchedNames.length === 0 ? [] : context.names.incidents.listOpen(unwatchedNames),
    ...unwatchedNames.map((name) =>
      context.store.list({ name, states: OPEN_STATES, viewer: 'system', limit: 1 }),
    ),
  ]);
  const namesWithOrders = unwatchedNames.filter((_, index) => (orders[index]?.length ?? 0) > 0);
  return {
    settings,
    policy,
    budgetTags: new Set(budgets.flatMap(({ tag }) => tag ?? [])),
    mandates,
    parentTags,
    busyNames: new Set([...incidents.map(({ name }) => name), ...namesWithOrders]),
  };
}

async function findConfirmers(
  context: ProtectionContext,
  { kind, payload: { names }, proposer }: FactsProposal,
): Promise<Confirmers> {
  const protection = await loadProtection(context, names);
  if (kind === 'facts') return mergeAllRequirements(names, proposer, protection);
  // If the lapse weakens no protection, any other person can confirm it.
  const [lapse] = names;
  return (lapse && createRequirementFinder(protection)(lapse, proposer)) ?? 'another_person';
}
