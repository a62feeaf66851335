import { expect, test } from 'vitest';
import { newlyWatched } from '../../src/expiry/change.ts';
import { findEvidence } from '../../src/expiry/evidence.ts';
import type { WatchedDomain } from '../../src/expiry/ports.ts';
import type { RdapResult } from '../../src/expiry/rdap.ts';
import { DAY_MS } from './rig.ts';

const SENT = new Date('2027-06-14T12:00:00Z');
const BEFORE = new Date('2027-06-20T12:00:00Z');
const RENEWED = new Date('2029-06-20T12:00:00Z');
const known: WatchedDomain = {
  ...newlyWatched('cafe.rest', 'U0ALICE', SENT),
  expiry: { at: BEFORE, source: 'rdap' },
};
const moved: WatchedDomain = {
  ...known,
  expiry: { at: RENEWED, source: 'rdap' },
  moved: { from: BEFORE, at: new Date(SENT.getTime() + 60_000) },
};
const estimated: WatchedDomain = { ...known, expiry: { at: BEFORE, source: 'order' } };

const found = (expiresAt: Date, registeredAt?: Date): RdapResult => ({
  kind: 'found',
  expiresAt,
  ...(registeredAt && { registeredAt }),
  statuses: ['active'],
});
const later = (days: number) => new Date(SENT.getTime() + days * DAY_MS);
const AWAY: RdapResult = { kind: 'unavailable', reason: 'away' };
const NONE: RdapResult = { kind: 'not_found' };

test.each([
  ['renewed, and the list still has the old end', 'renew', known, found(RENEWED), 0, 'done'],
  ['renewed, and the list has seen it', 'renew', moved, found(RENEWED), 0, 'done'],
  ['unchanged, but the registry may be slow', 'renew', known, found(BEFORE), 0.5, 'unclear'],
  ['unchanged for a day', 'renew', known, found(BEFORE), 1.1, 'not_done'],
  ['another date than either', 'renew', known, found(new Date('2028-06-20T12:00:00Z')), 2, 'unclear'],
  ['renewed, but the end before was an estimate', 'renew', estimated, found(RENEWED), 2, 'unclear'],
  ['renewed, but nobody watched it', 'renew', undefined, found(RENEWED), 2, 'unclear'],
  ['no answer of the registry', 'renew', known, AWAY, 2, 'unclear'],
  ['registered when it was sent', 'create', undefined, found(RENEWED, later(0.001)), 0.1, 'done'],
  ['registered by somebody long before', 'create', undefined, found(RENEWED, later(-9)), 0.1, 'not_done'],
  ['registered by somebody later', 'create', undefined, found(RENEWED, later(3)), 4, 'unclear'],
  ['a record without its first day', 'create', undefined, found(RENEWED), 0.1, 'unclear'],
  ['not registered yet', 'create', undefined, NONE, 0.1, 'unclear'],
  ['not registered after a day', 'create', undefined, NONE, 1.1, 'not_done'],
  ['a transfer, which no record proves', 'transfer', known, found(RENEWED), 2, 'unclear'],
] as const)('%s: %s', async (_what, task, domain, result, days, expected) => {
  const deps = { rdap: { lookup: async () => result }, find: async () => domain, now: () => later(days) };
  const item = { name: 'cafe.rest', sentAt: SENT };
  const signal = new AbortController().signal;
  expect(await findEvidence(deps, { task, input: { period: 2 } }, item, signal)).toBe(expected);
});

test('what was never sent proves nothing', async () => {
  const deps = { rdap: { lookup: async () => found(RENEWED) }, find: async () => known, now: () => SENT };
  const item = { name: 'cafe.rest', sentAt: undefined };
  const order = { task: 'renew', input: { period: 2 } } as const;
  expect(await findEvidence(deps, order, item, new AbortController().signal)).toBe('unclear');
});
