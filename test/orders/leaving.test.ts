import { type SandboxService, startSandboxService } from '@domain-steward/sandbox-service';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { OrderCommit } from '../../src/orders/ports.ts';
import { resolveOrder } from '../../src/orders/resolve.ts';
import { retryOrder } from '../../src/orders/retry-button.ts';
import { createServiceClient, type ServiceClient } from '../../src/service/client.ts';
import { password } from '../service/sandbox.ts';
import { MINUTE_MS, type Rig, startRig } from './rig.ts';
import { saidOf } from './sample.ts';

/*
 * The time between the commit of `sentAt` and the first byte, with the real client and the sandbox service: sessions
 * that have ended, and processes that were suspended.
 */

const SUSPENDED_MS = 6_000;

let service: SandboxService;
let client: ServiceClient;
let rig: Rig;
beforeAll(async () => {
  service = await startSandboxService();
  rig = await startRig({ client: () => client });
});
beforeEach(async () => {
  await rig.reset();
  const { jsonUrl, xmlUrl } = service;
  client = createServiceClient({
    jsonUrl,
    xmlUrl,
    credential: password,
    jsonAuth: 'session',
    timeoutMs: 5_000,
  });
  return () => client.close();
});
afterAll(async () => {
  await rig.end();
  await service.close();
});

let names = 0;
/** An approved renewal of a name at the sandbox. */
function renewal() {
  names += 1;
  const { name } = service.state.addDomain({ name: `leaving${names}.rest`, context: 4 });
  return rig.approvedRenewal(name);
}

/** One whose client has a session that the service no longer knows. */
async function renewalAfterSessionEnded() {
  const first = await renewal();
  await rig.runDue();
  expect((await rig.read(first.id)).state).toBe('SUCCEEDED');
  service.sessions.endAll();
  return renewal();
}

const statuses = (ctid: string) => service.requestsFor({ ctid }).map(({ status }) => status);
const isSecondMark = ({ log: [entry] }: OrderCommit) =>
  entry?.kind === 'sending' && entry.retryReason !== undefined;

/** Another process takes the order over. */
async function takeUp(): Promise<void> {
  rig.pass(MINUTE_MS);
  await rig.recover();
}

describe('a request refused because its session had ended', () => {
  test('is repeated with its own commit and number, before it is sent', async () => {
    const order = await renewalAfterSessionEnded();
    const before: number[] = [];
    rig.setBeforeCommit(async ({ log: [entry] }) => {
      if (entry?.kind !== 'sending') return;
      before.push(statuses(order.id).length);
    });
    const first = rig.now;
    const ended = service.onRequest(({ ctid, status }) => {
      if (ctid === order.id && status === 401) rig.pass(MINUTE_MS);
    });
    await rig.runDue();
    ended();
    expect(statuses(order.id)).toEqual([401, 200]);
    expect(before, 'requests that had left at each mark').toEqual([0, 1]);
    const sentAt = new Date(first.getTime() + MINUTE_MS);
    expect(await rig.read(order.id)).toMatchObject({
      state: 'SUCCEEDED',
      items: [{ attempts: 2, sentAt }],
    });
    const marks = (await rig.store.loadHistory(order.id, 'system')).filter(({ kind }) => kind === 'sending');
    expect(
      marks.map(({ at, ...entry }) => [at, 'retryReason' in entry ? entry.retryReason : undefined]),
    ).toEqual([
      [first, undefined],
      [sentAt, { code: 'session_ended' }],
    ]);
  });

  test('isn’t repeated after another process took the order over: it was not carried out', async () => {
    const order = await renewalAfterSessionEnded();
    rig.setBeforeCommit(async (change) => {
      if (isSecondMark(change)) await takeUp();
    });
    await rig.runDue();
    expect(statuses(order.id)).toEqual([401]);
    const ended = await rig.read(order.id);
    expect(ended).toMatchObject({ state: 'FAILED', items: [{ state: 'FAILED', attempts: 1 }] });
    expect(saidOf(ended.items[0])).toMatch(/wasn’t carried out.*wasn’t sent again/);
    expect((await retryOrder(rig.orders, order.id, 'U0ALICE')).kind).toBe('accepted');
  });

  test.each(['SUCCEEDED', 'FAILED'] as const)(
    'isn’t repeated after it was settled (%s): the service’s response is stored beside that',
    async (outcome) => {
      const order = await renewalAfterSessionEnded();
      rig.setBeforeCommit(async (change) => {
        if (!isSecondMark(change)) return;
        await takeUp();
        await resolveOrder(rig.orders, order.id, 'U0BOB', outcome, undefined);
      });
      await rig.runDue();
      expect(statuses(order.id)).toEqual([401]);
      expect(await rig.read(order.id)).toMatchObject({
        state: outcome,
        items: [{ state: outcome, result: { resolvedBy: 'U0BOB', lateOutcome: 'FAILED' } }],
      });
    },
  );

  test.each(['before', 'after'] as const)(
    'waits if its second sentAt isn’t confirmed (it broke %s the commit), and is repeated then',
    async (when) => {
      const order = await renewalAfterSessionEnded();
      rig.setCommitFault((change) => (isSecondMark(change) ? when : undefined));
      await rig.runDue();
      expect(statuses(order.id)).toEqual([401]);
      expect(await rig.read(order.id)).toMatchObject({ state: 'APPROVED', items: [{ state: 'WAITING' }] });
      rig.pass(MINUTE_MS);
      await rig.runDue();
      expect(statuses(order.id)).toEqual([401, 200]);
      expect((await rig.read(order.id)).state).toBe('SUCCEEDED');
    },
  );
});

