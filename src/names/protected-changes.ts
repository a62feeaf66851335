import { refusalOfNonApprover } from '../approvals/approval-rights.ts';
import { type ApproverDeps, approvalPolicyOf, readPeople } from '../approvals/approvers.ts';
import { countedApprovals, type RequirementProgress } from '../approvals/progress.ts';
import type { SignedSubject } from '../approvals/signing/approval.ts';
import { compareAndSwap } from '../lib/compare-and-swap.ts';
import type { MandateInForce } from '../mandates/mandate.ts';
import type { BudgetStore } from '../money/ports.ts';
import type { OrderSigning, OrderStore } from '../orders/ports.ts';
import type { Refusal } from '../orders/refusal.ts';
import type { MessagePlace } from '../outbox/notifications.ts';
import type { Requirement } from '../policy/evaluate.ts';
import type { Confirmation, PendingChange } from '../policy/pending-changes.ts';
import { versionToSign } from '../policy/policy.ts';
import type { DecidingPolicy } from '../policy/ports.ts';
import { subjectOf } from '../policy/subject.ts';
import {
  type ChangedName,
  changeHash,
  type DetailsChange,
  editedNames,
  NO_DETAILS,
  type ReminderChange,
} from './portfolio.ts';
import type {
  FactsChange,
  ImportPlan,
  IncidentStore,
  Lapse,
  NameLimit,
  PendingFacts,
  PortfolioStore,
  Progress,
} from './ports.ts';
import {
  confirmedChanges,
  type Protection,
  requirementsOfAll,
  separateChanges,
  weighChanges,
} from './weakening.ts';

/*
 * The gate for everything that decides who hears about a name and which rule applies to it. `weakening.ts` decides which changes wait.
 *
 * field           waits for confirmation when                                    announced
 * tags            a rule, budget or mandate names the tag; `guarded` goes        while it waits, and what became of it
 * watched         a rule, mandate, open incident or open order covers the name   the same
 * date            it is later than one that somebody else gave                   the same
 * owner, channel  never                                                          at once, in the reminder channel
 * snooze          never: it ends before the last reminder                        in the thread
 * lapse           always; where the name is protected, as its rules ask           in the thread
 */

export interface ProtectedChangesDeps extends ApproverDeps {
  readonly portfolio: Pick<PortfolioStore, 'write' | 'findMany' | 'readImport' | 'tagsOf'>;
  readonly pending: PendingFacts;
  readonly policy: DecidingPolicy;
  readonly budgets: Pick<BudgetStore, 'list'>;
  readonly mandatesInForce: () => Promise<readonly MandateInForce[]>;
  readonly incidents: Pick<IncidentStore, 'openOf'>;
  readonly orders: Pick<OrderStore, 'list'>;
  readonly signing: Pick<OrderSigning, 'signersAmong'>;
}

/** What became of an edit. */
export interface EditedFacts {
  /** The names that were changed. */
  readonly changed: readonly string[];
  /** Changes that wait for confirmation. */
  readonly waiting: PendingChange<FactsChange> | undefined;
}

/** What became of an unwatch. */
export type Unwatched =
  | { readonly kind: 'unwatched' | 'not_watched' }
  | { readonly kind: 'waiting'; readonly pending: PendingChange<FactsChange> };

/** Why somebody may not confirm or drop a change. */
export type FactsRefusal =
  | { readonly code: 'own_change' }
  /** It was confirmed or dropped before, or nobody confirmed it in time. */
  | { readonly code: 'change_gone' }
  /** A name has changed since it was asked for. The change was dropped, and asked for again where it still applies. */
  | { readonly code: 'change_stale'; readonly again: PendingChange<FactsChange> | undefined }
  /** Only a signature of this person counts. @property id what it confirms */
  | { readonly code: 'needs_signature'; readonly id: string }
  /** It would exceed a limit. It still waits. */
  | { readonly code: NameLimit }
  | Refusal;

export type DecidedFacts =
  | { readonly ok: true; readonly pending: PendingChange<FactsChange>; readonly isComplete: boolean }
  | { readonly ok: false; readonly refusal: FactsRefusal };

export type DecidedLapse = DecidedFacts | 'confirmed' | 'changed';

