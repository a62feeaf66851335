import { type Message, startWorkspace, type Workspace } from '@domain-steward/slack-workspace';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createWatchedDomain } from '../../../src/expiry/newly-watched.ts';
import {
  confirmOwnChange,
  hashIncident,
  type Incident,
  markAlarmRaised,
  updateIncidents,
} from '../../../src/names/incident.ts';
import type { IncidentStore, NameRecordStore } from '../../../src/names/ports.ts';
import type { OrderStore } from '../../../src/orders/ports.ts';
import type { NotificationStore, Subject } from '../../../src/outbox/notifications.ts';
import { Secret } from '../../../src/service/secret.ts';
import { createUnreachableChannelPlanner } from '../../../src/slack/admins/admins.ts';
import { createIncidentPlanner } from '../../../src/slack/names/incident-notifications.ts';
import { createDirectory } from '../../../src/slack/outbound/directory.ts';
import { createSlackWeb } from '../../../src/slack/outbound/web.ts';
import { type Database, openDatabase } from '../../../src/store/database.ts';
import { createIncidentStore } from '../../../src/store/incidents.ts';
import { createNameRecordStore } from '../../../src/store/name-records.ts';
import { createNotificationStore } from '../../../src/store/notifications.ts';
import { newOrder } from '../../orders/sample.ts';
import { slackContextWith } from '../../support/context.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { buttonsOf, DOMAINS, textOf } from '../../support/demo.ts';
import { notificationsOf, notifierDeps, notifyDue } from '../../support/notifier.ts';
import { countPhoneLines } from '../../support/reading.ts';
import { newTeamSettings } from '../../support/settings.ts';
import { createTestWatchList } from '../../support/unprotected.ts';

/* Incidents are saved with the lookup that found them, and reported despite failures in between. */

const T0 = new Date('2027-06-14T12:00:00Z');
const HOUR_MS = 3_600_000;

let database: TestDatabase;
let db: Database;
let workspace: Workspace;
let incidents: IncidentStore;
let notifications: NotificationStore;
let observations: NameRecordStore;
let nowMs: number;
const now = () => new Date(nowMs);

beforeAll(async () => {
  [database, workspace] = await Promise.all([createTestDatabase(), startWorkspace()]);
  db = openDatabase({ url: database.url });
  incidents = createIncidentStore(db, 'T0TEAM');
  notifications = createNotificationStore(db, 'T0TEAM');
  observations = createNameRecordStore(db, 'T0TEAM');
});
beforeEach(async () => {
  nowMs = T0.getTime();
  workspace.faults.clear();
  await db.prisma.incident.deleteMany();
  await db.prisma.notification.deleteMany();
  await db.prisma.domain.deleteMany();
});
afterAll(async () => {
  await workspace.close();
  await db.close();
  await database.drop();
});

interface Changes {
  readonly notifications?: NotificationStore;
  readonly alertChannel?: string | undefined;
  /** The name's own channel. */
  readonly channel?: string;
  /** The registrar in the record; the trusted one is `Ours`. */
  readonly shown?: string;
  readonly load?: OrderStore['load'];
}

function deps(changes: Changes = {}) {
  const { notifications: store = notifications, shown = 'Ours', channel } = changes;
  const alertChannel = 'alertChannel' in changes ? changes.alertChannel : DOMAINS;
  const web = createSlackWeb(new Secret(workspace.botToken), workspace.apiUrl);
  const registrar = {
    current: { value: [`name:${shown}`], firstSeen: T0, lastSeen: T0 },
    ...{ candidate: undefined, past: [], unseen: undefined },
  };
  const planning = slackContextWith({
    ...{ incidents, hasService: true },
    orders: { store: { load: changes.load ?? (async () => undefined) } },
    directory: createDirectory(web, workspace.teamId),
    loadSettings: async () => newTeamSettings({ alertChannel }),
    adminsToNotify: async () => ['U0ADA'],
    expiry: { find: async () => undefined },
    portfolio: { find: async () => ({ owner: 'U0ALICE', tags: [], channel, note: undefined }) },
    nameRecords: {
      find: async (name) => {
        const known = await observations.find(name);
        const trusted = { registrar: 'Ours', at: T0, transferExpectedAt: undefined };
        return known && { ...known, trusted, history: { registrar } };
      },
    },
    now,
  });
  return notifierDeps(
    { notifications: store, web, now },
    { incident: createIncidentPlanner(planning), channel: createUnreachableChannelPlanner(planning) },
  );
}
const subjectOf = ({ id }: Incident): Subject => ({ kind: 'incident', id });
/** The places of an incident's messages, except for replies. */
const listPlaces = async (incident: Incident) =>
  (await notificationsOf(notifications, subjectOf(incident))).flatMap(({ purpose, message }) =>
    purpose.startsWith('incident') && message !== undefined ? message : [],
  );

