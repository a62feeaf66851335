import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ItemResult, Order } from '../../src/orders/order.ts';
import type { OrderCommit } from '../../src/orders/ports.ts';
import type { ItemSummary } from '../../src/orders/summary.ts';
import { newBulk, SUFFICIENT_APPROVAL } from '../orders/sample.ts';
import { newOrderEvent } from '../support/log.ts';
import {
  createCommit,
  newOrder,
  type Rig,
  SEALED_SECRET,
  START_TIME,
  secondsLater,
  startExecution,
  startRig,
} from './order-rig.ts';

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(() => rig.close());

const createApproval = (by: string) =>
  ({ type: 'approved', by, ...SUFFICIENT_APPROVAL, validApprovers: [by] }) as const;
const createAnswer = (
  outcome: 'SUCCEEDED' | 'FAILED' | 'UNKNOWN',
  result: ItemResult = { summary: { code: 'done' } },
  n = 1,
) => ({ type: 'answered', n, outcome, result }) as const;
const loadSealedInputColumns = async (id: string) =>
  (await rig.sql('SELECT sealed_input, sealed_input_key_id FROM orders WHERE id = $1', [id]))[0];

const excess = { tag: 'x', period: '2026-03', currency: 'EUR', leftMinor: 1, orderMinor: 2 };

/** A sent order with a value in every field. */
function createFullOrder(id: string): Required<Order> {
  const order = newOrder({ id }, ['a.rest']);
  const [item] = order.items;
  if (item === undefined) throw new Error('missing item');
  const sent = {
    state: 'UNKNOWN',
    attempts: 2,
    notBefore: secondsLater(11),
    sentAt: secondsLater(12),
    answeredAt: secondsLater(13),
  } as const;
  const result = { summary: { code: 'done' }, code: 'S1' } as const;
  return {
    ...order,
    task: 'mandate',
    state: 'EXECUTING',
    version: 7,
    requesterId: 'U0CAROL',
    account: { id: 'a3', login: 'carol', method: 'two_factor', context: 7, isTeamAccount: true },
    items: [{ ...item, ...sent, result, input: { period: 2 }, secretHash: 'sha256:1' }],
    input: { periods: { 'a.rest': 2 } },
    bulk: newBulk(5),
    statementHash: '1'.repeat(64),
    secretHash: 'sha256:2',
    reason: 'asked by the client',
    ownership: { owner: 'U0DAVE', note: 'shop' },
    channelId: 'C0OTHER',
    threadTs: '1795254798.026000',
    approvals: [{ userId: 'U0BOB', at: secondsLater(3), agreedExcess: [excess], signed: undefined }],
    approvalsRequired: 3,
    policyVersion: 4,
    requirements: { ...order.requirements, ttlMs: 5 },
    expiresAt: secondsLater(21),
    remindAt: secondsLater(22),
    escalateAt: secondsLater(23),
    isPrivate: true,
    shownExcess: [excess],
    emergencyApprovedBy: 'U0ERIN',
    signedOffBy: 'U0FRANK',
    claim: { workerId: 'worker' },
    retryOf: 'order-0',
    earlierRequesters: ['U0ALICE'],
    sendAfter: secondsLater(24),
    approvalRound: 2,
    mandate: { id: 'mandate-1' },
    mandateEnd: { at: secondsLater(25), cause: 'log_differs', by: 'U0ALICE' },
    deliveryId: `delivery-${id}`,
    createdAt: secondsLater(-1),
    closedAt: secondsLater(26),
  };
}

