import { startWorkspace, type Workspace } from '@domain-steward/slack-workspace';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { NotificationStore, Subject } from '../../../src/outbox/notifications.ts';
import { Secret } from '../../../src/service/secret.ts';
import { textMessage } from '../../../src/slack/kit/blocks.ts';
import {
  type NotificationPlanner,
  notify,
  type WantedNotification,
} from '../../../src/slack/outbound/notify.ts';
import { createPacer } from '../../../src/slack/outbound/pacer.ts';
import { createSlackWeb } from '../../../src/slack/outbound/web.ts';
import { type Database, openDatabase } from '../../../src/store/database.ts';
import { createNotificationStore } from '../../../src/store/notifications.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { DOMAINS } from '../../support/demo.ts';
import { notificationsOf, notifierDeps, notifyDue } from '../../support/notifier.ts';

/* A message that one place refuses is rescheduled, or posted elsewhere, and delays nothing else. */

const GENERAL = 'C0GENERAL';
const EXPIRY = 'C0EXPIRY';
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
  await store.addIfMissing(SUBJECT, now());
});
afterAll(async () => {
  await workspace.close();
  await db.close();
  await database.drop();
});

function deps(planner: NotificationPlanner) {
  const web = createSlackWeb(new Secret(workspace.botToken), workspace.apiUrl);
  return notifierDeps({ notifications: store, web, now }, { report: planner });
}

