import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { DAY_MS } from '../../src/lib/duration.ts';
import { loadRenewalForecast } from '../../src/mandates/overview.ts';
import { stopOrder } from '../../src/orders/stop.ts';
import { type Rig, startRig } from '../orders/rig.ts';
import { createMandateHelpers } from './mandate-rig.ts';

/* A digest's forecast matches what the mandates then do. */

let rig: Rig;
let on: ReturnType<typeof createMandateHelpers>;
beforeAll(async () => {
  rig = await startRig();
  on = createMandateHelpers(rig);
});
beforeEach(() => rig.reset());
afterAll(() => rig.end());

async function forecast(...names: readonly string[]) {
  const watched = names.map((name) => ({ name, owner: name.startsWith('owned') ? 'U0ADA' : undefined }));
  const { renewalTimes, uncoveredNames } = await loadRenewalForecast(rig.mandates, watched, 'system');
  return {
    renewed: [...renewalTimes.keys()].sort(),
    uncovered: [...uncoveredNames].sort(),
    renewals: renewalTimes,
  };
}

test('the forecast includes names a mandate has acted or will act for, with the day of sending', async () => {
  await on.watch('soon.rest', 13);
  await on.watch('later.rest', 40);
  await on.watch('other.example', 13);
  await on.createMandate();
  const before = await forecast('soon.rest', 'later.rest', 'other.example', 'owned.example');
  expect(before).toMatchObject({ renewed: ['later.rest', 'soon.rest'], uncovered: ['other.example'] });
  const order = await rig.read((await on.runAndFindAct('soon.rest')).orderId ?? 'none');
  const after = await forecast('soon.rest', 'later.rest', 'other.example');
  expect(after).toEqual(before);
  expect(after.renewals.get('soon.rest')).toEqual(order.sendAfter);
  rig.advanceClock(3 * DAY_MS);
  const late = await forecast('soon.rest');
  expect(late.renewals.get('soon.rest'), 'an overdue order is sent next').toEqual(rig.now);
  await rig.sql(`UPDATE orders SET state = 'EXECUTING' WHERE id = $1`, order.id);
  expect((await forecast('soon.rest')).renewed, 'an order being sent').toEqual(['soon.rest']);
  rig.advanceClock(10 * DAY_MS);
  expect(await forecast('soon.rest'), 'at the expiry').toMatchObject({ renewed: [], uncovered: [] });
});

test('the forecast leaves held and stopped names to people', async () => {
  await on.watch('dear.rest', 40, 2_001);
  await on.watch('unpriced.rest', 40);
  rig.prices.delete('unpriced.rest');
  await on.watch('doubtful.rest', 40);
  await rig.sql(`UPDATE domains SET expiry_source = 'person' WHERE name = 'doubtful.rest'`);
  await on.watch('tomorrow.rest', 1);
  await on.watch('stopped.rest', 13);
  await on.watch('asked.rest', 13);
  const names = [
    'dear.rest',
    'unpriced.rest',
    'doubtful.rest',
    'tomorrow.rest',
    'stopped.rest',
    'asked.rest',
  ];
  await rig.requestAccepted('renew', { names: ['asked.rest'], period: 1 });
  await on.createMandate();
  expect(await forecast(...names)).toMatchObject({ renewed: ['stopped.rest'] });
  await stopOrder(rig.orders, (await on.runAndFindAct('stopped.rest')).orderId ?? 'none', 'U0ALICE');
  const { renewed, uncovered } = await forecast(...names);
  expect(renewed).toEqual([]);
  expect(uncovered, 'a person has requested it').not.toContain('asked.rest');
  expect(uncovered).toEqual(expect.arrayContaining(['stopped.rest']));
});

test('the forecast renewals together stay within the limit', async () => {
  for (const [n, name] of ['a.rest', 'b.rest', 'c.rest'].entries()) await on.watch(name, 13 + n / 10);
  await on.createMandate({ max_total: { currency: 'EUR', minor: 4_000 } });
  expect((await forecast('c.rest', 'b.rest', 'a.rest')).renewed).toEqual(['a.rest', 'b.rest']);
});

test.each(['covering', 'upcoming', 'used', 'account'] as const)(
  'names that a mandate orders during the forecast aren’t left to people (%s)',
  async (moment) => {
    for (const name of ['a.rest', 'b.rest']) await on.watch(name, 13);
    await on.createMandate({ max_total: { currency: 'EUR', minor: 4_000 } });
    let hasRun = false;
    const runMandatesAfter = async <T>(at: typeof moment, read: Promise<T>): Promise<T> => {
      const result = await read;
      if (at === moment && !hasRun) {
        hasRun = true;
        await on.run();
      }
      return result;
    };
    const { mandates } = rig.mandates;
    const deps: typeof rig.mandates = {
      ...rig.mandates,
      loadAffectedTags: (names) => runMandatesAfter('covering', rig.mandates.loadAffectedTags(names)),
      mandates: {
        ...mandates,
        filterUnhandledNames: (names) => runMandatesAfter('upcoming', mandates.filterUnhandledNames(names)),
        loadUsedAmounts: (id) => runMandatesAfter('used', mandates.loadUsedAmounts(id)),
        findLatestAccountId: (name) => runMandatesAfter('account', mandates.findLatestAccountId(name)),
      },
    };
    const watched = ['a.rest', 'b.rest'].map((name) => ({ name }));
    const { renewalTimes, uncoveredNames } = await loadRenewalForecast(deps, watched, 'system');
    expect(hasRun).toBe(true);
    expect((await on.listActs()).map(({ held }) => held)).toEqual([undefined, undefined]);
    expect([...renewalTimes.keys()].sort()).toEqual(['a.rest', 'b.rest']);
    expect(uncoveredNames).toEqual([]);
  },
);