type Kind = 'registrar' | 'pending_transfer' | 'pending_delete';

/** Saves a lookup that opens or updates an incident. */
async function saveIncident(kind: Kind = 'registrar', name = 'cafe.rest', orderId = 'o1'): Promise<Incident> {
  await createTestWatchList(db).add(createWatchedDomain(name, 'U0ALICE', now()));
  const known = await observations.find(name);
  if (known === undefined) throw new Error('the name is not watched');
  const isRegistrar = kind === 'registrar';
  const change = {
    kind,
    fact: isRegistrar ? ('registrar' as const) : ('statuses' as const),
    before: isRegistrar ? ['name:Ours'] : [],
    after: isRegistrar ? ['name:Theirs'] : [kind.replace('_', ' ')],
    beforeLastSeenAt: new Date(nowMs - 2 * HOUR_MS),
    afterFirstSeenAt: new Date(nowMs - HOUR_MS),
    ...(isRegistrar ? { expiry: { before: '2027-07-01', after: '2028-07-01' } } : {}),
  };
  const incident = updateIncidents(await incidents.listForName(name, 1), {
    name,
    unexplainedChanges: [{ change, orders: [{ id: orderId, task: 'renew', reason: 'task_mismatch' }] }],
    history: known.history,
    at: now(),
  });
  if (incident === undefined) throw new Error('no incident was opened');
  const result = { updatedRecord: known, observations: [], incident };
  expect(await observations.save(known, result)).toBe(true);
  expect(await observations.save(known, result), 'a stale lookup').toBe(false);
  return (await incidents.find(incident.after.id)) ?? incident.after;
}

/** Sends due notifications, like the loop. */
const sendDue = (changes: Changes = {}) => notifyDue(deps(changes));

const messagesOf = ({ id }: Incident) =>
  workspace.messages(DOMAINS).filter(({ metadata }) => metadata?.event_payload['incident_id'] === id);
const headsOf = (incident: Incident) =>
  messagesOf(incident).filter(({ thread_ts }) => thread_ts === undefined);
const repliesOf = (incident: Incident) =>
  messagesOf(incident).filter(({ thread_ts }) => thread_ts !== undefined);

test('an incident is saved once, and a stale lookup saves nothing', async () => {
  const incident = await saveIncident();
  expect(incident).toMatchObject({ state: 'open', version: 0, changes: [{ kind: 'registrar' }] });
  expect(await incidents.listForName('cafe.rest', 5)).toHaveLength(1);
  expect(await incidents.listOpen(['cafe.rest', 'bar.rest'])).toMatchObject([{ id: incident.id }]);
  expect(await createIncidentStore(db, 'T0OTHER').find(incident.id), 'another team').toBeUndefined();
});

