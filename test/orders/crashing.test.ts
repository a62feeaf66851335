import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { approveOrder } from '../../src/approvals/approve.ts';
import { resolveOrder } from '../../src/orders/resolve.ts';
import { refusalText } from '../../src/slack/orders/refusal.view.ts';
import { gate, HOUR_MS, type Rig, startRig, until } from './rig.ts';
import { saidOf } from './sample.ts';
import { DONE, fails, type Request, untilAborted } from './scripted-service.ts';

/*
 * Workers that die, hang or come back at the worst times, and a database that is down: no order may be lost, and no
 * paid one may be sent twice.
 */

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
beforeEach(() => rig.reset());
afterAll(() => rig.end());

/** Longer than a worker may be silent. */
const SILENCE_MS = 21_000;

/** The worker has been silent for too long: its order is taken over. */
async function takeUp(): Promise<void> {
  rig.pass(SILENCE_MS);
  await rig.recover();
}

/** A request that waits for its response, and a function that lets it arrive. */
function heldAnswer() {
  const held = gate();
  rig.service.answer = async () => {
    await held.opened;
    return DONE;
  };
  return held;
}

/** The first worker waits before it sends until it is released; every other one continues. */
function heldBeforeSending(then: (request: Request) => Promise<void> = async () => undefined) {
  const held = gate();
  let entered = false;
  rig.service.prepare = async (request) => {
    if (entered) return;
    entered = true;
    await held.opened;
    await then(request);
  };
  return { open: held.open, entered: () => entered };
}

const states = async (orderId: string) => {
  const { state, items } = await rig.read(orderId);
  return [state, ...items.map((item) => item.state)];
};