describe('a stored order is read back', () => {
  test('as a new order with all its data', async () => {
    const order = newOrder(
      {
        task: 'transfer',
        reason: 'client paid – ünïcode 🦊',
        threadTs: '1795254798.026000',
        secretHash: 'sha256:0',
        retryOf: 'order-0',
        input: { name: 'a.rest', nested: { list: [1, 'zwei', null, true] }, quote: `'"\\` },
        approvalsRequired: 2,
      },
      ['a.rest', 'b.rest', 'c.rest'],
    );
    expect(await rig.save(order)).toEqual(order);
    expect(await rig.store.loadSealedInput(order.id)).toEqual(SEALED_SECRET);
  });

  test('with every field', async () => {
    const order = createFullOrder('full');
    expect(await rig.save(order)).toEqual(order);
  });

  test('after a change of every field that can change', async () => {
    const before = await rig.save(
      newOrder({ id: 'changed', task: 'mandate', bulk: newBulk(1), input: { periods: { 'a.rest': 2 } } }),
    );
    const { statementHash, deliveryId, createdAt, earlierRequesters } = before;
    const full = createFullOrder('changed');
    const after = {
      ...{ ...full, version: 2, statementHash, deliveryId, createdAt, earlierRequesters },
      // An item's input never changes.
      items: full.items.map(({ input, secretHash, ...item }, index) => ({
        ...item,
        ...{ name: before.items[index]?.name ?? '', ctid: before.items[index]?.ctid ?? '' },
      })),
    };
    const log = [{ ...newOrderEvent('expired', after.state), version: 2, at: secondsLater(9) }];
    expect(await rig.store.commit({ before, after, log, guard: undefined })).toEqual({ ok: true });
    // The input of a bulk order is read from its items.
    expect(await rig.read('changed')).toEqual({ ...after, input: {} });
  });

  test('without optional fields, approved at once for a trusted application', async () => {
    const order = newOrder({
      state: 'APPROVED',
      account: { id: 'a2', login: 'uuid', method: 'trusted_application', context: undefined },
      expiresAt: undefined,
      remindAt: undefined,
    });
    expect(await rig.save(order)).toEqual(order);
    expect(await rig.store.loadSealedInput(order.id)).toBeUndefined();
  });

  test('after every change up to a response, with its history', async () => {
    const order = newOrder();
    const sent = await startExecution(rig, order);
    expect(sent).toMatchObject({
      state: 'EXECUTING',
      version: 4,
      approvals: [{ userId: 'U0BOB', at: secondsLater(1) }],
      expiresAt: undefined,
      remindAt: undefined,
      claim: { workerId: 'worker' },
      items: [{ state: 'SENT', sentAt: secondsLater(3), attempts: 1 }],
    });
    const result: ItemResult = {
      summary: { code: 'done' },
      code: 'S0105',
      text: 'Renewed',
      stid: '20260308-app-1',
      httpStatus: 200,
      messages: [{ code: 'M1', text: 'one' }, { text: 'two' }],
      hasSecret: true,
    };
    const done = await rig.apply(order.id, createAnswer('SUCCEEDED', result), secondsLater(4));
    expect(done).toMatchObject({
      state: 'SUCCEEDED',
      version: 5,
      closedAt: secondsLater(4),
      claim: undefined,
    });
    expect(done.items[0]).toEqual({
      ...sent.items[0],
      state: 'SUCCEEDED',
      answeredAt: secondsLater(4),
      result,
    });

    const history = await rig.store.loadHistory(order.id, 'system');
    expect(history.map((entry) => [entry.kind, entry.actor, entry.state, entry.version])).toEqual([
      ['requested', 'U0ALICE', 'PENDING', 1],
      ['approved', 'U0BOB', 'APPROVED', 2],
      ['claimed', 'system', 'EXECUTING', 3],
      ['sending', 'system', 'EXECUTING', 4],
      ['answered', 'system', 'SUCCEEDED', 5],
      ['finished', 'system', 'SUCCEEDED', 5],
    ]);
    expect(history[3]).toEqual({
      kind: 'sending',
      actor: 'system',
      state: 'EXECUTING',
      version: 4,
      at: secondsLater(3),
      n: 1,
      name: order.items[0]?.name,
      ctid: order.id,
      workerId: 'worker',
    });
  });

  test('with every approval, in order', async () => {
    const { id } = await rig.save(newOrder({ approvalsRequired: 3 }));
    await rig.apply(id, createApproval('U0ZOE'), secondsLater(1));
    await rig.apply(id, createApproval('U0BOB'), secondsLater(2));
    expect(await rig.read(id)).toMatchObject({
      state: 'PENDING',
      approvals: [
        { userId: 'U0ZOE', at: secondsLater(1) },
        { userId: 'U0BOB', at: secondsLater(2) },
      ],
    });
  });

  test('with an item that is rescheduled and released', async () => {
    const order = newOrder({}, ['held-1.rest', 'held-2.rest']);
    await startExecution(rig, order, 1);
    const retryScheduled = {
      type: 'retry_scheduled',
      workerId: 'worker',
      n: 1,
      notBefore: secondsLater(60),
      retryReason: 'busy',
    } as const;
    const held = await rig.apply(order.id, retryScheduled, secondsLater(4));
    expect(held.items).toMatchObject([
      { state: 'WAITING', notBefore: secondsLater(60), sentAt: undefined, attempts: 1 },
      { state: 'WAITING', notBefore: undefined, attempts: 0 },
    ]);
    const released = await rig.apply(order.id, { type: 'released' }, secondsLater(5));
    expect(released).toMatchObject({ state: 'APPROVED', claim: undefined, items: held.items });
  });

  test.each<[string, ItemSummary]>([
    ['data', { code: 'account_refused', account: 'alice in context 4' }],
    [
      'a nested code',
      {
        code: 'sending_lost',
        since: { code: 'earlier_unanswered', since: { code: 'refused' } },
      },
    ],
    [
      'the issue that prevents sending',
      { code: 'request_invalid', issue: { code: 'not_unicode', field: 'name' } },
    ],
    [
      'rule issues',
      {
        code: 'rules_changed',
        issues: [
          { field: 'period', code: 'zone_issue', issue: { code: 'period_out_of_range', min: 1, max: 10 } },
          { field: 'names', code: 'too_many_names', max: 50 },
          { field: 'mode', code: 'interfaces_conflict', jsonConstraint: 'mode_HTTP', xmlConstraint: 'title' },
        ],
      },
    ],
  ])('with a result code that has %s', async (_what, summary) => {
    const order = newOrder();
    await startExecution(rig, order);
    const failed = await rig.apply(order.id, createAnswer('FAILED', { summary }), secondsLater(4));
    expect(failed.items[0]?.result).toEqual({ summary });
  });

  test.each([
    ['NUL', 'a\0b', 'a\uFFFDb'],
    ['a lone high surrogate', 'a \ud83d b', 'a \uFFFD b'],
    ['a lone low surrogate', '\udcff', '\uFFFD'],
    ['a literal escape sequence', '\\u0000 \\ud83d', '\\u0000 \\ud83d'],
  ])('with an outcome that contains %s', async (_what, text, stored) => {
    const order = newOrder();
    await startExecution(rig, order);
    const done = await rig.apply(
      order.id,
      createAnswer('FAILED', { summary: { code: 'refused' }, messages: [{ text }] }),
      secondsLater(4),
    );
    expect(done.items[0]?.result).toEqual({ summary: { code: 'refused' }, messages: [{ text: stored }] });
  });

  test('as undefined if it doesn’t exist', async () => {
    expect(await rig.store.load('nobody', 'system')).toBeUndefined();
    expect(await rig.store.loadSealedInput('nobody')).toBeUndefined();
    expect(await rig.store.loadHistory('nobody', 'system')).toEqual([]);
    expect(await rig.store.takeRevealableSecret('nobody', 1, START_TIME)).toBeUndefined();
  });
});