test('a new change is posted in the thread with the same mentions, and the message is updated', async () => {
  const incident = await saveIncident('pending_transfer');
  await sendDue();
  expect(repliesOf(incident).map(textOf).join()).toMatch(/<@U0ALICE>, <@U0BOB>: please check this/);
  nowMs += 30 * HOUR_MS;
  expect(await saveIncident('registrar'), 'the same one').toMatchObject({ id: incident.id, version: 1 });
  await sendDue();
  const [head, ...others] = headsOf(incident).map(textOf);
  expect(others).toEqual([]);
  expect(head).toMatch(/was transferred away, and no one here ordered this/);
  expect(head).toMatch(/Registrar.*Ours.*→.*Theirs/);
  const [runbook, joined, ...more] = repliesOf(incident).map(textOf);
  expect(more).toEqual([]);
  expect(runbook, 'a completed transfer can’t be rejected').not.toMatch(/reject the transfer/);
  expect(joined).toMatch(/It was transferred to another registrar.*<@U0ALICE>, <@U0BOB>: please check/s);
  expect(joined).toMatch(/The name wasn’t renewed/);
  nowMs += HOUR_MS;
  await sendDue();
  expect(messagesOf(incident)).toHaveLength(3);
});

test('a concurrent lookup doesn’t overwrite a decision', async () => {
  const incident = await saveIncident('pending_transfer');
  const known = await observations.find('cafe.rest');
  const raised = markAlarmRaised(incident, 'U0ALICE');
  if (known === undefined || !raised.ok) throw new Error('the change was refused');
  await incidents.change(incident, raised.incident, { kind: 'incident_raised', actor: 'U0ALICE' }, now());
  const change = { kind: 'registrar', fact: 'registrar', before: ['a'], after: ['b'] } as const;
  const moments = { beforeLastSeenAt: now(), afterFirstSeenAt: now() };
  const stale = updateIncidents([incident], {
    name: 'cafe.rest',
    unexplainedChanges: [{ change: { ...change, ...moments }, orders: [] }],
    history: {},
    at: now(),
  });
  const result = { updatedRecord: known, observations: [], incident: stale };
  expect(await observations.save(known, result), 'the lookup is repeated').toBe(false);
  expect(await observations.find('cafe.rest')).toEqual(known);
  expect(await incidents.find(incident.id)).toMatchObject({ state: 'raised', changes: [{}] });
});

test('without an alert channel, an admin is notified', async () => {
  const incident = await saveIncident();
  await sendDue({ alertChannel: undefined });
  expect(await listPlaces(incident)).toMatchObject([{ channelId: expect.stringMatching(/^D/) }]);
});

test.each([
  [false, /Restore it with `\/domain restore`/, /already at another registrar/],
  [true, /already at another registrar, so you can’t change it with an order/, /\/domain restore/],
])('the advice fits a name at another registrar: %s', async (isAtOtherRegistrar, said, notSaid) => {
  const incident = await saveIncident('pending_delete');
  await sendDue({ shown: isAtOtherRegistrar ? 'Theirs' : 'Ours' });
  const [runbook] = repliesOf(incident).map(textOf);
  expect(runbook).toMatch(said);
  expect(runbook).not.toMatch(notSaid);
});

test('a decision made while the alert is being posted is posted, too', async () => {
  const incident = await saveIncident();
  let wasRaised = false;
  const storeWithRaise: NotificationStore = {
    ...notifications,
    async recordPosted(subject, message) {
      const isFirst = await notifications.recordPosted(subject, message);
      if (message.purpose !== 'runbook' || wasRaised) return isFirst;
      wasRaised = true;
      const current = await incidents.find(subject.id);
      const raised = current && markAlarmRaised(current, 'U0ALICE');
      if (current === undefined || !raised?.ok) throw new Error('the change was refused');
      const decision = { kind: 'incident_raised', actor: 'U0ALICE' } as const;
      expect(await incidents.change(current, raised.incident, decision, now())).toBe(true);
      expect(await incidents.change(current, raised.incident, decision, now()), 'the slower one').toBe(false);
      return isFirst;
    },
  };
  await sendDue({ notifications: storeWithRaise });
  expect(repliesOf(incident).map(textOf).join()).toMatch(/<@U0ALICE> raised the alarm\. I notified/);
  expect((await notificationsOf(notifications, subjectOf(incident))).map(({ purpose }) => purpose)).toEqual([
    'incident',
    'runbook',
    'raised:to:U0ALICE',
    'raised:to:U0ADA',
    'raised:to:U0BOB',
    'raised',
  ]);
  const alert = workspace.messages('D0ADA').at(-1);
  if (alert === undefined) throw new Error('the admin was not notified');
  expect(textOf(alert)).toMatch(
    /was transferred away, and no one here ordered this\*?\n<@U0ALICE> raised the alarm\. The thread in <#\w+>/,
  );
  expect(textOf(alert), 'these details are in the thread').not.toContain('What not to do');
  expect(buttonsOf(alert)).toEqual(['alert_ours']);
  expect(countPhoneLines(alert.blocks)).toBeLessThanOrEqual(14);
});

