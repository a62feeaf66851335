import { type SandboxService, startSandboxService } from '@domain-steward/sandbox-service';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { OrderCommit } from '../../src/orders/ports.ts';
import { resolveOrder } from '../../src/orders/resolve.ts';
import { retryOrder } from '../../src/orders/retry-button.ts';
import { createServiceClient, type ServiceClient } from '../../src/service/client.ts';
import { passwordCredential } from '../service/sandbox.ts';
import { MINUTE_MS, type Rig, startRig } from './rig.ts';
import { renderResult } from './sample.ts';

/*
 * A session ends, or a process is suspended, between the commit of `sentAt` and the request's first byte. Uses the real
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
    credential: passwordCredential,
    jsonAuth: 'session',
    timeoutMs: 5_000,
  });
  return () => client.close();
});
afterAll(async () => {
  await rig.end();
  await service.close();
});

let nameCount = 0;
/** Requests an approved renewal of a new name at the sandbox. */
function requestRenewal() {
  nameCount += 1;
  const { name } = service.state.addDomain({ name: `leaving${nameCount}.rest`, context: 4 });
  return rig.requestApprovedRenewal(name);
}

/** Requests a renewal after the service has ended the client's session. */
async function requestRenewalAfterSessionEnded() {
  const first = await requestRenewal();
  await rig.runDue();
  expect((await rig.read(first.id)).state).toBe('SUCCEEDED');
  service.sessions.endAll();
  return requestRenewal();
}

const listStatuses = (ctid: string) => service.requestsFor({ ctid }).map(({ status }) => status);
const isSecondSending = ({ log: [entry] }: OrderCommit) =>
  entry?.kind === 'sending' && entry.retryReason !== undefined;

/** Lets another process take the order over. */
async function letAnotherProcessTakeOver(): Promise<void> {
  rig.advanceClock(MINUTE_MS);
  await rig.recover();
}

describe('a request refused because its session had ended', () => {
  test('is retried as a new attempt, after another commit of sentAt', async () => {
    const order = await requestRenewalAfterSessionEnded();
    const sentCounts: number[] = [];
    rig.setBeforeCommit(async ({ log: [entry] }) => {
      if (entry?.kind !== 'sending') return;
      sentCounts.push(listStatuses(order.id).length);
    });
    const firstSentAt = rig.now;
    const unsubscribe = service.onRequest(({ ctid, status }) => {
      if (ctid === order.id && status === 401) rig.advanceClock(MINUTE_MS);
    });
    await rig.runDue();
    unsubscribe();
    expect(listStatuses(order.id)).toEqual([401, 200]);
    expect(sentCounts, 'sent requests at each sentAt').toEqual([0, 1]);
    const sentAt = new Date(firstSentAt.getTime() + MINUTE_MS);
    expect(await rig.read(order.id)).toMatchObject({
      state: 'SUCCEEDED',
      items: [{ attempts: 2, sentAt }],
    });
    const sendingEntries = (await rig.store.loadHistory(order.id, 'system')).filter(
      ({ kind }) => kind === 'sending',
    );
    expect(
      sendingEntries.map(({ at, ...entry }) => [at, 'retryReason' in entry ? entry.retryReason : undefined]),
    ).toEqual([
      [firstSentAt, undefined],
      [sentAt, { code: 'session_ended' }],
    ]);
  });

  test('fails without a retry if another process took the order over', async () => {
    const order = await requestRenewalAfterSessionEnded();
    rig.setBeforeCommit(async (change) => {
      if (isSecondSending(change)) await letAnotherProcessTakeOver();
    });
    await rig.runDue();
    expect(listStatuses(order.id)).toEqual([401]);
    const ended = await rig.read(order.id);
    expect(ended).toMatchObject({ state: 'FAILED', items: [{ state: 'FAILED', attempts: 1 }] });
    expect(renderResult(ended.items[0])).toMatch(/wasn’t carried out.*wasn’t sent again/);
    expect((await retryOrder(rig.orders, order.id, 'U0ALICE')).kind).toBe('accepted');
  });

  test.each(['SUCCEEDED', 'FAILED'] as const)(
    'isn’t retried after a person settled it (%s), but the response is stored',
    async (outcome) => {
      const order = await requestRenewalAfterSessionEnded();
      rig.setBeforeCommit(async (change) => {
        if (!isSecondSending(change)) return;
        await letAnotherProcessTakeOver();
        await resolveOrder(rig.orders, order.id, 'U0BOB', outcome, undefined);
      });
      await rig.runDue();
      expect(listStatuses(order.id)).toEqual([401]);
      expect(await rig.read(order.id)).toMatchObject({
        state: outcome,
        items: [{ state: outcome, result: { resolvedBy: 'U0BOB', lateOutcome: 'FAILED' } }],
      });
    },
  );

  test.each(['before', 'after'] as const)(
    'is retried later if its second sentAt isn’t confirmed (connection lost %s the commit)',
    async (when) => {
      const order = await requestRenewalAfterSessionEnded();
      rig.setCommitFault((change) => (isSecondSending(change) ? when : undefined));
      await rig.runDue();
      expect(listStatuses(order.id)).toEqual([401]);
      expect(await rig.read(order.id)).toMatchObject({ state: 'APPROVED', items: [{ state: 'WAITING' }] });
      rig.advanceClock(MINUTE_MS);
      await rig.runDue();
      expect(listStatuses(order.id)).toEqual([401, 200]);
      expect((await rig.read(order.id)).state).toBe('SUCCEEDED');
    },
  );
});

