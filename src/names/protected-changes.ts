import { approvalPolicyOf, readPeople, refusalOfNonApprover } from '../approvals/approvers.ts';
import { countedApprovals, type RequirementProgress } from '../approvals/progress.ts';
import type { SignedSubject } from '../approvals/signing/approval.ts';
import { compareAndSwap } from '../lib/compare-and-swap.ts';
import { mandatesInForce } from '../mandates/life.ts';
import type { OrdersContext } from '../orders/context.ts';
import type { Refusal } from '../orders/refusal.ts';
import type { MessagePlace } from '../outbox/notifications.ts';
import type { Requirement } from '../policy/evaluate.ts';
import type { Confirmation, PendingChange } from '../policy/pending-changes.ts';
import { versionToSign } from '../policy/policy.ts';
import { subjectOf } from '../policy/subject.ts';
import type { NamesContext } from './context.ts';
import {
  type ChangedName,
  changeHash,
  type DetailsChange,
  editedNames,
  NO_DETAILS,
  type ReminderChange,
} from './portfolio.ts';
import type { FactsChange, Lapse, NameLimit, Progress } from './ports.ts';
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

/** Reads everything that protects names. */
export interface ProtectionContext extends OrdersContext {
  readonly names: NamesContext;
}

export interface EditedFacts {
  readonly changed: readonly string[];
  readonly waiting: PendingChange<FactsChange> | undefined;
}

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

export type ProtectedChanges = ReturnType<typeof createProtectedChanges>;

/** @param origin in each: where it is asked for */
export function createProtectedChanges(context: ProtectionContext) {
  const { portfolio, pendingFacts, now } = context.names;
  return {
    change: (edits: ReadonlyMap<string, DetailsChange>, by: string, origin: MessagePlace) =>
      edit(
        context,
        'changing names',
        async () => editedNames(await portfolio.findMany([...edits.keys()]), edits),
        { by, origin },
      ),
    applyImport: (hash: string, by: string, origin: MessagePlace, progress: Progress) =>
      compareAndSwap(
        'applying an import',
        () => portfolio.readImport(hash, by, now(), progress),
        async (plan) => {
          if (plan === 'gone' || 'stale' in plan) return plan;
          return carryOut(context, plan.changed, { by, origin }, { hash, progress });
        },
      ),
    unwatch: (name: string, by: string, origin: MessagePlace) => unwatch(context, name, { by, origin }),
    /** Puts names on the list, and changes dates and reminders of those that are on it. @returns `changed`: read again */
    changeReminders: (changes: readonly ReminderChange[], by: string, origin: MessagePlace) =>
      changeReminders(context, changes, { by, origin }),
    /** Confirms that a name lapses. It lapses with the last confirmation that its rules ask for. @returns `changed`: read again */
    confirmLapse: (name: string, asked: Lapse, by: string, origin: MessagePlace) =>
      confirmLapse(context, name, asked, { by, origin }),
    find: (id: string) => pendingFacts.find(id, now()),
    /** The missing confirmations of a change. */
    progressOf: async (waiting: PendingChange<FactsChange>) =>
      progressOf(context, await requirementsOf(context, waiting), waiting),
    /** The statement that a confirmation signs. */
    signedSubject: (waiting: PendingChange<FactsChange>) => subjectOfSignature(context, waiting),

    /** Confirms a change. It takes effect with the last confirmation that it needs. @param shown the {@link changeHash} of what the person saw */
    async confirm(id: string, confirmation: Confirmation, shown: string): Promise<DecidedFacts> {
      const waiting = await pendingFacts.find(id, now());
      if (waiting !== undefined && changeHash(waiting.change) !== shown)
        return refused({ code: 'change_stale', again: waiting });
      return confirm(context, waiting, confirmation);
    },

    /** Who asked, or who may confirm, drops a change. */
    async dismiss(id: string, by: string): Promise<DecidedFacts> {
      const waiting = await pendingFacts.find(id, now());
      const refusal =
        waiting !== undefined && waiting.askedBy !== by
          ? await refusalOfPerson(context, await requirementsOf(context, waiting), by, waiting.askedBy)
          : undefined;
      if (refusal !== undefined) return refused(refusal);
      const dropped = await pendingFacts.dismiss(id, by, now());
      return dropped === undefined
        ? refused({ code: 'change_gone' })
        : { ok: true, pending: dropped, isComplete: true };
    },
  };
}

