import { isDemoContext } from '../accounts/account.ts';
import { DAY_MS, MINUTE_MS } from '../lib/duration.ts';
import type { Order, OrderItem } from '../orders/order.ts';
import type { DelegationLookup, ImpactCheck } from '../orders/ports.ts';
import { getOrderTask } from '../orders/tasks.ts';
import type { PreviousNameServers } from '../orders/undo.ts';
import { toAffectedName } from '../policy/subject.ts';
import type { DnsClient } from '../registry/dns/client.ts';
import type { NamesContext } from './context.ts';
import { type Dependents, findDependents } from './dependents.ts';
import { findPreviousNameServers, getCurrentNameServers } from './former-nameservers.ts';
import { collectRecentFacts, mergeObservation, type NameHistory } from './history.ts';
import {
  assessImpact,
  type Impact,
  type ImpactTask,
  isFullyChecked,
  listFindingKeys,
  MAX_CURRENT_FACT_AGE_MS,
  markStaleImpact,
  type YesNoUnknown,
} from './impact.ts';
import { getRequestedNameServers, toImpactTask } from './name-orders.ts';
import { checkNameservers, type NameserverCheck } from './nameserver-check.ts';
import type { OrderImpact } from './ports.ts';
import { createTimeoutSignal } from './time-limit.ts';

/** Older facts cause no warnings. Names are looked up daily. */
const MAX_WARNING_AGE_MS = 2 * DAY_MS;
/** For opening a form, which Slack limits to three seconds. */
const QUICK_TIMEOUT_MS = 1_200;
/** For an approval, which must be committed within two seconds. */
const APPROVAL_TIMEOUT_MS = 1_500;
/** Additional time to compare the new nameservers. */
const COMPARISON_TIMEOUT_MS = 300;
/** Maximum age of an impact on an approver's card. */
const MAX_CARD_AGE_MS = 10 * MINUTE_MS;
const THOROUGH_TIMEOUT_MS = 30_000;

interface ImpactQuery {
  readonly name: string;
  readonly task: ImpactTask;
  readonly newNameServers: readonly string[] | undefined;
}

export function createImpactService(context: NamesContext) {
  const { impacts, now } = context;
  const runningLookups = new Map<string, Promise<void>>();

  function startThoroughLookup(order: Order, query: ImpactQuery): void {
    if (runningLookups.has(order.id)) return;
    const lookup = saveThoroughImpact(context, order.id, query);
    runningLookups.set(
      order.id,
      lookup.finally(() => runningLookups.delete(order.id)),
    );
  }

  return {
    loadPreviousNameServers: (order: Order) => loadPreviousNameServers(context, order),
    checkDelegation: (order: Order, item: OrderItem) => checkDelegation(context, order, item),
    /**
     * Assesses the impact for the requester within two seconds. The first result is stored as the impact at
     * the request.
     * @returns undefined for tasks without risk
     */
    assessAtRequest: (order: Order) => assessAtRequest(context, order),
    /** For decisions without an order. */
    assessName: (name: string, task: ImpactTask) =>
      assessNow(context, { name, task, newNameServers: undefined }, context.quickDns, QUICK_TIMEOUT_MS),
    /** Uses only the results of earlier lookups. */
    assessStoredFacts: (name: string, task: ImpactTask) => assessStoredFacts(context, name, task),
    assessUsage: (names: readonly string[]) => assessUsage(context, names),
    /** Only for drafts, whose impact is at most a few minutes old. */
    findImpactAtRequest: async (order: Order) => (await impacts.findImpact(order.id))?.atRequest,

    /** @returns the stored impact; `none` if the task has no risk */
    async findLatestImpact(order: Order): Promise<Impact | 'unseen' | 'none'> {
      if (toImpactQuery(order) === undefined) return 'none';
      const stored = await impacts.findImpact(order.id);
      return stored === undefined ? 'unseen' : markStaleImpact(stored.latest, now());
    },

    /**
     * If the impact of a pending order is stale, starts a lookup that updates the card.
     * @returns `none` if the task has no risk
     */
    async loadForCard(order: Order): Promise<OrderImpact | 'unseen' | 'none'> {
      const query = toImpactQuery(order);
      if (query === undefined) return 'none';
      const stored = await impacts.findImpact(order.id);
      if (order.state === 'PENDING' && !isFresh(stored, now())) startThoroughLookup(order, query);
      return stored === undefined ? 'unseen' : { ...stored, latest: markStaleImpact(stored.latest, now()) };
    },

    /** Returns when an approval was last refused because of a new finding. */
    findLastWarningTime: async (order: Order) => (await impacts.findImpact(order.id))?.lastWarning?.seenAt,
    /** Records that the approver was notified, so that later clicks are accepted. */
    recordNotified: (orderId: string) => impacts.recordWarningNotified(orderId, now()),
    /** For an approval; takes less than two seconds. Stores new findings and shows them on the card. */
    assessAtApproval: (order: Order, clickedAt: Date) => assessAtApproval(context, order, clickedAt),
  };
}

