import { startWorkspace, type Workspace } from '@domain-steward/slack-workspace';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { MandateAct } from '../../../src/mandates/ports.ts';
import type { PostedMessage, Subject } from '../../../src/outbox/notifications.ts';
import { Secret } from '../../../src/service/secret.ts';
import { createMandateDayPlanner } from '../../../src/slack/mandates/mandate-day.ts';
import { createSlackWeb } from '../../../src/slack/outbound/web.ts';
import { type Database, openDatabase } from '../../../src/store/database.ts';
import { createNotificationStore } from '../../../src/store/notifications.ts';
import { TEAM_SETTINGS } from '../../orders/rig.ts';
import { slackContextWith } from '../../support/context.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { DOMAINS, textOf } from '../../support/demo.ts';
import { notifierDeps, notifyDue } from '../../support/notifier.ts';

/* An act counts as announced only when Slack has accepted a message that shows it. */

const DAY: Subject = { kind: 'mandate_day', id: '2027-06-14' };
const now = () => new Date(nowMs);

let database: TestDatabase;
let db: Database;
let workspace: Workspace;
let nowMs: number;
let acts: MandateAct[];
/** Names whose acts were announced, with the message that did. */
let announced: { readonly names: readonly string[]; readonly at: PostedMessage }[];

beforeAll(async () => {
  [database, workspace] = await Promise.all([createTestDatabase(), startWorkspace()]);
  db = openDatabase({ url: database.url });
});
beforeEach(async () => {
  nowMs = Date.parse('2027-06-14T12:00:00Z');
  [acts, announced] = [[], []];
  workspace.faults.clear();
  await db.prisma.notification.deleteMany();
});
afterAll(async () => {
  await workspace.close();
  await db.close();
  await database.drop();
});

function createAct(name: string): MandateAct {
  return {
    id: name,
    name,
    expiresAt: new Date('2027-07-01T12:00:00Z'),
    mandateId: 'mandate',
    at: now(),
    amount: undefined,
    held: undefined,
    orderId: undefined,
    announcedAt: undefined,
  };
}

const store = () => createNotificationStore(db, 'T0TEAM');

/** Adds an act of the day and posts it, like the loop. */
async function addAct(name: string): Promise<void> {
  acts.push(createAct(name));
  await (acts.length === 1 ? store().addSubjectIfMissing(DAY, now()) : store().requestUpdate(DAY, now()));
  await sendDue();
}

async function sendDue(): Promise<void> {
  const planner = createMandateDayPlanner(
    slackContextWith({
      orders: {
        mandates: {
          listActsOfDay: async () => acts,
          recordAnnouncement: async (ids, _at, at) => {
            const names = acts.filter(({ id, announcedAt }) => ids.includes(id) && announcedAt === undefined);
            if (names.length > 0) announced.push({ names: names.map(({ name }) => name), at });
            acts = acts.map((each) => (ids.includes(each.id) ? { ...each, announcedAt: now() } : each));
          },
        },
        store: { load: async () => undefined },
      },
      loadSettings: async () => ({ ...TEAM_SETTINGS, reminderChannel: DOMAINS }),
      now,
    }),
  );
  const web = createSlackWeb(new Secret(workspace.botToken), workspace.apiUrl);
  await notifyDue(notifierDeps({ notifications: store(), web, now }, { mandate_day: planner }));
}

const messageAt = ({ channelId, ts }: PostedMessage) =>
  workspace.messages(channelId).find((message) => message.ts === ts);

describe.each(['edit_window_closed', 'cant_update_message', 'message_not_found', 'is_archived'])(
  'if the message of the day can’t be edited (%s)',
  (code) => {
    test('an act is announced by a new message that shows it', async () => {
      await addAct('first.rest');
      workspace.faults.set({ method: 'chat.update', kind: 'error', code });
      await addAct('second.rest');
      expect(announced.map(({ names }) => names)).toEqual([['first.rest'], ['second.rest']]);
      const [first, second] = announced.map(({ at }) => messageAt(at));
      expect(second?.ts).not.toBe(first?.ts);
      expect(second && textOf(second)).toContain('second.rest');
    });
  },
);

test('no act is announced while the channel accepts no message', async () => {
  await addAct('first.rest');
  for (const method of ['chat.update', 'chat.postMessage'])
    workspace.faults.set({ method, channel: DOMAINS, kind: 'error', code: 'is_archived' });
  await addAct('second.rest');
  expect(announced.map(({ names }) => names)).toEqual([['first.rest']]);
  workspace.faults.clear();
  nowMs += 11 * 60_000;
  await sendDue();
  expect(announced.map(({ names }) => names)).toEqual([['first.rest'], ['second.rest']]);
});
