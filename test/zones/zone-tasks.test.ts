import { expect, test } from 'vitest';
import { ORDER_TASKS } from '../../src/orders/tasks.ts';
import { formatZoneIssue } from '../../src/slack/names/zone-issue.view.ts';
import { formatTaskNote } from '../../src/slack/orders/task-notes.view.ts';
import { generalZone } from '../../src/zones/general.ts';
import { restZone } from '../../src/zones/rest.ts';
import type { ZoneProfile } from '../../src/zones/zone.ts';
import { checkTask, findCharge, listTaskNotes, type ZoneTask } from '../../src/zones/zone-tasks.ts';

/** The zone tasks by the names of their order tasks. */
const ZONE_TASKS: Readonly<Record<string, ZoneTask>> = Object.fromEntries(
  Object.values(ORDER_TASKS).flatMap(({ name, zoneTask }) =>
    zoneTask === undefined ? [] : [[name, zoneTask]],
  ),
);

function getTask(name: string): ZoneTask {
  const task = ZONE_TASKS[name];
  if (task === undefined) throw new Error(`not a domain task: ${name}`);
  return task;
}

function mapTasks<T>(compute: (task: ZoneTask) => T): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(ZONE_TASKS).map(([name, task]) => [name, compute(task)]));
}

const formatNotes = (zone: ZoneProfile) => (task: ZoneTask) =>
  listTaskNotes(zone, task).map(formatTaskNote).join(' ');

test('the four chargeable tasks cost money in every zone, even if its profile says otherwise', () => {
  const zoneWithFreeCreation: ZoneProfile = {
    ...restZone,
    tasks: { create: { isAvailable: true, isChargeable: false, processing: 'automated' } },
  };
  for (const zone of [restZone, generalZone, zoneWithFreeCreation]) {
    expect(
      Object.keys(ZONE_TASKS).filter((name) => ['yes', 'assumed'].includes(findCharge(zone, getTask(name)))),
    ).toEqual(['create', 'transfer', 'renew', 'restore']);
  }
});

test('a task that the profile declares chargeable costs money', () => {
  const zoneWithPaidDeletion: ZoneProfile = {
    ...restZone,
    tasks: { ...restZone.tasks, delete: { isAvailable: true, isChargeable: true, processing: 'automated' } },
  };
  expect(findCharge(zoneWithPaidDeletion, getTask('delete'))).toBe('yes');
});

test('the charge of a task is “not stated” if it isn’t documented', () => {
  const listCharges = (zone: ZoneProfile) => mapTasks((task) => findCharge(zone, task));
  expect(listCharges(restZone)).toMatchObject({
    delete: 'no',
    nameservers: 'no',
    authcode: 'not_stated',
    'owner-change': 'not_stated',
  });
  expect(listCharges(generalZone)).toMatchObject({
    create: 'assumed',
    delete: 'not_stated',
    nameservers: 'not_stated',
    authcode: 'not_stated',
    'owner-change': 'not_stated',
  });
});

test('a task that the profile excludes is refused, and a zone without a task list allows all', () => {
  const zoneWithoutRestore: ZoneProfile = {
    ...restZone,
    tasks: { ...restZone.tasks, restore: { isAvailable: false, isChargeable: true, processing: 'manual' } },
  };
  expect(checkTask(zoneWithoutRestore, getTask('restore')).map(formatZoneIssue)).toEqual([
    'Restoring deleted names isn’t possible in .rest. Ask the domain service for another way.',
  ]);
  expect(checkTask({ ...restZone, tasks: {} }, getTask('renew'))).toHaveLength(1);
  for (const task of Object.values(ZONE_TASKS)) {
    expect(checkTask(restZone, task)).toEqual([]);
    expect(checkTask(generalZone, task)).toEqual([]);
  }
});

test('approvers get notes about each task in .rest', () => {
  const notes = mapTasks(formatNotes(restZone));
  expect(notes['create']).toMatch(
    /costs money.*cost more at registration.*each need an email address.*60 days/,
  );
  expect(notes['transfer']).toMatch(/costs money.*5 days.*renews.*auth code/);
  expect(notes['renew']).toMatch(/costs money.*possibly at renewal.*doesn’t name the period’s unit/);
  expect(notes['restore']).toMatch(/costs money.*by hand.*30 days/);
  expect(notes['delete']).toMatch(/30 days.*5 days later, anyone/);
  expect(notes['delete']).not.toContain('This costs money');
  expect(notes['owner-change']).toMatch(
    /no field for the new owner.*current and the new registrant are notified.*60 days.*opts out/,
  );
});

test('approvers get a note about an undocumented zone', () => {
  for (const task of Object.values(ZONE_TASKS)) {
    const notes = formatNotes(generalZone)(task);
    expect(notes).toContain('I don’t know this zone’s rules');
    expect(notes).not.toMatch(/undefined|\d/);
  }
});