async function assessNow(
  context: NamesContext,
  query: ImpactQuery,
  dns: DnsClient,
  timeoutMs: number,
): Promise<Impact> {
  return (await assessWithHistory(context, query, dns, timeoutMs)).impact;
}

async function assessWithHistory(
  context: NamesContext,
  { name, task, newNameServers }: ImpactQuery,
  dns: DnsClient,
  timeoutMs: number,
): Promise<{ readonly impact: Impact; readonly history: NameHistory }> {
  const lookup = context.lookUpNow(name, dns, timeoutMs);
  const currentFacts = lookup.then(({ facts }) => facts);
  const [observation, history, dependents, nameserverChecks] = await Promise.all([
    lookup,
    findHistory(context, name),
    loadDependents(context, name),
    newNameServers &&
      checkWithTimeout(context, timeoutMs + COMPARISON_TIMEOUT_MS, (signal) =>
        checkNameservers(dns, { name, currentFacts }, newNameServers, signal),
      ),
  ]);
  const { at: seenAt, facts } = observation;
  const earlierFacts = collectRecentFacts(history ?? {}, seenAt, MAX_WARNING_AGE_MS);
  return {
    impact: assessImpact({ task, seenAt, facts, earlierFacts, dependents, nameserverChecks }),
    history: mergeObservation(history ?? {}, observation).history,
  };
}

async function findHistory({ records }: NamesContext, name: string): Promise<NameHistory | undefined> {
  return (await records.find(name))?.history;
}

async function loadDependents({ records, log }: NamesContext, name: string): Promise<Dependents | undefined> {
  try {
    return findDependents(name, await records.findPossibleDependents(name));
  } catch (err) {
    log.warn({ err, name }, 'looking up names that depend on this name failed');
    return undefined;
  }
}

/** @returns undefined on timeout */
async function checkWithTimeout(
  { signal, log }: NamesContext,
  timeoutMs: number,
  check: (signal: AbortSignal) => Promise<readonly NameserverCheck[]>,
): Promise<readonly NameserverCheck[] | undefined> {
  const timeoutSignal = createTimeoutSignal(signal, timeoutMs);
  return check(timeoutSignal).catch((err: unknown) => {
    if (!timeoutSignal.aborted) log.warn({ err }, 'querying nameservers failed');
    return undefined;
  });
}

async function saveThoroughImpact(context: NamesContext, orderId: string, query: ImpactQuery): Promise<void> {
  try {
    await context.impacts.saveImpact(
      orderId,
      await assessNow(context, query, context.dns, THOROUGH_TIMEOUT_MS),
      'card',
    );
  } catch (err) {
    if (!context.signal.aborted)
      context.log.error({ err, orderId }, 'checking the impact of an order failed');
  }
}

function isFresh(stored: OrderImpact | undefined, now: Date): boolean {
  return stored?.isThorough === true && now.getTime() - stored.latest.seenAt.getTime() <= MAX_CARD_AGE_MS;
}

async function loadPreviousNameServers(context: NamesContext, order: Order): Promise<PreviousNameServers> {
  const [history, serversAtRequest] = await Promise.all([
    findHistory(context, order.items[0]?.name ?? ''),
    context.impacts.findNameServers(order.id),
  ]);
  return findPreviousNameServers(order, history, serversAtRequest);
}

async function checkDelegation(
  context: NamesContext,
  order: Order,
  { name }: OrderItem,
): Promise<DelegationLookup> {
  const hosts = getRequestedNameServers(order);
  // Demo names aren't in DNS.
  if (hosts === undefined || isDemoContext(order.account.context)) return { kind: 'unknown' };
  const checks = await checkWithTimeout(context, THOROUGH_TIMEOUT_MS, (signal) =>
    checkNameservers(context.dns, { name, currentFacts: {} }, hosts, signal),
  );
  return toDelegationLookup(checks);
}

