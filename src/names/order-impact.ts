import { isDemoContext } from '../accounts/account.ts';
import { DAY_MS, MINUTE_MS } from '../lib/duration.ts';
import type { Order, OrderItem } from '../orders/order.ts';
import type { DelegationLookup, ImpactCheck } from '../orders/ports.ts';
import { findTask } from '../orders/tasks.ts';
import type { PreviousNameServers } from '../orders/undo.ts';
import { subjectOf } from '../policy/subject.ts';
import type { DnsClient } from '../registry/dns/client.ts';
import type { NamesContext } from './context.ts';
import { type Dependents, findDependents } from './dependents.ts';
import { currentNameServers, formerNameServers } from './former-nameservers.ts';
import { mergeObservation, type NameHistory, sightedFacts } from './history.ts';
import {
  assessImpact,
  type Certainty,
  findingsOf,
  type Impact,
  type ImpactTask,
  impactAt,
  KNOWN_FOR_MS,
  sawEverything,
} from './impact.ts';
import { requestedNameServers, toImpactTask } from './name-orders.ts';
import { checkNameservers, type NameserverCheck } from './nameserver-check.ts';
import type { OrderImpact } from './ports.ts';
import { timeLimit } from './time-limit.ts';

/** Names are looked up daily; older facts cause no warnings. */
const MAX_AGE_MS = 2 * DAY_MS;
/** Before a form opens; Slack's limit is three seconds. */
const QUICK_MS = 1_200;
/** At an approval, which commits within two seconds. */
const APPROVAL_MS = 1_500;
/** Extra time to compare new nameservers. */
const COMPARING_MS = 300;
/** Maximum age on an approver's card. */
const FRESH_MS = 10 * MINUTE_MS;
const THOROUGH_MS = 30_000;

interface Question {
  readonly name: string;
  readonly task: ImpactTask;
  readonly newNameServers: readonly string[] | undefined;
}

export function createImpacts(context: NamesContext) {
  const { impacts, now } = context;
  const underWay = new Map<string, Promise<void>>();

  function lookUpThoroughly(order: Order, question: Question): void {
    if (underWay.has(order.id)) return;
    const lookup = saveThoroughImpact(context, order.id, question);
    underWay.set(
      order.id,
      lookup.finally(() => underWay.delete(order.id)),
    );
  }

  return {
    former: (order: Order) => former(context, order),
    delegation: (order: Order, item: OrderItem) => delegation(context, order, item),
    /**
     * Lookup results within two seconds, for the requester. The first result is stored as the impact at the request.
     * Undefined for tasks without risk.
     */
    assessAtRequest: (order: Order) => assessAtRequest(context, order),
    /** For decisions without an order. */
    ofName: (name: string, task: ImpactTask) =>
      find(context, { name, task, newNameServers: undefined }, context.quickDns, QUICK_MS),
    /** From earlier lookups, without new ones. */
    stored: (name: string, task: ImpactTask) => stored(context, name, task),
    /** From earlier lookups. */
    inUse: (names: readonly string[]) => inUse(context, names),
    /** For a draft, at most a few minutes old. */
    asked: async (order: Order) => (await impacts.assessImpact(order.id))?.asked,

    /** The stored impact; `none`: no risk. */
    async found(order: Order): Promise<Impact | 'unseen' | 'none'> {
      if (impactQuestion(order) === undefined) return 'none';
      const found = await impacts.assessImpact(order.id);
      return found === undefined ? 'unseen' : impactAt(found.latest, now());
    },

    /**
     * For a card. A stale impact of a pending order starts a lookup, which updates the card.
     * @returns `none`: no risk
     */
    async forCard(order: Order): Promise<OrderImpact | 'unseen' | 'none'> {
      const question = impactQuestion(order);
      if (question === undefined) return 'none';
      const found = await impacts.assessImpact(order.id);
      if (order.state === 'PENDING' && !isFresh(found, now())) lookUpThoroughly(order, question);
      return found === undefined ? 'unseen' : { ...found, latest: impactAt(found.latest, now()) };
    },

    /** When a click was last refused for a new finding. */
    warnedAt: async (order: Order) => (await impacts.assessImpact(order.id))?.warned?.seenAt,
    /** The person was notified, so later clicks are accepted. */
    recordNotified: (orderId: string) => impacts.recordWarningNotified(orderId, now()),
    /** At an approval, under two seconds. New findings are stored and shown on the card. */
    assessAtApproval: (order: Order, clickedAt: Date) => assessAtApproval(context, order, clickedAt),
  };
}