describe('a process suspended between its commit and the first byte', () => {
  /** Creates a wall clock that jumps at its nth read. */
  const newJumpingClock = (nth: number) => {
    let times = 0;
    return () => {
      times += 1;
      return times < nth ? 0 : SUSPENDED_MS;
    };
  };

  test.each([
    ['before it connects', 2],
    ['while it connects', 3],
  ])('(%s) sends nothing, and an approver settles the unknown outcome', async (_when, nth) => {
    const order = await requestRenewal();
    await rig.startProcess({ wallClock: newJumpingClock(nth) }).execute(order.id);
    expect(listStatuses(order.id)).toEqual([]);
    const ended = await rig.read(order.id);
    expect(ended).toMatchObject({ state: 'UNKNOWN', items: [{ state: 'UNKNOWN', attempts: 1 }] });
    expect(renderResult(ended.items[0])).toMatch(/suspended.*sent nothing.*may have acted meanwhile/);
    rig.advanceClock(MINUTE_MS);
    await rig.recover();
    await rig.runDue();
    expect(listStatuses(order.id)).toEqual([]);
    expect((await resolveOrder(rig.orders, order.id, 'U0BOB', 'FAILED', undefined)).ok).toBe(true);
  });

  test('sends if it resumes soon enough after the commit', async () => {
    const order = await requestRenewal();
    await rig.startProcess({ wallClock: newJumpingClock(2), maxSendDelayMs: SUSPENDED_MS }).execute(order.id);
    expect(listStatuses(order.id)).toEqual([200]);
  });

  test('doesn’t change an order that another process took over and a person settled', async () => {
    const order = await requestRenewal();
    let wallTimeMs = 0;
    const suspended = rig.startProcess({
      wallClock: () => wallTimeMs,
      store: {
        ...rig.store,
        commit: async (change) => {
          const outcome = await rig.store.commit(change);
          if (change.log[0]?.kind !== 'sending') return outcome;
          await letAnotherProcessTakeOver();
          expect((await rig.read(order.id)).state).toBe('UNKNOWN');
          await resolveOrder(rig.orders, order.id, 'U0BOB', 'FAILED', undefined);
          wallTimeMs += SUSPENDED_MS;
          return outcome;
        },
      },
    });
    await suspended.execute(order.id);
    expect(listStatuses(order.id)).toEqual([]);
    const settled = await rig.read(order.id);
    expect(settled).toMatchObject({ state: 'FAILED', items: [{ result: { resolvedBy: 'U0BOB' } }] });
    expect(settled.items[0]?.result?.lateOutcome).toBeUndefined();
  });
});
