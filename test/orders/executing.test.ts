import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createVault } from '../../src/accounts/vault.ts';
import { approveOrder } from '../../src/approvals/approve.ts';
import { retryOrder } from '../../src/orders/retry-button.ts';
import { Secret } from '../../src/service/secret.ts';
import {
  HOUR_MS,
  MINUTE_MS,
  type Rig,
  requireAccepted,
  runConcurrently,
  startRig,
  waitUntil,
} from './rig.ts';
import { buildRenewalRequest, renderResult } from './sample.ts';
import { newServiceError, SUCCESS_ENVELOPE } from './scripted-service.ts';

/* Executing orders: the effect of each response, the effect of a missing one, and retries. */

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
beforeEach(() => rig.reset());
afterAll(() => rig.end());

const NAMESERVERS_INPUT = { name: 'cafe.rest', nameServers: ['ns1.example.com', 'ns2.example.com'] };
const TRANSFER_INPUT = { ...NAMESERVERS_INPUT, ownerc: 1, adminc: 2, techc: 3 };
const readItemStates = async (orderId: string) => (await rig.read(orderId)).items.map(({ state }) => state);

/** The time until an order's next attempt, in milliseconds. */
async function readNextAttemptMs(orderId: string): Promise<number | undefined> {
  const { work } = await rig.readDueTimes(orderId);
  return work instanceof Date && work > rig.now ? work.getTime() - rig.now.getTime() : undefined;
}

test('a response is saved with its code, texts and stid, and notifications are due', async () => {
  rig.service.answer = async () => ({
    ...SUCCESS_ENVELOPE,
    messages: [{ code: 'MSG1', text: 'Premium name', objects: [] }],
  });
  const order = await rig.requestApprovedRenewal('cafe.rest');
  await rig.main.execute(order.id);
  const done = await rig.read(order.id);
  expect(done).toMatchObject({ state: 'SUCCEEDED', claim: undefined, closedAt: rig.now });
  expect(done.items).toMatchObject([
    {
      state: 'SUCCEEDED',
      attempts: 1,
      sentAt: rig.now,
      answeredAt: rig.now,
      result: {
        code: 'S0100',
        text: 'Done by the service',
        stid: '20260301-test-1',
        messages: [{ code: 'MSG1', text: 'Premium name' }],
      },
    },
  ]);
  expect(rig.service.received).toMatchObject([{ task: 'domain.renew', ctid: order.id }]);
  expect(rig.acceptedAccountIds, 'accounts that the service has accepted').toEqual(['account-alice']);
  expect(await rig.readDueTimes(order.id)).toEqual({ work: rig.now, notifications: rig.now });
  expect(await rig.listItemsForWatchList(order.id)).toEqual([1]);
  await rig.main.execute(order.id);
  expect(rig.service.countSent(order.id), 'requests after a second run').toBe(1);
  expect(rig.readLog()).not.toContain('lost the record');
});

test('the duration of a request is recorded in seconds', async () => {
  const startedAt = performance.now();
  const durations: number[] = [];
  const recordRequestDuration = (_task: string, _ended: string, seconds: number) =>
    void durations.push(seconds);
  const order = await rig.requestApprovedRenewal('cafe.rest');
  await rig.startProcess({ recordRequestDuration }).execute(order.id);
  expect(durations).toHaveLength(1);
  expect(durations[0]).toBeLessThanOrEqual((performance.now() - startedAt) / 1_000);
});

test.each(['prepare', 'answer'] as const)(
  'the log of an internal error says whether a request was sent: %s',
  async (step) => {
    rig.service[step] = async () => {
      throw new TypeError('a fault of ours');
    };
    const order = await rig.requestApprovedRenewal('cafe.rest');
    await rig.main.execute(order.id);
    const isSent = step === 'answer';
    expect(rig.readLog()).toContain(`"sent":${isSent},"mayBeDone":${isSent}`);
  },
);

test('a retry is stopped right before sending if the earlier order turns out to be done', async () => {
  const first = await rig.requestApprovedRenewal('cafe.rest');
  rig.service.answer = async () => {
    throw newServiceError('refused');
  };
  await rig.main.execute(first.id);
  const retry = requireAccepted(await retryOrder(rig.orders, first.id, 'U0ALICE'));
  await approveOrder(rig.orders, retry.id, 'U0BOB');
  rig.service.received.length = 0;
  rig.service.prepare = async () => {
    await rig.sql(`UPDATE order_items SET state = 'SUCCEEDED' WHERE order_id = $1`, first.id);
  };
  await rig.main.execute(retry.id);
  expect(rig.service.received).toEqual([]);
  expect((await rig.read(retry.id)).items[0]?.result?.summary).toEqual({
    ...{ code: 'earlier_order', orderId: first.id, outcome: 'done' },
  });
});