test('the countdown of a transfer continues until a person explains it', async () => {
  const incident = await saveIncident('pending_transfer');
  await sendDue();
  expect(textOf(headsOf(incident)[0] ?? { blocks: [] })).toMatch(/4 days and 22 hours left/);
  nowMs += 30 * HOUR_MS;
  await sendDue();
  expect(textOf(headsOf(incident)[0] ?? { blocks: [] })).toMatch(/3 days and 16 hours left/);
  const current = await incidents.find(incident.id);
  const said =
    current &&
    confirmOwnChange(current, { by: 'U0BOB', reason: 'ours', shownHash: hashIncident(current) }, false);
  if (current === undefined || !said?.ok) throw new Error('the change was refused');
  await incidents.change(
    current,
    said.incident,
    { kind: 'incident_ours', actor: 'U0BOB', reason: 'ours' },
    now(),
  );
  await sendDue();
  expect(textOf(headsOf(incident)[0] ?? { blocks: [] })).not.toMatch(/left/);
  nowMs += 30 * HOUR_MS;
  expect(await sendDue()).toEqual([]);
  expect(headsOf(incident)).toHaveLength(1);
});

test('the countdown ends when the name is seen at another registrar', async () => {
  const transfer = await saveIncident('pending_transfer');
  await sendDue();
  nowMs += 80 * HOUR_MS;
  const later = await saveIncident('registrar');
  expect(later.id, 'after 72 hours it is another incident').not.toBe(transfer.id);
  await sendDue();
  expect(textOf(headsOf(transfer)[0] ?? { blocks: [] })).toMatch(/completed, at another registrar/);
  expect(textOf(headsOf(transfer)[0] ?? { blocks: [] })).not.toMatch(/left/);
  nowMs += 30 * HOUR_MS;
  expect(await sendDue(), 'the countdown has ended').toEqual([]);
});

test('an alert about three changes has at most 14 lines of 40 characters', async () => {
  const incident = await saveIncident('pending_transfer');
  await saveIncident('registrar');
  await saveIncident('pending_delete');
  await sendDue();
  const [head] = headsOf(incident);
  if (head === undefined) throw new Error('the alert was not posted');
  expect(linesOf(head)).toBeLessThanOrEqual(14);
});

test('a private order is mentioned without details', async () => {
  const incident = await saveIncident('registrar', 'cafe.rest', 'secretorder');
  const load = async () => ({ ...newOrder(['cafe.rest']), id: 'secretorder', isPrivate: true });
  await sendDue({ load });
  const said = messagesOf(incident).map(textOf).join();
  expect(said).toMatch(/1 private order/);
  expect(said).not.toContain('secretorder');
});

/** The number of lines of 40 characters in a message; a row of buttons counts as two. */
function linesOf({ blocks }: Message): number {
  return blocks
    .map((block) => {
      if (block['type'] === 'actions') return 2;
      const texts = textOf({ blocks: [block] }).split('\n');
      const plain = texts.map((text) =>
        text.replaceAll(/<!date\^\d+\^[^|]*\|([^>]*)>/g, 'Thu 26 Nov, 14:32'),
      );
      return plain.reduce((lines, text) => lines + Math.max(1, Math.ceil(text.length / 40)), 0);
    })
    .reduce((sum, lines) => sum + lines, 0);
}
