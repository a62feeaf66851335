import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  confirmLapse,
  importNames,
  requestLapse,
  snoozeName,
  unwatchName,
  watchName,
} from '../../src/expiry/watch-list.ts';
import { newAlarms } from '../../src/names/alarm.ts';
import { createAlarms } from '../../src/names/alarm-actions.ts';
import { createAlarmStore, insertAlarms } from '../../src/store/alarms.ts';
import { Prisma } from '../../src/store/database.ts';
import { createInstallationStore } from '../../src/store/installation.ts';
import { DAY_MS, Rig, silent } from '../expiry/rig.ts';
import { clearLog, teamEvents } from '../support/log.ts';

/*
 * What people decide about names without an order can be proved afterwards, also when the name is off the list.
 */

const TEAM = 'T0TEAM';
let rig: Rig;

beforeAll(async () => {
  rig = await Rig.start();
  await createInstallationStore(rig.database).serve(TEAM);
});
afterAll(() => rig.stop());
beforeEach(async () => {
  await rig.database.prisma.domain.deleteMany();
  await clearLog(rig.database);
});

const deps = () => ({
  store: rig.store,
  rdap: { lookup: async () => ({ kind: 'unavailable', reason: 'nobody is asked' }) as const },
  now: () => rig.now,
  log: silent,
});

/** The lines of a day, as `kind name by until reason alarm`. */
async function lines(team = TEAM, day = rig.now): Promise<string[]> {
  const events = await teamEvents(rig.database, team, day, new Date(day.getTime() + 1));
  return events.map((event) => {
    expect(event.at).toEqual(rig.now);
    const until = 'until' in event ? event.until : undefined;
    const reason = 'reason' in event ? event.reason : undefined;
    const alarm = 'alarm' in event ? event.alarm : undefined;
    const said = [until?.toISOString().slice(0, 10), reason, alarm].filter((each) => each !== undefined);
    return [event.kind, event.subject.id, event.actor, ...said].join(' ');
  });
}

test('each decision on the watch list leaves a line, and what changed nothing leaves none', async () => {
  await watchName(deps(), async () => undefined, 'cafe.rest', '2027-09-01', 'U0ALICE');
  await snoozeName(deps(), 'cafe.rest', 3, 'U0BOB', 'busy');
  await requestLapse(deps(), 'cafe.rest', 'U0ALICE', 'not needed');
  await confirmLapse(deps(), 'cafe.rest', 'U0ALICE');
  await confirmLapse(deps(), 'cafe.rest', 'U0BOB');
  await requestLapse(deps(), 'cafe.rest', 'U0CAROL', 'again');
  await watchName(deps(), async () => undefined, 'cafe.rest', undefined, 'U0CAROL');
  await unwatchName(deps(), 'cafe.rest', 'U0CAROL');
  await unwatchName(deps(), 'cafe.rest', 'U0BOB');
  expect(await lines()).toEqual([
    'name_watched cafe.rest U0ALICE 2027-09-01',
    'name_snoozed cafe.rest U0BOB 2027-06-17 busy',
    'lapse_requested cafe.rest U0ALICE not needed',
    'lapse_confirmed cafe.rest U0BOB not needed',
    'name_watched cafe.rest U0CAROL',
    'name_unwatched cafe.rest U0CAROL',
  ]);
  expect(await lines('T0OTHER'), 'another team').toEqual([]);
  expect(await lines(TEAM, new Date(rig.now.getTime() - DAY_MS)), 'another day').toEqual([]);
});

test('an import leaves a line for each name that it added or gave a date', async () => {
  const nothing = async () => undefined;
  await importNames(deps(), 'a.rest\nb.rest,2027-09-01', 'U0ALICE', nothing);
  await importNames(deps(), 'a.rest,2027-10-01\nb.rest,2027-09-01\nno name', 'U0BOB', nothing);
  expect(await lines()).toEqual([
    'name_watched a.rest U0ALICE',
    'name_watched b.rest U0ALICE 2027-09-01',
    'name_dated a.rest U0BOB 2027-10-01',
  ]);
});

test('what people say of an alarm leaves a line, once', async () => {
  const store = createAlarmStore(rig.database, TEAM);
  const seen = { lastSeenBefore: rig.now, firstSeenAfter: rig.now };
  const change = {
    kind: 'registrar',
    fact: 'registrar',
    before: ['name:Ours'],
    after: ['name:Theirs'],
    ...seen,
  } as const;
  const [alarm] = newAlarms('cafe.rest', [{ change, orders: [] }], rig.now);
  if (alarm === undefined) throw new Error('nothing was raised');
  await rig.database.run(Prisma.sql`WITH ${insertAlarms(TEAM, [alarm], Prisma.sql`SELECT 1`)} SELECT 1`);
  const alarms = createAlarms({
    store,
    isGuarded: async () => true,
    trustRegistrar: async () => undefined,
    changed: () => undefined,
    now: () => rig.now,
  });
  await alarms.escalate(alarm.id, 'U0ADA');
  await alarms.escalate(alarm.id, 'U0BOB');
  await alarms.sayOurs(alarm.id, { by: 'U0ALICE', reason: 'we moved it' });
  await alarms.sayOurs(alarm.id, { by: 'U0ALICE', reason: 'once more' });
  await alarms.sayOurs(alarm.id, { by: 'U0BOB', reason: 'I know of it' });
  expect(await lines()).toEqual([
    'alarm_raised cafe.rest system registrar',
    'alarm_escalated cafe.rest U0ADA registrar',
    'alarm_proposed cafe.rest U0ALICE we moved it registrar',
    'alarm_explained cafe.rest U0BOB I know of it registrar',
  ]);
});
