import { describe, expect, test } from 'vitest';
import { createWatchedDomain } from '../../src/expiry/newly-watched.ts';
import type { WatchedDomain } from '../../src/expiry/ports.ts';
import { buildWatchListChange } from '../../src/expiry/update-watch-list.ts';
import { updateDatesAfterLookup } from '../../src/names/dates.ts';
import type { Registration } from '../../src/names/registry-record.ts';
import {
  findDistrustReason,
  hasUnknownTransfer,
  isAtForeignRegistrar,
  updateTrustedRecord,
} from '../../src/names/trust.ts';
import { formatUnreliableDateReason } from '../../src/slack/names/doubt.view.ts';
import { DAY_MS } from '../expiry/rig.ts';
import { newOrder } from '../orders/sample.ts';

/* A hijacked name gets a later date, like a renewed one, but must not look renewed. */

const NOW = new Date('2027-06-14T12:00:00Z');
const inDays = (days: number) => new Date(NOW.getTime() + days * DAY_MS);
const YEAR = 365;

function record(endsInDays: number, more: Partial<Registration> = {}): Registration {
  return {
    expiresAt: inDays(endsInDays),
    hasExactDates: true,
    registeredAt: undefined,
    transferredAt: undefined,
    deletedAt: undefined,
    registrar: 'Ours Ltd',
    nameServers: [],
    statuses: ['active'],
    usedHttps: true,
    ...more,
  };
}

/** A name after lookups, a day apart. */
function afterLookups(...records: readonly Registration[]): WatchedDomain {
  const name = createWatchedDomain('cafe.rest', 'U0ALICE', NOW);
  return records.reduce((known, each, day) => applyLookup(known, day, each), name);
}

function applyLookup(known: WatchedDomain, day: number, next: Registration): WatchedDomain {
  const { name } = known;
  const result = { kind: 'registered', registration: next, server: 'rdap.example' } as const;
  return { ...known, ...updateDatesAfterLookup(known, { name, at: inDays(day), facts: {}, result }) };
}