export interface ProtectedChanges {
  /** @param origin where it is asked for, here and below */
  change(
    edits: ReadonlyMap<string, DetailsChange>,
    by: string,
    origin: MessagePlace,
  ): Promise<EditedFacts | NameLimit>;
  /** Applies an import that was shown. */
  applyImport(
    hash: string,
    by: string,
    origin: MessagePlace,
    progress: Progress,
  ): Promise<EditedFacts | { readonly stale: ImportPlan } | 'gone' | NameLimit>;
  unwatch(name: string, by: string, origin: MessagePlace): Promise<Unwatched>;
  /** Puts names on the list, and changes dates and reminders of those that are on it. @returns `changed`: read again */
  changeReminders(
    changes: readonly ReminderChange[],
    by: string,
    origin: MessagePlace,
  ): Promise<EditedFacts | 'changed' | NameLimit>;
  /** Confirms that a name lapses. It lapses with the last confirmation that its rules ask for. @returns `changed`: read again */
  confirmLapse(name: string, asked: Lapse, by: string, origin: MessagePlace): Promise<DecidedLapse>;
  find(id: string): Promise<PendingChange<FactsChange> | undefined>;
  /** The missing confirmations of a change. */
  progressOf(pending: PendingChange<FactsChange>): Promise<readonly RequirementProgress[]>;
  /** The statement that a confirmation signs. */
  signedSubject(pending: PendingChange<FactsChange>): Promise<SignedSubject>;
  /** Confirms a change. It takes effect with the last confirmation that it needs. @param shown the {@link changeHash} of what the person saw */
  confirm(id: string, confirmation: Confirmation, shown: string): Promise<DecidedFacts>;
  /** Who asked, or who may confirm, drops a change. */
  dismiss(id: string, by: string): Promise<DecidedFacts>;
}

