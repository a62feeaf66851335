import { startWorkspace, type Workspace } from '@domain-steward/slack-workspace';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { newlyWatched } from '../../../src/expiry/change-watched.ts';
import { escalate, type NewAlarm, newAlarms, sayOurs } from '../../../src/names/alarm.ts';
import type { AlarmStore, NameRecordStore } from '../../../src/names/ports.ts';
import type { NotificationStore, Subject } from '../../../src/notifications.ts';
import { Secret } from '../../../src/service/secret.ts';
import { createPlacePlanner } from '../../../src/slack/admins/admins.ts';
import { type AlarmPlannerDeps, createAlarmPlanner } from '../../../src/slack/names/alarm-notifications.ts';
import { createDirectory } from '../../../src/slack/outbound/directory.ts';
import { notify } from '../../../src/slack/outbound/notify.ts';
import { createSlackWeb } from '../../../src/slack/outbound/web.ts';
import { createAlarmStore } from '../../../src/store/alarms.ts';
import { type Database, openDatabase } from '../../../src/store/database.ts';
import { createWatchListStore } from '../../../src/store/domains.ts';
import { createNameRecordStore } from '../../../src/store/name-records.ts';
import { createNotificationStore } from '../../../src/store/notifications.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { DOMAINS, textOf } from '../../support/demo.ts';
import { notificationsOf, notifierDeps, notifyDue } from '../../support/notifier.ts';
import { newTeamSettings } from '../../support/settings.ts';

/*
 * Alarms are kept with the look that raised them, and told whatever breaks in between.
 */

const T0 = new Date('2027-06-14T12:00:00Z');
const HOUR_MS = 3_600_000;

let database: TestDatabase;
let db: Database;
let workspace: Workspace;
let alarms: AlarmStore;
let notifications: NotificationStore;
let observations: NameRecordStore;
let nowMs: number;
const now = () => new Date(nowMs);

beforeAll(async () => {
  [database, workspace] = await Promise.all([createTestDatabase(), startWorkspace()]);
  db = openDatabase({ url: database.url });
  alarms = createAlarmStore(db, 'T0TEAM');
  notifications = createNotificationStore(db, 'T0TEAM');
  observations = createNameRecordStore(db, 'T0TEAM');
});
beforeEach(async () => {
  nowMs = T0.getTime();
  workspace.faults.clear();
  await db.prisma.alarm.deleteMany();
  await db.prisma.notification.deleteMany();
  await db.prisma.domain.deleteMany();
});
afterAll(async () => {
  await workspace.close();
  await db.close();
  await database.drop();
});

interface Changes extends Partial<AlarmPlannerDeps> {
  readonly notifications?: NotificationStore;
}

function deps({ notifications: store = notifications, ...changes }: Changes = {}) {
  const web = createSlackWeb(new Secret(workspace.botToken), workspace.apiUrl);
  const planning: AlarmPlannerDeps = {
    alarms,
    store: { load: async () => undefined },
    directory: createDirectory(web, workspace.teamId),
    settings: async () => newTeamSettings({ alertChannel: DOMAINS }),
    admins: ['U0ADA'],
    nameOf: async () => ({ owner: 'U0ALICE', channel: undefined, isElsewhere: false }),
    now,
    ...changes,
  };
  return notifierDeps(
    { notifications: store, web, now },
    { alarm: createAlarmPlanner(planning), place: createPlacePlanner(planning) },
  );
}

const LEASE_MS = 60_000;
const claimDue = async () => (await notifications.claimDue(now(), LEASE_MS, 10)).map(({ id }) => id);
const subjectOf = ({ id }: NewAlarm): Subject => ({ kind: 'alarm', id });
/** Where the messages of an alarm stand that are not replies. */
const standing = async (alarm: NewAlarm) =>
  (await notificationsOf(notifications, subjectOf(alarm))).flatMap(({ purpose, message }) =>
    purpose.startsWith('alarm') && message !== undefined ? message : [],
  );

