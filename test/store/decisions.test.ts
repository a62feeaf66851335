import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { hashIncident, updateIncidents } from '../../src/names/incident.ts';
import { confirmIncident, raiseAlarm } from '../../src/names/incident-actions.ts';
import { webhookBodySchema } from '../../src/outbox/webhooks/messages.ts';
import { createIncidentStore, saveIncident } from '../../src/store/incidents.ts';
import { createInstallationStore } from '../../src/store/installation.ts';
import { createPortfolioStore } from '../../src/store/portfolio.ts';
import { createWebhookStore } from '../../src/store/webhooks.ts';
import { DAY_MS, Rig, silentLog } from '../expiry/rig.ts';
import { deleteTeamEvents, readTeamEvents } from '../support/log.ts';
import { namesContextWith } from '../support/names-context.ts';
import {
  confirmLapse,
  importNames,
  requestLapse,
  snoozeName,
  unwatchName,
  watchName,
} from '../support/unprotected.ts';

/* People's decisions about names outside of orders stay provable, even if the name is no longer watched. */

const TEAM = 'T0TEAM';
let rig: Rig;

beforeAll(async () => {
  rig = await Rig.start();
  await createInstallationStore(rig.database).assignWorkspace(TEAM);
});
afterAll(() => rig.stop());
beforeEach(async () => {
  await rig.database.prisma.domain.deleteMany();
  await deleteTeamEvents(rig.database);
});

const deps = () => ({
  portfolio: createPortfolioStore(rig.database, TEAM),
  store: rig.store,
  rdap: { lookup: async () => ({ kind: 'unavailable', reason: 'no order was created' }) as const },
  now: () => rig.now,
  log: silentLog,
});

/** Lists the events at a time, as `kind name by until reason incident`. */
async function loadLogLines(team = TEAM, at = rig.now): Promise<string[]> {
  const events = await readTeamEvents(rig.database, team, at, new Date(at.getTime() + 1));
  return events.map((event) => {
    expect(event.at).toEqual(rig.now);
    const until = 'until' in event ? event.until : undefined;
    const reason = 'reason' in event ? event.reason : undefined;
    const incident =
      'incident' in event ? event.incident : 'incidents' in event ? event.incidents.join() : undefined;
    const optionalFields = [until?.toISOString().slice(0, 10), reason, incident].filter(
      (each) => each !== undefined,
    );
    return [event.kind, event.subject.id, event.actor, ...optionalFields].join(' ');
  });
}

test('each decision adds a line to the log, unless it changes nothing', async () => {
  await watchName(deps(), async () => undefined, 'cafe.rest', '2027-09-01', 'U0ALICE');
  await snoozeName(deps(), 'cafe.rest', 3, 'U0BOB', 'busy');
  await requestLapse(deps(), 'cafe.rest', 'U0ALICE', 'not needed');
  await confirmLapse(deps(), 'cafe.rest', 'U0BOB');
  await requestLapse(deps(), 'cafe.rest', 'U0CAROL', 'again');
  await watchName(deps(), async () => undefined, 'cafe.rest', undefined, 'U0CAROL');
  await unwatchName(deps(), 'cafe.rest', 'U0CAROL');
  await unwatchName(deps(), 'cafe.rest', 'U0BOB');
  expect(await loadLogLines()).toEqual([
    'name_watched cafe.rest U0ALICE 2027-09-01',
    'name_snoozed cafe.rest U0BOB 2027-06-17 busy',
    'lapse_requested cafe.rest U0ALICE not needed',
    'lapse_confirmed cafe.rest U0BOB not needed',
    'name_watched cafe.rest U0CAROL',
    'name_unwatched cafe.rest U0CAROL',
  ]);
  expect(await loadLogLines('T0OTHER'), 'another team').toEqual([]);
  expect(await loadLogLines(TEAM, new Date(rig.now.getTime() - DAY_MS)), 'another day').toEqual([]);
});

test('an import adds a line for each name that it adds or dates', async () => {
  const ignoreProgress = async () => undefined;
  await importNames(deps(), 'a.rest\nb.rest,2027-09-01', 'U0ALICE', ignoreProgress);
  await importNames(deps(), 'a.rest,2027-10-01\nb.rest,2027-09-01\nno name', 'U0BOB', ignoreProgress);
  expect(await loadLogLines()).toEqual([
    'name_watched a.rest U0ALICE',
    'name_watched b.rest U0ALICE 2027-09-01',
    'name_dated a.rest U0BOB 2027-10-01',
  ]);
});

test('a decision about an incident adds one line, and is sent to webhooks', async () => {
  await createWebhookStore(rig.database, TEAM).registerEndpoints(['endpoint'], rig.now, rig.now);
  const store = createIncidentStore(rig.database, TEAM);
  const seenAt = { beforeLastSeenAt: rig.now, afterFirstSeenAt: rig.now };
  const change = {
    kind: 'registrar',
    fact: 'registrar',
    before: ['name:Ours'],
    after: ['name:Theirs'],
    ...seenAt,
  } as const;
  const unexplainedChanges = [{ change, orders: [] }];
  const update = updateIncidents([], { name: 'cafe.rest', unexplainedChanges, history: {}, at: rig.now });
  if (update === undefined) throw new Error('no incident was opened');
  const { id } = update.after;
  expect(await rig.database.transaction((run) => saveIncident(run, TEAM, update))).toBe(true);
  const context = namesContextWith({
    incidents: store,
    portfolio: { findTags: async (names) => new Map(names.map((name) => [name, ['guarded']])) },
    records: { find: async () => undefined, requestLookup: async () => undefined },
    pollNotifications: () => undefined,
    now: () => rig.now,
  });
  await raiseAlarm(context, id, 'U0ADA');
  await raiseAlarm(context, id, 'U0BOB');
  const confirmAs = async (by: string, reason: string) => {
    const incident = await store.find(id);
    if (incident === undefined) throw new Error('missing incident');
    return confirmIncident(context, id, { by, reason, shownHash: hashIncident(incident) });
  };
  await confirmAs('U0ALICE', 'we moved it');
  await confirmAs('U0ALICE', 'once more');
  await confirmAs('U0BOB', 'I know of it');
  expect(await loadLogLines()).toEqual([
    'incident_opened cafe.rest system registrar',
    'incident_raised cafe.rest U0ADA registrar',
    'incident_proposed cafe.rest U0ALICE we moved it registrar',
    'incident_ours cafe.rest U0BOB I know of it registrar',
  ]);
  const queuedBodies = (
    await rig.database.prisma.webhookDelivery.findMany({
      where: { endpointId: 'endpoint', subject: 'name:cafe.rest' },
      orderBy: { seq: 'asc' },
    })
  ).map(({ body }) => webhookBodySchema.parse(JSON.parse(body)));
  expect(queuedBodies).toMatchObject([
    { type: 'incident.opened', data: { code: 'registrar' } },
    { type: 'incident.changed', data: { code: 'raised' } },
    { type: 'incident.closed', data: { code: 'ours' } },
  ]);
  expect(JSON.stringify(queuedBodies), 'webhooks get no reasons').not.toMatch(/moved it|know of it/);
});