describe('a date that moves forward', () => {
  test('at the same registrar, in any spelling, is a renewal', () => {
    const renewed = afterLookups(record(20), record(20 + YEAR, { registrar: 'OURS, LTD.' }));
    expect(renewed).toMatchObject({ expiry: { at: inDays(20 + YEAR) }, doubt: undefined });
  });

  test.each([
    [
      'another registrar',
      { registrar: 'Elsewhere Inc.' },
      /registrar “Elsewhere Inc\.” instead of “Ours Ltd”/,
    ],
    ['no registrar', { registrar: undefined }, /but no longer the registrar \(“Ours Ltd”\)/],
    ['a transfer since the last lookup', { transferredAt: inDays(0.5) }, /It wasn’t renewed/],
  ])('with %s leaves the old expiry, in later lookups too', (_what, change, pattern) => {
    const stolen = record(20 + YEAR, change);
    const once = afterLookups(record(20), stolen);
    expect(once.expiry?.at).toEqual(inDays(20));
    expect(once.doubt && formatUnreliableDateReason(once.doubt)).toMatch(pattern);
    const again = applyLookup(applyLookup(once, 2, stolen), 3, stolen);
    expect(again.expiry?.at).toEqual(inDays(20));
    expect(again.doubt && formatUnreliableDateReason(again.doubt)).toMatch(pattern);
  });

  test('in a lookup after the registrar changed is no renewal either', () => {
    const moved = afterLookups(record(20), record(20, { registrar: 'Elsewhere Inc.' }));
    expect(moved.doubt).toBeUndefined();
    const later = applyLookup(moved, 2, record(20 + YEAR, { registrar: 'Elsewhere Inc.' }));
    expect(later.expiry?.at).toEqual(inDays(20));
  });

  test('at another registrar is an unknown transfer until the name returns', () => {
    const { trusted } = afterLookups(record(20));
    const at = (registrar: string) => {
      const seen = { value: [`name:${registrar}`], firstSeen: NOW, lastSeen: NOW };
      const history = { registrar: { current: seen, candidate: undefined, past: [], unseen: undefined } };
      return hasUnknownTransfer({ trusted, history }, NOW);
    };
    expect(at('Elsewhere Inc.')).toBe(true);
    expect(at('OURS, LTD.')).toBe(false);
    expect(hasUnknownTransfer({ trusted, history: {} }, NOW), 'no registrar was seen').toBe(false);
    expect(hasUnknownTransfer({ trusted: undefined, history: {} }, NOW)).toBe(false);
  });

  test('counts again when the name returns', () => {
    const stolen = afterLookups(record(20), record(20 + YEAR, { registrar: 'Elsewhere Inc.' }));
    const back = applyLookup(stolen, 2, record(20 + YEAR));
    expect(back).toMatchObject({ expiry: { at: inDays(20 + YEAR) }, doubt: undefined });
  });

  test('of a name whose registry never shows a registrar is a renewal', () => {
    const renewed = afterLookups(
      record(20, { registrar: undefined }),
      record(20 + YEAR, { registrar: undefined }),
    );
    expect(renewed.expiry?.at).toEqual(inDays(20 + YEAR));
  });

  test('by a transfer through the bot counts once', () => {
    const order = newOrder(['cafe.rest'], { id: 'order-1', task: 'transfer', input: {} });
    const requested = buildWatchListChange(
      order,
      { name: 'cafe.rest', sentAt: inDays(1), answeredAt: inDays(1) },
      afterLookups(record(20)),
      inDays(1),
    )?.updatedDomain;
    if (requested === undefined) throw new Error('missing name');
    // The registry shows it days later.
    const waiting = applyLookup(requested, 2, record(20));
    const ours = applyLookup(
      waiting,
      5,
      record(20 + YEAR, { registrar: 'Elsewhere Inc.', transferredAt: inDays(4) }),
    );
    expect(ours).toMatchObject({ expiry: { at: inDays(20 + YEAR) }, doubt: undefined });
    const stolen = applyLookup(
      ours,
      9,
      record(20 + 2 * YEAR, { registrar: 'Thief Inc.', transferredAt: inDays(8) }),
    );
    expect(stolen.expiry?.at, 'the next transfer is not ours').toEqual(inDays(20 + YEAR));
  });
});

test('a requested transfer is expected once, for 60 days', () => {
  const trusted = { registrar: 'Ours Ltd', at: NOW, transferExpectedAt: NOW };
  const [other, ours] = [{ registrar: 'New Ltd', transferredAt: undefined }, record(20)];
  const late = new Date(inDays(60).getTime() + 1);
  expect(findDistrustReason(trusted, other, inDays(60))).toBeUndefined();
  expect(findDistrustReason(trusted, other, late)).toMatchObject({ code: 'registrar_changed' });
  const expected = (seen: Parameters<typeof updateTrustedRecord>[1], now: Date) =>
    updateTrustedRecord(trusted, seen, now).transferExpectedAt !== undefined;
  expect([expected(ours, inDays(60)), expected(ours, late), expected(other, NOW)]).toEqual([
    true,
    false,
    false,
  ]);
  expect(expected({ ...ours, transferredAt: NOW }, inDays(1)), 'from another account').toBe(false);
  expect(expected({ ...ours, transferredAt: inDays(-1) }, inDays(1)), 'an older transfer').toBe(true);
  const known = { ...trusted, transferExpectedAt: undefined };
  expect(
    findDistrustReason(known, { ...ours, transferredAt: NOW }, NOW),
    'when it was trusted',
  ).toBeUndefined();
  expect(updateTrustedRecord(known, { ...ours, transferredAt: NOW }, NOW).transferExpectedAt).toBeUndefined();
});

test('a name is at a foreign registrar if it is at none of the service’s registrars', () => {
  const elsewhere = (...own: string[]) => isAtForeignRegistrar(own, 'Ours Ltd');
  expect([elsewhere(), elsewhere('New Ltd'), elsewhere('New Ltd', 'OURS LTD.')]).toEqual([
    false,
    true,
    false,
  ]);
});