/** An alarm as a look has raised it, kept with that look. */
async function raise(kind: NewAlarm['kind'] = 'registrar', name = 'cafe.rest'): Promise<NewAlarm> {
  await createWatchListStore(db).add(newlyWatched(name, 'U0ALICE', now()));
  const known = await observations.find(name);
  const [alarm] = newAlarms(
    name,
    [
      {
        change: {
          kind,
          fact: kind === 'registrar' ? 'registrar' : 'statuses',
          before: kind === 'registrar' ? ['name:Ours'] : [],
          after: kind === 'registrar' ? ['name:Theirs'] : ['pending transfer'],
          lastSeenBefore: new Date(nowMs - 2 * HOUR_MS),
          firstSeenAfter: new Date(nowMs - HOUR_MS),
          ...(kind === 'registrar' ? { expiry: { before: '2027-07-01', after: '2028-07-01' } } : {}),
        },
        orders: [{ id: 'o1', task: 'renew', why: 'other_task' }],
      },
    ],
    now(),
  );
  if (known === undefined || alarm === undefined) throw new Error('nothing was raised');
  const raised = (id: string) => ({ after: known, observations: [], alarms: [{ ...alarm, id }] });
  expect(await observations.save(known, raised(alarm.id))).toBe(true);
  expect(await observations.save(known, raised('late')), 'a look that comes late').toBe(false);
  return alarm;
}

/** What is due is told, as the loop does it. */
const tellDue = (changes: Changes = {}) => notifyDue(deps(changes));

/** The process that told has died: its lease ends. */
const leaseEnds = () => db.prisma.notification.updateMany({ data: { leaseUntil: new Date(0) } });

const messagesOf = ({ id }: NewAlarm) =>
  workspace.messages(DOMAINS).filter(({ metadata }) => metadata?.event_payload['alarm_id'] === id);
const headsOf = (alarm: NewAlarm) => messagesOf(alarm).filter(({ thread_ts }) => thread_ts === undefined);
const repliesOf = (alarm: NewAlarm) => messagesOf(alarm).filter(({ thread_ts }) => thread_ts !== undefined);

test('an alarm comes back as it was kept, and one of a look that came late was not kept', async () => {
  const alarm = await raise();
  expect(await alarms.find(alarm.id)).toMatchObject({ ...alarm, state: 'raised', version: 0 });
  expect(await alarms.find('late')).toBeUndefined();
  expect(await alarms.ofName('cafe.rest', 5)).toHaveLength(1);
  expect(await createAlarmStore(db, 'T0OTHER').find(alarm.id), 'another team').toBeUndefined();
});

test('it is told once, by one process', async () => {
  const alarm = await raise();
  const claims = await Promise.all([1, 2, 3].map(() => claimDue()));
  expect(claims.flat()).toEqual([alarm.id]);
  await notify(deps(), subjectOf(alarm), true);
  expect(headsOf(alarm)).toHaveLength(1);
  expect(repliesOf(alarm).map(textOf)).toEqual([expect.stringContaining('What not to do')]);
  nowMs += 24 * HOUR_MS;
  expect(await tellDue()).toEqual([]);
  expect(messagesOf(alarm)).toHaveLength(2);
});

test('a process that dies before Slack is told leaves it to the next', async () => {
  const alarm = await raise();
  expect(await claimDue()).toEqual([alarm.id]);
  expect(await tellDue(), 'while its lease lasts').toEqual([]);
  await leaseEnds();
  await tellDue();
  expect(headsOf(alarm)).toHaveLength(1);
});

test('a process that dies between the message and its note tells twice at most', async () => {
  const alarm = await raise();
  const dying: NotificationStore = {
    ...notifications,
    record: async () => {
      throw new Error('the process has died');
    },
    postpone: async () => undefined,
  };
  await tellDue({ notifications: dying });
  await leaseEnds();
  await tellDue();
  await leaseEnds();
  await tellDue();
  expect(headsOf(alarm)).toHaveLength(2);
  expect(repliesOf(alarm)).toHaveLength(1);
});

test('where Slack is away it is told later, and holds up no look', async () => {
  const alarm = await raise();
  workspace.faults.set({ kind: 'http_500', method: 'chat.postMessage' });
  await tellDue();
  expect(messagesOf(alarm)).toEqual([]);
  expect(await tellDue(), 'it waits').toEqual([]);
  workspace.faults.clear();
  nowMs += HOUR_MS;
  await tellDue();
  expect(headsOf(alarm)).toHaveLength(1);
});

test('without a channel an admin hears of it', async () => {
  const alarm = await raise();
  await tellDue({ settings: async () => newTeamSettings({ alertChannel: undefined }) });
  expect(await standing(alarm)).toMatchObject([{ channelId: expect.stringMatching(/^D/) }]);
});

