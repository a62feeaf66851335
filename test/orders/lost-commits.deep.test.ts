import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { approveOrder } from '../../src/approvals/approve.ts';
import { denyOrder } from '../../src/approvals/deny.ts';
import { resolveOrder } from '../../src/orders/resolve.ts';
import { refusalText } from '../../src/slack/orders/refusal.view.ts';
import { orderReply } from '../../src/slack/orders/thread.view.ts';
import { openDatabase } from '../../src/store/database.ts';
import { createOrderStore } from '../../src/store/orders.ts';
import { cardOf } from '../slack/orders/samples.ts';
import { BOT_SIGNER } from '../support/bot-signer.ts';
import { OwnServer } from '../support/own-server.ts';
import { gate, HOUR_MS, type Rig, startRig, until } from './rig.ts';
import { DONE, fails } from './scripted-service.ts';

/* A database that loses its last commits during a request: the outcome is saved anyway, and nothing is sent again. */

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
beforeEach(() => rig.reset());
afterAll(() => rig.end());

const TABLES = ['orders', 'order_items', 'events', 'approvals', 'unsealed_events'];

/** @returns restores the current orders, like a database that loses later commits */
async function remember(): Promise<() => Promise<void>> {
  const kept = await Promise.all(
    TABLES.map(async (table) => {
      const [row] = await rig.sql(`SELECT coalesce(jsonb_agg(t), '[]')::text AS rows FROM ${table} t`);
      return [table, String(row?.['rows'])] as const;
    }),
  );
  return async () => {
    // Triggers neither refuse nor repeat the loss.
    await rig.sql('ALTER TABLE events DISABLE TRIGGER USER');
    for (const table of TABLES.toReversed()) await rig.sql(`DELETE FROM ${table}`);
    for (const [table, rows] of kept) {
      await rig.sql(
        `INSERT INTO ${table} SELECT * FROM jsonb_populate_recordset(NULL::${table}, $1::jsonb)`,
        rows,
      );
    }
    await rig.sql('ALTER TABLE events ENABLE TRIGGER USER');
  };
}

/** A process that is sending a request for each name of a renewal, and the database before each step. */
async function requestOut(...names: string[]) {
  const answer = gate();
  let said = async (): Promise<typeof DONE> => DONE;
  rig.service.answer = async () => {
    await answer.opened;
    return said();
  };
  const empty = await remember();
  const asked = await rig.ask('renew', { names, period: 1 });
  const pending = await remember();
  const approved = await approveOrder(rig.orders, asked.id, 'U0BOB');
  if (!approved.ok) throw new Error(refusalText(approved.refusal));
  const unsent = await remember();
  const execution = rig.startProcess().execute(asked.id);
  await until('its requests are out', () => rig.service.received.length === names.length);
  return {
    id: asked.id,
    before: { asking: empty, approval: pending, sending: unsent },
    /** The response arrives, and all other processes try the order again. */
    async answers(what: () => Promise<typeof DONE> = async () => DONE) {
      said = what;
      answer.open();
      await execution;
      rig.pass(HOUR_MS);
      await rig.recover();
      await rig.runDue();
      return rig.read(asked.id);
    },
  };
}

const unreadable = async () => {
  throw fails('unknown_outcome');
};
const refused = async () => {
  throw fails('refused', { code: 'EF01017', text: 'No' });
};
const busy = async () => {
  throw fails('busy', { retryAfterMs: 1_000, httpStatus: 429 });
};

/** All texts of the order's thread. */
async function threadOf(orderId: string): Promise<string> {
  const order = await rig.read(orderId);
  const history = await rig.store.loadHistory(orderId, 'system');
  return JSON.stringify(history.map((entry) => orderReply(order, entry, ['U0BOB', 'S0LEADS'])));
}

