import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { approveOrder } from '../../src/approvals/approve.ts';
import { resolveOrder } from '../../src/orders/resolve.ts';
import { refusalText } from '../../src/slack/orders/refusal.view.ts';
import { HOUR_MS, newGate, type Rig, startRig, waitUntil } from './rig.ts';
import { renderResult } from './sample.ts';
import { DONE, newServiceError, type Request, untilAborted } from './scripted-service.ts';

/*
 * Workers die, hang or come back at the worst times, or the database is down: no order is lost, and no paid order is
 * sent twice.
 */

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
beforeEach(() => rig.reset());
afterAll(() => rig.end());

/** Longer than a worker's lease. */
const SILENCE_MS = 21_000;

/** The worker's lease ends, and its order is taken over. */
async function takeOver(): Promise<void> {
  rig.advanceClock(SILENCE_MS);
  await rig.recover();
}

/** Holds back the responses of requests until it is opened. */
function holdAnswer() {
  const held = newGate();
  rig.service.answer = async () => {
    await held.opened;
    return DONE;
  };
  return held;
}

/** Holds the first worker before it sends; others continue. */
function holdBeforeSending(then: (request: Request) => Promise<void> = async () => undefined) {
  const held = newGate();
  let entered = false;
  rig.service.prepare = async (request) => {
    if (entered) return;
    entered = true;
    await held.opened;
    await then(request);
  };
  return { open: held.open, entered: () => entered };
}

const readStates = async (orderId: string) => {
  const { state, items } = await rig.read(orderId);
  return [state, ...items.map((item) => item.state)];
};

describe('a worker that dies', () => {
  test('after sending leaves an unknown outcome, and a late response still counts', async () => {
    const answer = holdAnswer();
    const order = await rig.requestApprovedRenewal('cafe.rest');
    const working = rig.startProcess().execute(order.id);
    await waitUntil('the request is sent', () => rig.service.received.length === 1);
    await rig.recover();
    expect(await readStates(order.id), 'during its lease').toEqual(['EXECUTING', 'SENT']);

    await takeOver();
    expect(await readStates(order.id)).toEqual(['UNKNOWN', 'UNKNOWN']);
    expect(renderResult((await rig.read(order.id)).items[0])).toMatch(/may have reached the service/);
    rig.advanceClock(HOUR_MS);
    await rig.recover();
    await rig.runDue();

    answer.open();
    await working;
    expect(await readStates(order.id)).toEqual(['SUCCEEDED', 'SUCCEEDED']);
    expect(await rig.listItemsForWatchList(order.id)).toEqual([1]);
    expect(rig.service.countSent(order.id)).toBe(1);
    expect(await rig.listHistory(order.id)).toEqual([
      'requested by U0ALICE',
      'approved by U0BOB',
      'claimed',
      'sending',
      'released',
      'finished',
      'answered',
      'finished',
    ]);
  });

  test('doesn’t change an order that a person settled before the response', async () => {
    const answer = holdAnswer();
    const order = await rig.requestApprovedRenewal('cafe.rest');
    const working = rig.startProcess().execute(order.id);
    await waitUntil('the request is sent', () => rig.service.received.length === 1);
    await takeOver();
    await resolveOrder(rig.orders, order.id, 'U0BOB', 'FAILED', 'not there');
    answer.open();
    await working;
    expect(await readStates(order.id)).toEqual(['FAILED', 'FAILED']);
    expect(rig.readLog(), 'log of the response').toContain('Done by the service');
  });

  test('before sending leaves the order to another worker, which sends it once', async () => {
    const held = holdBeforeSending();
    const order = await rig.requestApprovedRenewal('cafe.rest');
    const dead = rig.startProcess().execute(order.id);
    await waitUntil('the worker is about to send', held.entered);
    await takeOver();
    expect(await readStates(order.id)).toEqual(['APPROVED', 'WAITING']);
    await rig.runDue();
    expect(await readStates(order.id)).toEqual(['SUCCEEDED', 'SUCCEEDED']);
    held.open();
    await dead;
    expect(rig.service.countSent(order.id), 'requests after the first worker is back').toBe(1);
    expect(await readStates(order.id)).toEqual(['SUCCEEDED', 'SUCCEEDED']);
  });

  test('before claiming an order leaves it to the next run', async () => {
    const order = await rig.requestApprovedRenewal('cafe.rest');
    rig.advanceClock(SILENCE_MS);
    await rig.recover();
    await rig.runDue();
    expect(await readStates(order.id)).toEqual(['SUCCEEDED', 'SUCCEEDED']);
    expect(rig.service.countSent(order.id)).toBe(1);
  });
});

