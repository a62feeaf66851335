import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { newlyWatched } from '../../src/expiry/change.ts';
import type { WatchedDomain } from '../../src/expiry/ports.ts';
import { afterLookup, refreshDue, refreshName } from '../../src/expiry/refresh.ts';
import type { RdapResult } from '../../src/rdap/client.ts';
import { DAY_MS, Rig, silent } from './rig.ts';

const NOW = new Date('2027-06-14T12:00:00Z');
const HOUR_MS = 3_600_000;

function inDays(days: number, from = NOW): Date {
  return new Date(from.getTime() + days * DAY_MS);
}

function found(expiresAt: Date, more: object = {}): RdapResult {
  return {
    kind: 'found',
    expiresAt,
    registrar: 'Registrar',
    nameServers: [],
    statuses: ['active'],
    server: 'rdap.example',
    secure: true,
    ...more,
  };
}

const known: WatchedDomain = {
  ...newlyWatched('cafe.rest', 'U0ALICE', NOW),
  expiry: { at: inDays(20), source: 'rdap' },
};

describe('after a look-up', () => {
  const outcomeOf = (domain: WatchedDomain, result: RdapResult, now = NOW) =>
    afterLookup(domain, result, now, () => 0);

  test('the registry’s date counts, whoever gave the one before', () => {
    for (const source of ['person', 'order', 'rdap'] as const) {
      const looked = outcomeOf({ ...known, expiry: { at: inDays(5), source } }, found(inDays(9)));
      expect(looked).toMatchObject({ expiry: { at: inDays(9), source: 'rdap' }, checkedAt: NOW });
    }
    expect(outcomeOf({ ...known, expiry: undefined }, found(inDays(9))).expiry?.at).toEqual(inDays(9));
  });

  test('a new end clears what was decided about the old one', () => {
    const decided = {
      ...known,
      snooze: { until: inDays(10), by: 'U0ALICE', reason: undefined },
      lapse: { reason: 'old', requestedBy: 'U0ALICE', confirmed: { by: 'U0BOB', at: NOW } },
    };
    expect(outcomeOf(decided, found(inDays(385)))).toMatchObject({
      snooze: undefined,
      lapse: undefined,
    });
    // A better date for the same end decides nothing anew.
    expect(outcomeOf(decided, found(inDays(22)))).toMatchObject({
      snooze: decided.snooze,
      lapse: decided.lapse,
    });
  });

  test('what the record showed is kept with the one before it, and with when each was first seen', () => {
    const first = outcomeOf(known, found(inDays(20)), inDays(0));
    const shown = { expiresAt: inDays(20), registrar: 'Registrar', secure: true, seenAt: inDays(0) };
    expect(first).toMatchObject({ record: shown, recordBefore: undefined });
    const same = outcomeOf(first, found(inDays(20)), inDays(1));
    expect(same).toMatchObject({ record: shown, recordBefore: undefined });
    const moved = outcomeOf(same, found(inDays(385)), inDays(2));
    const after = { ...shown, expiresAt: inDays(385), seenAt: inDays(2) };
    expect(moved).toMatchObject({ record: after, recordBefore: shown });
    const transferred = outcomeOf(moved, found(inDays(385), { registrar: 'Another' }), inDays(3));
    expect(transferred).toMatchObject({
      record: { ...after, registrar: 'Another', seenAt: inDays(3) },
      recordBefore: after,
    });
    const plain = outcomeOf(first, found(inDays(20), { secure: false }), inDays(1));
    expect(plain).toMatchObject({ record: { ...shown, secure: false, seenAt: inDays(1) } });
    const away = outcomeOf(moved, { kind: 'unavailable', reason: 'away' }, inDays(4));
    expect(away).toMatchObject({ record: after, recordBefore: shown });
  });

  test('a renewal stands until the registry shows it; weeks later the contradiction is shown', () => {
    const until = inDays(385);
    const renewed = {
      ...known,
      expiry: { at: until, source: 'order' as const },
      renewed: { until, at: NOW },
    };
    const stale = outcomeOf(renewed, found(inDays(20)), inDays(3));
    expect(stale).toMatchObject({
      expiry: renewed.expiry,
      renewed: renewed.renewed,
      checkProblem: undefined,
    });
    const disputed = outcomeOf(renewed, found(inDays(20)), inDays(15));
    expect(disputed.checkProblem).toMatch(/registry still shows 2027-07-04/);
    expect(disputed.expiry).toEqual(renewed.expiry);
    const shown = outcomeOf(renewed, found(inDays(385.2)), inDays(3));
    expect(shown).toMatchObject({ renewed: undefined, expiry: { at: inDays(385.2), source: 'rdap' } });
  });

  test('a deletion stands for an hour until the registry shows it; after that its record counts', () => {
    const deleted = { ...known, deletedAt: NOW };
    const looked = (days: number, more = {}) => outcomeOf(deleted, found(inDays(20), more), inDays(days));
    expect(looked(0.5 / 24).deletedAt).toEqual(NOW);
    expect(looked(1.5 / 24).deletedAt).toBeUndefined();
    expect(looked(0.5 / 24, { deletedAt: inDays(0.01) }).deletedAt).toEqual(inDays(0.01));
  });

  test('failing says why and keeps what is known', () => {
    const failed = outcomeOf(known, { kind: 'unavailable', reason: 'its server is busy (HTTP 429)' });
    expect(failed).toMatchObject({ expiry: known.expiry, checkProblem: 'its server is busy (HTTP 429)' });
    // It is quoted inside sentences, which end by themselves.
    expect(
      outcomeOf(known, { kind: 'not_found', server: 'rdap.example', secure: true }).checkProblem,
    ).toMatch(/no record[^.?!]*[a-z]$/);
    expect(outcomeOf(failed, found(inDays(20))).checkProblem).toBeUndefined();
  });

  test.each([
    ['far away: a week', 200, 7 * 24],
    ['near the 60 days: when they begin', 63, 3 * 24],
    ['inside 60 days: a day', 59, 24],
    ['expired: a day', -3, 24],
  ])('the next is due when the name is %s', (_what, days, hours) => {
    const { nextCheckAt } = outcomeOf(known, found(inDays(days)));
    expect((nextCheckAt.getTime() - NOW.getTime()) / HOUR_MS).toBeCloseTo(hours, 5);
  });

  test('the next ones are spread', () => {
    const at = (random: number) => afterLookup(known, found(inDays(200)), NOW, () => random).nextCheckAt;
    expect((at(0).getTime() - at(0.99).getTime()) / DAY_MS).toBeGreaterThan(1);
  });

  test('a registry that asks to wait is left alone for that long', () => {
    const wait = outcomeOf(known, {
      kind: 'unavailable',
      reason: 'busy',
      retryAfterMs: 5 * HOUR_MS,
    }).nextCheckAt;
    expect(wait.getTime() - NOW.getTime()).toBe(5 * HOUR_MS);
  });
});

