import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { approveOrder } from '../../src/approvals/approve.ts';
import { denyOrder } from '../../src/approvals/deny.ts';
import { resolveOrder } from '../../src/orders/resolve.ts';
import { refusalText } from '../../src/slack/orders/refusal.view.ts';
import { orderReply } from '../../src/slack/orders/thread.view.ts';
import { openDatabase } from '../../src/store/database.ts';
import { createOrderStore } from '../../src/store/orders.ts';
import { renderCard } from '../slack/orders/samples.ts';
import { BOT_SIGNER } from '../support/bot-signer.ts';
import { DedicatedServer } from '../support/own-server.ts';
import { HOUR_MS, newGate, type Rig, startRig, waitUntil } from './rig.ts';
import { newServiceError, SUCCESS_ENVELOPE } from './scripted-service.ts';

/* The database loses its last commits during a request: the outcome is still saved, and nothing is sent again. */

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
beforeEach(() => rig.reset());
afterAll(() => rig.end());

const TABLES = ['orders', 'order_items', 'events', 'approvals', 'unsealed_events'];

/** Saves the orders. @returns a function that restores them, like a database that loses later commits */
async function takeSnapshot(): Promise<() => Promise<void>> {
  const savedTables = await Promise.all(
    TABLES.map(async (table) => {
      const [row] = await rig.sql(`SELECT coalesce(jsonb_agg(t), '[]')::text AS rows FROM ${table} t`);
      return [table, String(row?.['rows'])] as const;
    }),
  );
  return async () => {
    // The triggers would refuse the deletion.
    await rig.sql('ALTER TABLE events DISABLE TRIGGER USER');
    for (const table of TABLES.toReversed()) await rig.sql(`DELETE FROM ${table}`);
    for (const [table, rows] of savedTables) {
      await rig.sql(
        `INSERT INTO ${table} SELECT * FROM jsonb_populate_recordset(NULL::${table}, $1::jsonb)`,
        rows,
      );
    }
    await rig.sql('ALTER TABLE events ENABLE TRIGGER USER');
  };
}

/** Starts a renewal's requests. @returns functions that restore the database before each step */
async function startRequest(...names: string[]) {
  const responseGate = newGate();
  let getResponse = async (): Promise<typeof SUCCESS_ENVELOPE> => SUCCESS_ENVELOPE;
  rig.service.answer = async () => {
    await responseGate.opened;
    return getResponse();
  };
  const restoreEmpty = await takeSnapshot();
  const requested = await rig.requestAccepted('renew', { names, period: 1 });
  const restorePending = await takeSnapshot();
  const approved = await approveOrder(rig.orders, requested.id, 'U0BOB');
  if (!approved.ok) throw new Error(refusalText(approved.refusal));
  const restoreUnsent = await takeSnapshot();
  const execution = rig.startProcess().execute(requested.id);
  await waitUntil('the requests are sent', () => rig.service.received.length === names.length);
  return {
    id: requested.id,
    restoreBefore: { request: restoreEmpty, approval: restorePending, sending: restoreUnsent },
    /** Lets the response arrive, and other processes try the order again. */
    async respond(newResponse: () => Promise<typeof SUCCESS_ENVELOPE> = async () => SUCCESS_ENVELOPE) {
      getResponse = newResponse;
      responseGate.open();
      await execution;
      rig.advanceClock(HOUR_MS);
      await rig.recover();
      await rig.runDue();
      return rig.read(requested.id);
    },
  };
}

const failUnreadable = async () => {
  throw newServiceError('unknown_outcome');
};
const failRefused = async () => {
  throw newServiceError('refused', { code: 'EF01017', text: 'No' });
};
const failBusy = async () => {
  throw newServiceError('busy', { retryAfterMs: 1_000, httpStatus: 429 });
};

/** The texts of the order's thread. */
async function renderThread(orderId: string): Promise<string> {
  const order = await rig.read(orderId);
  const history = await rig.store.loadHistory(orderId, 'system');
  return JSON.stringify(history.map((entry) => orderReply(order, entry, ['U0BOB', 'S0LEADS'])));
}