async function assessAtRequest(context: NamesContext, order: Order): Promise<Impact | 'unseen' | undefined> {
  const query = toImpactQuery(order);
  if (query === undefined) return undefined;
  try {
    const { impact, history } = await assessWithHistory(context, query, context.quickDns, QUICK_TIMEOUT_MS);
    await context.impacts.saveImpact(order.id, impact, 'request');
    const currentNameServers = order.task === 'nameservers' ? getCurrentNameServers(history) : undefined;
    if (currentNameServers !== undefined) await context.impacts.saveNameServers(order.id, currentNameServers);
    return impact;
  } catch (err) {
    context.log.error({ err, orderId: order.id }, 'checking the impact on a name failed');
    return 'unseen';
  }
}

async function assessStoredFacts(context: NamesContext, name: string, task: ImpactTask): Promise<Impact> {
  const [history = {}, dependents] = await Promise.all([
    findHistory(context, name),
    loadDependents(context, name),
  ]);
  return assessImpact({ task, dependents, ...collectStoredFacts(history, context.now()) });
}

async function assessUsage(
  { records, now }: NamesContext,
  names: readonly string[],
): Promise<ReadonlyMap<string, YesNoUnknown>> {
  const noDependents = findDependents('', []);
  return new Map(
    (await records.findMany(names)).map(({ name, history }) => [
      name,
      assessImpact({ task: 'delete', dependents: noDependents, ...collectStoredFacts(history, now()) })
        .isInUse,
    ]),
  );
}

/** Stale facts still cause warnings, but they never count as proof that a name is unused. */
function collectStoredFacts(history: NameHistory, seenAt: Date) {
  return {
    seenAt,
    facts: collectRecentFacts(history, seenAt, MAX_CURRENT_FACT_AGE_MS),
    earlierFacts: collectRecentFacts(history, seenAt, MAX_WARNING_AGE_MS),
  };
}

async function assessAtApproval(context: NamesContext, order: Order, clickedAt: Date): Promise<ImpactCheck> {
  const { impacts } = context;
  if (toImpactTask(order.task) === undefined) return 'none';
  const query = toImpactQuery(order);
  // A bulk order has too many names to look up.
  if (query === undefined) return 'unknown';
  const stored = await impacts.findImpact(order.id);
  const isClickBeforeNotice = stored?.warningNotifiedAt === undefined || stored.warningNotifiedAt > clickedAt;
  if (stored?.lastWarning !== undefined && isClickBeforeNotice) return 'changed';
  const impact = await assessNow(context, query, context.quickDns, APPROVAL_TIMEOUT_MS);
  if (hasNewFindings(stored, impact)) {
    await impacts.saveWarning(order.id, impact);
    return 'changed';
  }
  return isFullyChecked(impact) ? 'known' : 'unknown';
}

/**
 * Whether there is a finding that approvers weren't notified of. A finding on the card doesn't count as a
 * notification, because it may have appeared just before the click.
 */
function hasNewFindings(stored: OrderImpact | undefined, impact: Impact): boolean {
  // Without an earlier lookup, there is nothing to compare with.
  if (stored === undefined) return !isFullyChecked(impact);
  const knownFindings = new Set([...listFindingKeys(stored.atRequest), ...stored.warnedFindings]);
  return listFindingKeys(impact).some((finding) => !knownFindings.has(finding));
}

function toDelegationLookup(checks: readonly NameserverCheck[] | undefined): DelegationLookup {
  if (checks === undefined || checks.length === 0) return { kind: 'unknown' };
  const hosts = checks
    .filter(({ state }) => state !== 'authoritative' && state !== 'unseen')
    .map(({ host }) => host);
  if (hosts.length > 0) return { kind: 'not_answering', hosts };
  return checks.some(({ state }) => state === 'unseen') ? { kind: 'unknown' } : { kind: 'answering' };
}

function toImpactQuery(order: Order): ImpactQuery | undefined {
  const task = toImpactTask(order.task);
  const [item, ...others] = order.items;
  if (task === undefined || item === undefined || others.length > 0 || order.bulk !== undefined)
    return undefined;
  const [name] = toAffectedName(item.name, getOrderTask(order.task).nameKind).hosts;
  return name === undefined ? undefined : { name, task, newNameServers: getRequestedNameServers(order) };
}
