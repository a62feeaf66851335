import { describe, expect, test } from 'vitest';
import { createDnsClient } from '../../src/dns/client.ts';
import { createLog } from '../../src/log.ts';
import { type Facts, seen } from '../../src/names/facts.ts';
import { mergeObservation, type NameHistory } from '../../src/names/history.ts';
import { impactOf } from '../../src/names/impact.ts';
import { createImpacts } from '../../src/names/order-impact.ts';
import type { OrderImpact } from '../../src/names/ports.ts';
import { gate } from '../orders/rig.ts';
import { newOrder } from '../orders/sample.ts';

/*
 * Whether what hangs on a name is known when somebody approves.
 */

const ORDER = newOrder(['cafe.rest'], { task: 'authcode' });

/** Impacts where the look at a name ends, with what it saw, when the test says so. */
function impactsWith(watched?: NameHistory, seenThen: NameHistory = {}) {
  const kept = new Map<string, OrderImpact>();
  const { opened, open } = gate();
  const looks = { begun: 0 };
  const clock = { now: Date.now() };
  // An auth code changes no nameservers, so the DNS is not asked.
  const dns = createDnsClient({ servers: [], mayConnect: () => false });
  const impacts = createImpacts({
    store: { findMany: async () => [], mentioning: async () => [] },
    impacts: {
      impactOf: async (orderId) => kept.get(orderId),
      saveImpact: async (orderId, latest, seenAt) => {
        kept.set(orderId, { asked: latest, latest, isThorough: true, seenAt });
      },
      saveNameServers: async () => undefined,
      nameServersOf: async () => undefined,
    },
    dns,
    quickDns: dns,
    watchedHistory: async () => watched,
    historyOf: async (): Promise<NameHistory> => {
      looks.begun += 1;
      await opened;
      return seenThen;
    },
    now: () => new Date(clock.now),
    log: createLog('fatal'),
    signal: new AbortController().signal,
  });
  /** Keeps what a thorough look saw just now. */
  const keep = (facts: Facts) => {
    const latest = impactOf({ task: 'authcode', facts, dependents: undefined });
    kept.set(ORDER.id, { asked: latest, latest, isThorough: true, seenAt: new Date(clock.now) });
  };
  return { impacts, looks, clock, keep, endLook: open };
}

function saw(facts: Facts): NameHistory {
  return mergeObservation({}, { name: 'cafe.rest', at: new Date(), facts }).history;
}

test('an approval waits for the look that the card has begun', async () => {
  const { impacts, looks, endLook } = impactsWith();
  expect(await impacts.forCard(ORDER)).toBe('unseen');
  const known = impacts.atApproval(ORDER);
  endLook();
  expect(await known).toBe('known');
  expect(looks.begun).toBe(1);
  expect(await impacts.atApproval(ORDER)).toBe('known');
  expect(looks.begun, 'what is known is not looked at').toBe(1);
});

test('an approval does not wait longer than a person would', async () => {
  const unseen = impactsWith();
  const old = impactsWith(undefined, saw({ a: seen(['198.51.100.7']) }));
  old.keep({});
  old.clock.now += 20 * 60_000;
  const looks = [unseen, old].map(({ impacts }) => impacts.atApproval(ORDER));
  expect(await Promise.all(looks), 'the second one goes by the card').toEqual(['unknown', 'known']);
  for (const { endLook } of [unseen, old]) endLook();
});

describe('an approval long after the card was shown', () => {
  const MAIL = { mx: seen(['10 mail.cafe.rest']) };
  const LOCKED = ['client transfer prohibited'];
  const WEBSITE = { a: seen(['198.51.100.7']) };

  test.each([
    ['something that has appeared', MAIL, { ...MAIL, ...WEBSITE }, 'changed'],
    ['something that is gone', { ...MAIL, ...WEBSITE }, MAIL, 'known'],
    ['nothing new', MAIL, MAIL, 'known'],
    ['what cannot be seen any more', MAIL, {}, 'known'],
    ['what is only worth a note', { statuses: seen(LOCKED) }, { statuses: seen(['active']) }, 'known'],
  ])('finds %s', async (_what, before, after, expected) => {
    const { impacts, keep, looks, clock, endLook } = impactsWith(undefined, saw(after));
    endLook();
    keep(before);
    clock.now += 10 * 60_000;
    expect(await impacts.atApproval(ORDER), 'the card is fresh').toBe('known');
    expect(looks.begun).toBe(0);
    clock.now += 1;
    expect(await impacts.atApproval(ORDER)).toBe(expected);
    expect(looks.begun).toBe(1);
    expect(await impacts.atApproval(ORDER), 'at the second try').toBe('known');
  });
});

test('what was seen before is told without a look', async () => {
  const { impacts, looks } = impactsWith(saw({ mx: seen(['10 mail.cafe.rest']) }));
  const { items } = await impacts.stored('cafe.rest', 'lapse');
  expect(items[0]).toMatchObject({ severity: 'stops', code: 'mail' });
  expect(items).toContainEqual(expect.objectContaining({ severity: 'unseen', code: 'unseen' }));
  expect((await impactsWith().impacts.stored('cafe.rest', 'lapse')).isInUse).toBe('unknown');
  expect(looks.begun).toBe(0);
});

test('nothing is waited for where nothing is lost', async () => {
  const { impacts, looks } = impactsWith();
  expect(await impacts.atApproval(newOrder(['cafe.rest']))).toBe('known');
  expect(looks.begun).toBe(0);
});