describe('an order that the database calls unsent', () => {
  const rows: readonly (readonly [
    row: string,
    rewind: (o: Awaited<ReturnType<typeof requestOut>>) => Promise<void>,
  ])[] = [
    ['approved', ({ before }) => before.sending()],
    ['waiting for its approval', ({ before }) => before.approval()],
    [
      'a draft',
      async ({ before, id }) => {
        await before.approval();
        await rig.sql(`UPDATE orders SET state = 'DRAFT' WHERE id = $1`, id);
      },
    ],
    [
      'claimed by the worker that has sent it',
      async ({ before, id }) => {
        const { claim } = await rig.read(id);
        await before.sending();
        await rig.sql(
          `UPDATE orders SET state = 'EXECUTING', version = 3, worker_id = $2, lease_until = now() + interval '1 h' WHERE id = $1`,
          id,
          claim?.workerId,
        );
      },
    ],
    [
      'claimed by another worker, which has sent nothing yet',
      async ({ before, id }) => {
        await before.sending();
        await rig.sql(
          `UPDATE orders SET state = 'EXECUTING', version = 4, worker_id = 'another',
             lease_until = now() + interval '1 h' WHERE id = $1`,
          id,
        );
      },
    ],
  ];

  test.each(rows)(
    'and that is %s: it is stopped with the service’s response, and not sent again',
    async (_row, rewind) => {
      const order = await requestOut('cafe.rest');
      const sentAt = rig.now;
      await rewind(order);
      const ended = await order.answers();
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
      expect(rig.service.timesSent(order.id), 'requests').toBe(1);
      const said = await threadOf(order.id);
      expect(said).toMatch(/<@U0ALICE>.*outcome unknown/);
      expect(said).toMatch(
        /the bot’s database lost the record.*confirmed that it was carried out.*S0100.*won’t be sent again automatically\. <@U0BOB>/,
      );
      expect(rig.logged()).toContain('the database lost the record of a sent request');

      const settled = await resolveOrder(rig.orders, order.id, 'U0BOB', 'SUCCEEDED', 'the service shows it');
      expect(settled.ok).toBe(true);
      expect(await rig.read(order.id)).toMatchObject({ state: 'SUCCEEDED' });
    },
  );

  test.each([
    ['nothing that can be read', unreadable, /no readable response came back/],
    ['that it refuses', refused, /The service refused.*EF01017/],
    ['that it is busy', busy, /stayed busy/],
  ])('and that the service calls %s: it is stopped anyway', async (_what, answer, words) => {
    const order = await requestOut('cafe.rest');
    await order.before.sending();
    expect(await order.answers(answer)).toMatchObject({ state: 'UNKNOWN', items: [{ state: 'UNKNOWN' }] });
    expect(rig.service.timesSent(order.id)).toBe(1);
    expect(await threadOf(order.id)).toMatch(words);
  });

  test('and with several names: none is sent again, and each keeps its result', async () => {
    const order = await requestOut('a.rest', 'b.rest', 'c.rest');
    await order.before.sending();
    let answers = 0;
    const ended = await order.answers(async () => {
      answers += 1;
      return answers === 1 ? DONE : unreadable();
    });
    expect(ended.state).toBe('UNKNOWN');
    expect(rig.service.received).toHaveLength(3);
    expect(ended.items.map(({ result }) => result?.code ?? result?.errorKind).sort()).toEqual(
      ['S0100', 'unknown_outcome', 'unknown_outcome'].sort(),
    );
  });

  test('and with an unconfirmed end: it stays stopped', async () => {
    const order = await requestOut('cafe.rest');
    await order.before.sending();
    let broke = false;
    rig.setCommitFault(({ log }) => {
      if (broke || log[0]?.kind !== 'invalidated') return undefined;
      broke = true;
      return 'after';
    });
    expect(await order.answers()).toMatchObject({ state: 'UNKNOWN' });
    expect(broke).toBe(true);
    expect((await rig.story(order.id)).filter((kind) => kind === 'invalidated')).toHaveLength(1);
  });
});

test('an idempotent one stops as well: nobody knows that it was in doubt', async () => {
  rig.service.answer = unreadable;
  const order = await rig.ask('nameservers', {
    name: 'cafe.rest',
    nameServers: ['ns1.a.rest', 'ns2.a.rest'],
  });
  const unsent = await remember();
  rig.setBeforeCommit(async ({ log }) => {
    if (log[0]?.kind !== 'retry_scheduled') return;
    rig.setBeforeCommit(undefined);
    await unsent();
  });
  await rig.main.execute(order.id);
  expect(await rig.read(order.id)).toMatchObject({
    state: 'UNKNOWN',
    items: [{ result: { errorKind: 'unknown_outcome' } }],
  });
});

test('a refused connection after the commit is no request: the order continues', async () => {
  let tries = 0;
  rig.service.answer = async () => {
    tries += 1;
    return tries === 1 ? Promise.reject(fails('not_sent')) : DONE;
  };
  const order = await rig.approvedRenewal('cafe.rest');
  const unsent = await remember();
  rig.setBeforeCommit(async ({ log }) => {
    if (log[0]?.kind !== 'retry_scheduled') return;
    rig.setBeforeCommit(undefined);
    await unsent();
  });
  await rig.main.execute(order.id);
  await rig.main.execute(order.id);
  expect(await rig.read(order.id)).toMatchObject({ state: 'SUCCEEDED' });
});