describe('a hanging worker that comes back while another worker’s request is running', () => {
  const RETURNS: readonly (readonly [how: string, then: () => Promise<void>])[] = [
    ['ready to send', async () => undefined],
    [
      'without a connection',
      async () => {
        throw newServiceError('not_sent');
      },
    ],
    [
      'with a refused account',
      async () => {
        throw newServiceError('auth');
      },
    ],
    [
      'with an internal error',
      async () => {
        throw new TypeError('a fault of ours');
      },
    ],
  ];
  for (const [which, otherProcess] of [
    ['another process', true],
    ['the same process', false],
  ] as const) {
    test.each(RETURNS)(`doesn’t interfere: %s, with the other worker in ${which}`, async (_how, then) => {
      const stalled = holdBeforeSending(then);
      const answer = holdAnswer();
      const order = await rig.requestApprovedRenewal('cafe.rest');
      const process = rig.startProcess();
      const first = process.execute(order.id);
      await waitUntil('the first worker is about to send', stalled.entered);
      await takeOver();
      const second = (otherProcess ? rig.startProcess() : process).execute(order.id);
      await waitUntil('the request is sent', () => rig.service.received.length === 1);

      stalled.open();
      await first;
      expect(await readStates(order.id), 'while the request is running').toEqual(['EXECUTING', 'SENT']);
      rig.advanceClock(16_000);
      await rig.runDue();
      expect(rig.service.countSent(order.id), 'requests').toBe(1);

      answer.open();
      await second;
      expect(await readStates(order.id)).toEqual(['SUCCEEDED', 'SUCCEEDED']);
    });
  }
});

test('a worker that comes back doesn’t release an order claimed by another worker', async () => {
  const stalled = holdBeforeSending();
  const held = newGate();
  rig.service.answer = async ({ ctid }) => {
    if (ctid.endsWith('.2')) throw newServiceError('busy', { retryAfterMs: HOUR_MS });
    await held.opened;
    return DONE;
  };
  const order = await rig.requestApprovedRenewal('a.rest', 'b.rest');
  const first = rig.startProcess().execute(order.id);
  await waitUntil('the first worker is about to send', stalled.entered);
  await waitUntil('the other name waits', async () => {
    const { state, attempts } = (await rig.read(order.id)).items[1] ?? {};
    return state === 'WAITING' && attempts === 1;
  });
  await takeOver();
  const second = rig.startProcess().execute(order.id);
  await waitUntil('the request is sent', () => rig.service.countSent(`${order.id}.1`) === 1);
  stalled.open();
  await first;
  expect(await readStates(order.id)).toEqual(['EXECUTING', 'SENT', 'WAITING']);
  held.open();
  await second;
});

test('a worker keeps its order while it waits for the response', async () => {
  const answer = holdAnswer();
  const order = await rig.requestApprovedRenewal('cafe.rest');
  const working = rig.startProcess({ leaseMs: 400 }).execute(order.id);
  await waitUntil('the request is sent', () => rig.service.received.length === 1);
  for (let minute = 0; minute < 3; minute += 1) {
    await rig.sql(`UPDATE orders SET lease_until = now() - interval '1 s' WHERE id = $1`, order.id);
    await waitUntil('the lease is extended', async () => {
      const [row] = await rig.sql('SELECT lease_until > now() AS holds FROM orders WHERE id = $1', order.id);
      return row?.['holds'] === true;
    });
    await rig.recover();
  }
  expect(await readStates(order.id)).toEqual(['EXECUTING', 'SENT']);
  answer.open();
  await working;
  expect(await readStates(order.id)).toEqual(['SUCCEEDED', 'SUCCEEDED']);
});

test('at shutdown, running requests become unknown, and unsent ones continue after the next start', async () => {
  const names = Array.from({ length: 6 }, (_, index) => `name${index + 1}.rest`);
  rig.service.answer = (_request, signal) => untilAborted(signal);
  const order = await rig.requestApprovedRenewal(...names);
  const process = rig.startProcess();
  const working = process.execute(order.id);
  await waitUntil('four requests are sent', () => rig.service.received.length === 4);
  process.shutDown();
  await working;
  expect(await readStates(order.id)).toEqual([
    'APPROVED',
    ...Array.from({ length: 4 }, () => 'UNKNOWN'),
    'WAITING',
    'WAITING',
  ]);
  rig.service.answer = async () => DONE;
  await rig.runDue();
  expect(await readStates(order.id)).toEqual([
    'UNKNOWN',
    ...Array.from({ length: 4 }, () => 'UNKNOWN'),
    'SUCCEEDED',
    'SUCCEEDED',
  ]);
  expect(names.map((_, index) => rig.service.countSent(`${order.id}.${index + 1}`))).toEqual(
    names.map(() => 1),
  );
});

