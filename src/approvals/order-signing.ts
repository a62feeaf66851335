import type { TeamSettings } from '../config/environment.ts';
import { distinct } from '../lib/collections.ts';
import { isPaused, resumedBulk } from '../orders/bulk/waves.ts';
import { isSameRequest } from '../orders/check-statement.ts';
import type { Order } from '../orders/order.ts';
import type { Directory, KeyUse, OrderSigning, SignedBy, SigningRows } from '../orders/ports.ts';
import { needsSignatures, versionToSign } from '../policy/policy.ts';
import { readPeople, requestersOf } from './approvers.ts';
import {
  charterOf,
  charterStatus,
  type DecidingSettings,
  decidingWithKeys,
  decidingWithoutKeys,
  type LoggedCharter,
  lastSigned,
  type SigningLog,
} from './charter.ts';
import { approvalProgress } from './progress.ts';
import { currentRequirements, type RequirementSources } from './requirements.ts';
import { type BoundTo, differenceOf, type SignedSubject } from './signing/approval.ts';
import { hashOf, type Verifier } from './signing/assertion.ts';
import type { SignatureDifference } from './signing/difference.ts';
import { activeKeys, type KeyLog, type KeyRing, keyRingOf } from './signing/key-ring.ts';

/*
 * Whose signed approvals of an order count, and whether it may leave with them. Nothing of it is believed because a row says so: it
 * is computed from `SIGNING_ROOTS` and from signatures each time.
 */

export interface OrderSigningDeps {
  readonly use: KeyUse | undefined;
  readonly readRows: () => Promise<SigningRows>;
  readonly directory: Directory;
  readonly settingsOf: (saved: Readonly<Record<string, unknown>>) => TeamSettings;
  /** The settings of the environment. */
  readonly start: DecidingSettings;
  readonly ruleFacts: RequirementSources['ruleFacts'];
  readonly now: () => Date;
}

/** What an approval of an order is bound to besides its statement. For a paused order it is what its resumption makes of it. */
function boundOf(order: Order): BoundTo {
  const { id, requesterId, earlierRequesters, account, retryOf, demand, bulk, items } = order;
  const waves = bulk !== undefined && isPaused(order) ? resumedBulk(items, bulk) : bulk;
  return {
    order: id,
    requesters: [requesterId, ...earlierRequesters],
    account: account.id,
    retryOf: retryOf ?? null,
    demand: hashOf(demand),
    from: waves?.judgedFrom ?? 1,
  };
}

/** What an approval of an order has to be for. */
export function signedSubjectOf(order: Order, policyVersion: number): SignedSubject {
  return { statement: order.statementHash, policy: policyVersion, bound: boundOf(order) };
}

