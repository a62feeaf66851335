import { type SandboxService, startSandboxService } from '@domain-steward/sandbox-service';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { OrderCommit } from '../../src/orders/ports.ts';
import { resolveOrder } from '../../src/orders/resolve.ts';
import { retryOrder } from '../../src/orders/retry-button.ts';
import { createServiceClient, type ServiceClient } from '../../src/service/client.ts';
import { password } from '../service/sandbox.ts';
import { MINUTE_MS, type Rig, startRig } from './rig.ts';
import { renderResult } from './sample.ts';

/*
 * Sessions that end and processes that are suspended between the commit of `sentAt` and the first byte, with the real
 * client and the sandbox service.
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
function requestRenewal() {
  names += 1;
  const { name } = service.state.addDomain({ name: `leaving${names}.rest`, context: 4 });
  return rig.requestApprovedRenewal(name);
}

/** A renewal whose client has a session that the service no longer knows. */
async function renewalAfterSessionEnded() {
  const first = await requestRenewal();
  await rig.runDue();
  expect((await rig.read(first.id)).state).toBe('SUCCEEDED');
  service.sessions.endAll();
  return requestRenewal();
}

const statuses = (ctid: string) => service.requestsFor({ ctid }).map(({ status }) => status);
const isSecondSentAt = ({ log: [entry] }: OrderCommit) =>
  entry?.kind === 'sending' && entry.retryReason !== undefined;

/** Another process takes the order over. */
async function takeOver(): Promise<void> {
  rig.advanceClock(MINUTE_MS);
  await rig.recover();
}

describe('a request refused because its session had ended', () => {
  test('is retried after its own commit, as another attempt', async () => {
    const order = await renewalAfterSessionEnded();
    const before: number[] = [];
    rig.setBeforeCommit(async ({ log: [entry] }) => {
      if (entry?.kind !== 'sending') return;
      before.push(statuses(order.id).length);
    });
    const first = rig.now;
    const ended = service.onRequest(({ ctid, status }) => {
      if (ctid === order.id && status === 401) rig.advanceClock(MINUTE_MS);
    });
    await rig.runDue();
    ended();
    expect(statuses(order.id)).toEqual([401, 200]);
    expect(before, 'sent requests at each sentAt').toEqual([0, 1]);
    const sentAt = new Date(first.getTime() + MINUTE_MS);
    expect(await rig.read(order.id)).toMatchObject({
      state: 'SUCCEEDED',
      items: [{ attempts: 2, sentAt }],
    });
    const sends = (await rig.store.loadHistory(order.id, 'system')).filter(({ kind }) => kind === 'sending');
    expect(
      sends.map(({ at, ...entry }) => [at, 'retryReason' in entry ? entry.retryReason : undefined]),
    ).toEqual([
      [first, undefined],
      [sentAt, { code: 'session_ended' }],
    ]);
  });

  test('fails without a retry after another process took the order over', async () => {
    const order = await renewalAfterSessionEnded();
    rig.setBeforeCommit(async (change) => {
      if (isSecondSentAt(change)) await takeOver();
    });
    await rig.runDue();
    expect(statuses(order.id)).toEqual([401]);
    const ended = await rig.read(order.id);
    expect(ended).toMatchObject({ state: 'FAILED', items: [{ state: 'FAILED', attempts: 1 }] });
    expect(renderResult(ended.items[0])).toMatch(/wasn’t carried out.*wasn’t sent again/);
    expect((await retryOrder(rig.orders, order.id, 'U0ALICE')).kind).toBe('accepted');
  });

  test.each(['SUCCEEDED', 'FAILED'] as const)(
    'isn’t retried after it was settled (%s), but the response is stored',
    async (outcome) => {
      const order = await renewalAfterSessionEnded();
      rig.setBeforeCommit(async (change) => {
        if (!isSecondSentAt(change)) return;
        await takeOver();
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
    'is retried later if its second sentAt isn’t confirmed (broken %s the commit)',
    async (when) => {
      const order = await renewalAfterSessionEnded();
      rig.setCommitFault((change) => (isSecondSentAt(change) ? when : undefined));
      await rig.runDue();
      expect(statuses(order.id)).toEqual([401]);
      expect(await rig.read(order.id)).toMatchObject({ state: 'APPROVED', items: [{ state: 'WAITING' }] });
      rig.advanceClock(MINUTE_MS);
      await rig.runDue();
      expect(statuses(order.id)).toEqual([401, 200]);
      expect((await rig.read(order.id)).state).toBe('SUCCEEDED');
    },
  );
});

describe('a process suspended between its commit and the first byte', () => {
  /** A wall clock that jumps at its nth read. */
  const jumpAtRead = (nth: number) => {
    let times = 0;
    return () => {
      times += 1;
      return times < nth ? 0 : SUSPENDED_MS;
    };
  };

  test.each([
    ['before it connects', 2],
    ['while it connects', 3],
  ])('%s sends nothing, and an approver settles the unknown outcome', async (_when, nth) => {
    const order = await requestRenewal();
    await rig.startProcess({ wallClock: jumpAtRead(nth) }).execute(order.id);
    expect(statuses(order.id)).toEqual([]);
    const ended = await rig.read(order.id);
    expect(ended).toMatchObject({ state: 'UNKNOWN', items: [{ state: 'UNKNOWN', attempts: 1 }] });
    expect(renderResult(ended.items[0])).toMatch(/suspended.*sent nothing.*may have acted meanwhile/);
    rig.advanceClock(MINUTE_MS);
    await rig.recover();
    await rig.runDue();
    expect(statuses(order.id)).toEqual([]);
    expect((await resolveOrder(rig.orders, order.id, 'U0BOB', 'FAILED', undefined)).ok).toBe(true);
  });

  test('sends if the time since the commit is short enough', async () => {
    const order = await requestRenewal();
    await rig.startProcess({ wallClock: jumpAtRead(2), maxSendDelayMs: SUSPENDED_MS }).execute(order.id);
    expect(statuses(order.id)).toEqual([200]);
  });

  test('doesn’t change an order that another process took over and a person settled', async () => {
    const order = await requestRenewal();
    let wall = 0;
    const suspended = rig.startProcess({
      wallClock: () => wall,
      store: {
        ...rig.store,
        commit: async (change) => {
          const outcome = await rig.store.commit(change);
          if (change.log[0]?.kind !== 'sending') return outcome;
          await takeOver();
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