describe('an order that the database shows as unsent', () => {
  const rows: readonly (readonly [
    row: string,
    rewind: (o: Awaited<ReturnType<typeof startRequest>>) => Promise<void>,
  ])[] = [
    ['approved', ({ restoreBefore }) => restoreBefore.sending()],
    ['pending', ({ restoreBefore }) => restoreBefore.approval()],
    [
      'a draft',
      async ({ restoreBefore, id }) => {
        await restoreBefore.approval();
        await rig.sql(`UPDATE orders SET state = 'DRAFT' WHERE id = $1`, id);
      },
    ],
    [
      'claimed by the worker that has sent it',
      async ({ restoreBefore, id }) => {
        const { claim } = await rig.read(id);
        await restoreBefore.sending();
        await rig.sql(
          `UPDATE orders SET state = 'EXECUTING', version = 3, worker_id = $2, lease_until = now() + interval '1 h' WHERE id = $1`,
          id,
          claim?.workerId,
        );
      },
    ],
    [
      'claimed by another worker, but not sent',
      async ({ restoreBefore, id }) => {
        await restoreBefore.sending();
        await rig.sql(
          `UPDATE orders SET state = 'EXECUTING', version = 4, worker_id = 'another',
             lease_until = now() + interval '1 h' WHERE id = $1`,
          id,
        );
      },
    ],
  ];

  test.each(rows)(
    '(%s) becomes unknown, with the service’s response, and isn’t sent again',
    async (_row, rewind) => {
      const order = await startRequest('cafe.rest');
      const sentAt = rig.now;
      await rewind(order);
      const ended = await order.respond();
      expect(ended).toMatchObject({
        state: 'UNKNOWN',
        claim: undefined,
        closedAt: undefined,
        items: [
          {
            state: 'UNKNOWN',
            attempts: 1,
            sentAt,
            result: { code: 'S0100', text: 'Done by the service', stid: '20260301-test-1', httpStatus: 200 },
          },
        ],
      });
      expect(rig.service.countSent(order.id), 'requests').toBe(1);
      const text = await renderThread(order.id);
      expect(text).toMatch(/<@U0ALICE>.*outcome unknown/);
      expect(text).toMatch(
        /the bot’s database lost the record.*confirmed that it was carried out.*S0100.*won’t be sent again automatically\. <@U0BOB>/,
      );
      expect(rig.readLog()).toContain('the database lost the record of a sent request');

      const settled = await resolveOrder(rig.orders, order.id, 'U0BOB', 'SUCCEEDED', 'the service shows it');
      expect(settled.ok).toBe(true);
      expect(await rig.read(order.id)).toMatchObject({ state: 'SUCCEEDED' });
    },
  );

  test.each([
    ['an unreadable response', failUnreadable, /no readable response came back/],
    ['a refusal', failRefused, /The service refused.*EF01017/],
    ['a busy error', failBusy, /stayed busy/],
  ])('becomes unknown after %s', async (_what, answer, expectedText) => {
    const order = await startRequest('cafe.rest');
    await order.restoreBefore.sending();
    expect(await order.respond(answer)).toMatchObject({ state: 'UNKNOWN', items: [{ state: 'UNKNOWN' }] });
    expect(rig.service.countSent(order.id)).toBe(1);
    expect(await renderThread(order.id)).toMatch(expectedText);
  });

  test('with several names isn’t sent again, and each name keeps its result', async () => {
    const order = await startRequest('a.rest', 'b.rest', 'c.rest');
    await order.restoreBefore.sending();
    let answerCount = 0;
    const ended = await order.respond(async () => {
      answerCount += 1;
      return answerCount === 1 ? SUCCESS_ENVELOPE : failUnreadable();
    });
    expect(ended.state).toBe('UNKNOWN');
    expect(rig.service.received).toHaveLength(3);
    expect(ended.items.map(({ result }) => result?.code ?? result?.errorKind).sort()).toEqual(
      ['S0100', 'unknown_outcome', 'unknown_outcome'].sort(),
    );
  });

  test('becomes unknown once, even if that commit isn’t confirmed', async () => {
    const order = await startRequest('cafe.rest');
    await order.restoreBefore.sending();
    let hasFailed = false;
    rig.setCommitFault(({ log }) => {
      if (hasFailed || log[0]?.kind !== 'invalidated') return undefined;
      hasFailed = true;
      return 'after';
    });
    expect(await order.respond()).toMatchObject({ state: 'UNKNOWN' });
    expect(hasFailed).toBe(true);
    expect((await rig.listHistory(order.id)).filter((kind) => kind === 'invalidated')).toHaveLength(1);
  });
});