async function find(context: NamesContext, question: Question, dns: DnsClient, ms: number): Promise<Impact> {
  return (await findWithHistory(context, question, dns, ms)).impact;
}

async function findWithHistory(
  context: NamesContext,
  { name, task, newNameServers }: Question,
  dns: DnsClient,
  ms: number,
): Promise<{ readonly impact: Impact; readonly history: NameHistory }> {
  const pending = context.lookUpNow(name, dns, ms);
  const current = pending.then(({ facts }) => facts);
  const [lookup, known, dependents, checks] = await Promise.all([
    pending,
    watchedHistory(context, name),
    loadDependents(context, name),
    newNameServers &&
      within(context, ms + COMPARING_MS, (signal) =>
        checkNameservers(dns, { name, current }, newNameServers, signal),
      ),
  ]);
  const { at: seenAt, facts } = lookup;
  const earlier = sightedFacts(known ?? {}, seenAt, MAX_AGE_MS);
  return {
    impact: assessImpact({ task, seenAt, facts, earlier, dependents, checks }),
    history: mergeObservation(known ?? {}, lookup).history,
  };
}

async function watchedHistory({ records }: NamesContext, name: string): Promise<NameHistory | undefined> {
  return (await records.find(name))?.history;
}

async function loadDependents({ records, log }: NamesContext, name: string): Promise<Dependents | undefined> {
  try {
    return findDependents(name, await records.mentioning(name));
  } catch (err) {
    log.warn({ err, name }, 'looking for names that depend on another one');
    return undefined;
  }
}

/** @returns undefined when it takes longer */
async function within(
  { signal, log }: NamesContext,
  ms: number,
  lookUp: (signal: AbortSignal) => Promise<readonly NameserverCheck[]>,
): Promise<readonly NameserverCheck[] | undefined> {
  const limit = timeLimit(signal, ms);
  return lookUp(limit).catch((err: unknown) => {
    if (!limit.aborted) log.warn({ err }, 'asking nameservers about a name');
    return undefined;
  });
}

async function saveThoroughImpact(context: NamesContext, orderId: string, question: Question): Promise<void> {
  try {
    await context.impacts.saveImpact(
      orderId,
      await find(context, question, context.dns, THOROUGH_MS),
      'card',
    );
  } catch (err) {
    if (!context.signal.aborted) context.log.error({ err, orderId }, 'checking the impact of an order');
  }
}

function isFresh(found: OrderImpact | undefined, now: Date): boolean {
  return found?.isThorough === true && now.getTime() - found.latest.seenAt.getTime() <= FRESH_MS;
}

async function former(context: NamesContext, order: Order): Promise<PreviousNameServers> {
  const [history, atRequest] = await Promise.all([
    watchedHistory(context, order.items[0]?.name ?? ''),
    context.impacts.nameServersOf(order.id),
  ]);
  return formerNameServers(order, history, atRequest);
}

async function delegation(
  context: NamesContext,
  order: Order,
  { name }: OrderItem,
): Promise<DelegationLookup> {
  const hosts = requestedNameServers(order);
  // Demo names aren't in DNS.
  if (hosts === undefined || isDemoContext(order.account.context)) return { kind: 'unknown' };
  const checks = await within(context, THOROUGH_MS, (signal) =>
    checkNameservers(context.dns, { name, current: {} }, hosts, signal),
  );
  return lookUpDelegation(checks);
}