describe('an order that has ended without its request', () => {
  test.each([
    ['carried out', undefined, 'SUCCEEDED', /S0100.*done twice/],
    ['refused', refused, 'FAILED', /EF01017.*n.t carried out/],
    ['not answered', unreadable, 'UNKNOWN', /may have been carried out.*done twice/],
  ] as const)(
    'denied: people learn that it was %s, and no card says that nothing was sent',
    async (_what, answer, lateOutcome, words) => {
      const order = await requestOut('cafe.rest');
      await order.before.approval();
      await denyOrder(rig.orders, order.id, 'U0BOB', undefined);
      const ended = await order.answers(answer);
      expect(ended).toMatchObject({ state: 'DENIED', items: [{ result: { lateOutcome } }] });
      expect(rig.service.timesSent(order.id)).toBe(1);
      const said = await threadOf(order.id);
      expect(said).toMatch(
        /<@U0ALICE>, <@U0BOB>, <!subteam\^S0LEADS>: .*my database lost the record of a sent request/,
      );
      expect(said).toMatch(words);
      expect(JSON.stringify(cardOf(ended, { approvers: [] }))).not.toContain('nothing was sent');
    },
  );

  test.each([
    ['done', undefined, []],
    ['perhaps done', unreadable, []],
    ['not done', refused, ['cafe.rest']],
  ] as const)(
    'stopped: if it turns out to be %s there is a Retry only if it wasn’t done',
    async (_what, answer, names) => {
      const order = await requestOut('cafe.rest');
      await order.before.sending();
      rig.accounts.clear();
      await rig.startProcess().execute(order.id);
      expect((await rig.read(order.id)).state).toBe('FAILED');
      const ended = await order.answers(answer);
      expect(ended.state).toBe('FAILED');
      const card = JSON.stringify(cardOf(ended, { approvers: [], now: rig.now }));
      expect(card.includes('order_retry')).toBe(names.length > 0);
    },
  );

  test('sent twice, because nobody could know: both responses are saved, and people are notified', async () => {
    const order = await requestOut('cafe.rest');
    await order.before.sending();
    rig.service.answer = async () => ({ ...DONE, stid: 'second' });
    await rig.startProcess().execute(order.id);
    expect((await rig.read(order.id)).items[0]?.result?.stid).toBe('second');
    const ended = await order.answers();
    expect(ended).toMatchObject({
      state: 'SUCCEEDED',
      items: [{ result: { stid: '20260301-test-1', lateOutcome: 'SUCCEEDED' } }],
    });
    expect(await threadOf(order.id)).toMatch(/database lost the record of a sent request/);
    const kept = (await rig.store.loadHistory(order.id, 'system'))
      .map((entry) => JSON.stringify(entry))
      .join();
    expect(kept).toContain('second');
    expect(kept).toContain('20260301-test-1');
  });
});

describe('an order that the database doesn’t know', () => {
  test('is written again, with its approvers and the service’s response', async () => {
    const order = await requestOut('a.rest', 'b.rest');
    await order.before.asking();
    const ended = await order.answers();
    expect(ended).toMatchObject({
      state: 'UNKNOWN',
      requesterId: 'U0ALICE',
      approvals: [{ userId: 'U0BOB' }],
    });
    expect(ended.items.map(({ ctid }) => ctid)).toEqual([`${order.id}.1`, `${order.id}.2`]);
    expect(ended.items.map(({ result }) => result?.code)).toEqual(['S0100', 'S0100']);
    expect(await threadOf(order.id)).toMatch(/the bot’s database lost the record/);
    const again = await rig.request('renew', { names: ['a.rest'], period: 1 });
    expect(again, 'its names are taken').toMatchObject({ kind: 'already_open', order: { id: order.id } });
  });

  test('and that was requested again meanwhile is written beside the new one', async () => {
    const order = await requestOut('cafe.rest');
    const { deliveryId } = await rig.read(order.id);
    await order.before.asking();
    const again = await rig.ask('renew', { names: ['cafe.rest'], period: 1 }, { deliveryId });
    expect(again.id).not.toBe(order.id);
    expect(await order.answers()).toMatchObject({ state: 'UNKNOWN', items: [{ result: { code: 'S0100' } }] });
    expect((await rig.read(again.id)).state, 'the new one').toBe('PENDING');
    await resolveOrder(rig.orders, order.id, 'U0BOB', 'SUCCEEDED', undefined);
    expect((await rig.read(order.id)).state).toBe('SUCCEEDED');
  });
});

test('a server whose disk is restored during a request: one request, and its response is saved', async () => {
  const server = await OwnServer.open();
  onTestFinished(() => server.close());
  const shared = rig;
  const url = await server.database();
  rig = await startRig({ database: { url, drop: async () => undefined } });
  onTestFinished(async () => {
    await rig.end();
    rig = shared;
  });
  const answer = gate();
  rig.service.answer = async () => {
    await answer.opened;
    return DONE;
  };
  const order = await rig.approvedRenewal('cafe.rest');
  const restore = await server.snapshot();
  const execution = rig.startProcess().execute(order.id);
  await until('its request is out', () => rig.service.timesSent(order.id) === 1);
  await restore();
  answer.open();
  await until('keeping the answer has failed', () => rig.logged().includes('saving the outcome'));
  await server.start();
  await execution;

  expect(await rig.read(order.id)).toMatchObject({
    state: 'UNKNOWN',
    items: [{ state: 'UNKNOWN', result: { code: 'S0100', text: 'Done by the service' } }],
  });
  // A process that starts now has seen nothing of this.
  const fresh = openDatabase({ url });
  onTestFinished(() => fresh.close());
  await rig.startProcess({ store: createOrderStore(fresh, BOT_SIGNER) }).execute(order.id);
  expect(rig.service.timesSent(order.id), 'requests').toBe(1);
}, 120_000);
