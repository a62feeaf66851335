import { DAY_MS, HOUR_MS } from '../../src/lib/duration.ts';
import {
  ANNOUNCEMENT_MS,
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

interface Name {
  readonly name: string;
  /** The real end of its registration, and since when. */
  trueEnd: number;
  changedAt: number;
  tags: readonly string[];
  price: number | undefined;
  hasOwnerLeft: boolean;
  hasIncident: boolean;
  asksMore: boolean;
}

type State = 'APPROVED' | 'SENT' | 'SUCCEEDED' | 'FAILED' | 'UNKNOWN' | 'STOPPED' | 'ENDED' | 'HELD';

interface ModelOrder {
  readonly id: number;
  readonly mandateId: string;
  readonly name: string;
  readonly actedFor: number;
  readonly madeAt: number;
  sendAfter: number;
  day: string;
  minor: number;
  announcedAt: number | undefined;
  state: State;
}

interface Act {
  readonly name: string;
  readonly end: number;
  held: HoldReason | undefined;
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
  /** When the name got its previous end. */
  readonly changedAt: number;
}

/** The result of a year. */
export interface Year {
  readonly charges: readonly Charge[];
  readonly terms: ReadonlyMap<string, MandateTerms>;
  /** Orders that a person stopped, and when. */
  readonly stoppedAt: ReadonlyMap<number, number>;
  readonly lost: readonly string[];
  /** Names that expired although a mandate covered them, without a timely message. */
  readonly lapsed: readonly string[];
  /** Outcomes for covered names that were due: renewed by the mandate, or why not. */
  readonly ends: readonly (State | HoldReason | 'RENEWED')[];
  readonly held: readonly HoldReason[];
}

export function simulateYear(random: Random): Year {
  const chance = (share: number) => random() < share;
  const between = (least: number, most: number) => least + Math.floor(random() * (most - least + 1));
  const names: Name[] = Array.from({ length: between(2, 7) }, (_, index) => ({
    name: `name-${index}.rest`,
    trueEnd: START + between(5, 360) * DAY_MS + between(0, 23) * HOUR_MS,
    changedAt: 0,
    tags: chance(0.5) ? ['brand'] : [],
    price: chance(0.1) ? undefined : between(5, 40) * 100,
    hasOwnerLeft: false,
    hasIncident: false,
    asksMore: false,
  }));
  const terms = new Map<string, MandateTerms>();
  const mandates = new Map<string, Mandate>();
  const addMandate = (now: number) => {
    const id = `mandate-${mandates.size}`;
    const given: MandateTerms = {
      mandate_names: [chance(0.5) ? '*.rest' : chance(0.5) ? 'tag:brand' : 'name-0.rest'],
      max_price: { currency: 'EUR', minor: between(20, 50) * 100 },
      max_total: { currency: 'EUR', minor: between(25, 90) * 100 },
      span: chance(0.5) ? 'month' : 'year',
      until: getUtcDay(new Date(now + between(120, 400) * DAY_MS)),
      notice: between(3, 30),
    };
    const order = newOrder(given.mandate_names, {
      id,
      task: 'mandate',
      state: 'SUCCEEDED',
      input: given,
      closedAt: new Date(now),
      expiresAt: computeMandateEnd(given),
    });
    const mandate = readMandate(order);
    if (mandate === undefined) throw new Error('the model built an invalid mandate');
    terms.set(id, given);
    mandates.set(id, mandate);
  };
  addMandate(START);
  if (chance(0.4)) addMandate(START + 1);

  let db: Database = { known: {}, orders: [], acts: [], ended: {} };
  for (const { name, trueEnd } of names)
    db.known[name] = { end: trueEnd, isCertain: true, lastLookupAt: START };
  let backup: { readonly at: number; readonly db: Database } = { at: START, db: structuredClone(db) };
  const charges: Charge[] = [];
  const stoppedAt = new Map<number, number>();
  const lost: string[] = [];
  const lapsed: string[] = [];
  const ends: Year['ends'][number][] = [];
  const held: HoldReason[] = [];
  /** Names that a mandate covered at some point while they were due, by their true end. */
  const covered = new Set<string>();
  let lastId = 0;
  let clockOff = 0;
  let slackBackAt = 0;
  let registryBackAt = 0;
  let botBackAt = 0;
  let lastSeen = START;

  const inForce = () => [...mandates.values()].filter(({ id }) => db.ended[id] !== true);
  const usedBy = (mandateId: string, without?: number): UsedAmounts => {
    const counting = db.orders.filter(
      ({ id, state }) => id !== without && ['APPROVED', 'SENT', 'SUCCEEDED', 'UNKNOWN'].includes(state),
    );
    return {
      byDay: counting
        .filter((order) => order.mandateId === mandateId)
        .map(({ day, minor }) => ({ day, minor: BigInt(minor) })),
      countOn: (day) => counting.filter((order) => order.day === day).length,
    };
  };
  const loadKnown = (name: string) => db.known[name] ?? { end: 0, isCertain: false, lastLookupAt: 0 };
  const getExpiry = (name: string) => {
    const expiresAt = new Date(loadKnown(name).end);
    return { name, expiresAt, renewableUntil: expiresAt };
  };
  const collectFacts = ({ name, price, ...each }: Name): RenewalFacts => ({
    expiry: getExpiry(name),
    isDateCertain: loadKnown(name).isCertain,
    hasOwnerLeft: each.hasOwnerLeft,
    hasOpenIncident: each.hasIncident,
    isAccountLinked: true,
    isInOtherAccount: false,
    hasUnknownRenewal: db.orders.some((order) => order.name === name && order.state === 'UNKNOWN'),
    policy: each.asksMore ? 'needs_more_approvals' : 'satisfied',
    amount: price === undefined ? undefined : { currency: 'EUR', minor: price },
  });
  const hold = (act: Act, code: HoldReason) => {
    act.held = code;
    held.push(code);
  };

  const actAll = (now: Date) => {
    for (const name of names) {
      const end = loadKnown(name.name).end;
      const isActedFor = db.acts.some((act) => {
        const order = db.orders.find(({ id }) => id === act.orderId);
        return (
          act.name === name.name &&
          isSameRegistrationPeriod(new Date(act.end), new Date(end)) &&
          order?.state !== 'ENDED'
        );
      });
      if (isActedFor || end <= now.getTime()) continue;
      const mandate = findApplicableMandate(inForce(), name.name, name.tags, now);
      if (mandate === undefined || !isRenewalDue(mandate, getExpiry(name.name), now)) continue;
      const plan = decideRenewal(mandate, collectFacts(name), usedBy(mandate.id), now);
      if (plan === 'mandate_ended') continue;
      const act: Act = { name: name.name, end, held: undefined, orderId: undefined };
      db.acts.push(act);
      if (typeof plan === 'string') {
        hold(act, plan);
        continue;
      }
      lastId += 1;
      act.orderId = lastId;
      db.orders.push({
        id: lastId,
        mandateId: mandate.id,
        name: name.name,
        actedFor: end,
        madeAt: now.getTime(),
        sendAfter: plan.sendAfter.getTime(),
        day: plan.day,
        minor: plan.amount.minor,
        announcedAt: undefined,
        state: 'APPROVED',
      });
    }
  };

  const carryOut = (order: ModelOrder, name: Name, now: number) => {
    const isAccepted = chance(0.85);
    const isLost = chance(0.08);
    if (isAccepted) {
      if (covered.has(keyOf(name))) ends.push('RENEWED');
      charges.push({
        mandateId: order.mandateId,
        orderId: order.id,
        name: order.name,
        minor: order.minor,
        day: order.day,
        at: now,
        end: name.trueEnd,
        announcedAt: order.announcedAt,
        changedAt: name.changedAt + clockOff,
      });
      name.trueEnd += YEAR_MS;
      name.changedAt = now - clockOff;
    }
    // The process is killed, or no response comes.
    if (isLost) order.state = 'UNKNOWN';
    else if (isAccepted) {
      order.state = 'SUCCEEDED';
      const known = loadKnown(order.name);
      db.known[order.name] = { ...known, end: known.end + YEAR_MS, isCertain: false };
    } else order.state = 'FAILED';
  };

  const sendAll = (now: Date) => {
    for (const order of db.orders) {
      if (order.state !== 'APPROVED' || order.sendAfter > now.getTime()) continue;
      const name = names.find((each) => each.name === order.name);
      const act = db.acts.find(({ orderId }) => orderId === order.id);
      if (name === undefined || act === undefined) throw new Error('the model’s order has no name or act');
      const { amount, ...facts } = collectFacts(name);
      const sending = {
        mandate: inForce().find(({ id }) => id === order.mandateId),
        isMandateUnchanged: true,
        name: order.name,
        affectedTags: name.tags,
        plannedExpiry: new Date(order.actedFor),
        expiresAt: new Date(loadKnown(order.name).end),
        isLapsing: false,
        announcedAt: order.announcedAt === undefined ? undefined : new Date(order.announcedAt),
        amount,
        used: usedBy(order.mandateId, order.id),
      };
      const cleared = decideSend(
        {
          ...facts,
          ...sending,
          fitsBudgets: !chance(0.02),
          createdAt: new Date(order.madeAt),
          lastLookupAt: new Date(loadKnown(order.name).lastLookupAt),
        },
        now,
      );
      if (cleared.kind === 'later') order.sendAfter = cleared.until.getTime();
      if (cleared.kind === 'held') {
        order.state = cleared.code === 'mandate_ended' ? 'ENDED' : 'HELD';
        if (cleared.code !== 'mandate_ended') hold(act, cleared.code);
      }
      // A click on Stop between the check and the commit of `sentAt`, which is refused because the order has changed.
      if (cleared.kind === 'clear' && chance(0.05)) {
        order.state = 'STOPPED';
        stoppedAt.set(order.id, now.getTime());
      }
      if (cleared.kind !== 'clear' || order.state !== 'APPROVED') continue;
      if (findSendHoldReason(sending, now) !== undefined) continue;
      order.state = 'SENT';
      order.day = getUtcDay(now);
      order.minor = amount?.minor ?? 0;
      carryOut(order, name, now.getTime());
    }
  };

  const keyOf = ({ name, trueEnd }: Name) => `${name} ${trueEnd}`;
  /** Records the names that a mandate must act for: covered, due, and known with their true end. */
  const recordCovered = (now: Date) => {
    for (const name of names) {
      if (Math.abs(loadKnown(name.name).end - name.trueEnd) > HOUR_MS) continue;
      const mandate = findApplicableMandate(inForce(), name.name, name.tags, now);
      if (mandate === undefined || !isRenewalDue(mandate, getExpiry(name.name), now)) continue;
      if (decideRenewal(mandate, collectFacts(name), usedBy(mandate.id), now) === 'mandate_ended') continue;
      covered.add(keyOf(name));
    }
  };
  const findOrder = (name: Name) =>
    db.orders.findLast(
      (order) =>
        order.name === name.name &&
        isSameRegistrationPeriod(new Date(order.actedFor), new Date(name.trueEnd)),
    );
  /** The outcome for a name at its end. Undefined if people weren't notified, so that the name is lost. */
  const findOutcome = (name: Name): Year['ends'][number] | undefined => {
    const acts = db.acts.filter(
      (act) => act.name === name.name && isSameRegistrationPeriod(new Date(act.end), new Date(name.trueEnd)),
    );
    const notified = acts.find(
      ({ held: code }) => code !== undefined && (needsRegularOrder(code) || code === 'earlier_unknown'),
    );
    if (notified?.held !== undefined) return notified.held;
    const order = findOrder(name);
    // The card says that the order was stopped, failed or is unknown; an ended mandate's message does too.
    return order !== undefined && ['STOPPED', 'FAILED', 'UNKNOWN', 'ENDED'].includes(order.state)
      ? order.state
      : undefined;
  };
  /** Checks the names that end before the next step. */
  const recordEnds = (real: number) => {
    for (const name of names) {
      if (name.trueEnd > real + STEP_MS || name.trueEnd <= real || !covered.has(keyOf(name))) continue;
      const { trueEnd } = name;
      // Run work that becomes due before then.
      for (
        let order = findOrder(name);
        order?.state === 'APPROVED' && order.sendAfter < trueEnd;
        order = findOrder(name)
      )
        sendAll(new Date(order.sendAfter));
      if (name.trueEnd !== trueEnd) continue;
      const isCovered = findApplicableMandate(inForce(), name.name, name.tags, new Date(real)) !== undefined;
      // A restored database ends the mandates, and people are notified.
      const end = findOutcome(name) ?? (isCovered ? undefined : 'ENDED');
      if (end === undefined) lapsed.push(`${name.name} at ${new Date(name.trueEnd).toISOString()}`);
      else ends.push(end);
    }
  };

  const restore = (now: number) => {
    const { at } = backup;
    db = structuredClone(backup.db);
    for (const order of db.orders)
      if (order.state === 'APPROVED' && order.sendAfter <= now) order.state = 'UNKNOWN';
      else if (order.state === 'SENT') order.state = 'UNKNOWN';
    if (now - at >= ANNOUNCEMENT_MS) for (const id of mandates.keys()) db.ended[id] = true;
  };

  for (let real = START; real < START + YEAR_MS; real += STEP_MS) {
    if (chance(0.01)) slackBackAt = real + between(1, 6) * DAY_MS;
    if (chance(0.01)) registryBackAt = real + between(1, 6) * DAY_MS;
    if (chance(0.002)) botBackAt = real + between(0, 2) * DAY_MS;
    if (chance(0.003)) clockOff = chance(0.6) ? 0 : between(-3, 3) * DAY_MS;
    if (chance(0.004) && mandates.size < 6) addMandate(real + clockOff);
    if (chance(0.0006)) db.ended[`mandate-${between(0, mandates.size - 1)}`] = true;
    const picked = names[between(0, names.length - 1)];
    if (picked !== undefined && chance(0.02)) picked.price = chance(0.1) ? undefined : between(5, 45) * 100;
    if (picked !== undefined && chance(0.01)) picked.tags = chance(0.5) ? [] : ['brand'];
    if (picked !== undefined && chance(0.004)) picked.hasOwnerLeft = chance(0.2);
    if (picked !== undefined && chance(0.004)) picked.hasIncident = chance(0.2);
    if (picked !== undefined && chance(0.0005)) picked.asksMore = true;
    // A person renews a name without the bot.
    if (picked !== undefined && chance(0.001)) {
      picked.trueEnd += YEAR_MS;
      picked.changedAt = real;
    }
    const now = new Date(real + clockOff);
    if (real < botBackAt) continue;
    // A bot that was down for long can't know whether its database is still the same.
    if (real - lastSeen > STEP_MS) {
      backup = { at: lastSeen + clockOff, db: structuredClone(db) };
      restore(now.getTime());
    }
    if (chance(0.001)) restore(now.getTime());
    if (chance(0.15)) backup = { at: now.getTime(), db: structuredClone(db) };
    lastSeen = real;
    if (real >= registryBackAt)
      for (const { name, trueEnd, changedAt } of names)
        if (real - changedAt >= DAY_MS)
          db.known[name] = { end: trueEnd, isCertain: true, lastLookupAt: now.getTime() };
    recordCovered(now);
    actAll(now);
    if (real >= slackBackAt)
      for (const order of db.orders) if (order.state === 'APPROVED') order.announcedAt ??= now.getTime();
    for (const order of db.orders)
      if (order.state === 'APPROVED' && order.announcedAt !== undefined && chance(0.02)) {
        order.state = 'STOPPED';
        stoppedAt.set(order.id, now.getTime());
      }
    sendAll(now);
    // While the clock is days off, nothing can be in time.
    if (clockOff === 0) recordEnds(real);
  }

  // Every expired name with a mandate's order must have a message.
  const finish = START + YEAR_MS + Math.min(0, clockOff);
  for (const order of db.orders)
    if (order.state === 'APPROVED' && order.actedFor + DAY_MS < finish - 6 * DAY_MS) lost.push(order.name);
  for (const act of db.acts)
    if (
      act.held !== undefined &&
      !needsRegularOrder(act.held) &&
      act.held !== 'earlier_unknown' &&
      act.held !== 'renewed_meanwhile'
    )
      lost.push(act.name);
  return { charges, terms, stoppedAt, lost, lapsed, ends, held };
}

/** Lists where a year's spending exceeded the limits of its mandates. */
export function listLimitViolations({ charges, terms }: Year): string[] {
  const sums = new Map<string, number>();
  const found: string[] = [];
  for (const { mandateId, minor, day } of charges) {
    const given = terms.get(mandateId);
    if (given === undefined) continue;
    if (minor > given.max_price.minor) found.push(`${mandateId}: a price of ${minor}`);
    const key = `${mandateId} ${getPeriod(given.span, day)}`;
    const sum = (sums.get(key) ?? 0) + minor;
    sums.set(key, sum);
    if (sum > given.max_total.minor) found.push(`${key}: ${sum} of ${given.max_total.minor}`);
  }
  return found;
}
