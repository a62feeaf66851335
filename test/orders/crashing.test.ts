import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { approveOrder } from '../../src/approvals/approve.ts';
import { resolveOrder } from '../../src/orders/resolve.ts';
import { refusalText } from '../../src/slack/orders/refusal.view.ts';
import { HOUR_MS, newGate, type Rig, startRig, waitUntil } from './rig.ts';
import { renderResult } from './sample.ts';
import { failOnAbort, newServiceError, type ReceivedRequest, SUCCESS_ENVELOPE } from './scripted-service.ts';

/*
 * Workers die, hang or resume at the worst times, or the database is down. No order is lost, and no paid order is
 * sent twice.
 */

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
beforeEach(() => rig.reset());
afterAll(() => rig.end());

/** Longer than a worker's lease. */
const LONGER_THAN_LEASE_MS = 21_000;

/** Lets the worker's lease end, and recovers its order. */
async function takeOver(): Promise<void> {
  rig.advanceClock(LONGER_THAN_LEASE_MS);
  await rig.recover();
}

/** Holds back the responses of requests until it is opened. */
function holdResponses() {
  const gate = newGate();
  rig.service.answer = async () => {
    await gate.opened;
    return SUCCESS_ENVELOPE;
  };
  return gate;
}

/** Stops the first worker before it sends, until the gate is opened. Other workers continue. */
function holdFirstWorker(afterOpening: (request: ReceivedRequest) => Promise<void> = async () => undefined) {
  const gate = newGate();
  let hasEntered = false;
  rig.service.prepare = async (request) => {
    if (hasEntered) return;
    hasEntered = true;
    await gate.opened;
    await afterOpening(request);
  };
  return { open: gate.open, entered: () => hasEntered };
}

const readStates = async (orderId: string) => {
  const { state, items } = await rig.read(orderId);
  return [state, ...items.map((item) => item.state)];
};

describe('a worker that dies', () => {
  test('after sending leaves an unknown outcome, and a late response still counts', async () => {
    const responseGate = holdResponses();
    const order = await rig.requestApprovedRenewal('cafe.rest');
    const execution = rig.startProcess().execute(order.id);
    await waitUntil('the request is sent', () => rig.service.received.length === 1);
    await rig.recover();
    expect(await readStates(order.id), 'during its lease').toEqual(['EXECUTING', 'SENT']);

    await takeOver();
    expect(await readStates(order.id)).toEqual(['UNKNOWN', 'UNKNOWN']);
    expect(renderResult((await rig.read(order.id)).items[0])).toMatch(/may have reached the service/);
    rig.advanceClock(HOUR_MS);
    await rig.recover();
    await rig.runDue();

    responseGate.open();
    await execution;
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
    const responseGate = holdResponses();
    const order = await rig.requestApprovedRenewal('cafe.rest');
    const execution = rig.startProcess().execute(order.id);
    await waitUntil('the request is sent', () => rig.service.received.length === 1);
    await takeOver();
    await resolveOrder(rig.orders, order.id, 'U0BOB', 'FAILED', 'not there');
    responseGate.open();
    await execution;
    expect(await readStates(order.id)).toEqual(['FAILED', 'FAILED']);
    expect(rig.readLog(), 'log of the response').toContain('Done by the service');
  });

  test('before sending leaves the order to another worker, which sends it once', async () => {
    const workerGate = holdFirstWorker();
    const order = await rig.requestApprovedRenewal('cafe.rest');
    const firstExecution = rig.startProcess().execute(order.id);
    await waitUntil('the worker is about to send', workerGate.entered);
    await takeOver();
    expect(await readStates(order.id)).toEqual(['APPROVED', 'WAITING']);
    await rig.runDue();
    expect(await readStates(order.id)).toEqual(['SUCCEEDED', 'SUCCEEDED']);
    workerGate.open();
    await firstExecution;
    expect(rig.service.countSent(order.id), 'requests after the first worker is back').toBe(1);
    expect(await readStates(order.id)).toEqual(['SUCCEEDED', 'SUCCEEDED']);
  });

  test('before claiming an order leaves it to the next run', async () => {
    const order = await rig.requestApprovedRenewal('cafe.rest');
    rig.advanceClock(LONGER_THAN_LEASE_MS);
    await rig.recover();
    await rig.runDue();
    expect(await readStates(order.id)).toEqual(['SUCCEEDED', 'SUCCEEDED']);
    expect(rig.service.countSent(order.id)).toBe(1);
  });
});

