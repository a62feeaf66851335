import { expect, test } from 'vitest';
import type { Incident, IncidentChange } from '../../src/names/incident.ts';
import { createOrderIncidents } from '../../src/names/order-incidents.ts';
import type { IncidentWarning } from '../../src/names/ports.ts';
import { newOrder } from '../orders/sample.ts';
import { namesContextWith } from '../support/names-context.ts';

/* Which approvers know the open incidents of an order's names. */

const at = (hour: number) => new Date(Date.UTC(2026, 10, 22, hour));
const change: IncidentChange = {
  ...{ kind: 'lock', fact: 'statuses', before: ['client transfer prohibited'], after: [], expiry: undefined },
  ...{ beforeLastSeenAt: at(0), afterFirstSeenAt: at(1), noticedAt: at(2), orders: [] },
};
const incident = (id: string, changes: number): Incident => ({
  ...{ id, name: 'cafe.rest', version: 1, state: 'open', openedAt: at(2) },
  ...{
    proposedExplanation: undefined,
    explanation: undefined,
    raisedBy: undefined,
    overAt: undefined,
    channelId: undefined,
  },
  changes: Array.from({ length: changes }, () => change),
});
const warned = (
  incidentId: string,
  changeCount: number,
  hour: number,
  userId = 'U0BOB',
): IncidentWarning => ({
  ...{ incidentId, changeCount, userId },
  at: at(hour),
});

async function informedSince(open: readonly Incident[], warnings: readonly IncidentWarning[]) {
  const incidents = { listOpen: async () => open, listWarnings: async () => warnings };
  const known = await createOrderIncidents(
    namesContextWith({ incidents, now: () => at(9) }),
  ).loadOpenIncidents(newOrder(['cafe.rest']));
  return known && [...known.informedSince];
}

test('a person who was shown every change is informed from then on', async () => {
  expect(await informedSince([incident('a', 2)], [warned('a', 2, 3)])).toEqual([['U0BOB', at(3)]]);
});

test('a change since then must be shown again', async () => {
  expect(await informedSince([incident('a', 3)], [warned('a', 2, 3)])).toEqual([]);
});

test('with two incidents, both must be shown, and the later time counts', async () => {
  const both = [incident('a', 1), incident('b', 1)];
  expect(await informedSince(both, [warned('a', 1, 3)])).toEqual([]);
  expect(await informedSince(both, [warned('a', 1, 3), warned('b', 1, 5)])).toEqual([['U0BOB', at(5)]]);
});

test('a warning informs only the person who was shown it', async () => {
  const warnings = [warned('a', 1, 3), warned('a', 0, 4, 'U0CAROL')];
  expect(await informedSince([incident('a', 1)], warnings)).toEqual([['U0BOB', at(3)]]);
});

test('without an open incident, no one needs to be informed', async () => {
  expect(await informedSince([], [])).toBeUndefined();
});