describe('compare and swap', () => {
  test('counts exactly one of 20 concurrent approvals', async () => {
    const before = await rig.save(newOrder());
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        rig.store.commit(createCommit(before, createApproval(`U${index}`), secondsLater(1))),
      ),
    );
    expect(outcomes.filter((outcome) => outcome.ok)).toHaveLength(1);
    expect(outcomes.filter((outcome) => !outcome.ok)[0]).toEqual({
      ok: false,
      conflictingOrderId: undefined,
    });
    const current = await rig.read(before.id);
    expect(current).toMatchObject({ state: 'APPROVED', version: 2 });
    expect(current.approvals, 'a losing approval was saved').toHaveLength(1);
    expect(await rig.store.loadHistory(before.id, 'system'), 'a losing event was saved').toHaveLength(2);
    expect(await rig.findDueTimes(before.id)).toEqual({ work: secondsLater(1), notifications: START_TIME });
  });

  test('keeps changes in one statement independent, even if some are outdated or conflict', async () => {
    const orders = await Promise.all(Array.from({ length: 12 }, () => rig.save(newOrder())));
    const [outdated, ...fresh] = orders;
    if (outdated === undefined) throw new Error('missing order');
    await rig.apply(outdated.id, { type: 'reminded' }, secondsLater(600));
    const existing = await rig.save(newOrder({ task: 'delete' }, ['held.rest']));
    const conflicting = await rig.save(newOrder({ task: 'delete', state: 'DRAFT' }, ['held.rest']));
    const confirmed = {
      type: 'confirmed',
      needsApproval: false,
      expiresAt: START_TIME,
      remindAt: START_TIME,
    } as const;

    const outcomes = await Promise.all(
      [...orders, conflicting].map((order) =>
        rig.store.commit(
          createCommit(order, order === conflicting ? confirmed : createApproval('U0BOB'), secondsLater(601)),
        ),
      ),
    );
    expect(outcomes[0], 'the outdated order').toEqual({ ok: false, conflictingOrderId: undefined });
    expect(outcomes.at(-1), 'the conflicting order').toEqual({ ok: false, conflictingOrderId: existing.id });
    expect(outcomes.slice(1, -1).every(({ ok }) => ok)).toBe(true);
    for (const order of fresh) {
      expect(await rig.read(order.id)).toMatchObject({ state: 'APPROVED', approvals: [{ userId: 'U0BOB' }] });
      expect(await rig.store.loadHistory(order.id, 'system')).toHaveLength(2);
      expect((await rig.findDueTimes(order.id)).work).toEqual(secondsLater(601));
    }
    expect(await rig.read(conflicting.id)).toEqual(conflicting);
  });

  test('lets exactly one of 20 concurrent workers claim an order', async () => {
    const before = await rig.save(newOrder({ state: 'APPROVED' }));
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        rig.store.commit(createCommit(before, { type: 'claimed', workerId: `w${index}` }, secondsLater(1))),
      ),
    );
    const winner = outcomes.findIndex((outcome) => outcome.ok);
    expect(outcomes.filter((outcome) => outcome.ok)).toHaveLength(1);
    expect((await rig.read(before.id)).claim?.workerId).toBe(`w${winner}`);
    expect(await rig.store.loadHistory(before.id, 'system')).toHaveLength(2);
  });

  test('saves no item of an outdated order', async () => {
    const order = newOrder();
    const stale = await startExecution(rig, order);
    await rig.apply(order.id, createAnswer('SUCCEEDED'), secondsLater(4));
    const late = createCommit(
      stale,
      createAnswer('FAILED', { summary: { code: 'refused' } }),
      secondsLater(5),
    );
    expect(
      await rig.store.commit({
        ...late,
        revealableSecret: { n: 1, sealed: SEALED_SECRET, expiresAt: secondsLater(60) },
      }),
    ).toEqual({ ok: false, conflictingOrderId: undefined });
    expect((await rig.read(order.id)).items[0]).toMatchObject({ state: 'SUCCEEDED' });
    expect(await rig.store.takeRevealableSecret(order.id, 1, START_TIME)).toBeUndefined();
  });

  test('refuses a change without an event for the audit log', async () => {
    const before = await rig.save(newOrder());
    const change: OrderCommit = {
      ...createCommit(before, createApproval('U0BOB'), secondsLater(1)),
      log: [],
    };
    await expect(rig.store.commit(change)).rejects.toMatchObject({
      cause: { message: expect.stringContaining('audit log') },
    });
  });
});