interface Asking {
  readonly by: string;
  readonly origin: MessagePlace | undefined;
}

async function request(
  { names: { pendingFacts, now }, settings }: ProtectionContext,
  names: FactsChange['names'],
  { by, origin }: Asking,
): Promise<PendingChange<FactsChange>> {
  const at = now();
  const { approvalTtl } = await settings();
  return pendingFacts.request({ names }, by, at, new Date(at.getTime() + approvalTtl), origin);
}

/** Writes what may be written, and asks for the rest. @returns undefined when a name has changed meanwhile */
async function carryOut(
  context: ProtectionContext,
  changes: readonly ChangedName[],
  asking: Asking,
  plan?: { readonly hash: string; readonly progress: Progress },
): Promise<EditedFacts | 'gone' | NameLimit | undefined> {
  const { by } = asking;
  const { portfolio, now } = context.names;
  const { allowed, waiting } = await separateChanges(changes, by, await loadProtection(context, changes));
  const written = await portfolio.write(allowed, by, now(), plan?.hash, plan?.progress);
  if (written === 'changed') return undefined;
  if (written !== 'written') return written;
  return {
    changed: allowed.changes.map(({ name }) => name),
    waiting: waiting.length === 0 ? undefined : await request(context, waiting, asking),
  };
}

function edit(
  context: ProtectionContext,
  what: string,
  load: () => Promise<readonly ChangedName[]>,
  asking: Asking,
): Promise<EditedFacts | NameLimit> {
  return compareAndSwap(what, load, async (changes) => {
    const outcome = await carryOut(context, changes, asking);
    return outcome === 'gone' ? undefined : outcome;
  });
}

async function unwatch(context: ProtectionContext, name: string, asking: Asking): Promise<Unwatched> {
  const load = async () =>
    [...(await context.names.portfolio.findMany([name]))].map(([, before]) => ({
      name,
      before,
      after: undefined,
    }));
  const outcome = await edit(context, `unwatching ${name}`, load, asking);
  if (typeof outcome === 'string') throw new Error('an unwatch adds nothing');
  if (outcome.waiting !== undefined) return { kind: 'waiting', pending: outcome.waiting };
  return { kind: outcome.changed.length > 0 ? 'unwatched' : 'not_watched' };
}

async function changeReminders(
  context: ProtectionContext,
  asked: readonly ReminderChange[],
  asking: Asking,
): Promise<EditedFacts | 'changed' | NameLimit> {
  const known = asked.flatMap(({ name, isNew }) => (isNew ? [] : [name]));
  const found = await context.names.portfolio.findMany(known);
  const changes = asked.flatMap((each) => {
    const before = each.isNew ? NO_DETAILS : found.get(each.name);
    return before === undefined ? [] : [{ ...each, before, after: before }];
  });
  const outcome = await carryOut(context, changes, asking);
  return outcome === undefined || outcome === 'gone' ? 'changed' : outcome;
}

async function confirmLapse(
  context: ProtectionContext,
  name: string,
  { requestedBy, reason }: Lapse,
  { by, origin }: Asking,
): Promise<DecidedLapse> {
  const { portfolio, now } = context.names;
  const details = (await portfolio.findMany([name])).get(name);
  if (details === undefined) return 'changed';
  const decision = { kind: 'lapse_confirmed', reason, askedBy: requestedBy, origin } as const;
  const change = { name, before: details, after: details, decision };
  const names = [change];
  const requirements = weighChanges(await loadProtection(context, names))(change, requestedBy) ?? [];
  const refusal =
    requirements.length === 0 ? undefined : await refusalOfPerson(context, requirements, by, requestedBy);
  if (refusal !== undefined) return refused(refusal);
  const alone = { id: '', change: { names }, askedBy: requestedBy, confirmations: [{ userId: by }] };
  const confirmed = confirmedChanges(names, await progressOf(context, requirements, alone));
  if (confirmed === undefined)
    return confirm(context, await request(context, names, { by: requestedBy, origin }), { userId: by });
  return (await portfolio.write(confirmed, by, now())) === 'written' ? 'confirmed' : 'changed';
}