export function createProtectedChanges(deps: ProtectedChangesDeps): ProtectedChanges {
  const { portfolio, pending, now } = deps;

  async function request(names: FactsChange['names'], by: string, origin: MessagePlace | undefined) {
    const at = now();
    const { approvalTtl } = await deps.settings();
    return pending.request({ names }, by, at, new Date(at.getTime() + approvalTtl), origin);
  }

  /** Writes what may be written, and asks for the rest. @returns undefined when a name has changed meanwhile */
  async function carryOut(
    changes: readonly ChangedName[],
    by: string,
    origin: MessagePlace,
    plan?: { readonly hash: string; readonly progress: Progress },
  ): Promise<EditedFacts | 'gone' | NameLimit | undefined> {
    const { allowed, waiting } = await separateChanges(changes, by, await loadProtection(deps, changes));
    const written = await portfolio.write(allowed, by, now(), plan?.hash, plan?.progress);
    if (written === 'changed') return undefined;
    if (written !== 'written') return written;
    return {
      changed: allowed.changes.map(({ name }) => name),
      waiting: waiting.length === 0 ? undefined : await request(waiting, by, origin),
    };
  }

  const edit = (
    what: string,
    load: () => Promise<readonly ChangedName[]>,
    by: string,
    origin: MessagePlace,
  ): Promise<EditedFacts | NameLimit> =>
    compareAndSwap(what, load, async (changes) => {
      const outcome = await carryOut(changes, by, origin);
      return outcome === 'gone' ? undefined : outcome;
    });

  async function confirm(
    waiting: PendingChange<FactsChange> | undefined,
    confirmation: Confirmation,
  ): Promise<DecidedFacts> {
    const { userId } = confirmation;
    if (waiting === undefined) return refused({ code: 'change_gone' });
    const { id, askedBy, change } = waiting;
    if (askedBy === userId) return refused({ code: 'own_change' });
    const requirements = await requirementsOf(deps, waiting);
    const refusal = await refusalOfPerson(deps, requirements, userId, askedBy);
    if (refusal !== undefined) return refused(refusal);
    const signed = requirements.filter((requirement) => requirement.signed);
    const own = { ...waiting, confirmations: [{ userId }] };
    if (
      confirmation.signed === undefined &&
      (await progressOf(deps, signed, own, true)).some(({ counted }) => counted.length > 0)
    )
      return refused({ code: 'needs_signature', id });
    const given = await pending.addConfirmation(id, confirmation, now());
    if (given === undefined) return refused({ code: 'change_gone' });
    const confirmed = confirmedChanges(change.names, await progressOf(deps, requirements, given));
    if (confirmed === undefined) return { ok: true, pending: given, isComplete: false };
    const outcome = await pending.confirm(id, userId, now(), confirmed);
    switch (outcome.kind) {
      case 'confirmed':
        return { ok: true, pending: outcome.pending, isComplete: true };
      case 'stale':
        return refused({ code: 'change_stale', again: outcome.again });
      case 'own':
      case 'gone':
        return refused({ code: 'change_gone' });
      default:
        return refused({ code: outcome.kind });
    }
  }

  return {
    change: (edits, by, origin) =>
      edit(
        'changing names',
        async () => editedNames(await portfolio.findMany([...edits.keys()]), edits),
        by,
        origin,
      ),

    applyImport: (hash, by, origin, progress) =>
      compareAndSwap(
        'applying an import',
        () => portfolio.readImport(hash, by, now(), progress),
        async (plan) => {
          if (plan === 'gone' || 'stale' in plan) return plan;
          return carryOut(plan.changed, by, origin, { hash, progress });
        },
      ),

    async unwatch(name, by, origin) {
      const outcome = await edit(
        `unwatching ${name}`,
        async () =>
          [...(await portfolio.findMany([name]))].map(([, before]) => ({ name, before, after: undefined })),
        by,
        origin,
      );
      if (typeof outcome === 'string') throw new Error('an unwatch adds nothing');
      if (outcome.waiting !== undefined) return { kind: 'waiting', pending: outcome.waiting };
      return { kind: outcome.changed.length > 0 ? 'unwatched' : 'not_watched' };
    },

    async changeReminders(asked, by, origin) {
      const found = await portfolio.findMany(asked.flatMap(({ name, isNew }) => (isNew ? [] : [name])));
      const changes = asked.flatMap((each) => {
        const before = each.isNew ? NO_DETAILS : found.get(each.name);
        return before === undefined ? [] : [{ ...each, before, after: before }];
      });
      const outcome = await carryOut(changes, by, origin);
      return outcome === undefined || outcome === 'gone' ? 'changed' : outcome;
    },

    async confirmLapse(name, { requestedBy, reason }, by, origin) {
      const details = (await portfolio.findMany([name])).get(name);
      if (details === undefined) return 'changed';
      const decision = { kind: 'lapse_confirmed', reason, askedBy: requestedBy, origin } as const;
      const change = { name, before: details, after: details, decision };
      const names = [change];
      const requirements = weighChanges(await loadProtection(deps, names))(change, requestedBy) ?? [];
      const refusal =
        requirements.length === 0 ? undefined : await refusalOfPerson(deps, requirements, by, requestedBy);
      if (refusal !== undefined) return refused(refusal);
      const alone = { id: '', change: { names }, askedBy: requestedBy, confirmations: [{ userId: by }] };
      const confirmed = confirmedChanges(names, await progressOf(deps, requirements, alone));
      if (confirmed === undefined) return confirm(await request(names, requestedBy, origin), { userId: by });
      return (await portfolio.write(confirmed, by, now())) === 'written' ? 'confirmed' : 'changed';
    },

    find: (id) => pending.find(id, now()),

    progressOf: async (waiting) => progressOf(deps, await requirementsOf(deps, waiting), waiting),

    signedSubject: (waiting) => subjectOfSignature(deps, waiting),

    async confirm(id, confirmation, shown) {
      const waiting = await pending.find(id, now());
      if (waiting !== undefined && changeHash(waiting.change) !== shown)
        return refused({ code: 'change_stale', again: waiting });
      return confirm(waiting, confirmation);
    },

    async dismiss(id, by) {
      const waiting = await pending.find(id, now());
      const refusal =
        waiting !== undefined && waiting.askedBy !== by
          ? await refusalOfPerson(deps, await requirementsOf(deps, waiting), by, waiting.askedBy)
          : undefined;
      if (refusal !== undefined) return refused(refusal);
      const dropped = await pending.dismiss(id, by, now());
      return dropped === undefined
        ? refused({ code: 'change_gone' })
        : { ok: true, pending: dropped, isComplete: true };
    },
  };
}

