import { afterAll, beforeAll, expect, test } from 'vitest';
import { createReconciler } from '../../src/app/reconcile.ts';
import { DEFAULT_PACE } from '../../src/app/seams.ts';
import { approveOrder } from '../../src/approvals/approve.ts';
import type { Order } from '../../src/orders/order.ts';
import type { OrderCommit, OrderStore } from '../../src/orders/ports.ts';
import { requestOrder } from '../../src/orders/request-order.ts';
import { createNotificationStore } from '../../src/store/notifications.ts';
import { createOrderStore } from '../../src/store/orders.ts';
import { BOT_SIGNER } from '../support/bot-signer.ts';
import { ALICE, HOUR_MS, MINUTE_MS, newGate, type Rig, startRig } from './rig.ts';
import { START } from './sample.ts';

/*
 * A quarter of scheduled orders with two bots on one database, outages, killed bots, clock changes, new prices and rules,
 * and people who leave. Each order is sent once, within a minute of its time, or ends with a reason.
 */

const ORDER_COUNT = Number(process.env['SCHEDULED_ORDERS'] ?? 60);
const DAY_MS = 24 * HOUR_MS;
const STEP_MS = 10_000;
const ZONES = ['Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'UTC'];
/** Changes to daylight saving time and back. */
const CLOCK_CHANGES = [
  { timeZone: 'America/New_York', at: new Date('2026-03-08T07:00:00Z') },
  { timeZone: 'Europe/Berlin', at: new Date('2026-03-29T01:00:00Z') },
  { timeZone: 'Pacific/Auckland', at: new Date('2026-04-04T14:00:00Z') },
  { timeZone: 'America/Santiago', at: new Date('2026-04-05T03:00:00Z') },
];
const PEOPLE = ['U0ALICE', 'U0EVE', 'U0FAY', 'U0GUS'];
const APPROVERS = ['U0BOB', 'U0CAROL', 'U0DORA'];

let rig: Rig;

beforeAll(async () => (rig = await startRig()));
afterAll(() => rig.end());

/** Creates a linear congruential generator, so that every run has the same quarter. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return Math.floor((state / 2 ** 32) * below);
  };
}

interface PlannedOrder {
  readonly name: string;
  readonly requester: string;
  readonly approver: string;
  readonly at: Date;
  /** Local clocks show its time twice. */
  readonly occursTwice: boolean;
  readonly order: Order;
}

/** Changes by day: people who leave, a refusing rule and outages. */
const DEPARTURE_DAYS: Readonly<Record<string, number>> = { U0EVE: 40, U0CAROL: 60 };
const REFUSAL_START_DAY = 70;
const OUTAGES = [
  { from: 42.5, hours: 30 },
  { from: 51.39, hours: 0.75 },
  { from: 80.5, hours: 26 },
];

const dayOf = (at: Date) => (at.getTime() - START.getTime()) / DAY_MS;
const addToStart = (ms: number) => new Date(START.getTime() + ms);
const requestTimeOf = (n: number) => addToStart(Math.floor((n * 88 * DAY_MS) / ORDER_COUNT));
const nameOf = (n: number) =>
  `name-${n}.${n % 3 === 0 && dayOf(requestTimeOf(n)) < REFUSAL_START_DAY ? 'pizza' : 'rest'}`;
const localText = (at: Date, timeZone: string) => at.toLocaleString('sv-SE', { timeZone }).slice(0, 16);

/** The time itself, or the end of an outage at that time. */
function findUptime(at: Date): Date {
  const outage = OUTAGES.find(({ from, hours }) => dayOf(at) >= from && dayOf(at) < from + hours / 24);
  return outage === undefined ? at : addToStart(outage.from * DAY_MS + outage.hours * HOUR_MS);
}

function findExpectedOutcome(
  planned: PlannedOrder,
  repriced: ReadonlySet<string>,
  mayBeSent: boolean,
): string {
  const now = findUptime(planned.at);
  const hasLeft = (userId: string) => dayOf(now) >= (DEPARTURE_DAYS[userId] ?? Number.POSITIVE_INFINITY);
  if (hasLeft(planned.requester)) return 'FAILED requester_left';
  if (dayOf(now) >= REFUSAL_START_DAY && planned.name.endsWith('.pizza')) return 'CANCELLED policy_refuses';
  const reasons = [
    ...(now.getTime() - planned.at.getTime() > HOUR_MS ? ['late'] : []),
    ...(repriced.has(planned.name) ? ['price'] : []),
    ...(hasLeft(planned.approver) ? ['approvals'] : []),
  ];
  if (reasons.length > 0) return `PENDING ${reasons.join()}`;
  return mayBeSent ? 'UNKNOWN no_answer_known' : 'SUCCEEDED';
}

