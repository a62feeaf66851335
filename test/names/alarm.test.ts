import { describe, expect, test } from 'vitest';
import { type Alarm, escalate, newAlarms, sayOurs } from '../../src/names/alarm.ts';
import type { NameChange, UnexplainedChange } from '../../src/names/unexplained-changes.ts';

const AT = new Date('2027-06-14T12:00:00Z');

function raised(kind: NameChange['kind'], after: readonly string[]): UnexplainedChange {
  const change = {
    kind,
    fact: 'statuses',
    before: [],
    after,
    lastSeenBefore: AT,
    firstSeenAfter: AT,
  } as const;
  return { change, orders: [] };
}

function alarm(changes: Partial<Alarm> = {}): Alarm {
  const [fresh] = newAlarms('cafe.rest', [raised('pending_transfer', ['pending transfer'])], AT);
  if (fresh === undefined) throw new Error('nothing was raised');
  const standing = { version: 0, state: 'raised' } as const;
  const untouched = {
    proposed: undefined,
    explained: undefined,
    escalatedBy: undefined,
    channelId: undefined,
  };
  return { ...fresh, ...standing, ...untouched, ...changes };
}

test('locks that go together are one alarm', () => {
  const alarms = newAlarms(
    'cafe.rest',
    [raised('lock_gone', ['b']), raised('pending_delete', ['c']), raised('lock_gone', ['a'])],
    AT,
  );
  expect(alarms.map(({ kind, after }) => [kind, after])).toEqual([
    ['pending_delete', ['c']],
    ['lock_gone', ['a', 'b']],
  ]);
});

describe('that it was ours', () => {
  const bob = { by: 'U0BOB', reason: 'planned' };

  test('is said by one person', () => {
    expect(sayOurs(alarm(), bob, false)).toMatchObject({
      ok: true,
      alarm: { state: 'explained', explained: bob },
    });
  });

  test('is said by two persons of a guarded name', () => {
    const first = sayOurs(alarm(), bob, true);
    if (!first.ok) throw new Error('it was refused');
    expect(first.alarm).toMatchObject({ state: 'raised', proposed: bob, explained: undefined });
    expect(sayOurs(first.alarm, bob, true)).toEqual({ ok: false, refusal: { code: 'needs_another_person' } });
    expect(sayOurs(first.alarm, { by: 'U0ADA', reason: 'yes' }, true)).toMatchObject({
      ok: true,
      alarm: { state: 'explained', explained: { by: 'U0ADA' } },
    });
  });

  test('is said once, after which nothing is raised', () => {
    const said = sayOurs(alarm(), bob, false);
    if (!said.ok) throw new Error('it was refused');
    const refusal = { code: 'explained_already', by: 'U0BOB' };
    expect(sayOurs(said.alarm, bob, false)).toEqual({ ok: false, refusal });
    expect(escalate(said.alarm, 'U0ALICE')).toEqual({ ok: false, refusal });
  });
});

test('it is raised once, and may turn out to be ours', () => {
  const first = escalate(alarm(), 'U0ALICE');
  if (!first.ok) throw new Error('it was refused');
  expect(escalate(first.alarm, 'U0BOB')).toEqual({
    ok: false,
    refusal: { code: 'escalated_already', by: 'U0ALICE' },
  });
  expect(sayOurs(first.alarm, { by: 'U0BOB', reason: 'ours' }, false)).toMatchObject({ ok: true });
});
