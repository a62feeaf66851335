import { DAY_MS, HOUR_MS } from '../../src/lib/duration.ts';
import {
  ANNOUNCEMENT_PERIOD_MS,
  decideRenewal,
  decideSend,
  findSendHoldReason,
  isRenewalDue,
  isSameRegistrationPeriod,
  needsRegularOrder,
  type RenewalFacts,
  type UsedAmounts,
} from '../../src/mandates/acting.ts';
import type { HoldReason } from '../../src/mandates/codes.ts';
import { findApplicableMandate, type Mandate, readMandate } from '../../src/mandates/mandate.ts';
import { computeMandateEnd, type MandateTerms } from '../../src/mandates/terms.ts';
import { getPeriod } from '../../src/money/budget.ts';
import { getUtcDay } from '../../src/zones/calendar-day.ts';
import { newOrder } from '../orders/sample.ts';

/*
 * Simulates a team's year with mandates: the bot's database, the service, the registry, and failures. Only
 * the decisions are the product's own code.
 */

const STEP_MS = 12 * HOUR_MS;
const YEAR_MS = 365 * DAY_MS;
const START = Date.parse('2026-01-01T00:00:00Z');

export type Random = () => number;

interface SimulatedName {
  readonly name: string;
  /** The actual expiry date, and when it last changed. */
  actualExpiry: number;
  changedAt: number;
  tags: readonly string[];
  price: number | undefined;
  hasOwnerLeft: boolean;
  hasIncident: boolean;
  needsMoreApprovals: boolean;
}

type OrderState = 'APPROVED' | 'SENT' | 'SUCCEEDED' | 'FAILED' | 'UNKNOWN' | 'STOPPED' | 'ENDED' | 'HELD';

interface ModelOrder {
  readonly id: number;
  readonly mandateId: string;
  readonly name: string;
  readonly plannedExpiry: number;
  readonly createdAt: number;
  sendAfter: number;
  day: string;
  minor: number;
  announcedAt: number | undefined;
  state: OrderState;
}

interface Act {
  readonly name: string;
  readonly end: number;
  holdReason: HoldReason | undefined;
  orderId: number | undefined;
}

/** The content of the bot's database: a backup is a copy of it. */
interface Database {
  known: Record<string, { end: number; isCertain: boolean; lastLookupAt: number }>;
  orders: ModelOrder[];
  acts: Act[];
  ended: Record<string, boolean>;
}

/** One request that the service has carried out. */
interface Charge {
  readonly mandateId: string;
  readonly orderId: number;
  readonly name: string;
  readonly minor: number;
  readonly day: string;
  readonly at: number;
  readonly end: number;
  readonly announcedAt: number | undefined;
  /** When the name's previous expiry date was set. */
  readonly changedAt: number;
}

export interface SimulatedYear {
  readonly charges: readonly Charge[];
  readonly terms: ReadonlyMap<string, MandateTerms>;
  /** When a person stopped an order, by order id. */
  readonly stoppedAt: ReadonlyMap<number, number>;
  readonly unreported: readonly string[];
  /** Covered names that expired without a timely message. */
  readonly lapsed: readonly string[];
  /** Outcomes for covered names that were due: renewed, or why not. */
  readonly outcomes: readonly (OrderState | HoldReason | 'RENEWED')[];
  readonly holdReasons: readonly HoldReason[];
}