test('an idempotent order also becomes unknown if the record of its unanswered request is lost', async () => {
  rig.service.answer = failUnreadable;
  const order = await rig.requestAccepted('nameservers', {
    name: 'cafe.rest',
    nameServers: ['ns1.a.rest', 'ns2.a.rest'],
  });
  const restoreUnsent = await takeSnapshot();
  rig.setBeforeCommit(async ({ log }) => {
    if (log[0]?.kind !== 'retry_scheduled') return;
    rig.setBeforeCommit(undefined);
    await restoreUnsent();
  });
  await rig.main.execute(order.id);
  expect(await rig.read(order.id)).toMatchObject({
    state: 'UNKNOWN',
    items: [{ result: { errorKind: 'unknown_outcome' } }],
  });
});

test('an order continues if only the record of a failed connection was lost', async () => {
  let tries = 0;
  rig.service.answer = async () => {
    tries += 1;
    return tries === 1 ? Promise.reject(newServiceError('not_sent')) : SUCCESS_ENVELOPE;
  };
  const order = await rig.requestApprovedRenewal('cafe.rest');
  const restoreUnsent = await takeSnapshot();
  rig.setBeforeCommit(async ({ log }) => {
    if (log[0]?.kind !== 'retry_scheduled') return;
    rig.setBeforeCommit(undefined);
    await restoreUnsent();
  });
  await rig.main.execute(order.id);
  await rig.main.execute(order.id);
  expect(await rig.read(order.id)).toMatchObject({ state: 'SUCCEEDED' });
});

describe('an order that ended after the database lost its request', () => {
  test.each([
    ['carried out', undefined, 'SUCCEEDED', /S0100.*done twice/],
    ['refused', failRefused, 'FAILED', /EF01017.*n.t carried out/],
    ['not answered', failUnreadable, 'UNKNOWN', /may have been carried out.*done twice/],
  ] as const)(
    'and was denied notifies people that it was %s, and its card doesn’t say that nothing was sent',
    async (_what, answer, lateOutcome, expectedText) => {
      const order = await startRequest('cafe.rest');
      await order.restoreBefore.approval();
      await denyOrder(rig.orders, order.id, 'U0BOB', undefined);
      const ended = await order.respond(answer);
      expect(ended).toMatchObject({ state: 'DENIED', items: [{ result: { lateOutcome } }] });
      expect(rig.service.countSent(order.id)).toBe(1);
      const text = await renderThread(order.id);
      expect(text).toMatch(
        /<@U0ALICE>, <@U0BOB>, <!subteam\^S0LEADS>: .*my database lost the record of a sent request/,
      );
      expect(text).toMatch(expectedText);
      expect(JSON.stringify(renderCard(ended, { approvers: [] }))).not.toContain('nothing was sent');
    },
  );

  test.each([
    ['done', undefined, []],
    ['perhaps done', failUnreadable, []],
    ['not done', failRefused, ['cafe.rest']],
  ] as const)(
    'and was stopped has a Retry button only if it wasn’t done (%s)',
    async (_what, answer, names) => {
      const order = await startRequest('cafe.rest');
      await order.restoreBefore.sending();
      rig.accounts.clear();
      await rig.startProcess().execute(order.id);
      expect((await rig.read(order.id)).state).toBe('FAILED');
      const ended = await order.respond(answer);
      expect(ended.state).toBe('FAILED');
      const card = JSON.stringify(renderCard(ended, { approvers: [], now: rig.now }));
      expect(card.includes('order_retry')).toBe(names.length > 0);
    },
  );

  test('and was sent twice keeps both responses and notifies people', async () => {
    const order = await startRequest('cafe.rest');
    await order.restoreBefore.sending();
    rig.service.answer = async () => ({ ...SUCCESS_ENVELOPE, stid: 'second' });
    await rig.startProcess().execute(order.id);
    expect((await rig.read(order.id)).items[0]?.result?.stid).toBe('second');
    const ended = await order.respond();
    expect(ended).toMatchObject({
      state: 'SUCCEEDED',
      items: [{ result: { stid: '20260301-test-1', lateOutcome: 'SUCCEEDED' } }],
    });
    expect(await renderThread(order.id)).toMatch(/database lost the record of a sent request/);
    const historyText = (await rig.store.loadHistory(order.id, 'system'))
      .map((entry) => JSON.stringify(entry))
      .join();
    expect(historyText).toContain('second');
    expect(historyText).toContain('20260301-test-1');
  });
});

