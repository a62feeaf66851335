import { describe, expect, test } from 'vitest';
import type { Order } from '../../src/orders/order.ts';
import {
  canSee,
  canSeeAllOrders,
  filterVisibleOrderIds,
  listVisibleOrders,
} from '../../src/orders/visibility.ts';
import { contextWith } from '../support/context.ts';
import { NO_POLICY } from '../support/nothing-known.ts';
import { newTeamSettings } from '../support/settings.ts';
import { newOrder } from './sample.ts';

/* Bob approves all orders; Ada is an admin. */

const OPEN = newOrder(['open.rest'], { id: 'open' });
const PRIVATE = newOrder(['private.rest'], { id: 'private', isPrivate: true });
const DRAFT = newOrder(['draft.rest'], { id: 'draft', state: 'DRAFT' });

function newVisibilityContext(orders: readonly Order[], onRead: () => void = () => undefined) {
  return contextWith({
    ...NO_POLICY,
    now: () => new Date(),
    loadSettings: async () => {
      onRead();
      return newTeamSettings({ approvers: ['U0BOB'] });
    },
    directory: { findMembership: async () => 'member', listGroupMembers: async () => [] },
    store: {
      list: async ({ viewer }) => (viewer === 'system' ? orders : [OPEN]),
      load: async (id) => orders.find((order) => order.id === id),
    },
  });
}
const newViewer = (id: string) => ({ id, isAdmin: id === 'U0ADA' });

describe('an order that is', () => {
  test.each<[string, Order, seenBy: string[]]>([
    ['public', OPEN, ['U0ALICE', 'U0BOB', 'U0ADA', 'U0EVE']],
    ['private', PRIVATE, ['U0ALICE', 'U0BOB', 'U0ADA']],
    ['a draft', DRAFT, ['U0ALICE']],
  ])('%s is visible to the right people', async (_, order, seenBy) => {
    const people = ['U0ALICE', 'U0BOB', 'U0ADA', 'U0EVE'];
    const seen = await Promise.all(
      people.map((id) => canSee(newVisibilityContext([order]), order, newViewer(id))),
    );
    expect(people.filter((_person, index) => seen[index])).toEqual(seenBy);
  });
});

test.each([
  ['U0ADA', true],
  ['U0BOB', true],
  ['U0EVE', false],
])('admins and approvers can see all orders: %s (%s)', async (id, isAllowed) => {
  expect(await canSeeAllOrders(newVisibilityContext([]), newViewer(id))).toBe(isAllowed);
});

test.each<[string, Order[], visible: string[], readsRights: boolean]>([
  ['U0EVE', [OPEN], ['open'], false],
  ['U0EVE', [OPEN, PRIVATE], ['open'], true],
  ['U0ALICE', [OPEN, PRIVATE], ['open', 'private'], false],
  ['U0BOB', [OPEN, PRIVATE], ['open', 'private'], true],
  ['U0ADA', [OPEN, PRIVATE], ['open', 'private'], false],
])(
  '%s sees visible orders in lists, and rights are read only if needed (case %#)',
  async (id, orders, visible, readsRights) => {
    let reads = 0;
    const context = newVisibilityContext(orders, () => {
      reads += 1;
    });
    const ids = orders.map((order) => order.id);
    expect([...(await filterVisibleOrderIds(context, newViewer(id), ids))]).toEqual(visible);
    expect(reads > 0).toBe(readsRights);
    const listed = await listVisibleOrders(context, newViewer(id), { limit: 10 });
    expect(listed.map((order) => order.id)).toEqual(visible);
    expect(reads > 0).toBe(readsRights);
  },
);
