import { expect, test } from 'vitest';
import { ORDER_TASKS } from '../../src/orders/tasks.ts';
import { formatZoneIssue } from '../../src/slack/names/zone-issue.view.ts';
import { formatTaskNote } from '../../src/slack/orders/task-notes.view.ts';
import { generalZone } from '../../src/zones/general.ts';
import { restZone } from '../../src/zones/rest.ts';
import type { ZoneProfile } from '../../src/zones/zone.ts';
import { checkTask, findCharge, listTaskNotes, type ZoneTask } from '../../src/zones/zone-tasks.ts';

/** The tasks of domains, as the orders' rows have them. */
const TASKS: Readonly<Record<string, ZoneTask>> = Object.fromEntries(
  Object.values(ORDER_TASKS).flatMap(({ name, zoneTask }) =>
    zoneTask === undefined ? [] : [[name, zoneTask]],
  ),
);

function taskOf(name: string): ZoneTask {
  const task = TASKS[name];
  if (task === undefined) throw new Error(`no task of a domain: ${name}`);
  return task;
}

/** A function of each task, by its name. */
function each<T>(tell: (task: ZoneTask) => T): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(TASKS).map(([name, task]) => [name, tell(task)]));
}

const say = (zone: ZoneProfile) => (task: ZoneTask) =>
  listTaskNotes(zone, task).map(formatTaskNote).join(' ');

test('the four chargeable tasks cost money in every zone, even where a profile says otherwise', () => {
  const careless: ZoneProfile = {
    ...restZone,
    tasks: { create: { isAvailable: true, isChargeable: false, processing: 'automated' } },
  };
  for (const zone of [restZone, generalZone, careless]) {
    expect(
      Object.keys(TASKS).filter((name) => ['yes', 'assumed'].includes(findCharge(zone, taskOf(name)))),
    ).toEqual(['create', 'transfer', 'renew', 'restore']);
  }
});

test('a task that the profile declares chargeable costs money', () => {
  const dear: ZoneProfile = {
    ...restZone,
    tasks: { ...restZone.tasks, delete: { isAvailable: true, isChargeable: true, processing: 'automated' } },
  };
  expect(findCharge(dear, taskOf('delete'))).toBe('yes');
});

test('a task without a documented charge is not called free', () => {
  const stated = (zone: ZoneProfile) => each((task) => findCharge(zone, task));
  expect(stated(restZone)).toMatchObject({
    delete: 'no',
    nameservers: 'no',
    authcode: 'not_stated',
    'owner-change': 'not_stated',
  });
  expect(stated(generalZone)).toMatchObject({
    create: 'assumed',
    delete: 'not_stated',
    nameservers: 'not_stated',
    authcode: 'not_stated',
    'owner-change': 'not_stated',
  });
});

test('a task that the profile doesn’t offer is refused; without a list everything is allowed', () => {
  const poor: ZoneProfile = {
    ...restZone,
    tasks: { ...restZone.tasks, restore: { isAvailable: false, isChargeable: true, processing: 'manual' } },
  };
  expect(checkTask(poor, taskOf('restore')).map(formatZoneIssue)).toEqual([
    'Restoring deleted names isn’t possible in .rest. Ask the domain service for another way.',
  ]);
  expect(checkTask({ ...restZone, tasks: {} }, taskOf('renew'))).toHaveLength(1);
  for (const task of Object.values(TASKS)) {
    expect(checkTask(restZone, task)).toEqual([]);
    expect(checkTask(generalZone, task)).toEqual([]);
  }
});

test('notes for approvers about each task in .rest', () => {
  const said = each(say(restZone));
  expect(said['create']).toMatch(
    /costs money.*cost more at registration.*each need an email address.*60 days/,
  );
  expect(said['transfer']).toMatch(/costs money.*5 days.*renews.*auth code/);
  expect(said['renew']).toMatch(/costs money.*possibly at renewal.*doesn’t name the period’s unit/);
  expect(said['restore']).toMatch(/costs money.*by hand.*30 days/);
  expect(said['delete']).toMatch(/30 days.*5 days later, anyone/);
  expect(said['delete']).not.toContain('This costs money');
  expect(said['owner-change']).toMatch(
    /no field for the new owner.*current and the new registrant are notified.*60 days.*opts out/,
  );
});

test('notes for approvers in an undocumented zone', () => {
  for (const task of Object.values(TASKS)) {
    const said = say(generalZone)(task);
    expect(said).toContain('I don’t know this zone’s rules');
    expect(said).not.toMatch(/undefined|\d/);
  }
});