let count = 0;
/** Messages with a unique text, each in its places. */
function messagesIn(...placed: readonly (readonly string[])[]) {
  count += 1;
  const label = `message ${count}`;
  const said = (channel: string) =>
    workspace
      .messages(channel)
      .map(({ text }) => text)
      .filter((text) => text.startsWith(`${label} `));
  const planner =
    (changes: Partial<WantedNotification> = {}): NotificationPlanner =>
    async ({ version }, send) => {
      for (const [n, channels] of placed.entries())
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
  return { said, planner };
}

test('a busy place delays no other, and a change doesn’t bring its next try forward', async () => {
  const { said, planner } = messagesIn([DOMAINS], [GENERAL]);
  const limited = {
    method: 'chat.postMessage',
    channel: DOMAINS,
    kind: 'ratelimited',
    retryAfter: 30,
  } as const;
  workspace.faults.set({ ...limited, times: 1 });
  await notifyDue(deps(planner()));
  expect([said(DOMAINS), said(GENERAL)]).toEqual([[], [expect.stringContaining('v1')]]);
  await store.requestUpdate(SUBJECT, now());
  await notifyDue(deps(planner()));
  expect([said(DOMAINS), said(GENERAL)]).toEqual([[], [expect.stringContaining('v2')]]);
  nowMs += 30_000;
  expect(await notifyDue(deps(planner()))).toEqual(['report:one']);
  expect(said(DOMAINS)).toEqual([expect.stringContaining('v2')]);
  expect(await notifyDue(deps(planner())), 'all is posted').toEqual([]);
});

describe('an update', () => {
  const updates = () => workspace.calls.filter(({ method }) => method === 'chat.update').length;
  const show = async (
    changes: Partial<WantedNotification>,
    asked = deps(messagesIn([GENERAL]).planner(changes)),
  ) => {
    await store.requestUpdate(SUBJECT, now());
    await notifyDue(asked);
  };
  const message = () => textMessage('the same');

  test('is sent only if its content has changed', async () => {
    const metadata = (state: string) => ({ event_type: 'order', event_payload: { state } });
    await show({ message, metadata: metadata('PENDING') });
    const before = updates();
    await show({ message, metadata: metadata('PENDING') });
    expect(updates() - before, 'nothing').toBe(0);
    expect(await notificationsOf(store, SUBJECT)).toMatchObject([{ shownVersion: '3' }]);
    await show({ message, metadata: metadata('APPROVED') });
    expect(updates() - before, 'its metadata').toBe(1);
    await show({ message: () => textMessage('other'), metadata: metadata('APPROVED') });
    expect(updates() - before, 'its text').toBe(2);
    await show({ message, metadata: metadata('APPROVED') });
    expect(updates() - before, 'back again').toBe(3);
  });

  test('is sent again if it may not have arrived, and for a message that was found', async () => {
    await show({ message });
    const before = updates();
    workspace.faults.set({ method: 'chat.update', kind: 'lost_answer', times: 1 });
    await show({ message: () => textMessage('other') });
    nowMs += 1_000;
    await show({ message });
    expect(updates() - before).toBe(2);
    const [found] = await notificationsOf(store, SUBJECT);
    if (found?.message === undefined) throw new Error('nothing was posted');
    await db.prisma.notification.deleteMany({ where: { purpose: found.purpose } });
    await store.adopt(SUBJECT, found.message, [found.purpose], now());
    await show({ message });
    expect(updates() - before).toBe(3);
  });

  test('that Slack limits delays all of them only until the limit ends', async () => {
    const web = createSlackWeb(
      new Secret(workspace.botToken),
      workspace.apiUrl,
      undefined,
      createPacer(() => nowMs),
    );
    const asked = (planner: NotificationPlanner) =>
      notifierDeps({ notifications: store, web, now }, { report: planner });
    const { said, planner } = messagesIn([DOMAINS], [GENERAL]);
    await notifyDue(asked(planner()));
    const before = updates();
    workspace.faults.set({ method: 'chat.update', kind: 'ratelimited', retryAfter: 30, times: 1 });
    await show({}, asked(planner()));
    await show({}, asked(planner()));
    expect(updates() - before, 'one is refused, no other is sent').toBe(1);
    expect(await notificationsOf(store, SUBJECT)).toMatchObject([
      { attempts: 0, dueAt: undefined },
      { attempts: 0, dueAt: undefined },
    ]);
    nowMs += 30_000;
    await notifyDue(asked(planner()));
    expect(said(DOMAINS)).toEqual([expect.stringContaining('v3')]);
    nowMs += 1_200;
    await notifyDue(asked(planner()));
    expect(said(GENERAL)).toEqual([expect.stringContaining('v3')]);
  });
});

test('a message that a place refuses goes to the next one', async () => {
  const { said, planner } = messagesIn(['C0NOBOT', GENERAL]);
  await notifyDue(deps(planner()));
  expect(said(GENERAL)).toHaveLength(1);
});

test('a message that every place refuses is marked as refused, and retried with its next version', async () => {
  const { said, planner } = messagesIn([EXPIRY]);
  workspace.faults.set({ method: 'chat.postMessage', channel: EXPIRY, kind: 'error', code: 'is_archived' });
  await notifyDue(deps(planner()));
  expect(await notificationsOf(store, SUBJECT)).toMatchObject([
    { refusalCode: 'is_archived', message: undefined },
  ]);
  workspace.faults.clear();
  await notify(deps(planner()), SUBJECT);
  expect(said(EXPIRY), 'the same version').toEqual([]);
  await store.requestUpdate(SUBJECT, now());
  await notifyDue(deps(planner()));
  expect(said(EXPIRY)).toEqual([expect.stringContaining('v2')]);
});

test('a place is reported once until something gets through there', async () => {
  const { planner } = messagesIn([EXPIRY]);
  const alerting = deps(planner({ alertsAdmins: true }));
  const places = async () =>
    (await db.prisma.notification.findMany({ where: { subjectKind: 'channel' } })).map(
      ({ subjectId }) => subjectId,
    );
  workspace.faults.set({ method: 'chat.postMessage', channel: EXPIRY, kind: 'error', code: 'is_archived' });
  for (let version = 1; version <= 2; version += 1) {
    await notify(alerting, SUBJECT);
    await store.requestUpdate(SUBJECT, now());
  }
  expect(await places()).toEqual([EXPIRY]);
  workspace.faults.clear();
  await notify(alerting, SUBJECT);
  expect(await places()).toEqual([]);
});

test('an essential message is retried until it arrives', async () => {
  const { said, planner } = messagesIn([EXPIRY]);
  workspace.faults.set({ method: 'chat.postMessage', channel: EXPIRY, kind: 'error', code: 'is_archived' });
  const lasting = deps(planner({ mustArrive: true }));
  await notifyDue(lasting);
  workspace.faults.clear();
  nowMs += 60_000;
  await notifyDue(lasting);
  expect(said(EXPIRY)).toHaveLength(1);
});

test('a message with its own time is posted then', async () => {
  const { said, planner } = messagesIn([GENERAL]);
  const morning = new Date(nowMs + 8 * 3_600_000);
  const waiting = deps(planner({ findDelayEnd: async () => (now() < morning ? morning : undefined) }));
  await notifyDue(waiting);
  expect(said(GENERAL), 'before').toEqual([]);
  nowMs = morning.getTime() - 1;
  expect(await notifyDue(waiting)).toEqual([]);
  nowMs += 1;
  await notifyDue(waiting);
  expect(said(GENERAL)).toHaveLength(1);
});

/* Siblings: order cards and copies, incidents, mandate days, pending changes. Each uses this one mechanism. */
describe.each([
  'edit_window_closed',
  'cant_update_message',
  'message_not_found',
  'is_archived',
  'not_in_channel',
])('a message that Slack does not let us edit (%s)', (code) => {
  const refuse = () => workspace.faults.set({ method: 'chat.update', kind: 'error', code, times: 1 });
  const placeOf = async () => (await notificationsOf(store, SUBJECT))[0]?.message;

  test('is posted again, once, and the old one links to the new one', async () => {
    const { said, planner } = messagesIn([DOMAINS]);
    await notifyDue(deps(planner()));
    const old = await placeOf();
    if (old === undefined) throw new Error('nothing was posted');
    refuse();
    await store.requestUpdate(SUBJECT, now());
    await notifyDue(deps(planner()));
    expect(said(DOMAINS)).toEqual([expect.stringContaining('v1'), expect.stringContaining('v2')]);
    const current = await placeOf();
    expect(current).not.toEqual(old);
    expect(await store.findReplacement(old)).toEqual({ subject: SUBJECT, current });
    await store.requestUpdate(SUBJECT, now());
    await notifyDue(deps(planner()));
    expect(said(DOMAINS)).toEqual([expect.stringContaining('v1'), expect.stringContaining('v3')]);
  });

  test('doesn’t count as shown while its new place refuses it too', async () => {
    const { said, planner } = messagesIn([DOMAINS]);
    const states: string[] = [];
    const noting: NotificationPlanner = (claim, send) =>
      planner({ mustArrive: true })(claim, async (wanted) => {
        const sent = await send(wanted);
        states.push(sent.state);
        return sent;
      });
    await notifyDue(deps(noting));
    refuse();
    workspace.faults.set({ method: 'chat.postMessage', kind: 'error', code: 'is_archived', times: 1 });
    await store.requestUpdate(SUBJECT, now());
    await notifyDue(deps(noting));
    expect([states, said(DOMAINS).length]).toEqual([['current', 'pending'], 1]);
    nowMs += 60_000;
    await notifyDue(deps(noting));
    expect([states, said(DOMAINS).length]).toEqual([['current', 'pending', 'current'], 2]);
  });
});

/* Codes of a message that nobody can read any more: its content is nowhere else, changed or not. */
test.each(['channel_not_found', 'is_archived', 'is_inactive', 'message_not_found', 'not_in_channel'])(
  'a message that is gone (%s) is posted again even if its essential content is unchanged',
  async (code) => {
    const { said, planner } = messagesIn([DOMAINS]);
    await notifyDue(deps(planner({ repostKey: 'waits' })));
    workspace.faults.set({ method: 'chat.update', kind: 'error', code, times: 1 });
    await store.requestUpdate(SUBJECT, now());
    await notifyDue(deps(planner({ repostKey: 'waits' })));
    expect(said(DOMAINS)).toEqual([expect.stringContaining('v1'), expect.stringContaining('v2')]);
  },
);

test('a readable message is posted again only if its essential content changes', async () => {
  const { said, planner } = messagesIn([DOMAINS]);
  await notifyDue(deps(planner({ repostKey: 'waits' })));
  workspace.faults.set({ method: 'chat.update', kind: 'error', code: 'edit_window_closed' });
  for (const repostKey of ['waits', 'ended']) {
    await store.requestUpdate(SUBJECT, now());
    await notifyDue(deps(planner({ repostKey })));
  }
  expect(said(DOMAINS)).toEqual([expect.stringContaining('v1'), expect.stringContaining('v3')]);
});