test.each([false, true])(
  'an order that the database lost is saved again (delivery repeated: %s)',
  async (isRedelivered) => {
    const order = await rig.requestApprovedRenewal('cafe.rest');
    rig.service.answer = async () => {
      await rig.reset();
      if (isRedelivered)
        await rig.requestAccepted(
          'renew',
          { names: ['bar.rest'], period: 1 },
          { deliveryId: order.deliveryId },
        );
      return SUCCESS_ENVELOPE;
    };
    await rig.main.execute(order.id);
    expect(await rig.read(order.id)).toMatchObject({
      state: 'UNKNOWN',
      deliveryId: isRedelivered ? `lost:${order.id}` : order.deliveryId,
    });
  },
);

test('sentAt is in the database before the request is sent', async () => {
  const order = await rig.requestApprovedRenewal('cafe.rest');
  rig.service.answer = async () => {
    expect(await rig.read(order.id)).toMatchObject({
      state: 'EXECUTING',
      items: [{ state: 'SENT', sentAt: rig.now }],
    });
    return SUCCESS_ENVELOPE;
  };
  await rig.runDue();
  expect(await readItemStates(order.id)).toEqual(['SUCCEEDED']);
});

describe('a paid task', () => {
  test('is never sent again once its outcome is unknown', async () => {
    rig.service.answer = async () => {
      throw newServiceError('unknown_outcome');
    };
    const order = await rig.requestApprovedRenewal('cafe.rest');
    await rig.runDue();
    expect(await rig.read(order.id)).toMatchObject({ state: 'UNKNOWN', closedAt: undefined });
    for (let hour = 0; hour < 3; hour += 1) {
      rig.advanceClock(24 * HOUR_MS);
      await rig.recover();
      await rig.runDue();
      await rig.main.execute(order.id);
    }
    expect(rig.service.countSent(order.id)).toBe(1);
    expect((await rig.read(order.id)).state).toBe('UNKNOWN');
  });

  test('fails with the service’s reason if the service refuses it', async () => {
    rig.service.answer = async () => {
      throw newServiceError('refused', { code: 'EF01002', text: 'Period too long', httpStatus: 422 });
    };
    const order = await rig.requestApprovedRenewal('cafe.rest');
    await rig.runDue();
    expect(await rig.read(order.id)).toMatchObject({
      state: 'FAILED',
      items: [{ result: { code: 'EF01002', text: 'Period too long', httpStatus: 422 } }],
    });
    expect(rig.acceptedAccountIds, 'accounts accepted by a refusal').toEqual([]);
    expect(await rig.listItemsForWatchList(order.id), 'items for the watch list').toEqual([]);
  });

  test('is retried if the service was busy, after its Retry-After and with the same ctid', async () => {
    rig.service.answer = async () => {
      if (rig.service.received.length === 1) throw newServiceError('busy', { retryAfterMs: 90_000 });
      return SUCCESS_ENVELOPE;
    };
    const order = await rig.requestApprovedRenewal('cafe.rest');
    await rig.runDue();
    expect(await rig.read(order.id)).toMatchObject({
      state: 'APPROVED',
      claim: undefined,
      items: [{ state: 'WAITING', sentAt: undefined, attempts: 1 }],
    });
    expect(await readNextAttemptMs(order.id)).toBe(90_000);
    rig.advanceClock(89_999);
    // An early run, for example by the recovery, changes nothing.
    await rig.main.execute(order.id);
    await rig.runDue();
    expect(rig.service.countSent(order.id), 'requests before the retry is due').toBe(1);
    rig.advanceClock(1);
    await rig.runDue();
    expect(rig.service.countSent(order.id)).toBe(2);
    expect(await rig.read(order.id)).toMatchObject({ state: 'SUCCEEDED', items: [{ attempts: 2 }] });
  });

  test('fails after four attempts that end before the request is sent', async () => {
    rig.service.prepare = async () => {
      throw newServiceError('not_sent');
    };
    const order = await rig.requestApprovedRenewal('cafe.rest');
    for (let tries = 0; tries < 6; tries += 1) {
      await rig.runDue();
      rig.advanceClock(MINUTE_MS);
    }
    expect(rig.service.received).toEqual([]);
    expect(await rig.read(order.id)).toMatchObject({ state: 'FAILED', items: [{ attempts: 4 }] });
  });
});

