import { expect, test } from 'vitest';
import { findPreviousNameServers } from '../../src/names/former-nameservers.ts';
import type { FactHistory, KnownValue, NameHistory } from '../../src/names/history.ts';
import { newOrder } from '../orders/sample.ts';

const SENT_AT = new Date('2027-06-14T12:00:00Z');
const hoursAfterRequest = (hours: number) => new Date(SENT_AT.getTime() + hours * 3_600_000);
const OLD_NAMESERVERS = ['ns1.old.example', 'ns2.old.example'];
const NEW_NAMESERVERS = ['ns1.new.example', 'ns2.new.example'];

function newSentOrder(nameServers: readonly string[] = NEW_NAMESERVERS) {
  const order = newOrder(['cafe.rest'], { task: 'nameservers', input: { name: 'cafe.rest', nameServers } });
  return { ...order, items: order.items.map((item) => ({ ...item, sentAt: SENT_AT })) };
}

/** Values with the hour of their first lookup, latest first. */
function newFactHistory(
  ...values: readonly (readonly [value: readonly string[], hour: number])[]
): FactHistory {
  const [current, ...past] = values.map(
    ([value, hour]): KnownValue => ({
      value,
      firstSeen: hoursAfterRequest(hour),
      lastSeen: hoursAfterRequest(hour),
    }),
  );
  return { current, candidate: undefined, past, unseen: undefined };
}

test.each<[what: string, history: NameHistory, nameServers: readonly string[]]>([
  [
    'seen before the request',
    { parent_nameservers: newFactHistory([NEW_NAMESERVERS, 1], [OLD_NAMESERVERS, -48]) },
    OLD_NAMESERVERS,
  ],
  [
    'seen at the time of the request',
    { parent_nameservers: newFactHistory([NEW_NAMESERVERS, 1], [OLD_NAMESERVERS, 0]) },
    OLD_NAMESERVERS,
  ],
  [
    'seen last before the request',
    {
      parent_nameservers: newFactHistory(
        [NEW_NAMESERVERS, 1],
        [OLD_NAMESERVERS, -1],
        [['ns.older.example'], -48],
      ),
    },
    OLD_NAMESERVERS,
  ],
  [
    'known at the request, if nothing was seen before',
    { parent_nameservers: newFactHistory([NEW_NAMESERVERS, 1]) },
    ['ns.request.example'],
  ],
  [
    'known at the request, if no nameservers were seen',
    { parent_nameservers: newFactHistory([[], -48]) },
    ['ns.request.example'],
  ],
])('undoing requests the nameservers %s', (_what, history, nameServers) => {
  expect(findPreviousNameServers(newSentOrder(), history, ['ns.request.example'])).toEqual({
    kind: 'known',
    nameServers,
  });
});

test('undoing needs known previous nameservers that differ from the requested ones', () => {
  const history = { parent_nameservers: newFactHistory([OLD_NAMESERVERS, -48]) };
  expect(findPreviousNameServers(newSentOrder([...OLD_NAMESERVERS].reverse()), history, undefined)).toEqual({
    kind: 'same',
  });
  expect(findPreviousNameServers(newSentOrder(), {}, undefined)).toEqual({ kind: 'unknown' });
  expect(findPreviousNameServers(newSentOrder(), undefined, [])).toEqual({ kind: 'unknown' });
});