describe('a due time', () => {
  test('is written with the change', async () => {
    const order = newOrder({ remindAt: secondsLater(600), expiresAt: secondsLater(3_600) });
    await rig.save(order);
    expect(await rig.findDueTimes(order.id)).toEqual({ work: secondsLater(600), notifications: START_TIME });
    await rig.apply(order.id, { type: 'reminded' }, secondsLater(600));
    expect(await rig.findDueTimes(order.id)).toEqual({
      work: secondsLater(3_600),
      notifications: START_TIME,
    });
  });

  test('isn’t written if the change isn’t saved', async () => {
    const before = await rig.save(newOrder());
    await rig.apply(before.id, { type: 'cancelled', by: 'U0ALICE' }, secondsLater(1));
    expect(
      await rig.store.commit(createCommit(before, createApproval('U0BOB'), secondsLater(2))),
    ).toMatchObject({
      ok: false,
    });
    expect(await rig.findDueTimes(before.id)).toEqual({ work: undefined, notifications: START_TIME });
  });
});

describe('the limit of one open order per task and name', () => {
  test('admits one of 20 concurrent requests, and returns its ID to the others', async () => {
    const orders = Array.from({ length: 20 }, () => newOrder({}, ['wanted.rest']));
    const outcomes = await Promise.all(orders.map((order) => rig.store.create({ order, log: [] })));
    const stored = orders.filter((_, index) => outcomes[index] === undefined).map((order) => order.id);
    expect(stored, 'exactly one order may be open for a task and name').toHaveLength(1);
    expect(new Set(outcomes.map((outcome) => outcome?.conflictingOrderId ?? stored[0]))).toEqual(
      new Set(stored),
    );
  });

  test('causes no deadlock if two orders list the same names in a different sequence', async () => {
    const other = await rig.save(newOrder());
    const names = ['both-1.rest', 'both-2.rest', 'both-3.rest'];
    const orders = [newOrder({}, names), newOrder({}, names.toReversed())];
    // Both wait for the middle name, and continue at the same time.
    const outcomes = await rig.runWhileLocked(
      `INSERT INTO order_items (order_id, n, name, client_tid, state, open_key)
       VALUES ($1, 99, 'both-2.rest', 'held', 'WAITING', 'renew:both-2.rest')`,
      [other.id],
      () => orders.map((order) => rig.store.create({ order, log: [] })),
    );
    const stored = orders.filter((_, index) => outcomes[index] === undefined).map((order) => order.id);
    expect(stored).toHaveLength(1);
    expect(outcomes).toContainEqual({ conflictingOrderId: stored[0] });
  });

  test('ignores other tasks and closed orders, but not an unknown outcome', async () => {
    const first = newOrder({}, ['again.rest']);
    await startExecution(rig, first);
    expect(await rig.store.create({ order: newOrder({ task: 'restore' }, ['again.rest']), log: [] })).toBe(
      undefined,
    );
    await rig.apply(first.id, createAnswer('UNKNOWN'), secondsLater(4));
    const next = newOrder({}, ['again.rest', 'more.rest']);
    expect(await rig.store.create({ order: next, log: [] })).toEqual({ conflictingOrderId: first.id });
    await rig.apply(
      first.id,
      { type: 'resolved', by: 'U0BOB', outcome: 'FAILED', reason: undefined },
      secondsLater(5),
    );
    expect(await rig.store.create({ order: next, log: [] })).toBeUndefined();
  });

  test('returns the ID of an open or closed order for a repeated delivery', async () => {
    const order = await rig.save(newOrder());
    const again = newOrder({ deliveryId: order.deliveryId });
    expect(await rig.store.create({ order: again, log: [] })).toEqual({
      conflictingOrderId: order.id,
    });
    await rig.apply(order.id, { type: 'cancelled', by: 'U0ALICE' }, secondsLater(1));
    expect(await rig.store.create({ order: again, log: [] })).toEqual({ conflictingOrderId: order.id });
  });

  test('ignores drafts, and returns the ID of the open order if a draft is confirmed too late', async () => {
    const confirmed = {
      type: 'confirmed',
      needsApproval: false,
      expiresAt: START_TIME,
      remindAt: START_TIME,
    } as const;
    const drafts = await Promise.all(
      [1, 2].map(() => rig.save(newOrder({ task: 'delete', state: 'DRAFT' }, ['gone.rest']))),
    );
    const outcomes = await Promise.all(
      drafts.map((draft) => rig.store.commit(createCommit(draft, confirmed, secondsLater(1)))),
    );
    const winner = drafts[outcomes.findIndex((outcome) => outcome.ok)];
    const loser = drafts[outcomes.findIndex((outcome) => !outcome.ok)];
    if (winner === undefined || loser === undefined) throw new Error('both drafts became open orders');
    expect(outcomes).toContainEqual({ ok: false, conflictingOrderId: winner.id });
    expect(await rig.read(loser.id)).toEqual(loser);
    expect(await rig.findDueTimes(loser.id)).toEqual({ work: undefined, notifications: undefined });
    expect(await rig.store.loadHistory(loser.id, 'system')).toHaveLength(1);
  });
});