describe('on the real store', () => {
  let rig: Rig;
  beforeEach(async () => {
    rig = await Rig.start();
    rig.now = NOW;
  });
  afterEach(() => rig.stop());

  function deps(lookup: (name: string) => Promise<RdapResult>) {
    return { store: rig.store, rdap: { lookup }, now: () => rig.now, log: silent, random: () => 0 };
  }

  test('two processes look each due name up once, and none that is not due', async () => {
    const names = Array.from({ length: 60 }, (_, index) => `n${index}.rest`);
    for (const name of names) await rig.watch(name, 20, { nextCheckAt: NOW });
    await rig.watch('later.rest', 20, { nextCheckAt: inDays(1) });
    const looked: string[] = [];
    const work = deps(async (name) => {
      looked.push(name);
      return found(inDays(400));
    });
    const signal = new AbortController().signal;
    await Promise.all([refreshDue(work, signal), refreshDue(work, signal)]);
    expect(looked.toSorted()).toEqual(names.toSorted());
    expect((await rig.store.find('n7.rest'))?.expiry).toEqual({ at: inDays(400), source: 'rdap' });
  });

  test('a name in the hands of a process that died is due again', async () => {
    await rig.watch('cafe.rest', 20, { nextCheckAt: NOW });
    expect(await rig.store.claimDueChecks(NOW, new Date(NOW.getTime() + 600_000), 5)).toHaveLength(1);
    let looked = 0;
    const work = deps(async () => {
      looked += 1;
      return found(inDays(400));
    });
    await refreshDue(work, new AbortController().signal);
    expect(looked).toBe(0);
    rig.now = new Date(NOW.getTime() + 601_000);
    await refreshDue(work, new AbortController().signal);
    expect(looked).toBe(1);
  });

  test('a renewal that is followed during a look-up is not undone by the old date', async () => {
    const domain = await rig.watch('cafe.rest', 20);
    const until = inDays(385);
    const work = deps(async () => {
      const renewed = { expiry: { at: until, source: 'order' as const }, renewed: { until, at: NOW } };
      expect(await rig.store.change(domain, { ...domain, ...renewed })).toBe(true);
      return found(inDays(20));
    });
    await refreshName(work, 'cafe.rest', new AbortController().signal);
    expect(await rig.store.find('cafe.rest')).toMatchObject({ expiry: { at: until }, renewed: { until } });
  });

  test('a stop gives the look-up up and keeps the name as it was', async () => {
    await rig.watch('cafe.rest', 20, { nextCheckAt: NOW });
    const stop = new AbortController();
    const work = deps(async () => {
      stop.abort();
      throw new Error('stopped');
    });
    await refreshDue(work, stop.signal);
    expect(await rig.store.find('cafe.rest')).toMatchObject({
      checkedAt: undefined,
      checkProblem: undefined,
    });
  });
});
