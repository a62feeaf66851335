import { startWorkspace, type Workspace } from '@domain-steward/slack-workspace';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { NotificationStore, Subject } from '../../../src/outbox/notifications.ts';
import { Secret } from '../../../src/service/secret.ts';
import { textMessage } from '../../../src/slack/kit/blocks.ts';
import {
  type NotificationPlanner,
  type NotificationSpec,
  notify,
} from '../../../src/slack/outbound/notify.ts';
import { createPacer } from '../../../src/slack/outbound/pacer.ts';
import { createSlackWeb } from '../../../src/slack/outbound/web.ts';
import { type Database, openDatabase } from '../../../src/store/database.ts';
import { createNotificationStore } from '../../../src/store/notifications.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { DOMAINS } from '../../support/demo.ts';
import { notificationsOf, notifierDeps, notifyDue } from '../../support/notifier.ts';

/* A message that a channel refuses is rescheduled or posted elsewhere, and delays nothing else. */

const GENERAL_CHANNEL = 'C0GENERAL';
const EXPIRY_CHANNEL = 'C0EXPIRY';
const SUBJECT: Subject = { kind: 'report', id: 'one' };

let database: TestDatabase;
let db: Database;
let workspace: Workspace;
let store: NotificationStore;
let nowMs: number;
const now = () => new Date(nowMs);

beforeAll(async () => {
  [database, workspace] = await Promise.all([createTestDatabase(), startWorkspace()]);
  db = openDatabase({ url: database.url });
  store = createNotificationStore(db, 'T0TEAM');
});
beforeEach(async () => {
  nowMs = Date.UTC(2027, 5, 14);
  workspace.faults.clear();
  await db.prisma.notification.deleteMany();
  await store.addSubjectIfMissing(SUBJECT, now());
});
afterAll(async () => {
  await workspace.close();
  await db.close();
  await database.drop();
});

function createDeps(planner: NotificationPlanner) {
  const web = createSlackWeb(new Secret(workspace.botToken), workspace.apiUrl);
  return notifierDeps({ notifications: store, web, now }, { report: planner });
}

let planCount = 0;
/** Plans messages with a unique text, each with its places. */
function planMessages(...channelLists: readonly (readonly string[])[]) {
  planCount += 1;
  const label = `message ${planCount}`;
  const textsIn = (channel: string) =>
    workspace
      .messages(channel)
      .map(({ text }) => text)
      .filter((text) => text.startsWith(`${label} `));
  const planner =
    (changes: Partial<NotificationSpec> = {}): NotificationPlanner =>
    async ({ version }, send) => {
      for (const [n, channels] of channelLists.entries())
        await send({
          purpose: `message:${n}`,
          version: String(version),
          occurredAt: now(),
          places: channels.map((channelId) => async () => ({ channelId })),
          message: () => textMessage(`${label} v${version}`),
          ...changes,
        });
      return undefined;
    };
  return { textsIn, planner };
}

test('a rate-limited channel delays no other, and a change doesn’t cause an early retry', async () => {
  const { textsIn, planner } = planMessages([DOMAINS], [GENERAL_CHANNEL]);
  const rateLimit = {
    method: 'chat.postMessage',
    channel: DOMAINS,
    kind: 'ratelimited',
    retryAfterSeconds: 30,
  } as const;
  workspace.faults.set({ ...rateLimit, times: 1 });
  await notifyDue(createDeps(planner()));
  expect([textsIn(DOMAINS), textsIn(GENERAL_CHANNEL)]).toEqual([[], [expect.stringContaining('v1')]]);
  await store.requestUpdate(SUBJECT, now());
  await notifyDue(createDeps(planner()));
  expect([textsIn(DOMAINS), textsIn(GENERAL_CHANNEL)]).toEqual([[], [expect.stringContaining('v2')]]);
  nowMs += 30_000;
  expect(await notifyDue(createDeps(planner()))).toEqual(['report:one']);
  expect(textsIn(DOMAINS)).toEqual([expect.stringContaining('v2')]);
  expect(await notifyDue(createDeps(planner())), 'everything is posted').toEqual([]);
});