function refused(refusal: FactsRefusal): DecidedFacts {
  return { ok: false, refusal };
}

const OPEN_STATES = ['PENDING', 'APPROVED', 'EXECUTING', 'UNKNOWN'] as const;

/** Loads everything that protects some names. */
async function loadProtection(
  deps: ProtectedChangesDeps,
  changes: readonly Pick<ChangedName, 'name' | 'before' | 'after'>[],
): Promise<Protection> {
  const parents = changes.flatMap(({ name }) =>
    subjectOf(name, 'host').hosts.filter((host) => host !== name),
  );
  const unwatched = changes.flatMap(({ name, after }) => (after === undefined ? [name] : []));
  const [settings, policy, budgets, mandates, tagsOf, incidents, ...orders] = await Promise.all([
    deps.settings(),
    deps.policy.current(),
    deps.budgets.list(),
    deps.mandatesInForce(),
    parents.length === 0
      ? new Map<string, readonly string[]>()
      : deps.portfolio.tagsOf([...new Set(parents)]),
    unwatched.length === 0 ? [] : deps.incidents.openOf(unwatched),
    ...unwatched.map((name) => deps.orders.list({ name, states: OPEN_STATES, viewer: 'system', limit: 1 })),
  ]);
  const ordered = unwatched.filter((_, index) => (orders[index]?.length ?? 0) > 0);
  return {
    settings,
    policy,
    budgetTags: new Set(budgets.flatMap(({ tag }) => tag ?? [])),
    mandates,
    tagsOf,
    busy: new Set([...incidents.map(({ name }) => name), ...ordered]),
  };
}

/** The requirements of a change by the current rules. */
async function requirementsOf(
  deps: ProtectedChangesDeps,
  { change: { names }, askedBy }: PendingChange<FactsChange>,
): Promise<readonly Requirement[]> {
  return requirementsOfAll(names, askedBy, await loadProtection(deps, names));
}

async function refusalOfPerson(
  deps: ProtectedChangesDeps,
  requirements: readonly Requirement[],
  userId: string,
  askedBy: string,
): Promise<Refusal | undefined> {
  const at = deps.now();
  const [settings, away] = await Promise.all([deps.settings(), deps.standIns.current(at)]);
  const known = await readPeople({ ...deps, away, at }, requirements, [userId]);
  const question = { requirements, requesters: new Set([askedBy]), userIds: [userId] };
  return refusalOfNonApprover(approvalPolicyOf(question, known, settings, at), userId, 'confirm_facts');
}

type Asked = Pick<PendingChange<FactsChange>, 'id' | 'change' | 'askedBy' | 'confirmations'>;

/** How far the confirmations of a change meet what it needs. @param unsigned count those without a signature too */
async function progressOf(
  deps: ProtectedChangesDeps,
  requirements: readonly Requirement[],
  waiting: Asked,
  unsigned = false,
): Promise<readonly RequirementProgress[]> {
  const at = deps.now();
  const { askedBy, confirmations } = waiting;
  const [away, subject] = await Promise.all([deps.standIns.current(at), subjectOfSignature(deps, waiting)]);
  const approvals = confirmations.map(({ userId }) => userId);
  const [{ people }, signers] = await Promise.all([
    readPeople({ ...deps, away, at }, requirements, approvals),
    deps.signing.signersAmong(confirmations, subject),
  ]);
  const requesters = new Set([askedBy]);
  return requirements.map((requirement) => ({
    requirement,
    counted: countedApprovals(requirement, {
      ...{ requesters, allowSelfApproval: false, now: at },
      people,
      approvals: approvals.filter((userId) => !requirement.signed || unsigned || signers.has(userId)),
    }),
  }));
}

async function subjectOfSignature(
  { policy }: ProtectedChangesDeps,
  { id, change, askedBy }: Asked,
): Promise<SignedSubject> {
  const version = versionToSign(await policy.current());
  return { statement: changeHash(change), policy: version, bound: { change: id, requesters: [askedBy] } };
}