test.each([
  [false, /Restore it with `\/domain restore`/, /at another registrar by now/],
  [true, /at another registrar by now, so no order of ours changes it/, /\/domain restore/],
])('what to do about a name that is elsewhere (%s) is possible', async (isElsewhere, said, notSaid) => {
  const alarm = await raise('pending_delete');
  const name = { owner: 'U0ALICE', channel: undefined, isElsewhere };
  await tellDue({ nameOf: async () => name });
  const [runbook] = repliesOf(alarm).map(textOf);
  expect(runbook).toMatch(said);
  expect(runbook).not.toMatch(notSaid);
});

test('a channel of the name that does not take it holds nothing up', async () => {
  const alarm = await raise();
  await tellDue({ nameOf: async () => ({ owner: 'U0ALICE', channel: 'C0NOBOT', isElsewhere: false }) });
  expect(headsOf(alarm)).toHaveLength(1);
  expect(await standing(alarm)).toMatchObject([{ channelId: DOMAINS }]);
  expect(await tellDue({}), 'the admins hear of that channel').toEqual(['place:C0NOBOT']);
  expect(await tellDue({}), 'all is told').toEqual([]);
  expect(workspace.messages('D0ADA').map(textOf).join()).toMatch(/cannot post in <#C0NOBOT>/);
});

test('what a person did while it was told is told too', async () => {
  const alarm = await raise();
  let isPressed = false;
  const pressing: NotificationStore = {
    ...notifications,
    async record(subject, message) {
      const isFirst = await notifications.record(subject, message);
      if (message.purpose !== 'runbook' || isPressed) return isFirst;
      isPressed = true;
      const standing = await alarms.find(subject.id);
      const pressed = standing && escalate(standing, 'U0ALICE');
      if (standing === undefined || !pressed?.ok) throw new Error('it was refused');
      const decision = { kind: 'alarm_escalated', actor: 'U0ALICE' } as const;
      expect(await alarms.change(standing, pressed.alarm, decision, now())).toBe(true);
      expect(await alarms.change(standing, pressed.alarm, decision, now()), 'who is slower').toBe(false);
      return isFirst;
    },
  };
  await tellDue({ notifications: pressing });
  expect(repliesOf(alarm).map(textOf).join()).toMatch(/<@U0ALICE> raised this\. I told/);
  expect((await notificationsOf(notifications, subjectOf(alarm))).map(({ purpose }) => purpose)).toEqual([
    'alarm',
    'runbook',
    'escalation:to:U0ALICE',
    'escalation:to:U0ADA',
    'escalation:to:U0BOB',
    'escalated',
  ]);
});

test('the countdown of a transfer goes on until somebody says whose it is', async () => {
  const alarm = await raise('pending_transfer');
  await tellDue();
  expect(textOf(headsOf(alarm)[0] ?? { blocks: [] })).toMatch(/4 days and 22 hours left/);
  nowMs += 30 * HOUR_MS;
  await tellDue();
  expect(textOf(headsOf(alarm)[0] ?? { blocks: [] })).toMatch(/3 days and 16 hours left/);
  const standing = await alarms.find(alarm.id);
  const said = standing && sayOurs(standing, { by: 'U0BOB', reason: 'ours' }, false);
  if (standing === undefined || !said?.ok) throw new Error('it was refused');
  await alarms.change(
    standing,
    said.alarm,
    { kind: 'alarm_explained', actor: 'U0BOB', reason: 'ours' },
    now(),
  );
  await tellDue();
  expect(textOf(headsOf(alarm)[0] ?? { blocks: [] })).not.toMatch(/left/);
  nowMs += 30 * HOUR_MS;
  expect(await tellDue()).toEqual([]);
  expect(headsOf(alarm)).toHaveLength(1);
});

test('the countdown ends when the name is seen at another registrar', async () => {
  const transfer = await raise('pending_transfer');
  await tellDue();
  nowMs += 30 * HOUR_MS;
  await raise('registrar');
  await tellDue();
  expect(textOf(headsOf(transfer)[0] ?? { blocks: [] })).toMatch(/It has gone through.*another registrar/);
  expect(textOf(headsOf(transfer)[0] ?? { blocks: [] })).not.toMatch(/left/);
  nowMs += 30 * HOUR_MS;
  expect(await tellDue(), 'nothing counts any more').toEqual([]);
});
