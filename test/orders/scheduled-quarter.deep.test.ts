import { afterAll, beforeAll, expect, test } from 'vitest';
import { approveOrder } from '../../src/approvals/approve.ts';
import type { Order } from '../../src/orders/order.ts';
import { requestOrder } from '../../src/orders/request-order.ts';
import { ALICE, HOUR_MS, MINUTE_MS, type Rig, startRig } from './rig.ts';
import { START } from './sample.ts';

/*
 * A quarter of scheduled orders, with outages, killed workers, changed prices and rules, and people who leave. Each is
 * sent once, within a minute of its time, or ends with its reason.
 */

const ORDERS = 60;
const DAY_MS = 24 * HOUR_MS;
const ZONES = ['Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'UTC'];
const PEOPLE = ['U0ALICE', 'U0EVE', 'U0FAY', 'U0GUS'];
const APPROVERS = ['U0BOB', 'U0CAROL', 'U0DORA'];

let rig: Rig;

beforeAll(async () => (rig = await startRig()));
afterAll(() => rig.end());

/** A small linear congruential generator: the same quarter every time. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return Math.floor((state / 2 ** 32) * below);
  };
}

interface Planned {
  readonly name: string;
  readonly requester: string;
  readonly approver: string;
  readonly at: Date;
  readonly order: Order;
}

/** The world's changes, by day. */
const LEAVES: Readonly<Record<string, number>> = { U0EVE: 40, U0CAROL: 60 };
const REFUSED_SINCE = 70;
const OUTAGES = [
  { from: 20, hours: 30 },
  { from: 50, hours: 0.75 },
  { from: 75, hours: 26 },
];

const dayOf = (at: Date) => (at.getTime() - START.getTime()) / DAY_MS;
const after = (ms: number) => new Date(START.getTime() + ms);

/** When the bot runs again, if it is down at a moment. */
function upAgain(at: Date): Date {
  const outage = OUTAGES.find(({ from, hours }) => dayOf(at) >= from && dayOf(at) < from + hours / 24);
  return outage === undefined ? at : after(outage.from * DAY_MS + outage.hours * HOUR_MS);
}

/** By the contract, from what happened. */
function expectedOf(planned: Planned, repriced: ReadonlySet<string>): string {
  const now = upAgain(planned.at);
  const hasLeft = (userId: string) => dayOf(now) >= (LEAVES[userId] ?? Number.POSITIVE_INFINITY);
  if (hasLeft(planned.requester)) return 'FAILED requester_left';
  if (dayOf(now) >= REFUSED_SINCE && planned.name.endsWith('.pizza')) return 'CANCELLED policy_refuses';
  const reasons = [
    ...(now.getTime() - planned.at.getTime() > HOUR_MS ? ['late'] : []),
    ...(repriced.has(planned.name) ? ['price'] : []),
    ...(hasLeft(planned.approver) ? ['approvals'] : []),
  ];
  return reasons.length === 0 ? 'SUCCEEDED' : `PENDING ${reasons.join()}`;
}

async function askFor(n: number, draw: (below: number) => number): Promise<Planned> {
  const isPizza = n % 2 === 0 && dayOf(rig.now) < REFUSED_SINCE;
  const name = `name-${n}.${isPizza ? 'pizza' : 'rest'}`;
  const requester = PEOPLE.filter((id) => !rig.absent.has(id))[draw(3)] ?? '';
  const aheadMs = 6 * MINUTE_MS + draw(12 * 24 * 60) * MINUTE_MS;
  const at = new Date(Math.ceil((rig.now.getTime() + aheadMs) / MINUTE_MS) * MINUTE_MS);
  const timeZone = ZONES[draw(ZONES.length)] ?? 'UTC';
  rig.prices.set(name, 1_800);
  const outcome = await requestOrder(rig.mandates, {
    ...{ task: 'renew', input: { names: [name], period: 1 }, secret: undefined, reason: undefined },
    ...{ requesterId: requester, account: ALICE, channelId: 'C0DOMAINS', threadTs: undefined },
    deliveryId: `quarter:${n}`,
    sendAt: { text: at.toLocaleString('sv-SE', { timeZone }).slice(0, 16), timeZone },
  });
  if (outcome.kind !== 'accepted') throw new Error(`asking for ${name}: ${outcome.kind}`);
  const approver = APPROVERS.filter((id) => !rig.absent.has(id))[draw(2)] ?? '';
  const approved = await approveOrder(rig.mandates, outcome.order.id, approver);
  if (!approved.ok) throw new Error(`approving ${name}: ${approved.refusal.code}`);
  return { name, requester, approver, at: approved.order.sendAfter ?? at, order: approved.order };
}

/** The state of an order after its time, with its reason. */
async function storyOf({ order }: Planned): Promise<string> {
  const history = await rig.store.history(order.id, 'system');
  const { state, items } = await rig.read(order.id);
  const last = history.findLast(({ kind }) => kind === 'reopened' || kind === 'stopped');
  const reasons = last !== undefined && 'reasons' in last ? last.reasons.join() : undefined;
  const summary =
    last !== undefined && 'summary' in last ? last.summary?.code : items[0]?.result?.summary.code;
  return state === 'SUCCEEDED' ? state : `${state} ${reasons ?? summary}`;
}

test('each scheduled order of a quarter is sent once at its time, or ends with its reason', async () => {
  const draw = random(20_260_301);
  const planned: Planned[] = [];
  const repriced = new Set<string>();
  const found: string[] = [];
  let killed = 0;
  // Every fourth claim is lost with its worker; another one takes over when its lease is over.
  rig.setCommitFault(({ after: order }) => {
    if (order.state !== 'EXECUTING' || order.items.some(({ state }) => state === 'SENT')) return undefined;
    killed += 1;
    return killed % 4 === 0 ? 'after' : undefined;
  });

  /** Moves to a moment. Nobody works while the bot is down. */
  const passTo = async (at: Date) => {
    rig.pass(Math.max(0, at.getTime() - rig.now.getTime()));
    for (const [userId, day] of Object.entries(LEAVES))
      if (dayOf(rig.now) >= day) rig.absent.set(userId, 'left');
    if (dayOf(rig.now) >= REFUSED_SINCE) rig.setPolicy(1, { decision: 'refuse', names: ['*.pizza'] });
    if (upAgain(rig.now).getTime() !== rig.now.getTime()) return;
    await rig.runDue();
  };

  const settle = async (each: Planned) => {
    if (rig.now < each.at) {
      await passTo(new Date(each.at.getTime() - 1));
      expect((await rig.read(each.order.id)).state, `${each.name} before its time`).toBe('APPROVED');
    }
    const due = upAgain(each.at);
    await passTo(due);
    await passTo(new Date(due.getTime() + 30_000));
    const expected = expectedOf(each, repriced);
    const story = await storyOf(each);
    found.push(story.split(' ')[0] ?? '');
    expect(story, each.name).toBe(expected);
    const { items } = await rig.read(each.order.id);
    if (expected !== 'SUCCEEDED') return expect(rig.service.timesSent(each.order.id), each.name).toBe(0);
    const lateMs = (items[0]?.sentAt?.getTime() ?? 0) - due.getTime();
    expect(lateMs, each.name).toBeGreaterThanOrEqual(0);
    expect(lateMs, each.name).toBeLessThanOrEqual(MINUTE_MS);
  };

  for (let n = 0; n < ORDERS; n += 1) {
    const asked = after(Math.floor((n * 88 * DAY_MS) / ORDERS));
    for (const each of planned.filter(({ at }) => upAgain(at) <= asked)) {
      await settle(each);
      planned.splice(planned.indexOf(each), 1);
    }
    await passTo(upAgain(asked));
    planned.push(await askFor(n, draw));
    planned.sort((a, b) => a.at.getTime() - b.at.getTime());
    const newest = planned.at(-1);
    if (newest !== undefined && draw(10) === 0) {
      rig.prices.set(newest.name, 1_900);
      repriced.add(newest.name);
    }
  }
  for (const each of planned) await settle(each);
  await passTo(after(105 * DAY_MS));

  expect(new Set(found)).toEqual(new Set(['SUCCEEDED', 'PENDING', 'CANCELLED', 'FAILED']));
  expect(killed).toBeGreaterThan(ORDERS / 4);
  const sent = rig.service.received.map(({ ctid }) => ctid);
  expect(new Set(sent).size, 'nothing is sent twice').toBe(sent.length);
  expect(sent).toHaveLength(found.filter((state) => state === 'SUCCEEDED').length);
  const [open] = await rig.sql(
    `SELECT count(*)::int AS open FROM orders WHERE state IN ('PENDING', 'APPROVED', 'EXECUTING')`,
  );
  expect(open, 'nothing is forgotten').toEqual({ open: 0 });
});