describe('a hanging worker that comes back while another worker’s request is running', () => {
  const WORKER_STATES: readonly (readonly [how: string, then: () => Promise<void>])[] = [
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
  for (const [whichProcess, isOtherProcess] of [
    ['another process', true],
    ['the same process', false],
  ] as const) {
    test.each(WORKER_STATES)(
      `doesn’t interfere: %s, with the other worker in ${whichProcess}`,
      async (_how, afterOpening) => {
        const workerGate = holdFirstWorker(afterOpening);
        const responseGate = holdResponses();
        const order = await rig.requestApprovedRenewal('cafe.rest');
        const process = rig.startProcess();
        const firstExecution = process.execute(order.id);
        await waitUntil('the first worker is about to send', workerGate.entered);
        await takeOver();
        const secondExecution = (isOtherProcess ? rig.startProcess() : process).execute(order.id);
        await waitUntil('the request is sent', () => rig.service.received.length === 1);

        workerGate.open();
        await firstExecution;
        expect(await readStates(order.id), 'while the request is running').toEqual(['EXECUTING', 'SENT']);
        rig.advanceClock(16_000);
        await rig.runDue();
        expect(rig.service.countSent(order.id), 'requests').toBe(1);

        responseGate.open();
        await secondExecution;
        expect(await readStates(order.id)).toEqual(['SUCCEEDED', 'SUCCEEDED']);
      },
    );
  }
});

test('a worker that comes back doesn’t release an order claimed by another worker', async () => {
  const workerGate = holdFirstWorker();
  const responseGate = newGate();
  rig.service.answer = async ({ ctid }) => {
    if (ctid.endsWith('.2')) throw newServiceError('busy', { retryAfterMs: HOUR_MS });
    await responseGate.opened;
    return SUCCESS_ENVELOPE;
  };
  const order = await rig.requestApprovedRenewal('a.rest', 'b.rest');
  const firstExecution = rig.startProcess().execute(order.id);
  await waitUntil('the first worker is about to send', workerGate.entered);
  await waitUntil('the other name waits for its retry', async () => {
    const { state, attempts } = (await rig.read(order.id)).items[1] ?? {};
    return state === 'WAITING' && attempts === 1;
  });
  await takeOver();
  const secondExecution = rig.startProcess().execute(order.id);
  await waitUntil('the request is sent', () => rig.service.countSent(`${order.id}.1`) === 1);
  workerGate.open();
  await firstExecution;
  expect(await readStates(order.id)).toEqual(['EXECUTING', 'SENT', 'WAITING']);
  responseGate.open();
  await secondExecution;
});

test('a worker keeps its order while it waits for the response', async () => {
  const responseGate = holdResponses();
  const order = await rig.requestApprovedRenewal('cafe.rest');
  const execution = rig.startProcess({ leaseMs: 400 }).execute(order.id);
  await waitUntil('the request is sent', () => rig.service.received.length === 1);
  for (let round = 0; round < 3; round += 1) {
    await rig.sql(`UPDATE orders SET lease_until = now() - interval '1 s' WHERE id = $1`, order.id);
    await waitUntil('the lease is extended', async () => {
      const [row] = await rig.sql('SELECT lease_until > now() AS holds FROM orders WHERE id = $1', order.id);
      return row?.['holds'] === true;
    });
    await rig.recover();
  }
  expect(await readStates(order.id)).toEqual(['EXECUTING', 'SENT']);
  responseGate.open();
  await execution;
  expect(await readStates(order.id)).toEqual(['SUCCEEDED', 'SUCCEEDED']);
});

test('at shutdown, running requests become unknown, and unsent ones continue after the next start', async () => {
  const names = Array.from({ length: 6 }, (_, index) => `name${index + 1}.rest`);
  rig.service.answer = (_request, signal) => failOnAbort(signal);
  const order = await rig.requestApprovedRenewal(...names);
  const process = rig.startProcess();
  const execution = process.execute(order.id);
  await waitUntil('four requests are sent', () => rig.service.received.length === 4);
  process.shutDown();
  await execution;
  expect(await readStates(order.id)).toEqual([
    'APPROVED',
    ...Array.from({ length: 4 }, () => 'UNKNOWN'),
    'WAITING',
    'WAITING',
  ]);
  rig.service.answer = async () => SUCCESS_ENVELOPE;
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
    const responseGate = holdResponses();
    const order = await rig.requestApprovedRenewal('cafe.rest');
    const execution = rig.startProcess().execute(order.id);
    await waitUntil('the request is sent', () => rig.service.received.length === 1);
    await rig.withDatabaseDown(async () => {
      responseGate.open();
      await waitUntil('saving the response has failed', () => rig.readLog().includes('saving the outcome'));
    });
    await execution;
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
    const secondApproval = await approveOrder(rig.orders, order.id, 'U0BOB');
    expect(secondApproval.ok ? 'counted twice' : refusalText(secondApproval.refusal)).toMatch(/already/);
    expect((await rig.read(order.id)).state).toBe('PENDING');
  });
});

/** Fails the first matching commit, and no later one. */
function failOnce(
  matches: (change: Parameters<Rig['store']['commit']>[0]) => boolean,
  fault: 'before' | 'after',
): Parameters<Rig['setCommitFault']>[0] {
  let hasFailed = false;
  return (change) => {
    if (hasFailed || !matches(change)) return undefined;
    hasFailed = true;
    return fault;
  };
}
