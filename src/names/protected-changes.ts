import { hashOf } from '../canonical-json.ts';
import { compareAndSwap } from '../compare-and-swap.ts';
import type { BudgetStore } from '../money/ports.ts';
import type { MessagePlace } from '../notifications.ts';
import { refusalOfNonApprover } from '../orders/approval-rights.ts';
import { type ApproverDeps, approvalPolicyOf, readPeople } from '../orders/approvers.ts';
import type { MandateInForce } from '../orders/mandates/mandate.ts';
import type { OrderSigning } from '../orders/order-signing.ts';
import type { OrderStore } from '../orders/ports.ts';
import type { Refusal } from '../orders/refusal.ts';
import { countedApprovals, type RequirementProgress } from '../policy/approvals.ts';
import type { Requirement } from '../policy/evaluate.ts';
import type { Confirmation, PendingChange, PendingChanges } from '../policy/pending-changes.ts';
import { versionToSign } from '../policy/policy.ts';
import type { DecidingPolicy } from '../policy/ports.ts';
import { subjectOf } from '../policy/subject.ts';
import type { SignedSubject } from '../signing/approval.ts';
import {
  type ChangedName,
  changedDetails,
  type DetailsChange,
  editedNames,
  isSameDetails,
  type NameDetails,
} from './portfolio.ts';
import type { FactsChange, ImportPlan, IncidentStore, PortfolioStore, Progress } from './ports.ts';
import { lapseRequirements, type Protection, requirementsOfAll, separateChanges } from './weakening.ts';

/*
 * The gate for everything that decides who hears about a name and which rule applies to it. `weakening.ts` decides which changes wait.
 *
 * field           waits for confirmation when                                    announced
 * tags            a rule, budget or mandate names the tag; `guarded` goes        while it waits, and what became of it
 * watched         a rule, mandate, open incident or open order covers the name   the same
 * date            it is later than one that somebody else gave                   the same
 * owner, channel  never                                                          at once, in the reminder channel
 * snooze          never: it ends before the last reminder                        in the thread
 * lapse           always; by an approver where something protects the name       in the thread
 */

export interface ProtectedChangesDeps extends ApproverDeps {
  readonly portfolio: Pick<PortfolioStore, 'write' | 'findMany' | 'readImport' | 'tagsOf'>;
  readonly pending: PendingChanges<FactsChange>;
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
  /** Only a signature of this person counts. */
  | { readonly code: 'needs_signature' }
  | Refusal;

export type DecidedFacts =
  | { readonly ok: true; readonly pending: PendingChange<FactsChange>; readonly isComplete: boolean }
  | { readonly ok: false; readonly refusal: FactsRefusal };

export interface ProtectedChanges {
  /** @param origin where it is asked for, here and below */
  change(
    edits: ReadonlyMap<string, DetailsChange>,
    by: string,
    origin: MessagePlace,
  ): Promise<EditedFacts | 'too_many_guarded'>;
  /** Applies an import that was shown. */
  applyImport(
    hash: string,
    by: string,
    origin: MessagePlace,
    progress: Progress,
  ): Promise<EditedFacts | { readonly stale: ImportPlan } | 'gone' | 'too_many_guarded'>;
  unwatch(name: string, by: string, origin: MessagePlace): Promise<Unwatched>;
  /**
   * Changes dates that people gave.
   * @param names with the date before
   */
  changeDates(
    names: readonly Pick<ChangedName, 'name' | 'date'>[],
    by: string,
    origin: MessagePlace,
  ): Promise<EditedFacts>;
  /** Why a person may not confirm that a name lapses. */
  refusalToLapse(name: string, by: string, askedBy: string): Promise<Refusal | undefined>;
  /** What waits. */
  find(id: string): Promise<PendingChange<FactsChange> | undefined>;
  /** What a change still needs. */
  progressOf(pending: PendingChange<FactsChange>): Promise<readonly RequirementProgress[]>;
  /** What a confirmation of a change signs. */
  signedSubject(pending: PendingChange<FactsChange>): Promise<SignedSubject>;
  /** Confirms a change. It takes effect with the last confirmation that it needs. */
  confirm(id: string, confirmation: Confirmation): Promise<DecidedFacts>;
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
  ): Promise<EditedFacts | 'gone' | 'too_many_guarded' | undefined> {
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
  ): Promise<EditedFacts | 'too_many_guarded'> =>
    compareAndSwap(what, load, async (changes) => {
      const outcome = await carryOut(changes, by, origin);
      return outcome === 'gone' ? undefined : outcome;
    });

  /** Asks again for what was asked for, of the names as they are now. */
  async function requestAgain({ change, askedBy, origin }: PendingChange<FactsChange>) {
    const found = await portfolio.findMany(change.names.map(({ name }) => name));
    const names = change.names.flatMap((each) => rebased(each, found.get(each.name)) ?? []);
    return names.length === 0 ? undefined : request(names, askedBy, origin);
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
      if (outcome === 'too_many_guarded') throw new Error('an unwatch guards nothing');
      if (outcome.waiting !== undefined) return { kind: 'waiting', pending: outcome.waiting };
      return { kind: outcome.changed.length > 0 ? 'unwatched' : 'not_watched' };
    },

