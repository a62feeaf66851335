import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { updateDatesAfterLookup } from '../../src/names/dates.ts';
import { createPortfolioStore } from '../../src/store/portfolio.ts';
import { createRegistryLookup, registrationUntil } from '../support/registry-lookup.ts';
import { confirmLapse, importNames, requestLapse, snoozeName, watchName } from '../support/unprotected.ts';
import { DAY_MS, Rig } from './rig.ts';

let rig: Rig;
/** The expiry that the registry shows; undefined if the registry has no such name. */
let registryExpiry: Date | undefined;

beforeAll(async () => {
  rig = await Rig.start();
});
afterAll(() => rig.stop());
afterEach(async () => {
  await rig.database.prisma.domain.deleteMany();
  await rig.database.prisma.reminder.deleteMany();
  registryExpiry = undefined;
});

function deps() {
  return {
    store: rig.store,
    now: () => rig.now,
    portfolio: createPortfolioStore(rig.database, 'T0TEAM'),
  };
}

async function lookUp(name: string): Promise<void> {
  const expiresAt = registryExpiry;
  if (expiresAt === undefined) return;
  const known = await rig.store.find(name);
  if (known === undefined) return;
  const dates = updateDatesAfterLookup(
    known,
    createRegistryLookup(name, rig.now, registrationUntil(expiresAt)),
  );
  expect(await rig.store.change(known, { ...known, ...dates })).toBe(true);
}

describe('watching a name', () => {
  test('uses the registry’s date, and keeps the person’s date while the registry has none', async () => {
    const kept = await watchName(deps(), lookUp, 'Cafe.REST.', '2027-09-01', 'U0ALICE');
    expect(kept).toMatchObject({
      ok: true,
      wasWatched: false,
      ignoredDate: undefined,
      domain: { name: 'cafe.rest', expiry: { at: new Date('2027-09-01T00:00:00Z'), source: 'person' } },
    });
    registryExpiry = new Date('2027-10-05T11:00:00Z');
    expect(await watchName(deps(), lookUp, 'cafe.rest', '2027-09-01', 'U0BOB')).toMatchObject({
      wasWatched: true,
      ignoredDate: new Date('2027-09-01T00:00:00Z'),
      domain: { expiry: { source: 'rdap' }, addedBy: 'U0ALICE' },
    });
  });

  test('refuses an invalid name or date, and watches nothing', async () => {
    for (const [name, date, code] of [
      ['not a name', undefined, 'invalid_name'],
      ['cafe', undefined, 'invalid_name'],
      ['cafe.rest', '2027-02-30', 'no_such_day'],
    ] as const) {
      expect(await watchName(deps(), lookUp, name, date, 'U0ALICE')).toMatchObject({
        ok: false,
        refusal: { code },
      });
    }
    expect(await rig.database.prisma.domain.count()).toBe(0);
  });

  test('cancels a requested lapse', async () => {
    await rig.watch('cafe.rest', 20);
    await requestLapse(deps(), 'cafe.rest', 'U0ALICE', 'old');
    await confirmLapse(deps(), 'cafe.rest', 'U0BOB');
    await watchName(deps(), lookUp, 'cafe.rest', undefined, 'U0CAROL');
    expect((await rig.store.find('cafe.rest'))?.lapse).toBeUndefined();
  });
});