describe('secrets', () => {
  const secretOrder = (changes: Partial<Order> = {}) => newOrder({ secretHash: 'sha256:0', ...changes });

  test.each([
    ['is denied', { type: 'denied', by: 'U0BOB', reason: undefined }],
    ['is cancelled', { type: 'cancelled', by: 'U0ALICE' }],
    ['expires', { type: 'expired' }],
    ['fails before it is sent', { type: 'stopped', summary: { code: 'account_gone' } }],
  ] as const)('the sealed input is deleted when the order %s', async (_, event) => {
    const order = await rig.save(secretOrder());
    const closed = await rig.apply(order.id, event, secondsLater(7_200));
    expect(await rig.store.loadSealedInput(order.id)).toBeUndefined();
    expect(await loadSealedInputColumns(order.id)).toEqual({ sealed_input: null, sealed_input_key_id: null });
    expect(closed.secretHash, 'a retry must know that there was a secret').toBe('sha256:0');
  });

  test.each(['SUCCEEDED', 'FAILED', 'UNKNOWN'] as const)(
    'the sealed input is kept until the order is %s',
    async (outcome) => {
      const order = secretOrder();
      await startExecution(rig, order);
      expect(await rig.store.loadSealedInput(order.id)).toEqual(SEALED_SECRET);
      await rig.apply(order.id, createAnswer(outcome), secondsLater(4));
      expect(await rig.store.loadSealedInput(order.id)).toBeUndefined();
      expect(await loadSealedInputColumns(order.id)).toEqual({
        sealed_input: null,
        sealed_input_key_id: null,
      });
    },
  );

  test('the service’s responses are stored in full and in order, with any characters', async () => {
    const order = newOrder();
    await startExecution(rig, order);
    const response = { zone: 'rest', name: 'a\u0000b\ud800', data: [{ id: 1 }, Number.POSITIVE_INFINITY] };
    await rig.apply(order.id, createAnswer('SUCCEEDED', { summary: { code: 'done' } }), secondsLater(4), {
      answer: { n: 1, answer: response },
    });
    const stored = await rig.store.loadAnswers(order.id, 'system');
    expect(stored).toEqual([
      {
        n: 1,
        at: secondsLater(4),
        answer: { zone: 'rest', name: 'a\uFFFDb\uFFFD', data: [{ id: 1 }, null] },
      },
    ]);
    expect(Object.keys(stored[0]?.answer ?? {})).toEqual(['zone', 'name', 'data']);
    expect(await rig.store.loadAnswers('another', 'system')).toEqual([]);
  });

  async function saveSecretResult(expiresAt: Date): Promise<string> {
    const order = newOrder();
    await startExecution(rig, order);
    const revealableSecret = { n: 1, sealed: SEALED_SECRET, expiresAt };
    await rig.apply(
      order.id,
      createAnswer('SUCCEEDED', { summary: { code: 'done' }, hasSecret: true }),
      secondsLater(4),
      {
        revealableSecret,
      },
    );
    return order.id;
  }

  test('a secret result is returned to exactly one of 10 concurrent requests', async () => {
    const id = await saveSecretResult(secondsLater(3_600));
    const results = await rig.runWhileLocked(
      'SELECT FROM revealable_secrets WHERE order_id = $1 FOR UPDATE',
      [id],
      () => Array.from({ length: 10 }, () => rig.store.takeRevealableSecret(id, 1, secondsLater(5))),
    );
    expect(results.filter((each) => each !== 'gone')).toEqual([SEALED_SECRET]);
    expect(results.filter((each) => each === 'gone')).toHaveLength(9);
    expect(
      await rig.sql('SELECT sealed, key_id, revealed_at FROM revealable_secrets WHERE order_id = $1', [id]),
    ).toEqual([{ sealed: null, key_id: null, revealed_at: secondsLater(5) }]);
    expect(await rig.store.takeRevealableSecret(id, 2, secondsLater(5))).toBeUndefined();
  });

  test('an expired secret result isn’t returned, and is deleted', async () => {
    const id = await saveSecretResult(secondsLater(3_600));
    const unexpiredId = await saveSecretResult(secondsLater(7_200));
    expect(await rig.store.takeRevealableSecret(id, 1, secondsLater(3_600))).toBe('gone');
    expect((await rig.store.purgeExpired(secondsLater(3_600))).secrets).toBe(1);
    expect(await rig.sql('SELECT sealed, key_id FROM revealable_secrets WHERE order_id = $1', [id])).toEqual([
      { sealed: null, key_id: null },
    ]);
    expect(await rig.store.takeRevealableSecret(id, 1, secondsLater(3_600))).toBe('gone');
    expect(await rig.store.takeRevealableSecret(unexpiredId, 1, secondsLater(3_600))).toEqual(SEALED_SECRET);
  });
});

