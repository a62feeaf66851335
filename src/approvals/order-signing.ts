import type { TeamSettings } from '../config/environment.ts';
import { removeDuplicates } from '../lib/collections.ts';
import { isPaused, resumeBulk } from '../orders/bulk/waves.ts';
import { hasSameRequest } from '../orders/check-statement.ts';
import type { Order } from '../orders/order.ts';
import type {
  Consent,
  Directory,
  KeyTrust,
  OrderSigning,
  SendingGuard,
  SendingObstacle,
  SendingRows,
  SigningRows,
} from '../orders/ports.ts';
import type { Requirement, Requirements } from '../policy/evaluate.ts';
import { getSignedVersion, needsSignatures } from '../policy/policy.ts';
import { listRequesters, loadPeople } from './approvers.ts';
import {
  buildCharter,
  buildRulesWithoutSigning,
  buildRulesWithSigning,
  evaluateCharter,
  findLastValidCharter,
  type LoggedCharter,
  type ProtectedSettings,
  type SigningLog,
} from './charter.ts';
import { evaluateProgress, type PeopleFacts } from './progress.ts';
import { loadCurrentEvaluation, type RequirementSources } from './requirements.ts';
import { findSignatureDifference, type SignatureBinding, type SignedSubject } from './signing/approval.ts';
import { hashJson, type Verifier } from './signing/assertion.ts';
import type { SignatureDifference } from './signing/difference.ts';
import { buildKeyRing, type KeyLog, type KeyRing, listActiveKeys } from './signing/key-ring.ts';

/**
 * Decides whether an order's signed approvals allow sending it. Database rows aren't trusted: everything is verified
 * each time, starting from `SIGNING_ROOTS` and the signatures.
 */

export interface OrderSigningDeps {
  readonly trust: KeyTrust | undefined;
  readonly readRows: () => Promise<SigningRows>;
  readonly directory: Directory;
  readonly applySavedSettings: (saved: Readonly<Record<string, unknown>>) => TeamSettings;
  readonly environmentSettings: ProtectedSettings;
  readonly ruleFacts: RequirementSources['ruleFacts'];
  readonly now: () => Date;
}

/** Everything that a signature covers besides the statement. A paused order is signed as it will be when resumed. */
function buildApprovalBinding(order: Order): SignatureBinding {
  const { id, requesterId, earlierRequesters, account, retryOf, requirements, bulk, items, approvalRound } =
    order;
  const waves = bulk !== undefined && isPaused(order) ? resumeBulk(items, bulk) : bulk;
  return {
    order: id,
    requesters: [requesterId, ...earlierRequesters],
    account: account.id,
    retryOf: retryOf ?? null,
    requirements: hashJson(requirements),
    from: waves?.unreviewedFrom ?? 1,
    round: approvalRound,
  };
}

export function buildSignedSubject(order: Order, policyVersion: number): SignedSubject {
  return { statementHash: order.statementHash, policyVersion, binding: buildApprovalBinding(order) };
}

/** Results are cached per log object, because `readRows` returns the same object until the rows change. */
interface SigningContext extends OrderSigningDeps {
  readonly ringsByLog: WeakMap<KeyLog, Map<string, Promise<KeyRing>>>;
  readonly validCharters: WeakMap<SigningLog, Promise<LoggedCharter | undefined>>;
}

