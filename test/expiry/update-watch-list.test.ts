import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createWatchedDomain } from '../../src/expiry/newly-watched.ts';
import type { WatchedDomain } from '../../src/expiry/ports.ts';
import { buildWatchListChange, updateWatchList } from '../../src/expiry/update-watch-list.ts';
import { addYears, updateDatesAfterLookup } from '../../src/names/dates.ts';
import type { Order, OrderTaskName } from '../../src/orders/order.ts';
import { Prisma } from '../../src/store/database.ts';
import { importNames } from '../../src/store/domain-statements.ts';
import { createNameRecordStore } from '../../src/store/name-records.ts';
import { createOrderStore } from '../../src/store/orders.ts';
import { newOrder, newRequirements } from '../orders/sample.ts';
import { BOT_SIGNER } from '../support/bot-signer.ts';
import { namesContextWith } from '../support/names-context.ts';
import { createRegistryLookup, registrationUntil } from '../support/registry-lookup.ts';
import { DAY_MS, Rig } from './rig.ts';

const NOW = new Date('2027-06-14T12:00:00Z');
const account = { id: 'a1', login: 'alice', method: 'password', context: 4 };
const item = { name: 'cafe.rest', sentAt: NOW, answeredAt: NOW };

const known: WatchedDomain = {
  ...createWatchedDomain('cafe.rest', 'U0CAROL', new Date('2026-01-01T00:00:00Z')),
  expiry: { at: new Date('2027-06-20T12:00:00Z'), source: 'rdap' },
  snooze: { until: new Date('2027-06-19T00:00:00Z'), by: 'U0CAROL', reason: undefined },
  lapse: { reason: 'old', requestedBy: 'U0CAROL', confirmed: undefined },
};

function updateAfterSuccess(
  task: OrderTaskName,
  before: WatchedDomain | undefined,
  input: unknown = { period: 2 },
  context = 4,
) {
  const order = newOrder(['cafe.rest'], { id: 'order-1', task, input, account: { ...account, context } });
  return buildWatchListChange(order, item, before, NOW)?.updatedDomain;
}