describe('a process suspended between its commit and the first byte', () => {
  /** A wall clock that jumps when it has been read this many times. */
  const jumpsAt = (asked: number) => {
    let times = 0;
    return () => {
      times += 1;
      return times < asked ? 0 : SUSPENDED_MS;
    };
  };

  test.each([
    ['before it connects', 2],
    ['while it connects', 3],
  ])('%s sends nothing: outcome unknown, and an approver settles it', async (_when, asked) => {
    const order = await renewal();
    await rig.startProcess({ wallClock: jumpsAt(asked) }).execute(order.id);
    expect(statuses(order.id)).toEqual([]);
    const ended = await rig.read(order.id);
    expect(ended).toMatchObject({ state: 'UNKNOWN', items: [{ state: 'UNKNOWN', attempts: 1 }] });
    expect(saidOf(ended.items[0])).toMatch(/suspended.*sent nothing.*may have acted meanwhile/);
    rig.pass(MINUTE_MS);
    await rig.recover();
    await rig.runDue();
    expect(statuses(order.id)).toEqual([]);
    expect((await resolveOrder(rig.orders, order.id, 'U0BOB', 'FAILED', undefined)).ok).toBe(true);
  });

  test('sends if the time since the commit is short enough', async () => {
    const order = await renewal();
    await rig.startProcess({ wallClock: jumpsAt(2), maxSendDelayMs: SUSPENDED_MS }).execute(order.id);
    expect(statuses(order.id)).toEqual([200]);
  });

  test('doesn’t change the result of another process and a person, nor the order that replaced it', async () => {
    const order = await renewal();
    let wall = 0;
    const suspended = rig.startProcess({
      wallClock: () => wall,
      store: {
        ...rig.store,
        commit: async (change) => {
          const outcome = await rig.store.commit(change);
          if (change.log[0]?.kind !== 'sending') return outcome;
          await takeUp();
          expect((await rig.read(order.id)).state).toBe('UNKNOWN');
          await resolveOrder(rig.orders, order.id, 'U0BOB', 'FAILED', undefined);
          wall += SUSPENDED_MS;
          return outcome;
        },
      },
    });
    await suspended.execute(order.id);
    expect(statuses(order.id)).toEqual([]);
    const settled = await rig.read(order.id);
    expect(settled).toMatchObject({ state: 'FAILED', items: [{ result: { resolvedBy: 'U0BOB' } }] });
    expect(settled.items[0]?.result?.lateOutcome).toBeUndefined();
  });
});