describe('an import', () => {
  test('reports accepted and rejected names, and keeps better dates', async () => {
    await rig.watch('registry.rest', 20);
    await rig.watch('mine.rest', 20, {
      expiry: { at: new Date('2027-07-01T00:00:00Z'), source: 'person', enteredBy: 'U0ALICE' },
    });
    const text =
      'new.rest\ndated.rest, 2027-12-24\nregistry.rest, 2030-01-01\nmine.rest 2027-08-01\nnew.rest\nno name!';
    const progress: string[] = [];
    const summary = await importNames(deps(), text, 'U0ALICE', async (done, total) => {
      progress.push(`${done}/${total}`);
    });
    expect(summary).toMatchObject({ addedCount: 2, datedCount: 1, unchangedCount: 1, duplicateCount: 1 });
    expect(summary.rejected.map(({ line }) => line)).toEqual([6]);
    expect(progress).toEqual(['4/4']);
    expect((await rig.store.find('registry.rest'))?.expiry?.source).toBe('rdap');
    expect((await rig.store.find('mine.rest'))?.expiry?.at).toEqual(new Date('2027-08-01T00:00:00Z'));
  });

  test('adds 10,000 names and reports its progress', async () => {
    const lines = Array.from({ length: 10_000 }, (_, index) =>
      `n${index}.rest,2028-01-${1 + (index % 28)}`.replace(/-(\d)$/, '-0$1'),
    );
    const progress: number[] = [];
    const summary = await importNames(deps(), lines.join('\n'), 'U0ALICE', async (done) => {
      progress.push(done);
    });
    expect(summary).toMatchObject({ addedCount: 10_000, rejected: [] });
    expect(progress).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((thousands) => thousands * 1_000));
    expect(await rig.database.prisma.domain.count()).toBe(10_000);
  });
});

describe('a snooze', () => {
  test('ends at the expiry at the latest', async () => {
    const { expiry } = await rig.watch('cafe.rest', 5);
    expect(await snoozeName(deps(), 'cafe.rest', 30, 'U0ALICE', 'busy')).toMatchObject({
      domain: { snooze: { until: expiry?.at, by: 'U0ALICE', reason: 'busy' } },
    });
    await snoozeName(deps(), 'cafe.rest', 3, 'U0ALICE', undefined);
    expect((await rig.store.find('cafe.rest'))?.snooze?.until).toEqual(
      new Date(rig.now.getTime() + 3 * DAY_MS),
    );
  });

  test.each([0, -1, 1.5, 366, Number.NaN])('of %s days is invalid', async (days) => {
    await rig.watch('cafe.rest', 5);
    expect(await snoozeName(deps(), 'cafe.rest', days, 'U0ALICE', undefined)).toEqual({
      ok: false,
      refusal: { code: 'invalid_snooze', maxDays: 365 },
    });
  });
});

describe('letting a name lapse', () => {
  test('is requested before it is confirmed, and confirmed once', async () => {
    await rig.watch('cafe.rest', 5);
    expect(await confirmLapse(deps(), 'cafe.rest', 'U0BOB'), 'before the request').toBe('changed');
    await requestLapse(deps(), 'cafe.rest', 'U0ALICE', 'not needed');
    const confirmed = await Promise.all(
      ['U0BOB', 'U0CAROL'].map((by) => confirmLapse(deps(), 'cafe.rest', by)),
    );
    expect(confirmed).toEqual(expect.arrayContaining(['confirmed', 'changed']));
    expect(await requestLapse(deps(), 'cafe.rest', 'U0BOB', 'again')).toEqual({
      ok: false,
      refusal: { code: 'lapse_decided' },
    });
  });
});

test('a better date for the same expiry repeats no reminder', async () => {
  await rig.runDigest();
  await rig.watch('cafe.rest', 8, { expiry: { at: new Date('2027-06-22T00:00:00Z'), source: 'person' } });
  rig.advanceToNextMorning();
  await rig.runDigest();
  registryExpiry = new Date('2027-06-23T10:00:00Z');
  await watchName(deps(), lookUp, 'cafe.rest', undefined, 'U0ALICE');
  rig.advanceToNextMorning();
  await rig.runDigest();
  expect(rig.poster.postedReminders.map(({ threshold }) => threshold)).toEqual([7]);
});

test('a change based on an older state is refused', async () => {
  const domain = await rig.watch('cafe.rest', 8);
  const snooze = { until: rig.now, by: 'U0ALICE', reason: undefined };
  expect(await rig.store.change(domain, { ...domain, snooze })).toBe(true);
  expect(await rig.store.change(domain, { ...domain, doubt: { code: 'not_registered' } })).toBe(false);
  expect(await rig.store.find('cafe.rest')).toMatchObject({ snooze, doubt: undefined });
});