    async changeDates(dated, by, origin) {
      const dates = new Map(dated.map(({ name, date }) => [name, date]));
      const found = await portfolio.findMany([...dates.keys()]);
      const changes = [...found].flatMap(([name, details]) => {
        const date = dates.get(name);
        return date === undefined ? [] : [{ name, before: details, after: details, date }];
      });
      const outcome = await carryOut(changes, by, origin);
      // A name that changed at the same moment keeps its date.
      return outcome === undefined || typeof outcome === 'string'
        ? { changed: [], waiting: undefined }
        : outcome;
    },

    async refusalToLapse(name, by, askedBy) {
      const details = (await portfolio.findMany([name])).get(name);
      if (details === undefined) return undefined;
      const protection = await loadProtection(deps, [{ name, before: details, after: undefined }]);
      const requirements = lapseRequirements(name, details, protection);
      return requirements === undefined ? undefined : refusalOfPerson(deps, requirements, by, askedBy);
    },

    find: (id) => pending.find(id, now()),

    progressOf: async (waiting) => progressOf(deps, waiting, waiting.confirmations),

    signedSubject: (waiting) => subjectOfSignature(deps, waiting),

    async confirm(id, confirmation) {
      const { userId } = confirmation;
      const waiting = await pending.find(id, now());
      if (waiting === undefined) return refused({ code: 'change_gone' });
      if (waiting.askedBy === userId) return refused({ code: 'own_change' });
      const requirements = await requirementsOf(deps, waiting);
      const refusal = await refusalOfPerson(deps, requirements, userId, waiting.askedBy);
      if (refusal !== undefined) return refused(refusal);
      if (confirmation.signed === undefined && (await mustSign(deps, requirements, userId)))
        return refused({ code: 'needs_signature' });
      const given = await pending.addConfirmation(id, confirmation, now());
      if (given === undefined) return refused({ code: 'change_gone' });
      const progress = await progressOf(deps, waiting, given.confirmations);
      if (!isComplete(progress)) return { ok: true, pending: given, isComplete: false };
      const outcome = await pending.confirm(id, userId, now());
      if (outcome.kind === 'confirmed') return { ok: true, pending: outcome.pending, isComplete: true };
      return outcome.kind === 'stale'
        ? refused({ code: 'change_stale', again: await requestAgain(outcome.pending) })
        : refused({ code: 'change_gone' });
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

/** What a change needs by the rules of this moment. */
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

/** Whether a requirement that asks this person asks for a signature. */
async function mustSign(
  deps: ProtectedChangesDeps,
  requirements: readonly Requirement[],
  userId: string,
): Promise<boolean> {
  const signed = requirements.filter((requirement) => requirement.signed);
  if (signed.length === 0) return false;
  const known = await readPeople({ ...deps, away: new Map(), at: deps.now() }, signed, [userId]);
  const context = {
    requesters: new Set<string>(),
    approvals: [userId],
    ...known,
    allowSelfApproval: false,
    now: deps.now(),
  };
  return signed.some((requirement) => countedApprovals(requirement, context).length > 0);
}

/** How far the confirmations of a change meet what it needs. */
async function progressOf(
  deps: ProtectedChangesDeps,
  waiting: PendingChange<FactsChange>,
  confirmations: readonly Confirmation[],
): Promise<readonly RequirementProgress[]> {
  const at = deps.now();
  const [requirements, away, subject] = await Promise.all([
    requirementsOf(deps, waiting),
    deps.standIns.current(at),
    subjectOfSignature(deps, waiting),
  ]);
  const approvals = confirmations.map(({ userId }) => userId);
  const [{ people }, signers] = await Promise.all([
    readPeople({ ...deps, away, at }, requirements, approvals),
    deps.signing.signersAmong(confirmations, subject),
  ]);
  const requesters = new Set([waiting.askedBy]);
  return requirements.map((requirement) => ({
    requirement,
    counted: countedApprovals(requirement, {
      ...{ requesters, people, allowSelfApproval: false, now: at },
      approvals: requirement.signed ? approvals.filter((userId) => signers.has(userId)) : approvals,
    }),
  }));
}

function isComplete(progress: readonly RequirementProgress[]): boolean {
  return progress.every(({ requirement: { needed }, counted }) => counted.length >= needed);
}

async function subjectOfSignature(
  { policy }: ProtectedChangesDeps,
  { id, change, askedBy }: PendingChange<FactsChange>,
): Promise<SignedSubject> {
  const version = versionToSign(await policy.current());
  const statement = hashOf(JSON.parse(JSON.stringify(change)));
  return { statement, policy: version, bound: { change: id, requesters: [askedBy] } };
}

/** The same change of a name as it is now; undefined where nothing is left of it. A date is asked for again by a person. */
function rebased(
  { name, before, after }: ChangedName,
  now: NameDetails | undefined,
): ChangedName | undefined {
  if (now === undefined) return undefined;
  if (after === undefined) return { name, before: now, after };
  const changed = <Field extends 'owner' | 'channel' | 'note'>(field: Field) =>
    before[field] === after[field] ? {} : { [field]: after[field] ?? null };
  const next = changedDetails(now, {
    ...{ ...changed('owner'), ...changed('channel'), ...changed('note') },
    addTags: after.tags.filter((tag) => !before.tags.includes(tag)),
    removeTags: before.tags.filter((tag) => !after.tags.includes(tag)),
  });
  return isSameDetails(now, next) ? undefined : { name, before: now, after: next };
}