describe('drafts', () => {
  test('are deleted with all their data when they expire, and other orders stay', async () => {
    const old = await rig.save(
      newOrder({ state: 'DRAFT', expiresAt: secondsLater(900), secretHash: 'sha256:0' }),
    );
    const young = await rig.save(newOrder({ state: 'DRAFT', expiresAt: secondsLater(901) }));
    const pending = await rig.save(newOrder({ expiresAt: secondsLater(900) }));
    expect((await rig.store.purgeExpired(secondsLater(900))).drafts).toBe(1);
    expect(await rig.store.load(old.id, 'system')).toBeUndefined();
    expect(await rig.store.loadHistory(old.id, 'system')).toEqual([]);
    expect(await rig.read(young.id)).toEqual(young);
    expect(await rig.read(pending.id)).toEqual(pending);
    const confirmed = {
      type: 'confirmed',
      needsApproval: false,
      expiresAt: START_TIME,
      remindAt: START_TIME,
    } as const;
    expect(await rig.store.commit(createCommit(old, confirmed, secondsLater(899)))).toEqual({
      ok: false,
      conflictingOrderId: undefined,
    });
  });
});

describe('the lease', () => {
  const loadLeaseSeconds = async (id: string) =>
    (
      await rig.sql(
        'SELECT extract(epoch FROM lease_until - now())::float8 AS left FROM orders WHERE id = $1',
        [id],
      )
    )[0]?.['left'];

  test('uses the database’s clock, and can be extended only by its worker during execution', async () => {
    const order = newOrder();
    await startExecution(rig, order);
    expect(await loadLeaseSeconds(order.id)).toBeLessThanOrEqual(20);
    expect(await rig.store.extendLease(order.id, 'worker', 400_000)).toBe(true);
    expect(await rig.store.extendLease(order.id, 'another', 800_000)).toBe(false);
    expect(await loadLeaseSeconds(order.id)).toBeGreaterThan(300);
    expect(await loadLeaseSeconds(order.id)).toBeLessThanOrEqual(400);
    await rig.apply(order.id, createAnswer('SUCCEEDED'), secondsLater(4));
    expect(await loadLeaseSeconds(order.id), 'after execution').toBeNull();
    expect(await rig.store.extendLease(order.id, 'worker', 60_000)).toBe(false);
  });

  test('isn’t shortened by another process’s change', async () => {
    const order = newOrder({}, ['lease-1.rest', 'lease-2.rest']);
    const before = await startExecution(rig, order);
    await rig.store.extendLease(order.id, 'worker', 400_000);
    const sending = { type: 'sending', workerId: 'worker', n: 2 } as const;
    expect(await rig.store.commit(createCommit(before, sending, secondsLater(5)))).toEqual({ ok: true });
    expect(await loadLeaseSeconds(order.id), 'the lease was shortened').toBeGreaterThan(300);
  });
});