describe('an order that is missing in the database', () => {
  test('is saved again, with its approvers and the service’s response', async () => {
    const order = await startRequest('a.rest', 'b.rest');
    await order.restoreBefore.request();
    const ended = await order.respond();
    expect(ended).toMatchObject({
      state: 'UNKNOWN',
      requesterId: 'U0ALICE',
      approvals: [{ userId: 'U0BOB' }],
    });
    expect(ended.items.map(({ ctid }) => ctid)).toEqual([`${order.id}.1`, `${order.id}.2`]);
    expect(ended.items.map(({ result }) => result?.code)).toEqual(['S0100', 'S0100']);
    expect(await renderThread(order.id)).toMatch(/the bot’s database lost the record/);
    const newRequest = await rig.request('renew', { names: ['a.rest'], period: 1 });
    expect(newRequest, 'a new request').toMatchObject({
      kind: 'already_open',
      order: { id: order.id },
    });
  });

  test('is saved next to a new order with the same delivery', async () => {
    const order = await startRequest('cafe.rest');
    const { deliveryId } = await rig.read(order.id);
    await order.restoreBefore.request();
    const newOrder = await rig.requestAccepted('renew', { names: ['cafe.rest'], period: 1 }, { deliveryId });
    expect(newOrder.id).not.toBe(order.id);
    expect(await order.respond()).toMatchObject({ state: 'UNKNOWN', items: [{ result: { code: 'S0100' } }] });
    expect((await rig.read(newOrder.id)).state, 'state of the new order').toBe('PENDING');
    await resolveOrder(rig.orders, order.id, 'U0BOB', 'SUCCEEDED', undefined);
    expect((await rig.read(order.id)).state).toBe('SUCCEEDED');
  });
});

test('after a server is restored during a request, nothing is sent again, and the response is saved', async () => {
  const server = await DedicatedServer.open();
  onTestFinished(() => server.close());
  const sharedRig = rig;
  const url = await server.createDatabase();
  rig = await startRig({ database: { url, drop: async () => undefined } });
  onTestFinished(async () => {
    await rig.end();
    rig = sharedRig;
  });
  const responseGate = newGate();
  rig.service.answer = async () => {
    await responseGate.opened;
    return SUCCESS_ENVELOPE;
  };
  const order = await rig.requestApprovedRenewal('cafe.rest');
  const restore = await server.snapshot();
  const execution = rig.startProcess().execute(order.id);
  await waitUntil('the request is sent', () => rig.service.countSent(order.id) === 1);
  await restore();
  responseGate.open();
  await waitUntil('saving the response has failed', () => rig.readLog().includes('saving the outcome'));
  await server.start();
  await execution;

  expect(await rig.read(order.id)).toMatchObject({
    state: 'UNKNOWN',
    items: [{ state: 'UNKNOWN', result: { code: 'S0100', text: 'Done by the service' } }],
  });
  // A new process doesn't know about the request.
  const newDatabase = openDatabase({ url });
  onTestFinished(() => newDatabase.close());
  await rig.startProcess({ store: createOrderStore(newDatabase, BOT_SIGNER) }).execute(order.id);
  expect(rig.service.countSent(order.id), 'requests').toBe(1);
}, 120_000);