export function createOrderSigning(deps: OrderSigningDeps): OrderSigning {
  const context: SigningContext = { ...deps, ringsByLog: new WeakMap(), validCharters: new WeakMap() };
  const { trust } = deps;
  const filterValidApprovals: OrderSigning['filterValidApprovals'] = async (approvals, subject, ring) =>
    trust === undefined
      ? new Set()
      : (await verifySignedApprovals(approvals, subject, ring, trust.verifier)).validApprovals;
  const findSigners: OrderSigning['findSigners'] = async (approvals, subject) => {
    if (trust === undefined || approvals.every(({ signed }) => signed === undefined)) return new Set();
    return listSigners(await filterValidApprovals(approvals, subject, (await loadKeys(context)).ring));
  };
  return {
    trust,
    loadEffectiveRules: () => loadEffectiveRules(context),
    loadSettings: async () => (await loadEffectiveRules(context)).settings,
    policy: { loadCurrentPolicy: async () => (await loadEffectiveRules(context)).policy },
    standIns: {
      async loadActiveStandIns(now) {
        const { standIns } = await deps.readRows();
        return new Map([...standIns].filter(([, { until }]) => until > now));
      },
    },
    loadCharterStatus: async () => (await loadEffectiveRules(context)).status,
    loadKeys: () => loadKeys(context),
    loadSigners: (order, policyVersion) =>
      findSigners(order.approvals, buildSignedSubject(order, policyVersion)),
    findSigners,
    filterValidApprovals,
    loadSendingGuard: (order) => loadSendingGuard(context, order),
  };
}

function getKeyRing(
  { trust, ringsByLog }: SigningContext,
  log: KeyLog,
  departedIds: ReadonlySet<string>,
): Promise<KeyRing> {
  const cachedRings = ringsByLog.get(log) ?? new Map<string, Promise<KeyRing>>();
  const cacheKey = [...departedIds].sort().join();
  const ring =
    cachedRings.get(cacheKey) ??
    (trust === undefined
      ? Promise.resolve({
          validKeys: new Map(),
          keys: log.addedKeys.map((key) => ({ ...key, validity: 'not_vouched' as const })),
        })
      : buildKeyRing(log, { ...trust, departedIds }));
  ringsByLog.set(log, cachedRings.set(cacheKey, ring));
  return ring;
}

async function loadKeys(context: SigningContext) {
  const { log } = await context.readRows();
  const { departedIds, unknownIds } = await findDepartedKeyOwners(context.directory, log.keys);
  return {
    ...log,
    log: log.keys,
    departedIds,
    unknownIds,
    ring: await getKeyRing(context, log.keys, departedIds),
  };
}

async function loadEffectiveRules(context: SigningContext) {
  const rows = await context.readRows();
  if (context.trust !== undefined) return computeEffectiveRules(context, context.trust, rows);
  const rules = buildRulesWithoutSigning(rows.policy, context.applySavedSettings(rows.savedSettings));
  return { rulesHash: '', status: undefined, ...rules };
}

async function computeEffectiveRules(
  { validCharters, applySavedSettings, environmentSettings }: SigningContext,
  trust: KeyTrust,
  { log, policy, savedSettings }: SigningRows,
) {
  const settings = applySavedSettings(savedSettings);
  const lastValidCharter = validCharters.get(log) ?? findLastValidCharter(log, trust);
  validCharters.set(log, lastValidCharter);
  const status = evaluateCharter(log, { policy, settings }, await lastValidCharter);
  const rulesHash = hashJson({ status, rows: buildCharter({ policy, settings }, undefined) });
  return { rulesHash, status, ...buildRulesWithSigning({ policy, settings }, environmentSettings, status) };
}

/** Facts loaded before the order's rows are locked for sending. */
interface SigningFacts {
  readonly order: Order;
  readonly trust: KeyTrust;
  readonly rules: Awaited<ReturnType<typeof loadEffectiveRules>>;
  readonly requirements: Requirements;
  readonly signedRequirements: readonly Requirement[];
  readonly people: PeopleFacts;
  /** Key owners who have left the workspace. */
  readonly departedIds: ReadonlySet<string>;
  readonly now: Date;
}