test('an order with unreadable rows doesn’t block the recovery of others', async () => {
  const unreadable = await rig.requestAccepted('renew', { names: ['a.rest'], period: 1 });
  const other = await rig.requestAccepted('renew', { names: ['b.rest'], period: 1 });
  await rig.sql(`UPDATE order_items SET state = 'NONSENSE' WHERE order_id = $1`, unreadable.id);
  rig.advanceClock(72 * HOUR_MS);
  await rig.recover();
  expect((await rig.read(other.id)).state).toBe('EXPIRED');
  expect(rig.readLog()).toContain(unreadable.id);
});

describe('while the database is down', () => {
  test('a received response is kept until the database is back', async () => {
    const answer = holdAnswer();
    const order = await rig.requestApprovedRenewal('cafe.rest');
    const working = rig.startProcess().execute(order.id);
    await waitUntil('the request is sent', () => rig.service.received.length === 1);
    await rig.withDatabaseDown(async () => {
      answer.open();
      await waitUntil('saving the response has failed', () => rig.readLog().includes('saving the outcome'));
    });
    await working;
    expect(await readStates(order.id)).toEqual(['SUCCEEDED', 'SUCCEEDED']);
    expect(await rig.listItemsForWatchList(order.id)).toEqual([1]);
    expect(rig.service.countSent(order.id)).toBe(1);
  });

  test('a response with an unconfirmed save isn’t saved twice', async () => {
    rig.setCommitFault(failOnce(({ log }) => log[0]?.kind === 'answered', 'after'));
    const order = await rig.requestApprovedRenewal('cafe.rest');
    await rig.main.execute(order.id);
    expect(await readStates(order.id)).toEqual(['SUCCEEDED', 'SUCCEEDED']);
    const answers = (await rig.listHistory(order.id)).filter((kind) => kind === 'answered');
    expect(answers).toHaveLength(1);
    expect(await rig.listItemsForWatchList(order.id)).toEqual([1]);
  });

  test.each(['before', 'after'] as const)(
    'a request waits until its sentAt is confirmed (connection broken %s the commit)',
    async (when) => {
      rig.setCommitFault(failOnce(({ log }) => log[0]?.kind === 'sending', when));
      const order = await rig.requestApprovedRenewal('cafe.rest');
      await rig.main.execute(order.id);
      expect(rig.service.received, 'requests without sentAt').toEqual([]);
      expect(await readStates(order.id)).toEqual(['APPROVED', 'WAITING']);
      rig.advanceClock(1_000);
      await rig.runDue();
      expect(await readStates(order.id)).toEqual(['SUCCEEDED', 'SUCCEEDED']);
      expect(rig.service.countSent(order.id)).toBe(1);
    },
  );

  test('a name with an unconfirmed sentAt doesn’t block other names', async () => {
    rig.setCommitFault(failOnce(({ log }) => log[0]?.kind === 'sending' && log[0].n === 2, 'before'));
    const order = await rig.requestApprovedRenewal('a.rest', 'b.rest', 'c.rest');
    await rig.main.execute(order.id);
    expect(await readStates(order.id)).toEqual(['APPROVED', 'SUCCEEDED', 'WAITING', 'SUCCEEDED']);
    rig.advanceClock(1_000);
    await rig.runDue();
    expect(await readStates(order.id)).toEqual(['SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED']);
    expect([1, 2, 3].map((n) => rig.service.countSent(`${order.id}.${n}`))).toEqual([1, 1, 1]);
  });

  test('an approval with an unconfirmed commit doesn’t count twice', async () => {
    rig.setTeam({ approvalsRequired: 2 });
    rig.setCommitFault(failOnce(({ log }) => log[0]?.kind === 'approved', 'after'));
    const order = await rig.requestAccepted('renew', { names: ['cafe.rest'], period: 1 });
    await expect(approveOrder(rig.orders, order.id, 'U0BOB')).rejects.toThrow('the connection broke');
    const again = await approveOrder(rig.orders, order.id, 'U0BOB');
    expect(again.ok ? 'counted twice' : refusalText(again.refusal)).toMatch(/already/);
    expect((await rig.read(order.id)).state).toBe('PENDING');
  });
});

/** Fails the first matching commit, and no later one. */
function failOnce(
  matches: (change: Parameters<Rig['store']['commit']>[0]) => boolean,
  fault: 'before' | 'after',
): Parameters<Rig['setCommitFault']>[0] {
  let happened = false;
  return (change) => {
    if (happened || !matches(change)) return undefined;
    happened = true;
    return fault;
  };
}