/** When a bot is killed: before or after one of an order's commits. */
const KILLS = [
  { commit: 'claimed', isKept: false },
  { commit: 'claimed', isKept: true },
  { commit: 'sending', isKept: false },
  { commit: 'sending', isKept: true },
  { commit: 'answered', isKept: false },
  { commit: 'answered', isKept: true },
] as const;
type Kill = (typeof KILLS)[number];

function commitOf({ after: order }: OrderCommit): Kill['commit'] | undefined {
  if (order.state === 'SUCCEEDED') return 'answered';
  if (order.state !== 'EXECUTING') return undefined;
  return order.items.some(({ state }) => state === 'SENT') ? 'sending' : 'claimed';
}

/** Starts a bot with its own connections, memory and loops. Once killed, it does nothing more. */
function startBot(killAt: (commit: OrderCommit) => Kill | undefined) {
  const database = rig.openConnections();
  const realStore = createOrderStore(database, BOT_SIGNER);
  const killed = newGate();
  /** Orders whose request may have been sent and has no stored response. */
  const unanswered = new Set<string>();
  let isKilled = false;
  let disconnected: Promise<void> | undefined;
  const hang = () => new Promise<never>(() => undefined);
  const commitAndTrack = async (change: OrderCommit) => {
    const outcome = await realStore.commit(change);
    if (outcome.ok && commitOf(change) === 'sending') unanswered.add(change.after.id);
    if (outcome.ok && commitOf(change) === 'answered') unanswered.delete(change.after.id);
    return outcome;
  };
  const commit = async (change: OrderCommit) => {
    const kill = killAt(change);
    if (kill === undefined) {
      const outcome = await commitAndTrack(change);
      return isKilled ? hang() : outcome;
    }
    if (kill.isKept) await commitAndTrack(change);
    isKilled = true;
    killed.open();
    disconnected = database.close();
    return hang();
  };
  const store: OrderStore = new Proxy(
    { ...realStore, commit },
    {
      get: (members, name, receiver) => {
        const member: unknown = Reflect.get(members, name, receiver);
        return isKilled && typeof member === 'function' ? hang : member;
      },
    },
  );
  const process = rig.startProcess({ store });
  const reconciler = createReconciler({
    ...{
      ...DEFAULT_PACE,
      store,
      notifications: createNotificationStore(database, ''),
      advance: process.advance,
    },
    ...{ notify: async () => undefined, canRefresh: () => true, onFailed: () => undefined },
    ...{ now: () => rig.now, log: rig.log },
  });
  return {
    store,
    isKilled: () => isKilled,
    unanswered,
    /**
     * Works until nothing is due, or until it is killed.
     * @param orderId an order to advance without a claim, as after a change by this bot
     */
    work: (orderId: string | undefined) => {
      const trial = orderId === undefined ? undefined : process.advance(orderId, 'execution');
      return Promise.race([Promise.all([trial, reconciler.catchUp()]), killed.opened]);
    },
    close: async () => {
      process.shutDown();
      reconciler.stop();
      if (disconnected !== undefined) return disconnected;
      await reconciler.idle();
      return database.close();
    },
  };
}
type Bot = ReturnType<typeof startBot>;

