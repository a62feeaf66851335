import { expect, test } from 'vitest';
import { createDnsClient } from '../../src/dns/client.ts';
import { createLog } from '../../src/log.ts';
import { seen } from '../../src/names/facts.ts';
import { mergeObservation, type NameHistory } from '../../src/names/history.ts';
import { createImpacts } from '../../src/names/order-impact.ts';
import type { OrderImpact } from '../../src/names/ports.ts';
import { gate } from '../orders/rig.ts';
import { newOrder } from '../orders/sample.ts';

/*
 * Whether what hangs on a name is known when somebody approves.
 */

const ORDER = newOrder(['cafe.rest'], { task: 'authcode' });

/** Impacts where the look at a name ends when the test says so. */
function impactsWith(watched?: NameHistory) {
  const kept = new Map<string, OrderImpact>();
  const { opened, open } = gate();
  const looks = { begun: 0 };
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
      return {};
    },
    now: () => new Date(),
    log: createLog('fatal'),
    signal: new AbortController().signal,
  });
  return { impacts, looks, endLook: open };
}

test('an approval waits for the look that the card has begun', async () => {
  const { impacts, looks, endLook } = impactsWith();
  expect(await impacts.forCard(ORDER)).toBe('unseen');
  const known = impacts.isKnown(ORDER);
  endLook();
  expect(await known).toBe(true);
  expect(looks.begun).toBe(1);
  expect(await impacts.isKnown(ORDER)).toBe(true);
  expect(looks.begun, 'what is known is not looked at').toBe(1);
});

test('an approval does not wait longer than a person would', async () => {
  const { impacts, endLook } = impactsWith();
  expect(await impacts.isKnown(ORDER)).toBe(false);
  endLook();
});

test('what was seen before is told without a look', async () => {
  const observed = { name: 'cafe.rest', at: new Date(), facts: { mx: seen(['10 mail.cafe.rest']) } };
  const { impacts, looks } = impactsWith(mergeObservation({}, observed).history);
  const { items } = await impacts.stored('cafe.rest', 'lapse');
  expect(items[0]).toMatchObject({ severity: 'stops', code: 'mail' });
  expect(items).toContainEqual(expect.objectContaining({ severity: 'unseen', code: 'unseen' }));
  expect((await impactsWith().impacts.stored('cafe.rest', 'lapse')).isInUse).toBe('unknown');
  expect(looks.begun).toBe(0);
});

test('nothing is waited for where nothing is lost', async () => {
  const { impacts, looks } = impactsWith();
  expect(await impacts.isKnown(newOrder(['cafe.rest']))).toBe(true);
  expect(looks.begun).toBe(0);
});