describe('the watch list after a success', () => {
  test('of a renewal has an estimated new expiry, and no reminders until then', () => {
    expect(updateAfterSuccess('renew', known)).toMatchObject({
      expiry: { at: new Date('2029-06-20T12:00:00Z'), source: 'order' },
      unpublishedRenewal: { until: new Date('2029-06-20T12:00:00Z'), at: NOW },
      registeredBy: 'U0ALICE',
      snooze: undefined,
      lapse: undefined,
      nextRegistryLookupAt: NOW,
    });
  });

  test.each([
    [
      'gives the name its owner and note',
      { owner: 'U0CAROL', note: 'shop' },
      { owner: 'U0CAROL', note: 'shop' },
    ],
    ['removes the owner if it was cleared, and keeps the note', {}, { owner: null }],
    ['changes neither if the request has neither', undefined, undefined],
  ])('of a transfer %s', (_what, ownership, change) => {
    const order = { ...newOrder(['cafe.rest'], { id: 'order-1', task: 'transfer', account }), ownership };
    const details = buildWatchListChange(order, item, known, NOW)?.details;
    expect(details).toEqual(change && { change, by: 'U0ALICE' });
  });

  test('of a renewal of an unwatched name has the earliest possible expiry', () => {
    const until = new Date(Date.parse('2029-06-14T12:00:00Z') - 45 * DAY_MS);
    expect(updateAfterSuccess('renew', undefined)).toMatchObject({
      expiry: { at: until, source: 'order' },
      unpublishedRenewal: { until },
    });
  });

  describe('of a renewal that the registry already shows', () => {
    const sentAt = new Date('2027-06-14T11:59:50Z');
    const lookUp = (until: string, at: Date, before = known): WatchedDomain => ({
      ...before,
      ...updateDatesAfterLookup(
        before,
        createRegistryLookup('cafe.rest', at, registrationUntil(new Date(until))),
      ),
    });
    const renew = (before: WatchedDomain, years = 2) => {
      const order = newOrder(['cafe.rest'], {
        id: 'order-1',
        task: 'renew',
        account,
        input: { period: years },
      });
      return buildWatchListChange(order, { ...item, sentAt }, before, NOW)?.updatedDomain;
    };

    test('adds its years once', () => {
      const lookedUp = lookUp('2029-06-20T12:00:00Z', new Date('2027-06-14T11:59:59Z'));
      expect(renew(lookedUp)).toMatchObject({ expiry: lookedUp.expiry, unpublishedRenewal: undefined });
      const lookedUpAgain = lookUp('2029-06-20T12:00:00Z', new Date('2027-06-14T12:30:00Z'), lookedUp);
      expect(renew(lookedUpAgain), 'after another lookup').toMatchObject({
        expiry: lookedUp.expiry,
        unpublishedRenewal: undefined,
      });
    });

    test.each<[string, WatchedDomain]>([
      ['nothing', known],
      ['the former date', lookUp('2027-06-20T12:00:00Z', NOW)],
      ['a renewal of days before', lookUp('2029-06-20T12:00:00Z', new Date('2027-06-10T12:00:00Z'))],
      ['fewer years', lookUp('2028-06-20T12:00:00Z', NOW)],
    ])('adds its years if the registry has shown %s', (_what, before) => {
      const until = before.expiry && addYears(before.expiry.at, 2);
      expect(renew(before)).toMatchObject({
        expiry: { at: until, source: 'order' },
        unpublishedRenewal: { until },
      });
    });

    test('adds the years of a second renewal that isn’t shown yet', () => {
      const first = lookUp('2029-06-20T12:00:00Z', new Date('2027-06-14T11:59:40Z'));
      expect(renew(first, 1)?.expiry?.at).toEqual(new Date('2030-06-20T12:00:00Z'));
    });
  });

  test('of a registration has the name for a year, whatever was known before', () => {
    const registeredForOneYear = {
      expiry: { at: new Date('2028-06-14T12:00:00Z'), source: 'order' },
      deletedAt: undefined,
    };
    expect(updateAfterSuccess('create', undefined, {})).toMatchObject({
      ...registeredForOneYear,
      addedBy: 'U0ALICE',
    });
    expect(updateAfterSuccess('create', { ...known, deletedAt: NOW }, {})).toMatchObject(
      registeredForOneYear,
    );
  });

  test('of a transfer keeps the registry’s date, because the transfer may still be refused', () => {
    expect(updateAfterSuccess('transfer', known, {})?.expiry).toEqual(known.expiry);
    expect(updateAfterSuccess('transfer', undefined, {})?.expiry?.source).toBe('order');
    expect(updateAfterSuccess('transfer', undefined, {})?.unpublishedRenewal).toBeUndefined();
  });

  test('of a deletion or restore changes only watched names', () => {
    expect(updateAfterSuccess('delete', known, {})).toMatchObject({ deletedAt: NOW });
    expect(
      updateAfterSuccess('restore', { ...known, deletedAt: NOW }, {}),
      'restore is pending',
    ).toMatchObject({
      deletedAt: NOW,
    });
    expect([updateAfterSuccess('delete', undefined), updateAfterSuccess('restore', undefined)]).toEqual([
      undefined,
      undefined,
    ]);
  });

  test('in the demo context doesn’t change, because its names are separate', () => {
    expect(updateAfterSuccess('renew', known, { period: 1 }, 1)).toBeUndefined();
    expect(updateAfterSuccess('create', undefined, {}, 1)).toBeUndefined();
  });
});