describe('a worker that dies', () => {
  test('after sending leaves an unknown outcome, and a late response still counts', async () => {
    const answer = heldAnswer();
    const order = await rig.approvedRenewal('cafe.rest');
    const working = rig.startProcess().execute(order.id);
    await until('the request is out', () => rig.service.received.length === 1);
    await rig.recover();
    expect(await states(order.id), 'while its lease runs').toEqual(['EXECUTING', 'SENT']);

    await takeUp();
    expect(await states(order.id)).toEqual(['UNKNOWN', 'UNKNOWN']);
    expect(saidOf((await rig.read(order.id)).items[0])).toMatch(/may have reached the service/);
    rig.pass(HOUR_MS);
    await rig.recover();
    await rig.runDue();

    answer.open();
    await working;
    expect(await states(order.id)).toEqual(['SUCCEEDED', 'SUCCEEDED']);
    expect(await rig.unfollowed(order.id)).toEqual([1]);
    expect(rig.service.timesSent(order.id)).toBe(1);
    expect(await rig.story(order.id)).toEqual([
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

  test('isn’t contradicted by its own response once a person has settled the order', async () => {
    const answer = heldAnswer();
    const order = await rig.approvedRenewal('cafe.rest');
    const working = rig.startProcess().execute(order.id);
    await until('the request is out', () => rig.service.received.length === 1);
    await takeUp();
    await resolveOrder(rig.orders, order.id, 'U0BOB', 'FAILED', 'not there');
    answer.open();
    await working;
    expect(await states(order.id)).toEqual(['FAILED', 'FAILED']);
    expect(rig.logged(), 'the answer').toContain('Done by the service');
  });

  test('before sending leaves nothing behind: another one carries out the order, once', async () => {
    const held = heldBeforeSending();
    const order = await rig.approvedRenewal('cafe.rest');
    const dead = rig.startProcess().execute(order.id);
    await until('the worker is about to send', held.entered);
    await takeUp();
    expect(await states(order.id)).toEqual(['APPROVED', 'WAITING']);
    await rig.runDue();
    expect(await states(order.id)).toEqual(['SUCCEEDED', 'SUCCEEDED']);
    held.open();
    await dead;
    expect(rig.service.timesSent(order.id), 'with the first worker back').toBe(1);
    expect(await states(order.id)).toEqual(['SUCCEEDED', 'SUCCEEDED']);
  });

  test('between the claim and the first request is detected by the rows, without any job', async () => {
    const order = await rig.approvedRenewal('cafe.rest');
    rig.pass(SILENCE_MS);
    await rig.recover();
    await rig.runDue();
    expect(await states(order.id)).toEqual(['SUCCEEDED', 'SUCCEEDED']);
    expect(rig.service.timesSent(order.id)).toBe(1);
  });
});

describe('a worker that hangs before sending and comes back while another one’s request is running', () => {
  const comesBack: readonly (readonly [how: string, then: () => Promise<void>])[] = [
    ['to send', async () => undefined],
    [
      'without a connection',
      async () => {
        throw fails('not_sent');
      },
    ],
    [
      'with its account refused',
      async () => {
        throw fails('auth');
      },
    ],
    [
      'with a fault of its own',
      async () => {
        throw new TypeError('a fault of ours');
      },
    ],
  ];
  for (const [which, otherProcess] of [
    ['of another process', true],
    ['of the same process', false],
  ] as const) {
    test.each(comesBack)(`%s, the other one ${which}`, async (_how, then) => {
      const stalled = heldBeforeSending(then);
      const answer = heldAnswer();
      const order = await rig.approvedRenewal('cafe.rest');
      const process = rig.startProcess();
      const first = process.execute(order.id);
      await until('the first worker is about to send', stalled.entered);
      await takeUp();
      const second = (otherProcess ? rig.startProcess() : process).execute(order.id);
      await until('the request is out', () => rig.service.received.length === 1);

      stalled.open();
      await first;
      expect(await states(order.id), 'while the request is out').toEqual(['EXECUTING', 'SENT']);
      rig.pass(16_000);
      await rig.runDue();
      expect(rig.service.timesSent(order.id), 'requests').toBe(1);

      answer.open();
      await second;
      expect(await states(order.id)).toEqual(['SUCCEEDED', 'SUCCEEDED']);
    });
  }
});

test('a worker that comes back doesn’t release an order that another one has claimed', async () => {
  const stalled = heldBeforeSending();
  const held = gate();
  rig.service.answer = async ({ ctid }) => {
    if (ctid.endsWith('.2')) throw fails('busy', { retryAfterMs: HOUR_MS });
    await held.opened;
    return DONE;
  };
  const order = await rig.approvedRenewal('a.rest', 'b.rest');
  const first = rig.startProcess().execute(order.id);
  await until('the first worker is about to send', stalled.entered);
  await until('the other name waits', async () => {
    const { state, attempts } = (await rig.read(order.id)).items[1] ?? {};
    return state === 'WAITING' && attempts === 1;
  });
  await takeUp();
  const second = rig.startProcess().execute(order.id);
  await until('the request is out', () => rig.service.timesSent(`${order.id}.1`) === 1);
  stalled.open();
  await first;
  expect(await states(order.id)).toEqual(['EXECUTING', 'SENT', 'WAITING']);
  held.open();
  await second;
});

test('a running worker keeps its order as long as the response takes', async () => {
  const answer = heldAnswer();
  const order = await rig.approvedRenewal('cafe.rest');
  const working = rig.startProcess({ leaseMs: 400 }).execute(order.id);
  await until('the request is out', () => rig.service.received.length === 1);
  for (let minute = 0; minute < 3; minute += 1) {
    await rig.sql(`UPDATE orders SET lease_until = now() - interval '1 s' WHERE id = $1`, order.id);
    await until('the lease is extended', async () => {
      const [row] = await rig.sql('SELECT lease_until > now() AS holds FROM orders WHERE id = $1', order.id);
      return row?.['holds'] === true;
    });
    await rig.recover();
  }
  expect(await states(order.id)).toEqual(['EXECUTING', 'SENT']);
  answer.open();
  await working;
  expect(await states(order.id)).toEqual(['SUCCEEDED', 'SUCCEEDED']);
});

test('at shutdown running requests become unknown, and unsent ones continue after the next start', async () => {
  const names = Array.from({ length: 6 }, (_, index) => `name${index + 1}.rest`);
  rig.service.answer = (_request, signal) => untilAborted(signal);
  const order = await rig.approvedRenewal(...names);
  const process = rig.startProcess();
  const working = process.execute(order.id);
  await until('four requests are out', () => rig.service.received.length === 4);
  process.shutDown();
  await working;
  expect(await states(order.id)).toEqual([
    'APPROVED',
    ...Array.from({ length: 4 }, () => 'UNKNOWN'),
    'WAITING',
    'WAITING',
  ]);
  rig.service.answer = async () => DONE;
  await rig.runDue();
  expect(await states(order.id)).toEqual([
    'UNKNOWN',
    ...Array.from({ length: 4 }, () => 'UNKNOWN'),
    'SUCCEEDED',
    'SUCCEEDED',
  ]);
  expect(names.map((_, index) => rig.service.timesSent(`${order.id}.${index + 1}`))).toEqual(
    names.map(() => 1),
  );
});

test('an order with unreadable rows blocks no other recovery', async () => {
  const unreadable = await rig.ask('renew', { names: ['a.rest'], period: 1 });
  const other = await rig.ask('renew', { names: ['b.rest'], period: 1 });
  await rig.sql(`UPDATE order_items SET state = 'NONSENSE' WHERE order_id = $1`, unreadable.id);
  rig.pass(72 * HOUR_MS);
  await rig.recover();
  expect((await rig.read(other.id)).state).toBe('EXPIRED');
  expect(rig.logged()).toContain(unreadable.id);
});

describe('while the database is down', () => {
  test('a received response is kept until it is back', async () => {
    const answer = heldAnswer();
    const order = await rig.approvedRenewal('cafe.rest');
    const working = rig.startProcess().execute(order.id);
    await until('the request is out', () => rig.service.received.length === 1);
    await rig.whileDatabaseIsAway(async () => {
      answer.open();
      await until('keeping the answer has failed', () => rig.logged().includes('saving the outcome'));
    });
    await working;
    expect(await states(order.id)).toEqual(['SUCCEEDED', 'SUCCEEDED']);
    expect(await rig.unfollowed(order.id)).toEqual([1]);
    expect(rig.service.timesSent(order.id)).toBe(1);
  });

  test('a response with an unconfirmed save isn’t saved twice', async () => {
    rig.setCommitFault(once(({ log }) => log[0]?.kind === 'answered', 'after'));
    const order = await rig.approvedRenewal('cafe.rest');
    await rig.main.execute(order.id);
    expect(await states(order.id)).toEqual(['SUCCEEDED', 'SUCCEEDED']);
    const answers = (await rig.story(order.id)).filter((kind) => kind === 'answered');
    expect(answers).toHaveLength(1);
    expect(await rig.unfollowed(order.id)).toEqual([1]);
  });

  test.each(['before', 'after'] as const)(
    'nothing is sent while sentAt isn’t confirmed (it broke %s the commit), and it is retried',
    async (when) => {
      rig.setCommitFault(once(({ log }) => log[0]?.kind === 'sending', when));
      const order = await rig.approvedRenewal('cafe.rest');
      await rig.main.execute(order.id);
      expect(rig.service.received, 'sent without the mark').toEqual([]);
      expect(await states(order.id)).toEqual(['APPROVED', 'WAITING']);
      rig.pass(1_000);
      await rig.runDue();
      expect(await states(order.id)).toEqual(['SUCCEEDED', 'SUCCEEDED']);
      expect(rig.service.timesSent(order.id)).toBe(1);
    },
  );

  test('one name with an unconfirmed mark blocks no other', async () => {
    rig.setCommitFault(once(({ log }) => log[0]?.kind === 'sending' && log[0].n === 2, 'before'));
    const order = await rig.approvedRenewal('a.rest', 'b.rest', 'c.rest');
    await rig.main.execute(order.id);
    expect(await states(order.id)).toEqual(['APPROVED', 'SUCCEEDED', 'WAITING', 'SUCCEEDED']);
    rig.pass(1_000);
    await rig.runDue();
    expect(await states(order.id)).toEqual(['SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED']);
    expect([1, 2, 3].map((n) => rig.service.timesSent(`${order.id}.${n}`))).toEqual([1, 1, 1]);
  });

  test('an approval with an unconfirmed commit isn’t given twice', async () => {
    rig.setTeam({ approvalsRequired: 2 });
    rig.setCommitFault(once(({ log }) => log[0]?.kind === 'approved', 'after'));
    const order = await rig.ask('renew', { names: ['cafe.rest'], period: 1 });
    await expect(approveOrder(rig.orders, order.id, 'U0BOB')).rejects.toThrow('the connection broke');
    const again = await approveOrder(rig.orders, order.id, 'U0BOB');
    expect(again.ok ? 'given twice' : refusalText(again.refusal)).toMatch(/already/);
    expect((await rig.read(order.id)).state).toBe('PENDING');
  });
});

/** A fault at the first change of a kind, and then no more. */
function once(
  sort: (change: Parameters<Rig['store']['commit']>[0]) => boolean,
  fault: 'before' | 'after',
): Parameters<Rig['setCommitFault']>[0] {
  let happened = false;
  return (change) => {
    if (happened || !sort(change)) return undefined;
    happened = true;
    return fault;
  };
}
