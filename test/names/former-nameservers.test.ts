import { expect, test } from 'vitest';
import { findPreviousNameServers } from '../../src/names/former-nameservers.ts';
import type { FactHistory, KnownValue, NameHistory } from '../../src/names/history.ts';
import { newOrder } from '../orders/sample.ts';

const SENT = new Date('2027-06-14T12:00:00Z');
const inHours = (hours: number) => new Date(SENT.getTime() + hours * 3_600_000);
const OLD = ['ns1.old.example', 'ns2.old.example'];
const NEW = ['ns1.new.example', 'ns2.new.example'];

function sentOrder(nameServers: readonly string[] = NEW) {
  const order = newOrder(['cafe.rest'], { task: 'nameservers', input: { name: 'cafe.rest', nameServers } });
  return { ...order, items: order.items.map((item) => ({ ...item, sentAt: SENT })) };
}

/** Values with the hour of their first lookup, latest first. */
function factHistory(...values: readonly (readonly [value: readonly string[], hour: number])[]): FactHistory {
  const [current, ...past] = values.map(
    ([value, hour]): KnownValue => ({ value, firstSeen: inHours(hour), lastSeen: inHours(hour) }),
  );
  return { current, candidate: undefined, past, unseen: undefined };
}

test.each<[what: string, history: NameHistory, nameServers: readonly string[]]>([
  ['seen before the request', { parent_nameservers: factHistory([NEW, 1], [OLD, -48]) }, OLD],
  ['seen at the time of the request', { parent_nameservers: factHistory([NEW, 1], [OLD, 0]) }, OLD],
  [
    'seen last before the request',
    { parent_nameservers: factHistory([NEW, 1], [OLD, -1], [['ns.older.example'], -48]) },
    OLD,
  ],
  [
    'known at the request, if nothing was seen before',
    { parent_nameservers: factHistory([NEW, 1]) },
    ['ns.request.example'],
  ],
  [
    'known at the request, if no nameservers were seen',
    { parent_nameservers: factHistory([[], -48]) },
    ['ns.request.example'],
  ],
])('undoing requests the nameservers %s', (_what, history, nameServers) => {
  expect(findPreviousNameServers(sentOrder(), history, ['ns.request.example'])).toEqual({
    kind: 'known',
    nameServers,
  });
});

test('undoing needs known previous nameservers that differ from the requested ones', () => {
  const history = { parent_nameservers: factHistory([OLD, -48]) };
  expect(findPreviousNameServers(sentOrder([...OLD].reverse()), history, undefined)).toEqual({
    kind: 'same',
  });
  expect(findPreviousNameServers(sentOrder(), {}, undefined)).toEqual({ kind: 'unknown' });
  expect(findPreviousNameServers(sentOrder(), undefined, [])).toEqual({ kind: 'unknown' });
});