describe('an idempotent task', () => {
  test('succeeds if a retry gets a response', async () => {
    rig.service.answer = async () => {
      if (rig.service.received.length === 1) throw newServiceError('unknown_outcome');
      return SUCCESS_ENVELOPE;
    };
    const order = await rig.requestAccepted('nameservers', NAMESERVERS_INPUT);
    await rig.runDue();
    rig.advanceClock(1_000);
    await rig.runDue();
    expect(await rig.read(order.id)).toMatchObject({ state: 'SUCCEEDED', items: [{ attempts: 2 }] });
  });
});

describe('several names', () => {
  const names = Array.from({ length: 9 }, (_, index) => `name${index + 1}.rest`);

  test('are sent as separate requests, at most four at a time, each with its ctid', async () => {
    let running = 0;
    let maxRunning = 0;
    rig.service.answer = async () => {
      running += 1;
      maxRunning = Math.max(maxRunning, running);
      await waitUntil(
        'four requests are running',
        () => running === 4 || rig.service.received.length === names.length,
      );
      running -= 1;
      return SUCCESS_ENVELOPE;
    };
    const order = await rig.requestApprovedRenewal(...names);
    await rig.runDue();
    expect((await rig.read(order.id)).state).toBe('SUCCEEDED');
    expect(maxRunning, 'concurrent requests').toBe(4);
    const received = rig.service.received.map(({ ctid, description }) => [ctid, description]).sort();
    expect(received).toEqual(
      names.map((name, index) => [`${order.id}.${index + 1}`, buildRenewalRequest(name, 1)]),
    );
  });

  test('are retried individually if the service was busy', async () => {
    rig.service.answer = async ({ ctid }) => {
      if (ctid.endsWith('.2') && rig.service.countSent(ctid) === 1)
        throw newServiceError('busy', { retryAfterMs: 5_000 });
      return SUCCESS_ENVELOPE;
    };
    const order = await rig.requestApprovedRenewal('a.rest', 'b.rest', 'c.rest');
    await rig.runDue();
    expect(await readItemStates(order.id)).toEqual(['SUCCEEDED', 'WAITING', 'SUCCEEDED']);
    rig.advanceClock(5_000);
    await rig.runDue();
    expect((await rig.read(order.id)).state).toBe('SUCCEEDED');
    expect([1, 2, 3].map((n) => rig.service.countSent(`${order.id}.${n}`))).toEqual([1, 2, 1]);
  });

  test('are each sent once by concurrent replicas', async () => {
    const order = await rig.requestApprovedRenewal(...names);
    await runConcurrently(6, () => rig.startProcess().execute(order.id));
    expect(names.map((_, index) => rig.service.countSent(`${order.id}.${index + 1}`))).toEqual(
      names.map(() => 1),
    );
  });
});

describe('before sending, an order', () => {
  const names = Array.from({ length: 9 }, (_, index) => `name${index + 1}.rest`);

  test('is stopped if its requester has left', async () => {
    const order = await rig.requestApprovedRenewal('cafe.rest');
    rig.memberships.set('U0ALICE', 'left');
    await rig.runDue();
    expect(rig.service.received).toEqual([]);
    const { state, items } = await rig.read(order.id);
    expect(state).toBe('FAILED');
    expect(renderResult(items[0])).toMatch(/no longer a full member.*nothing was sent/);
    expect(await rig.listHistory(order.id)).toEqual([
      'requested by U0ALICE',
      'approved by U0BOB',
      'stopped',
      'finished',
    ]);
  });

  test('stops its remaining names if its requester has left meanwhile', async () => {
    rig.service.answer = async () => {
      if (rig.service.received.length === 4) rig.memberships.set('U0ALICE', 'left');
      await waitUntil('four requests are sent', () => rig.service.received.length >= 4);
      return SUCCESS_ENVELOPE;
    };
    const order = await rig.requestApprovedRenewal(...names);
    await rig.runDue();
    expect(rig.service.received).toHaveLength(4);
    expect((await readItemStates(order.id)).sort()).toEqual([
      ...Array<string>(5).fill('FAILED'),
      ...Array<string>(4).fill('SUCCEEDED'),
    ]);
    const stops = (await rig.listHistory(order.id)).filter((line) => line.startsWith('stopped'));
    expect(stops, 'stop events of concurrent names').toHaveLength(1);
  });

  test('waits while Slack can’t confirm that its requester is still a member', async () => {
    const order = await rig.requestApprovedRenewal('cafe.rest');
    rig.memberships.set('U0ALICE', 'unknown');
    await rig.startProcess().execute(order.id);
    expect(rig.readLog().split('Slack can’t confirm').length - 1, 'warnings of one attempt').toBe(1);
    for (let tries = 0; tries < 30; tries += 1) {
      rig.advanceClock(MINUTE_MS);
      await rig.recover();
      await rig.runDue();
    }
    expect(rig.service.received).toEqual([]);
    expect(await rig.read(order.id)).toMatchObject({
      state: 'APPROVED',
      claim: undefined,
      items: [{ state: 'WAITING', attempts: 0 }],
    });
    rig.memberships.clear();
    await rig.recover();
    await rig.runDue();
    expect(rig.service.countSent(order.id)).toBe(1);
    expect((await rig.read(order.id)).state).toBe('SUCCEEDED');
  });
});