async function confirm(
  context: ProtectionContext,
  waiting: PendingChange<FactsChange> | undefined,
  confirmation: Confirmation,
): Promise<DecidedFacts> {
  const { pendingFacts, now } = context.names;
  const { userId } = confirmation;
  if (waiting === undefined) return refused({ code: 'change_gone' });
  const { id, askedBy, change } = waiting;
  if (askedBy === userId) return refused({ code: 'own_change' });
  const requirements = await requirementsOf(context, waiting);
  const refusal = await refusalOfPerson(context, requirements, userId, askedBy);
  if (refusal !== undefined) return refused(refusal);
  const signed = requirements.filter((requirement) => requirement.signed);
  const own = { ...waiting, confirmations: [{ userId }] };
  if (
    confirmation.signed === undefined &&
    (await progressOf(context, signed, own, true)).some(({ counted }) => counted.length > 0)
  )
    return refused({ code: 'needs_signature', id });
  const given = await pendingFacts.addConfirmation(id, confirmation, now());
  if (given === undefined) return refused({ code: 'change_gone' });
  const confirmed = confirmedChanges(change.names, await progressOf(context, requirements, given));
  if (confirmed === undefined) return { ok: true, pending: given, isComplete: false };
  const outcome = await pendingFacts.confirm(id, userId, now(), confirmed);
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

function refused(refusal: FactsRefusal): DecidedFacts {
  return { ok: false, refusal };
}

const OPEN_STATES = ['PENDING', 'APPROVED', 'EXECUTING', 'UNKNOWN'] as const;

/** Loads everything that protects some names. */
async function loadProtection(
  context: ProtectionContext,
  changes: readonly ChangedName[],
): Promise<Protection> {
  const parents = changes.flatMap(({ name }) =>
    subjectOf(name, 'host').hosts.filter((host) => host !== name),
  );
  const unwatched = changes.flatMap(({ name, after }) => (after === undefined ? [name] : []));
  const [settings, policy, budgets, mandates, tagsOf, incidents, ...orders] = await Promise.all([
    context.settings(),
    context.policy.current(),
    context.names.budgets.list(),
    mandatesInForce(context, 'system'),
    parents.length === 0
      ? new Map<string, readonly string[]>()
      : context.names.portfolio.tagsOf([...new Set(parents)]),
    unwatched.length === 0 ? [] : context.names.incidents.openOf(unwatched),
    ...unwatched.map((name) => context.store.list({ name, states: OPEN_STATES, viewer: 'system', limit: 1 })),
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
  context: ProtectionContext,
  { change: { names }, askedBy }: PendingChange<FactsChange>,
): Promise<readonly Requirement[]> {
  return requirementsOfAll(names, askedBy, await loadProtection(context, names));
}

async function refusalOfPerson(
  context: ProtectionContext,
  requirements: readonly Requirement[],
  userId: string,
  askedBy: string,
): Promise<Refusal | undefined> {
  const at = context.now();
  const [settings, away] = await Promise.all([context.settings(), context.standIns.current(at)]);
  const known = await readPeople({ ...context, away, at }, requirements, [userId]);
  const question = { requirements, requesters: new Set([askedBy]), userIds: [userId] };
  return refusalOfNonApprover(approvalPolicyOf(question, known, settings, at), userId, 'confirm_facts');
}

type Asked = Pick<PendingChange<FactsChange>, 'id' | 'change' | 'askedBy' | 'confirmations'>;

/** How far the confirmations of a change meet what it needs. @param unsigned count those without a signature too */
async function progressOf(
  context: ProtectionContext,
  requirements: readonly Requirement[],
  waiting: Asked,
  unsigned = false,
): Promise<readonly RequirementProgress[]> {
  const at = context.now();
  const { askedBy, confirmations } = waiting;
  const [away, subject] = await Promise.all([
    context.standIns.current(at),
    subjectOfSignature(context, waiting),
  ]);
  const approvals = confirmations.map(({ userId }) => userId);
  const [{ people }, signers] = await Promise.all([
    readPeople({ ...context, away, at }, requirements, approvals),
    context.signing.signersAmong(confirmations, subject),
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
  { policy }: ProtectionContext,
  { id, change, askedBy }: Asked,
): Promise<SignedSubject> {
  const version = versionToSign(await policy.current());
  return { statement: changeHash(change), policy: version, bound: { change: id, requesters: [askedBy] } };
}