async function assessAtRequest(context: NamesContext, order: Order): Promise<Impact | 'unseen' | undefined> {
  const question = impactQuestion(order);
  if (question === undefined) return undefined;
  try {
    const { impact, history } = await findWithHistory(context, question, context.quickDns, QUICK_MS);
    await context.impacts.saveImpact(order.id, impact, 'asking');
    const before = order.task === 'nameservers' ? currentNameServers(history) : undefined;
    if (before !== undefined) await context.impacts.saveNameServers(order.id, before);
    return impact;
  } catch (err) {
    context.log.error({ err, orderId: order.id }, 'checking the impact on a name');
    return 'unseen';
  }
}

async function stored(context: NamesContext, name: string, task: ImpactTask): Promise<Impact> {
  const [history = {}, dependents] = await Promise.all([
    watchedHistory(context, name),
    loadDependents(context, name),
  ]);
  return assessImpact({ task, dependents, ...seenBefore(history, context.now()) });
}

async function inUse(
  { records, now }: NamesContext,
  names: readonly string[],
): Promise<ReadonlyMap<string, Certainty>> {
  const [observed, dependents] = [await records.findMany(names), findDependents('', [])];
  return new Map(
    observed.map(({ name, history }) => [
      name,
      assessImpact({ task: 'delete', dependents, ...seenBefore(history, now()) }).isInUse,
    ]),
  );
}

/** Stale facts cause warnings, but never show a name as unused. */
function seenBefore(history: NameHistory, seenAt: Date) {
  return {
    seenAt,
    facts: sightedFacts(history, seenAt, KNOWN_FOR_MS),
    earlier: sightedFacts(history, seenAt, MAX_AGE_MS),
  };
}

async function assessAtApproval(context: NamesContext, order: Order, clickedAt: Date): Promise<ImpactCheck> {
  const { impacts } = context;
  if (toImpactTask(order.task) === undefined) return 'none';
  const question = impactQuestion(order);
  // A file has too many names to look up.
  if (question === undefined) return 'unknown';
  const kept = await impacts.assessImpact(order.id);
  const wasNotifiedLater = kept?.warnedToldAt === undefined || kept.warnedToldAt > clickedAt;
  if (kept?.warned !== undefined && wasNotifiedLater) return 'changed';
  const impact = await find(context, question, context.quickDns, APPROVAL_MS);
  if (hasNewFindings(kept, impact)) {
    await impacts.saveWarning(order.id, impact);
    return 'changed';
  }
  return sawEverything(impact) ? 'known' : 'unknown';
}

/** A finding without a notification. The card alone isn't enough: it may have appeared just before the click. */
function hasNewFindings(kept: OrderImpact | undefined, impact: Impact): boolean {
  // Nothing to compare before the first lookup.
  if (kept === undefined) return !sawEverything(impact);
  const known = new Set([...findingsOf(kept.asked), ...kept.warnedOf]);
  return findingsOf(impact).some((finding) => !known.has(finding));
}

function lookUpDelegation(checks: readonly NameserverCheck[] | undefined): DelegationLookup {
  if (checks === undefined || checks.length === 0) return { kind: 'unknown' };
  const hosts = checks
    .filter(({ state }) => state !== 'authoritative' && state !== 'unseen')
    .map(({ host }) => host);
  if (hosts.length > 0) return { kind: 'not_answering', hosts };
  return checks.some(({ state }) => state === 'unseen') ? { kind: 'unknown' } : { kind: 'answering' };
}

function impactQuestion(order: Order): Question | undefined {
  const task = toImpactTask(order.task);
  const [item, ...others] = order.items;
  if (task === undefined || item === undefined || others.length > 0 || order.bulk !== undefined)
    return undefined;
  const [name] = subjectOf(item.name, findTask(order.task).nameKind).hosts;
  return name === undefined ? undefined : { name, task, newNameServers: requestedNameServers(order) };
}