/** Starts two bots. A killed one is replaced at the next step. */
function startBots(draw: (below: number) => number) {
  const kills: Kill[] = [];
  /** Half of the orders have one kill, which delays them by a lease. */
  const plannedKills = new Map(
    Array.from({ length: ORDER_COUNT }, (_, n) => [nameOf(n), KILLS[n % (2 * KILLS.length)]] as const),
  );
  const killAt = (commit: OrderCommit) => {
    const name = commit.after.items[0]?.name ?? '';
    const kill = plannedKills.get(name);
    if (kill === undefined || kill.commit !== commitOf(commit)) return undefined;
    plannedKills.delete(name);
    kills.push(kill);
    return kill;
  };
  const startNext = () => startBot(killAt);
  const allBots: Bot[] = [];
  const keepTwoRunning = () => {
    while (allBots.filter((bot) => !bot.isKilled()).length < 2) allBots.push(startNext());
    return allBots.filter((bot) => !bot.isKilled());
  };
  return {
    kills,
    /** Whether a killed bot may have sent an order. */
    mayBeSent: (orderId: string) => allBots.some((bot) => bot.isKilled() && bot.unanswered.has(orderId)),
    pickBot: () => keepTwoRunning()[draw(2)] ?? startNext(),
    work: async (orderId?: string) => {
      const triedOrderId = draw(3) === 0 ? orderId : undefined;
      await Promise.all(keepTwoRunning().map((bot) => bot.work(triedOrderId)));
    },
    close: () => Promise.all(allBots.map((bot) => bot.close())),
  };
}
type Bots = ReturnType<typeof startBots>;

/** Chooses a time around the next clock change, or any time within 20 days. */
function chooseTime(draw: (below: number) => number): { readonly at: Date; readonly timeZone: string } {
  const change = CLOCK_CHANGES.filter(({ at }) => {
    const aheadMs = at.getTime() - rig.now.getTime();
    return aheadMs > DAY_MS && aheadMs < 20 * DAY_MS;
  })[draw(4)];
  if (change !== undefined)
    return { ...change, at: new Date(change.at.getTime() + (draw(180) - 90) * MINUTE_MS) };
  const aheadMs = (6 + draw(20 * 24 * 60)) * MINUTE_MS;
  const at = new Date(Math.ceil((rig.now.getTime() + aheadMs) / MINUTE_MS) * MINUTE_MS);
  return { at, timeZone: ZONES[draw(ZONES.length)] ?? 'UTC' };
}

async function requestAndApprove(
  n: number,
  draw: (below: number) => number,
  bots: Bots,
): Promise<PlannedOrder> {
  const name = nameOf(n);
  const requester = PEOPLE.filter((id) => !rig.memberships.has(id))[draw(3)] ?? '';
  const { at: chosen, timeZone } = chooseTime(draw);
  const text = localText(chosen, timeZone);
  const hourBefore = new Date(chosen.getTime() - HOUR_MS);
  const at = localText(hourBefore, timeZone) === text ? hourBefore : chosen;
  const occursTwice = localText(new Date(at.getTime() + HOUR_MS), timeZone) === text;
  rig.prices.set(name, 1_800);
  const outcome = await requestOrder(
    { ...rig.mandates, store: bots.pickBot().store },
    {
      ...{ task: 'renew', input: { names: [name], period: 1 }, secret: undefined, reason: undefined },
      ...{ requesterId: requester, account: ALICE, channelId: 'C0DOMAINS', threadTs: undefined },
      ...{ deliveryId: `quarter:${n}`, sendAt: { text, timeZone } },
    },
  );
  if (outcome.kind !== 'accepted') throw new Error(`requesting ${name}: ${outcome.kind}`);
  const approver = APPROVERS.filter((id) => !rig.memberships.has(id))[draw(2)] ?? '';
  const { id } = outcome.order;
  const approved = await approveOrder({ ...rig.mandates, store: bots.pickBot().store }, id, approver);
  if (!approved.ok) throw new Error(`approving ${name}: ${approved.refusal.code}`);
  expect(approved.order.sendAfter, `${text} in ${timeZone}`).toEqual(at);
  return { name, requester, approver, at, occursTwice, order: approved.order };
}

/** The state of an order after its time, with the reason. */
async function readOutcome({ order }: PlannedOrder): Promise<string> {
  const history = await rig.store.loadHistory(order.id, 'system');
  const { state, items } = await rig.read(order.id);
  const last = history.findLast(({ kind }) => kind === 'reopened' || kind === 'stopped');
  const reasons = last !== undefined && 'reasons' in last ? last.reasons.join() : undefined;
  const summary =
    last !== undefined && 'summary' in last ? last.summary?.code : items[0]?.result?.summary.code;
  return state === 'SUCCEEDED' ? state : `${state} ${reasons ?? summary}`;
}