describe('an update', () => {
  const countUpdates = () => workspace.calls.filter(({ method }) => method === 'chat.update').length;
  const sendUpdate = async (
    changes: Partial<NotificationSpec>,
    notifier = createDeps(planMessages([GENERAL_CHANNEL]).planner(changes)),
  ) => {
    await store.requestUpdate(SUBJECT, now());
    await notifyDue(notifier);
  };
  const message = () => textMessage('the same');

  test('is sent only if its content has changed', async () => {
    const metadata = (state: string) => ({ event_type: 'order', event_payload: { state } });
    await sendUpdate({ message, metadata: metadata('PENDING') });
    const before = countUpdates();
    await sendUpdate({ message, metadata: metadata('PENDING') });
    expect(countUpdates() - before, 'unchanged').toBe(0);
    expect(await notificationsOf(store, SUBJECT)).toMatchObject([{ shownVersion: '3' }]);
    await sendUpdate({ message, metadata: metadata('APPROVED') });
    expect(countUpdates() - before, 'changed metadata').toBe(1);
    await sendUpdate({ message: () => textMessage('other'), metadata: metadata('APPROVED') });
    expect(countUpdates() - before, 'changed text').toBe(2);
    await sendUpdate({ message, metadata: metadata('APPROVED') });
    expect(countUpdates() - before, 'changed back').toBe(3);
  });

  test('is sent again if it may not have arrived, and for an adopted message', async () => {
    await sendUpdate({ message });
    const before = countUpdates();
    workspace.faults.set({ method: 'chat.update', kind: 'lost_answer', times: 1 });
    await sendUpdate({ message: () => textMessage('other') });
    nowMs += 1_000;
    await sendUpdate({ message });
    expect(countUpdates() - before).toBe(2);
    const [postedMessage] = await notificationsOf(store, SUBJECT);
    if (postedMessage?.message === undefined) throw new Error('nothing was posted');
    await db.prisma.notification.deleteMany({ where: { purpose: postedMessage.purpose } });
    await store.adoptMessage(SUBJECT, postedMessage.message, [postedMessage.purpose], now());
    await sendUpdate({ message });
    expect(countUpdates() - before).toBe(3);
  });

  test('that Slack rate-limits delays all updates, but only until the limit ends', async () => {
    const web = createSlackWeb(
      new Secret(workspace.botToken),
      workspace.apiUrl,
      undefined,
      createPacer(() => nowMs),
    );
    const createNotifier = (planner: NotificationPlanner) =>
      notifierDeps({ notifications: store, web, now }, { report: planner });
    const { textsIn, planner } = planMessages([DOMAINS], [GENERAL_CHANNEL]);
    await notifyDue(createNotifier(planner()));
    const before = countUpdates();
    workspace.faults.set({ method: 'chat.update', kind: 'ratelimited', retryAfterSeconds: 30, times: 1 });
    await sendUpdate({}, createNotifier(planner()));
    await sendUpdate({}, createNotifier(planner()));
    expect(countUpdates() - before, 'one is refused, no other is sent').toBe(1);
    expect(await notificationsOf(store, SUBJECT)).toMatchObject([
      { attempts: 0, dueAt: undefined },
      { attempts: 0, dueAt: undefined },
    ]);
    nowMs += 30_000;
    await notifyDue(createNotifier(planner()));
    expect(textsIn(DOMAINS)).toEqual([expect.stringContaining('v3')]);
    nowMs += 1_200;
    await notifyDue(createNotifier(planner()));
    expect(textsIn(GENERAL_CHANNEL)).toEqual([expect.stringContaining('v3')]);
  });
});

test('a message that one place refuses goes to the next', async () => {
  const { textsIn, planner } = planMessages(['C0NOBOT', GENERAL_CHANNEL]);
  await notifyDue(createDeps(planner()));
  expect(textsIn(GENERAL_CHANNEL)).toHaveLength(1);
});

test('a message that every place refuses is marked as refused, and retried with its next version', async () => {
  const { textsIn, planner } = planMessages([EXPIRY_CHANNEL]);
  workspace.faults.set({
    method: 'chat.postMessage',
    channel: EXPIRY_CHANNEL,
    kind: 'error',
    code: 'is_archived',
  });
  await notifyDue(createDeps(planner()));
  expect(await notificationsOf(store, SUBJECT)).toMatchObject([
    { refusalCode: 'is_archived', message: undefined },
  ]);
  workspace.faults.clear();
  await notify(createDeps(planner()), SUBJECT);
  expect(textsIn(EXPIRY_CHANNEL), 'the same version').toEqual([]);
  await store.requestUpdate(SUBJECT, now());
  await notifyDue(createDeps(planner()));
  expect(textsIn(EXPIRY_CHANNEL)).toEqual([expect.stringContaining('v2')]);
});

test('a refusing channel is reported once until it accepts a message', async () => {
  const { planner } = planMessages([EXPIRY_CHANNEL]);
  const alertingDeps = createDeps(planner({ alertsAdmins: true }));
  const listReportedChannels = async () =>
    (await db.prisma.notification.findMany({ where: { subjectKind: 'channel' } })).map(
      ({ subjectId }) => subjectId,
    );
  workspace.faults.set({
    method: 'chat.postMessage',
    channel: EXPIRY_CHANNEL,
    kind: 'error',
    code: 'is_archived',
  });
  for (let version = 1; version <= 2; version += 1) {
    await notify(alertingDeps, SUBJECT);
    await store.requestUpdate(SUBJECT, now());
  }
  expect(await listReportedChannels()).toEqual([EXPIRY_CHANNEL]);
  workspace.faults.clear();
  await notify(alertingDeps, SUBJECT);
  expect(await listReportedChannels()).toEqual([]);
});