/** @returns undefined if Slack can't look up some people; the caller must try again soon */
async function loadSendingGuard(context: SigningContext, order: Order): Promise<SendingGuard | undefined> {
  const { trust, directory } = context;
  if (trust === undefined) {
    if (!needsSignatures(order.requirements)) return 'no_signatures';
    return { verify: async () => ({ kind: 'not_signed', differences: ['no_keys'] }) };
  }
  const [rules, { departedIds, unknownIds }] = await Promise.all([
    loadEffectiveRules(context),
    loadKeys(context),
  ]);
  const ruleSources = {
    loadSettings: async () => rules.settings,
    policy: { loadCurrentPolicy: async () => rules.policy },
  };
  const { requirements } = await loadCurrentEvaluation({ ...context, ...ruleSources }, order);
  const signedRequirements = requirements.list.filter(({ signed }) => signed);
  const approverIds = order.approvals.map(({ userId }) => userId);
  const now = context.now();
  const loadedPeople = await loadPeople({ directory, standIns: new Map() }, signedRequirements, approverIds);
  if (unknownIds.size > 0 || loadedPeople.unconfirmedIds.size > 0 || loadedPeople.unreadableGroups.length > 0)
    return undefined;
  const { people } = loadedPeople;
  const facts = { order, trust, rules, requirements, signedRequirements, people, departedIds, now };
  return { verify: (rows) => checkCanSend(context, facts, rows) };
}

/** Compares locked rows with the facts loaded earlier, and verifies the signatures. */
async function checkCanSend(
  context: SigningContext,
  { order, trust, rules, requirements, signedRequirements: list, people, departedIds, now }: SigningFacts,
  rows: SendingRows,
): Promise<SendingObstacle | undefined> {
  if (!hasSameRequest(rows.order, order)) return { kind: 'not_signed', differences: ['statement'] };
  const { rulesHash } = await computeEffectiveRules(context, trust, rows);
  if (rulesHash !== rules.rulesHash) return { kind: 'changed' };
  const ring = await getKeyRing(context, rows.log.keys, departedIds);
  if (requirements.outcome === 'refuse') return { kind: 'not_signed', differences: ['refused'] };
  if (list.length === 0) return undefined;
  const { approvals } = rows.order;
  const subject = buildSignedSubject(rows.order, getSignedVersion(rules.policy));
  const { validApprovals, differences } = await verifySignedApprovals(
    approvals,
    subject,
    ring,
    trust.verifier,
  );
  const { isApproved } = evaluateProgress(
    { ...requirements, list },
    {
      requesters: listRequesters(rows.order),
      approvedByIds: approvals.map(({ userId }) => userId),
      signers: listSigners(validApprovals),
      people,
      allowSelfApproval: rules.settings.allowSelfApproval,
      now,
    },
  );
  if (isApproved) return undefined;
  return { kind: 'not_signed', differences: differences.length > 0 ? differences : ['count'] };
}

/** Also finds the key owners whom Slack can't look up. */
async function findDepartedKeyOwners(directory: Directory, log: KeyLog) {
  const owners = removeDuplicates(listActiveKeys(log).map(({ owner }) => owner));
  const memberships = await Promise.all(
    owners.map(async (id) => [id, await directory.findMembership(id)] as const),
  );
  const filterByMembership = (expected: string): ReadonlySet<string> =>
    new Set(memberships.flatMap(([id, membership]) => (membership === expected ? [id] : [])));
  return { departedIds: filterByMembership('left'), unknownIds: filterByMembership('unknown') };
}

/** Returns the approvals with valid signatures, and what is wrong with the others. */
async function verifySignedApprovals<ConsentType extends Consent>(
  approvals: readonly ConsentType[],
  subject: SignedSubject,
  ring: KeyRing,
  verifier: Verifier,
): Promise<{
  readonly validApprovals: ReadonlySet<ConsentType>;
  readonly differences: readonly SignatureDifference[];
}> {
  const validApprovals = new Set<ConsentType>();
  const differences = new Set<SignatureDifference>();
  for (const approval of approvals) {
    const difference = await findSignatureDifference(approval, subject, ring, verifier);
    if (difference === undefined) validApprovals.add(approval);
    else differences.add(difference);
  }
  return { validApprovals, differences: [...differences] };
}

function listSigners(approvals: Iterable<Consent>): ReadonlySet<string> {
  return new Set([...approvals].map(({ userId }) => userId));
}