test('each scheduled order of a quarter is sent once at its time, or ends with a reason', async () => {
  const draw = createRandom(20_260_301);
  const bots = startBots(createRandom(7));
  const planned: PlannedOrder[] = [];
  const repriced = new Set<string>();
  const foundStates: string[] = [];
  const afterOutages: string[] = [];
  let twiceCount = 0;

  /** Moves the clock. The bots work unless there is an outage. */
  const advanceTo = async (at: Date, orderId?: string) => {
    rig.advanceClock(Math.max(0, at.getTime() - rig.now.getTime()));
    await rig.moveLeases();
    for (const [userId, day] of Object.entries(DEPARTURE_DAYS))
      if (dayOf(rig.now) >= day) rig.memberships.set(userId, 'left');
    if (dayOf(rig.now) >= REFUSAL_START_DAY) rig.setPolicy(1, { decision: 'refuse', names: ['*.pizza'] });
    if (findUptime(rig.now).getTime() !== rig.now.getTime()) return;
    await bots.work(orderId);
  };

  const checkOutcome = async (each: PlannedOrder) => {
    const { id } = each.order;
    if (rig.now < each.at) {
      await advanceTo(new Date(each.at.getTime() - 1), id);
      expect((await rig.read(id)).state, `${each.name} before its time`).toBe('APPROVED');
    }
    const due = findUptime(each.at);
    const minuteLater = new Date(due.getTime() + MINUTE_MS);
    await advanceTo(due, id);
    const isOpen = async () => ['APPROVED', 'EXECUTING'].includes((await rig.read(id)).state);
    while (rig.now < minuteLater && (await isOpen()))
      await advanceTo(new Date(rig.now.getTime() + STEP_MS), id);
    const expected = findExpectedOutcome(each, repriced, bots.mayBeSent(id));
    const outcome = await readOutcome(each);
    foundStates.push(outcome.split(' ')[0] ?? '');
    if (due > each.at) afterOutages.push(outcome);
    twiceCount += each.occursTwice ? 1 : 0;
    expect(outcome, each.name).toBe(expected);
    const { items } = await rig.read(id);
    const sent = rig.service.countSent(id);
    if (expected.startsWith('UNKNOWN')) return expect(sent, each.name).toBeLessThanOrEqual(1);
    if (expected !== 'SUCCEEDED') return expect(sent, each.name).toBe(0);
    const lateMs = (items[0]?.sentAt?.getTime() ?? 0) - due.getTime();
    expect(lateMs, each.name).toBeGreaterThanOrEqual(0);
    expect(lateMs, each.name).toBeLessThanOrEqual(MINUTE_MS);
    expect(sent, each.name).toBe(1);
  };

  for (let n = 0; n < ORDER_COUNT; n += 1) {
    const requestedAt = requestTimeOf(n);
    for (const each of planned.filter(({ at }) => findUptime(at) <= requestedAt)) {
      await checkOutcome(each);
      planned.splice(planned.indexOf(each), 1);
    }
    await advanceTo(findUptime(requestedAt));
    const newest = await requestAndApprove(n, draw, bots);
    planned.push(newest);
    planned.sort((a, b) => a.at.getTime() - b.at.getTime());
    if (draw(10) === 0) {
      rig.prices.set(newest.name, 1_900);
      repriced.add(newest.name);
    }
  }
  for (const each of planned) await checkOutcome(each);
  await advanceTo(addToStart(112 * DAY_MS));
  await bots.close();

  expect(new Set(foundStates)).toEqual(new Set(['SUCCEEDED', 'PENDING', 'CANCELLED', 'FAILED', 'UNKNOWN']));
  expect(afterOutages).toEqual(expect.arrayContaining(['PENDING late', 'SUCCEEDED']));
  expect(new Set(bots.kills), 'kinds of kills').toEqual(new Set(KILLS));
  expect(twiceCount, 'times that occur twice').toBeGreaterThan(0);
  const sent = rig.service.received.map(({ ctid }) => ctid);
  expect(new Set(sent).size, 'distinct requests').toBe(sent.length);
  const [open] = await rig.sql(
    `SELECT count(*)::int AS open FROM orders WHERE state IN ('PENDING', 'APPROVED', 'EXECUTING')`,
  );
  expect(open, 'open orders').toEqual({ open: 0 });
});