test('an essential message is retried until it arrives', async () => {
  const { textsIn, planner } = planMessages([EXPIRY_CHANNEL]);
  workspace.faults.set({
    method: 'chat.postMessage',
    channel: EXPIRY_CHANNEL,
    kind: 'error',
    code: 'is_archived',
  });
  const essentialDeps = createDeps(planner({ mustArrive: true }));
  await notifyDue(essentialDeps);
  workspace.faults.clear();
  nowMs += 60_000;
  await notifyDue(essentialDeps);
  expect(textsIn(EXPIRY_CHANNEL)).toHaveLength(1);
});

test('a delayed message is posted at its time', async () => {
  const { textsIn, planner } = planMessages([GENERAL_CHANNEL]);
  const morning = new Date(nowMs + 8 * 3_600_000);
  const delayedDeps = createDeps(
    planner({ findDelayEnd: async () => (now() < morning ? morning : undefined) }),
  );
  await notifyDue(delayedDeps);
  expect(textsIn(GENERAL_CHANNEL), 'before its time').toEqual([]);
  nowMs = morning.getTime() - 1;
  expect(await notifyDue(delayedDeps)).toEqual([]);
  nowMs += 1;
  await notifyDue(delayedDeps);
  expect(textsIn(GENERAL_CHANNEL)).toHaveLength(1);
});

/* Order cards and copies, incidents, mandate days and pending changes all use this mechanism. */
describe.each([
  'edit_window_closed',
  'cant_update_message',
  'message_not_found',
  'is_archived',
  'not_in_channel',
])('a message that the bot can no longer edit (%s)', (code) => {
  const refuseUpdate = () => workspace.faults.set({ method: 'chat.update', kind: 'error', code, times: 1 });
  const findMessage = async () => (await notificationsOf(store, SUBJECT))[0]?.message;

  test('is posted again once, and its old place leads to the new one', async () => {
    const { textsIn, planner } = planMessages([DOMAINS]);
    await notifyDue(createDeps(planner()));
    const old = await findMessage();
    if (old === undefined) throw new Error('nothing was posted');
    refuseUpdate();
    await store.requestUpdate(SUBJECT, now());
    await notifyDue(createDeps(planner()));
    expect(textsIn(DOMAINS)).toEqual([expect.stringContaining('v1'), expect.stringContaining('v2')]);
    const current = await findMessage();
    expect(current).not.toEqual(old);
    expect(await store.findReplacement(old)).toEqual({ subject: SUBJECT, currentMessage: current });
    await store.requestUpdate(SUBJECT, now());
    await notifyDue(createDeps(planner()));
    expect(textsIn(DOMAINS)).toEqual([expect.stringContaining('v1'), expect.stringContaining('v3')]);
  });

  test('stays pending while the new post is refused, too', async () => {
    const { textsIn, planner } = planMessages([DOMAINS]);
    const states: string[] = [];
    const recordingPlanner: NotificationPlanner = (claim, send) =>
      planner({ mustArrive: true })(claim, async (spec) => {
        const result = await send(spec);
        states.push(result.state);
        return result;
      });
    await notifyDue(createDeps(recordingPlanner));
    refuseUpdate();
    workspace.faults.set({ method: 'chat.postMessage', kind: 'error', code: 'is_archived', times: 1 });
    await store.requestUpdate(SUBJECT, now());
    await notifyDue(createDeps(recordingPlanner));
    expect([states, textsIn(DOMAINS).length]).toEqual([['current', 'pending'], 1]);
    nowMs += 60_000;
    await notifyDue(createDeps(recordingPlanner));
    expect([states, textsIn(DOMAINS).length]).toEqual([['current', 'pending', 'current'], 2]);
  });
});

/* With these codes, no one can read the message any more, so it is posted again even if it hasn't changed. */
test.each(['channel_not_found', 'is_archived', 'is_inactive', 'message_not_found', 'not_in_channel'])(
  'a message that is gone (%s) is posted again even if its essential content is unchanged',
  async (code) => {
    const { textsIn, planner } = planMessages([DOMAINS]);
    await notifyDue(createDeps(planner({ repostKey: 'waits' })));
    workspace.faults.set({ method: 'chat.update', kind: 'error', code, times: 1 });
    await store.requestUpdate(SUBJECT, now());
    await notifyDue(createDeps(planner({ repostKey: 'waits' })));
    expect(textsIn(DOMAINS)).toEqual([expect.stringContaining('v1'), expect.stringContaining('v2')]);
  },
);

test('a readable message is posted again only if its essential content changes', async () => {
  const { textsIn, planner } = planMessages([DOMAINS]);
  await notifyDue(createDeps(planner({ repostKey: 'waits' })));
  workspace.faults.set({ method: 'chat.update', kind: 'error', code: 'edit_window_closed' });
  for (const repostKey of ['waits', 'ended']) {
    await store.requestUpdate(SUBJECT, now());
    await notifyDue(createDeps(planner({ repostKey })));
  }
  expect(textsIn(DOMAINS)).toEqual([expect.stringContaining('v1'), expect.stringContaining('v3')]);
});