export function createOrderSigning(deps: OrderSigningDeps): OrderSigning {
  const { use } = deps;

  // The log of an unchanged database is one object, so what follows from it is computed once.
  const rings = new WeakMap<KeyLog, Map<string, Promise<KeyRing>>>();
  const signed = new WeakMap<SigningLog, Promise<LoggedCharter | undefined>>();

  const ringOf = (log: KeyLog, left: ReadonlySet<string>): Promise<KeyRing> => {
    const known = rings.get(log) ?? new Map<string, Promise<KeyRing>>();
    const who = [...left].sort().join();
    const ring =
      known.get(who) ??
      (use === undefined
        ? Promise.resolve({
            counting: new Map(),
            keys: log.added.map((key) => ({ ...key, counts: 'not_vouched' as const })),
          })
        : keyRingOf(log, { ...use, left }));
    rings.set(log, known.set(who, ring));
    return ring;
  };

  const keys = async () => {
    const { log } = await deps.readRows();
    const { left, unknown } = await ownersOf(deps.directory, log.keys);
    return { ...log, log: log.keys, left, unknown, ring: await ringOf(log.keys, left) };
  };

  /** The settings and policy in force. `mark` changes with them. */
  const decidingBy = async (trust: KeyUse, { log, policy, saved }: SigningRows) => {
    const settings = deps.settingsOf(saved);
    const last = signed.get(log) ?? lastSigned(log, trust);
    signed.set(log, last);
    const status = charterStatus(log, { policy, settings }, await last);
    const mark = hashOf({ status, rows: charterOf({ policy, settings }, undefined) });
    return { mark, status, ...decidingWithKeys({ policy, settings }, deps.start, status) };
  };

  const countingAmong: OrderSigning['countingAmong'] = async (approvals, subject, ring) =>
    use === undefined ? new Set() : (await verifyAll(approvals, subject, ring, use.verifier)).counting;

  const signersNow: OrderSigning['signersAmong'] = async (approvals, subject) => {
    if (use === undefined || approvals.every(({ signed }) => signed === undefined)) return new Set();
    return signersIn(await countingAmong(approvals, subject, (await keys()).ring));
  };

  const decidingNow = async () => {
    const rows = await deps.readRows();
    if (use !== undefined) return decidingBy(use, rows);
    return { mark: '', status: undefined, ...decidingWithoutKeys(rows.policy, deps.settingsOf(rows.saved)) };
  };

  return {
    use,
    deciding: decidingNow,
    settings: async () => (await decidingNow()).settings,
    policy: { current: async () => (await decidingNow()).policy },
    standIns: {
      async current(now) {
        const { standIns } = await deps.readRows();
        return new Map([...standIns].filter(([, { until }]) => until > now));
      },
    },
    charter: async () => (await decidingNow()).status,
    keys,

    signersOf: (order, policyVersion) => signersNow(order.approvals, signedSubjectOf(order, policyVersion)),
    signersAmong: signersNow,
    countingAmong,

    async guardOf(order) {
      if (use === undefined) {
        if (!needsSignatures(order.demand)) return 'no_signatures';
        return { verify: async () => ({ kind: 'not_signed', differs: ['no_keys'] }) };
      }
      const [deciding, { left, unknown }] = await Promise.all([decidingNow(), keys()]);
      const { settings, policy, mark } = deciding;
      const fixed = { settings: async () => settings, policy: { current: async () => policy } };
      const { demand } = await currentRequirements({ ...deps, ...fixed }, order);
      const requirements = demand.requirements.filter(({ signed }) => signed);
      const givers = order.approvals.map(({ userId }) => userId);
      const at = deps.now();
      const known = await readPeople(
        { directory: deps.directory, away: new Map(), at },
        requirements,
        givers,
      );
      if (unknown.size > 0 || known.unconfirmed.size > 0 || known.unreadableGroups.length > 0) {
        // Who is not told of may be whom it depends on; it is asked again a little later.
        if (requirements.length > 0 || unknown.size > 0) return undefined;
      }
      return {
        async verify(rows) {
          if (!isSameRequest(rows.order, order)) return { kind: 'not_signed', differs: ['statement'] };
          if ((await decidingBy(use, rows)).mark !== mark) return { kind: 'changed' };
          const ring = await ringOf(rows.log.keys, left);
          if (demand.outcome === 'refuse') return { kind: 'not_signed', differs: ['refused'] };
          if (requirements.length === 0) return undefined;
          const subject = signedSubjectOf(rows.order, versionToSign(policy));
          const { counting, differs } = await verifyAll(rows.order.approvals, subject, ring, use.verifier);
          const { isApproved } = approvalProgress(
            { ...demand, requirements },
            {
              requesters: requestersOf(rows.order),
              approvals: rows.order.approvals.map(({ userId }) => userId),
              signers: signersIn(counting),
              people: known.people,
              allowSelfApproval: settings.allowSelfApproval,
              now: at,
            },
          );
          if (isApproved) return undefined;
          return { kind: 'not_signed', differs: differs.length > 0 ? differs : ['count'] };
        },
      };
    },
  };
}

/** What Slack says of the owners of keys. */
async function ownersOf(directory: Directory, log: KeyLog) {
  const owners = distinct(activeKeys(log).map(({ owner }) => owner));
  const known = await Promise.all(owners.map(async (id) => [id, await directory.membership(id)] as const));
  const those = (what: string): ReadonlySet<string> =>
    new Set(known.flatMap(([id, membership]) => (membership === what ? [id] : [])));
  return { left: those('left'), unknown: those('unknown') };
}

/** The approvals whose signatures count, and what differs in the others. */
async function verifyAll<Each extends SignedBy>(
  approvals: readonly Each[],
  subject: SignedSubject,
  ring: KeyRing,
  verifier: Verifier,
): Promise<{ readonly counting: ReadonlySet<Each>; readonly differs: readonly SignatureDifference[] }> {
  const counting = new Set<Each>();
  const differs = new Set<SignatureDifference>();
  for (const approval of approvals) {
    const difference = await differenceOf(approval, subject, ring, verifier);
    if (difference === undefined) counting.add(approval);
    else differs.add(difference);
  }
  return { counting, differs: [...differs] };
}

function signersIn(approvals: Iterable<SignedBy>): ReadonlySet<string> {
  return new Set([...approvals].map(({ userId }) => userId));
}