describe('a secret', () => {
  test('that a person typed is sent only to the service, and wiped afterwards', async () => {
    const order = await rig.requestAccepted('transfer', TRANSFER_INPUT, {
      secret: new Secret('canary-auth-code'),
    });
    await approveOrder(rig.orders, order.id, 'U0BOB');
    await rig.runDue();
    const [request] = rig.service.received;
    const { body } = z.object({ body: z.object({ auth: z.instanceof(Secret) }) }).parse(request?.description);
    expect(body.auth.reveal()).toBe('canary-auth-code');
    expect(await rig.dumpDatabase(), 'the database').not.toContain('canary');
    expect(rig.readLog(), 'the log').not.toContain('canary');
    expect(await rig.store.loadSealedInput(order.id)).toBeUndefined();
  });

  test('that can no longer be decrypted fails the order', async () => {
    const order = await rig.requestAccepted(
      'user',
      { user: 'anna', context: 4, defaultEmail: 'anna@example.com' },
      { secret: new Secret('canary-password') },
    );
    await rig.sql('UPDATE orders SET sealed_input = sealed_input || sealed_input WHERE id = $1', order.id);
    await rig.main.execute(order.id);
    const { state, items } = await rig.read(order.id);
    expect(state).toBe('FAILED');
    expect(renderResult(items[0])).toMatch(/no longer matches what was requested.*nothing was sent/);
    expect(rig.service.received).toEqual([]);
  });

  test('whose key is missing waits for a process that has the key', async () => {
    const order = await rig.requestAccepted(
      'user',
      { user: 'anna', context: 4, defaultEmail: 'anna@example.com' },
      { secret: new Secret('canary-password') },
    );
    const missingKeyIds: string[] = [];
    const otherKey = [{ id: 'k2', key: Buffer.alloc(32, 8) }] as const;
    const keyless = rig.startProcess({
      store: rig.createReplicaStore(),
      vault: createVault([...otherKey], (keyId) => missingKeyIds.push(keyId)),
    });
    await keyless.execute(order.id);
    for (let day = 0; day < 30; day += 1) {
      rig.advanceClock(24 * HOUR_MS);
      await rig.recover();
      expect(await rig.isDue(order.id), 'the order is still due').toBe(true);
      await keyless.execute(order.id);
    }
    expect(await rig.read(order.id)).toEqual(order);
    expect(rig.service.received).toEqual([]);
    expect(new Set(missingKeyIds)).toEqual(new Set(['k1']));

    await rig.runDue();
    expect(await rig.read(order.id)).toMatchObject({ state: 'SUCCEEDED', items: [{ attempts: 1 }] });
    expect(rig.service.countSent(order.id)).toBe(1);
  });

  test('is required when a transfer is requested', async () => {
    expect(await rig.request('transfer', TRANSFER_INPUT)).toEqual({
      kind: 'unsupported',
      issue: { code: 'not_sendable' },
    });
  });

  test('that no longer exists fails the order', async () => {
    const order = await rig.requestAccepted('transfer', TRANSFER_INPUT, { secret: new Secret('auth') });
    await approveOrder(rig.orders, order.id, 'U0BOB');
    await rig.sql('UPDATE orders SET sealed_input = NULL WHERE id = $1', order.id);
    await rig.runDue();
    const failed = await rig.read(order.id);
    expect(failed.state).toBe('FAILED');
    expect(renderResult(failed.items[0])).toMatch(/nothing was sent/);
    expect(rig.service.received).toEqual([]);
  });
});