describe('listing orders', () => {
  test('filters by state, person and name, newest first', async () => {
    const saveOrder = (seconds: number, changes: Partial<Order>, names?: string[]) =>
      rig.save(newOrder({ createdAt: secondsLater(seconds), requesterId: 'U0LISTS', ...changes }, names));
    const first = await saveOrder(1, {});
    const second = await saveOrder(2, { task: 'restore', state: 'APPROVED' }, ['list-a.rest', 'list-b.rest']);
    const third = await saveOrder(3, {}, ['list-b.rest']);
    const draft = await saveOrder(4, { task: 'delete', state: 'DRAFT' }, ['list-b.rest']);
    await saveOrder(5, { requesterId: 'U0OTHER' });
    const listIds = async (
      filter: Omit<Parameters<Rig['store']['list']>[0], 'limit' | 'viewer'>,
      limit = 10,
    ) =>
      (await rig.store.list({ viewer: 'system', requesterId: 'U0LISTS', limit, ...filter })).map(
        (order) => order.id,
      );

    expect(await listIds({})).toEqual([third.id, second.id, first.id]);
    expect(await listIds({}, 2)).toEqual([third.id, second.id]);
    expect(await listIds({ states: ['APPROVED', 'DRAFT'] })).toEqual([draft.id, second.id]);
    expect(await listIds({ states: [] })).toEqual([]);
    expect(await listIds({ name: 'list-b.rest' })).toEqual([third.id, second.id]);
    expect(await listIds({ name: 'list-b.rest', states: ['PENDING'] })).toEqual([third.id]);
    expect((await rig.store.list({ viewer: 'system', name: 'list-a.rest', limit: 1 }))[0]).toEqual(second);
  });

  test('finds the latest order by task, person and context', async () => {
    const saveOrder = (seconds: number, changes: Partial<Order>) =>
      rig.save(newOrder({ createdAt: secondsLater(seconds), requesterId: 'U0LATEST', ...changes }));
    const account = { id: 'a', login: 'l', method: 'password' };
    await saveOrder(1, { account: { ...account, context: 4 } });
    const newest = await saveOrder(2, { account: { ...account, context: 4 } });
    await saveOrder(3, { account: { ...account, context: 1 } });
    await saveOrder(4, { account: { ...account, context: 4 }, task: 'restore' });
    await saveOrder(5, { account: { ...account, context: 4 }, state: 'DRAFT' });
    const application = await saveOrder(6, { account: { ...account, context: undefined } });
    expect(await rig.store.findLatest('renew', 'U0LATEST', 4)).toEqual(newest);
    expect(await rig.store.findLatest('renew', 'U0LATEST', undefined)).toEqual(application);
    expect(await rig.store.findLatest('create', 'U0LATEST', 4)).toBeUndefined();
  });
});