export function simulateYear(random: Random): SimulatedYear {
  const chance = (share: number) => random() < share;
  const pickBetween = (least: number, most: number) => least + Math.floor(random() * (most - least + 1));
  const names: SimulatedName[] = Array.from({ length: pickBetween(2, 7) }, (_, index) => ({
    name: `name-${index}.rest`,
    actualExpiry: START + pickBetween(5, 360) * DAY_MS + pickBetween(0, 23) * HOUR_MS,
    changedAt: 0,
    tags: chance(0.5) ? ['brand'] : [],
    price: chance(0.1) ? undefined : pickBetween(5, 40) * 100,
    hasOwnerLeft: false,
    hasIncident: false,
    needsMoreApprovals: false,
  }));
  const terms = new Map<string, MandateTerms>();
  const mandates = new Map<string, Mandate>();
  const addMandate = (now: number) => {
    const id = `mandate-${mandates.size}`;
    const newTerms: MandateTerms = {
      mandate_names: [chance(0.5) ? '*.rest' : chance(0.5) ? 'tag:brand' : 'name-0.rest'],
      max_price: { currency: 'EUR', minor: pickBetween(20, 50) * 100 },
      max_total: { currency: 'EUR', minor: pickBetween(25, 90) * 100 },
      span: chance(0.5) ? 'month' : 'year',
      until: getUtcDay(new Date(now + pickBetween(120, 400) * DAY_MS)),
      notice: pickBetween(3, 30),
    };
    const order = newOrder(newTerms.mandate_names, {
      id,
      task: 'mandate',
      state: 'SUCCEEDED',
      input: newTerms,
      closedAt: new Date(now),
      expiresAt: computeMandateEnd(newTerms),
    });
    const mandate = readMandate(order);
    if (mandate === undefined) throw new Error('the model built an invalid mandate');
    terms.set(id, newTerms);
    mandates.set(id, mandate);
  };
  addMandate(START);
  if (chance(0.4)) addMandate(START + 1);

  let db: Database = { known: {}, orders: [], acts: [], ended: {} };
  for (const { name, actualExpiry } of names)
    db.known[name] = { end: actualExpiry, isCertain: true, lastLookupAt: START };
  let backup: { readonly at: number; readonly db: Database } = { at: START, db: structuredClone(db) };
  const charges: Charge[] = [];
  const stoppedAt = new Map<number, number>();
  const unreported: string[] = [];
  const lapsed: string[] = [];
  const outcomes: SimulatedYear['outcomes'][number][] = [];
  const holdReasons: HoldReason[] = [];
  /** The keys of names and expiry dates that a mandate covered while they were due. */
  const dueKeys = new Set<string>();
  let lastOrderId = 0;
  let clockOffset = 0;
  let slackBackAt = 0;
  let registryBackAt = 0;
  let botBackAt = 0;
  let lastRunAt = START;

  const listActiveMandates = () => [...mandates.values()].filter(({ id }) => db.ended[id] !== true);
  const collectUsedAmounts = (mandateId: string, ignoredOrderId?: number): UsedAmounts => {
    const countedOrders = db.orders.filter(
      ({ id, state }) =>
        id !== ignoredOrderId && ['APPROVED', 'SENT', 'SUCCEEDED', 'UNKNOWN'].includes(state),
    );
    return {
      amountsByDay: countedOrders
        .filter((order) => order.mandateId === mandateId)
        .map(({ day, minor }) => ({ day, minor: BigInt(minor) })),
      countOrdersOn: (day) => countedOrders.filter((order) => order.day === day).length,
    };
  };
  const getKnown = (name: string) => db.known[name] ?? { end: 0, isCertain: false, lastLookupAt: 0 };
  const getExpiry = (name: string) => {
    const expiresAt = new Date(getKnown(name).end);
    return { name, expiresAt, renewableUntil: expiresAt };
  };
  const collectFacts = ({ name, price, ...each }: SimulatedName): RenewalFacts => ({
    expiry: getExpiry(name),
    isDateCertain: getKnown(name).isCertain,
    hasOwnerLeft: each.hasOwnerLeft,
    hasOpenIncident: each.hasIncident,
    isAccountLinked: true,
    isInOtherAccount: false,
    hasUnknownRenewal: db.orders.some((order) => order.name === name && order.state === 'UNKNOWN'),
    policy: each.needsMoreApprovals ? 'needs_more_approvals' : 'satisfied',
    amount: price === undefined ? undefined : { currency: 'EUR', minor: price },
  });
  const recordHold = (act: Act, code: HoldReason) => {
    act.holdReason = code;
    holdReasons.push(code);
  };

  const runMandates = (now: Date) => {
    for (const name of names) {
      const end = getKnown(name.name).end;
      const hasAct = db.acts.some((act) => {
        const order = db.orders.find(({ id }) => id === act.orderId);
        return (
          act.name === name.name &&
          isSameRegistrationPeriod(new Date(act.end), new Date(end)) &&
          order?.state !== 'ENDED'
        );
      });
      if (hasAct || end <= now.getTime()) continue;
      const mandate = findApplicableMandate(listActiveMandates(), name.name, name.tags, now);
      if (mandate === undefined || !isRenewalDue(mandate, getExpiry(name.name), now)) continue;
      const plan = decideRenewal(mandate, collectFacts(name), collectUsedAmounts(mandate.id), now);
      if (plan === 'mandate_ended') continue;
      const act: Act = { name: name.name, end, holdReason: undefined, orderId: undefined };
      db.acts.push(act);
      if (typeof plan === 'string') {
        recordHold(act, plan);
        continue;
      }
      lastOrderId += 1;
      act.orderId = lastOrderId;
      db.orders.push({
        id: lastOrderId,
        mandateId: mandate.id,
        name: name.name,
        plannedExpiry: end,
        createdAt: now.getTime(),
        sendAfter: plan.sendAfter.getTime(),
        day: plan.day,
        minor: plan.amount.minor,
        announcedAt: undefined,
        state: 'APPROVED',
      });
    }
  };

  const executeAtService = (order: ModelOrder, name: SimulatedName, now: number) => {
    const isAccepted = chance(0.85);
    const isLost = chance(0.08);
    if (isAccepted) {
      if (dueKeys.has(getKey(name))) outcomes.push('RENEWED');
      charges.push({
        mandateId: order.mandateId,
        orderId: order.id,
        name: order.name,
        minor: order.minor,
        day: order.day,
        at: now,
        end: name.actualExpiry,
        announcedAt: order.announcedAt,
        changedAt: name.changedAt + clockOffset,
      });
      name.actualExpiry += YEAR_MS;
      name.changedAt = now - clockOffset;
    }
    // The process is killed, or the response is lost.
    if (isLost) order.state = 'UNKNOWN';
    else if (isAccepted) {
      order.state = 'SUCCEEDED';
      const known = getKnown(order.name);
      db.known[order.name] = { ...known, end: known.end + YEAR_MS, isCertain: false };
    } else order.state = 'FAILED';
  };

  const sendDueOrders = (now: Date) => {
    for (const order of db.orders) {
      if (order.state !== 'APPROVED' || order.sendAfter > now.getTime()) continue;
      const name = names.find((each) => each.name === order.name);
      const act = db.acts.find(({ orderId }) => orderId === order.id);
      if (name === undefined || act === undefined) throw new Error('the model’s order has no name or act');
      const { amount, ...facts } = collectFacts(name);
      const sendFacts = {
        mandate: listActiveMandates().find(({ id }) => id === order.mandateId),
        isMandateUnchanged: true,
        name: order.name,
        affectedTags: name.tags,
        plannedExpiry: new Date(order.plannedExpiry),
        expiresAt: new Date(getKnown(order.name).end),
        isLapsing: false,
        announcedAt: order.announcedAt === undefined ? undefined : new Date(order.announcedAt),
        amount,
        usedAmounts: collectUsedAmounts(order.mandateId, order.id),
      };
      const decision = decideSend(
        {
          ...facts,
          ...sendFacts,
          fitsBudgets: !chance(0.02),
          createdAt: new Date(order.createdAt),
          lastLookupAt: new Date(getKnown(order.name).lastLookupAt),
        },
        now,
      );
      if (decision.kind === 'later') order.sendAfter = decision.until.getTime();
      if (decision.kind === 'held') {
        order.state = decision.code === 'mandate_ended' ? 'ENDED' : 'HELD';
        if (decision.code !== 'mandate_ended') recordHold(act, decision.code);
      }
      // A person clicks Stop after the check. The commit of `sentAt` fails because the order has changed.
      if (decision.kind === 'clear' && chance(0.05)) {
        order.state = 'STOPPED';
        stoppedAt.set(order.id, now.getTime());
      }
      if (decision.kind !== 'clear' || order.state !== 'APPROVED') continue;
      if (findSendHoldReason(sendFacts, now) !== undefined) continue;
      order.state = 'SENT';
      order.day = getUtcDay(now);
      order.minor = amount?.minor ?? 0;
      executeAtService(order, name, now.getTime());
    }
  };

  const getKey = ({ name, actualExpiry }: SimulatedName) => `${name} ${actualExpiry}`;
  /** Records the names that a mandate must act for: covered, due, and with a known expiry date. */
  const recordDueNames = (now: Date) => {
    for (const name of names) {
      if (Math.abs(getKnown(name.name).end - name.actualExpiry) > HOUR_MS) continue;
      const mandate = findApplicableMandate(listActiveMandates(), name.name, name.tags, now);
      if (mandate === undefined || !isRenewalDue(mandate, getExpiry(name.name), now)) continue;
      if (decideRenewal(mandate, collectFacts(name), collectUsedAmounts(mandate.id), now) === 'mandate_ended')
        continue;
      dueKeys.add(getKey(name));
    }
  };
  const findOrder = (name: SimulatedName) =>
    db.orders.findLast(
      (order) =>
        order.name === name.name &&
        isSameRegistrationPeriod(new Date(order.plannedExpiry), new Date(name.actualExpiry)),
    );
  /** Finds the outcome for a name that expires. Undefined if people weren't notified. */
  const findOutcome = (name: SimulatedName): SimulatedYear['outcomes'][number] | undefined => {
    const acts = db.acts.filter(
      (act) =>
        act.name === name.name && isSameRegistrationPeriod(new Date(act.end), new Date(name.actualExpiry)),
    );
    const notifiedAct = acts.find(
      ({ holdReason: code }) => code !== undefined && (needsRegularOrder(code) || code === 'earlier_unknown'),
    );
    if (notifiedAct?.holdReason !== undefined) return notifiedAct.holdReason;
    const order = findOrder(name);
    // The order's card shows these states; for an ended mandate, its message does.
    return order !== undefined && ['STOPPED', 'FAILED', 'UNKNOWN', 'ENDED'].includes(order.state)
      ? order.state
      : undefined;
  };
  /** Records the outcomes of names that expire before the next step. */
  const recordOutcomes = (realTime: number) => {
    for (const name of names) {
      if (
        name.actualExpiry > realTime + STEP_MS ||
        name.actualExpiry <= realTime ||
        !dueKeys.has(getKey(name))
      )
        continue;
      const { actualExpiry } = name;
      // Send orders that become due before the name expires.
      for (
        let order = findOrder(name);
        order?.state === 'APPROVED' && order.sendAfter < actualExpiry;
        order = findOrder(name)
      )
        sendDueOrders(new Date(order.sendAfter));
      if (name.actualExpiry !== actualExpiry) continue;
      const isCovered =
        findApplicableMandate(listActiveMandates(), name.name, name.tags, new Date(realTime)) !== undefined;
      // Restoring the database ends its mandates, and people are notified.
      const outcome = findOutcome(name) ?? (isCovered ? undefined : 'ENDED');
      if (outcome === undefined) lapsed.push(`${name.name} at ${new Date(name.actualExpiry).toISOString()}`);
      else outcomes.push(outcome);
    }
  };

  const restore = (now: number) => {
    const { at } = backup;
    db = structuredClone(backup.db);
    for (const order of db.orders)
      if (order.state === 'APPROVED' && order.sendAfter <= now) order.state = 'UNKNOWN';
      else if (order.state === 'SENT') order.state = 'UNKNOWN';
    if (now - at >= ANNOUNCEMENT_PERIOD_MS) for (const id of mandates.keys()) db.ended[id] = true;
  };

  for (let realTime = START; realTime < START + YEAR_MS; realTime += STEP_MS) {
    if (chance(0.01)) slackBackAt = realTime + pickBetween(1, 6) * DAY_MS;
    if (chance(0.01)) registryBackAt = realTime + pickBetween(1, 6) * DAY_MS;
    if (chance(0.002)) botBackAt = realTime + pickBetween(0, 2) * DAY_MS;
    if (chance(0.003)) clockOffset = chance(0.6) ? 0 : pickBetween(-3, 3) * DAY_MS;
    if (chance(0.004) && mandates.size < 6) addMandate(realTime + clockOffset);
    if (chance(0.0006)) db.ended[`mandate-${pickBetween(0, mandates.size - 1)}`] = true;
    const pickedName = names[pickBetween(0, names.length - 1)];
    if (pickedName !== undefined && chance(0.02))
      pickedName.price = chance(0.1) ? undefined : pickBetween(5, 45) * 100;
    if (pickedName !== undefined && chance(0.01)) pickedName.tags = chance(0.5) ? [] : ['brand'];
    if (pickedName !== undefined && chance(0.004)) pickedName.hasOwnerLeft = chance(0.2);
    if (pickedName !== undefined && chance(0.004)) pickedName.hasIncident = chance(0.2);
    if (pickedName !== undefined && chance(0.0005)) pickedName.needsMoreApprovals = true;
    // A person renews a name without the bot.
    if (pickedName !== undefined && chance(0.001)) {
      pickedName.actualExpiry += YEAR_MS;
      pickedName.changedAt = realTime;
    }
    const now = new Date(realTime + clockOffset);
    if (realTime < botBackAt) continue;
    // After a long outage, the bot can't know whether its database was restored from a backup.
    if (realTime - lastRunAt > STEP_MS) {
      backup = { at: lastRunAt + clockOffset, db: structuredClone(db) };
      restore(now.getTime());
    }
    if (chance(0.001)) restore(now.getTime());
    if (chance(0.15)) backup = { at: now.getTime(), db: structuredClone(db) };
    lastRunAt = realTime;
    if (realTime >= registryBackAt)
      for (const { name, actualExpiry, changedAt } of names)
        if (realTime - changedAt >= DAY_MS)
          db.known[name] = { end: actualExpiry, isCertain: true, lastLookupAt: now.getTime() };
    recordDueNames(now);
    runMandates(now);
    if (realTime >= slackBackAt)
      for (const order of db.orders) if (order.state === 'APPROVED') order.announcedAt ??= now.getTime();
    for (const order of db.orders)
      if (order.state === 'APPROVED' && order.announcedAt !== undefined && chance(0.02)) {
        order.state = 'STOPPED';
        stoppedAt.set(order.id, now.getTime());
      }
    sendDueOrders(now);
    // While the clock is off by days, no message can be timely.
    if (clockOffset === 0) recordOutcomes(realTime);
  }

  // Nobody was notified of these orders and acts.
  const endTime = START + YEAR_MS + Math.min(0, clockOffset);
  for (const order of db.orders)
    if (order.state === 'APPROVED' && order.plannedExpiry + DAY_MS < endTime - 6 * DAY_MS)
      unreported.push(order.name);
  for (const act of db.acts)
    if (
      act.holdReason !== undefined &&
      !needsRegularOrder(act.holdReason) &&
      act.holdReason !== 'earlier_unknown' &&
      act.holdReason !== 'renewed_meanwhile'
    )
      unreported.push(act.name);
  return { charges, terms, stoppedAt, unreported, lapsed, outcomes, holdReasons };
}

/** Lists where a year's charges exceeded the limits of their mandates. */
export function listLimitViolations({ charges, terms }: SimulatedYear): string[] {
  const sums = new Map<string, number>();
  const violations: string[] = [];
  for (const { mandateId, minor, day } of charges) {
    const mandateTerms = terms.get(mandateId);
    if (mandateTerms === undefined) continue;
    if (minor > mandateTerms.max_price.minor) violations.push(`${mandateId}: a price of ${minor}`);
    const key = `${mandateId} ${getPeriod(mandateTerms.span, day)}`;
    const sum = (sums.get(key) ?? 0) + minor;
    sums.set(key, sum);
    if (sum > mandateTerms.max_total.minor)
      violations.push(`${key}: ${sum} of ${mandateTerms.max_total.minor}`);
  }
  return violations;
}