describe('on the real store', () => {
  let rig: Rig;
  const buildContext = () => namesContextWith({ watchList: rig.store, now: () => NOW });
  beforeEach(async () => {
    rig = await Rig.start();
    rig.now = NOW;
  });
  afterEach(() => rig.stop());

  async function createSucceededOrder(id: string): Promise<Order> {
    const row = {
      id,
      task: 'renew',
      state: 'SUCCEEDED',
      version: 5,
      requesterId: 'U0ALICE',
      accountId: 'a1',
      accountLogin: 'alice',
      accountMethod: 'password',
      context: 4,
      names: ['cafe.rest'],
      input: { names: ['cafe.rest'], period: 1 },
      statementHash: '',
      channelId: 'C0DOMAINS',
      approvalsRequired: 1,
      policyVersion: 0,
      requirements: JSON.parse(JSON.stringify(newRequirements(['cafe.rest']))),
      deliveryId: id,
      createdAt: NOW,
      updatedAt: NOW,
    };
    const items = { create: [{ n: 1, name: 'cafe.rest', ctid: id, state: 'SUCCEEDED', answeredAt: NOW }] };
    await rig.database.prisma.order.create({ data: { ...row, items } });
    const store = createOrderStore(rig.database, BOT_SIGNER);
    const order = await store.load(id, 'system');
    if (order === undefined) throw new Error('the order does not exist');
    return order;
  }

  test('concurrent calls for one success add the years once', async () => {
    await rig.watch('cafe.rest', 6);
    const order = await createSucceededOrder('order1');
    const deps = buildContext();
    const outcomes = await Promise.all([1, 2, 3].map(() => updateWatchList(deps, order, 1)));
    expect(outcomes.filter(Boolean)).toHaveLength(1);
    expect(await updateWatchList(deps, order, 1)).toBeUndefined();
    expect((await rig.store.find('cafe.rest'))?.expiry?.at).toEqual(new Date('2028-06-20T12:00:00Z'));
  });

  test('a concurrent change and the success are both saved, even if two processes apply the success', async () => {
    await rig.watch('cafe.rest', 6);
    const order = await createSucceededOrder('order1');
    const deps = buildContext();
    const at = new Date('2027-09-01T12:00:00Z');
    const { following } = await rig.database.transaction(async (run) => {
      await run(
        Prisma.sql`UPDATE domains SET version = version + 1, expires_at = ${at}, last_lookup_at = ${at}`,
      );
      const begun = [1, 2].map(() => updateWatchList(deps, order, 1));
      await expect.poll(countLockWaits, { message: 'connections that wait for a lock' }).toBe(2);
      // Not awaited here: they continue after the commit.
      return { following: begun };
    });
    expect((await Promise.all(following)).filter(Boolean)).toHaveLength(1);
    expect(await rig.store.find('cafe.rest')).toMatchObject({
      expiry: { at: new Date('2028-09-01T12:00:00Z'), source: 'order' },
      lastLookupAt: at,
      version: 2,
    });
  });

  /** Counts the connections to this database that wait for another one's lock. */
  async function countLockWaits(): Promise<unknown> {
    const rows = await rig.database.prisma.$queryRaw<{ count: number }[]>`
      SELECT count(*)::int FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    return rows[0]?.count;
  }

  test('a renewal that a lookup has already saved isn’t added again', async () => {
    await rig.watch('cafe.rest', 6);
    const order = await createSucceededOrder('order1');
    const records = createNameRecordStore(rig.database, 'T0TEAM');
    const record = await records.find('cafe.rest');
    if (record === undefined) throw new Error('the name has no record');
    const renewed = registrationUntil(new Date('2028-06-20T12:00:00Z'));
    const updatedRecord = {
      ...record,
      ...updateDatesAfterLookup(record, createRegistryLookup('cafe.rest', NOW, renewed)),
    };
    expect(await records.save(record, { updatedRecord, observations: [], incident: undefined })).toBe(true);
    await updateWatchList(buildContext(), order, 1);
    expect(await rig.store.find('cafe.rest')).toMatchObject({
      expiry: { at: new Date('2028-06-20T12:00:00Z'), source: 'rdap' },
      unpublishedRenewal: undefined,
    });
  });

  test('a success is applied even if an import adds its name at the same time', async () => {
    const order = await createSucceededOrder('order1');
    const deps = buildContext();
    const { attempt } = await rig.database.transaction(async (run) => {
      await run(importNames([{ name: 'cafe.rest' }], { actor: 'U0CAROL', at: NOW }));
      const begun = updateWatchList(deps, order, 1);
      await expect.poll(countLockWaits, { message: 'connections that wait for a lock' }).toBe(1);
      return { attempt: begun };
    });
    expect(await attempt).toBe('cafe.rest');
    expect(await rig.store.find('cafe.rest')).toMatchObject({ addedBy: 'U0CAROL', registeredBy: 'U0ALICE' });
    expect(await updateWatchList(deps, order, 1), 'applied once').toBeUndefined();
  });

  test('a renewal stops the reminders of its name at once, and they start over for the next expiry', async () => {
    await rig.runDigest();
    await rig.watch('cafe.rest', 8);
    rig.advanceToNextMorning();
    await rig.runDigest();
    const order = await createSucceededOrder('order3');
    await updateWatchList(namesContextWith({ watchList: rig.store, now: () => rig.now }), order, 1);
    for (let day = 0; day < 10; day += 1) {
      rig.advanceToNextMorning();
      await rig.runDigest();
    }
    expect(rig.poster.postedReminders.map(({ threshold }) => threshold)).toEqual([7]);
    rig.now = new Date('2028-04-22T12:00:00Z');
    rig.advanceToNextMorning();
    await rig.runDigest();
    expect(rig.poster.postedReminders.map(({ threshold }) => threshold)).toEqual([7, 60]);
  });
});