describe('sending an item of a retry', () => {
  let runCount = 0;
  /** Saves a failed order, its failed retry, and a claimed retry of that retry. */
  const saveRetries = async () => {
    runCount += 1;
    const names = [`race-${runCount}-1.rest`, `race-${runCount}-2.rest`];
    const first = newOrder({ state: 'FAILED', closedAt: secondsLater(0) }, names);
    const second = newOrder({ state: 'FAILED', retryOf: first.id }, names);
    const third = newOrder({ retryOf: second.id }, names);
    for (const order of [first, second]) await rig.save(order);
    await rig.sql(
      `UPDATE order_items SET state = 'FAILED', open_key = NULL, result = '{"summary": "Failed."}'
      WHERE order_id = ANY($1)`,
      [[first.id, second.id]],
    );
    await rig.save(third);
    await rig.apply(third.id, createApproval('U0BOB'), secondsLater(1));
    const claimed = await rig.apply(third.id, { type: 'claimed', workerId: 'worker' }, secondsLater(2));
    return { first, second, claimed };
  };
  const commitSending = (order: Order, n = 1) =>
    rig.store.commit(createCommit(order, { type: 'sending', workerId: 'worker', n }, secondsLater(3)));
  const SAVE_LATE_SUCCESS = `UPDATE order_items SET result = result || '{"lateOutcome": "SUCCEEDED"}' WHERE order_id = $1 AND n = 1`;

  test('is saved if no retried order has a late outcome', async () => {
    const { claimed } = await saveRetries();
    expect(await commitSending(claimed)).toEqual({ ok: true });
    expect(await rig.read(claimed.id)).toMatchObject({ items: [{ state: 'SENT' }, { state: 'WAITING' }] });
    expect(await commitSending(claimed), 'with an outdated version').toMatchObject({ ok: false });
  });

  test.each(['first', 'second'] as const)(
    'is refused if the %s order succeeded late for that name',
    async (which) => {
      const orders = await saveRetries();
      await rig.sql(SAVE_LATE_SUCCESS, [orders[which].id]);
      expect(await commitSending(orders.claimed)).toMatchObject({
        ok: false,
        earlierFinding: { orderId: orders[which].id, name: orders.claimed.items[0]?.name, outcome: 'done' },
      });
      expect(await rig.read(orders.claimed.id), 'nothing is saved').toEqual(orders.claimed);
      expect(await commitSending(orders.claimed, 2), 'the other name').toEqual({ ok: true });
    },
  );

  test.each(['first', 'second'] as const)(
    'waits for a response that is being saved for the %s order',
    async (which) => {
      const orders = await saveRetries();
      const saveAnswer = `WITH done AS (UPDATE orders SET version = version + 1 WHERE id = $1 RETURNING id)
      UPDATE order_items SET result = result || '{"lateOutcome": "SUCCEEDED"}' FROM done WHERE order_id = done.id AND n = 1`;
      const [outcome] = await rig.runWhileLocked(
        saveAnswer,
        [orders[which].id],
        () => [commitSending(orders.claimed)],
        'COMMIT',
      );
      expect(outcome).toMatchObject({ ok: false, earlierFinding: { outcome: 'done' } });
      expect(await rig.read(orders.claimed.id)).toEqual(orders.claimed);
    },
  );
});
