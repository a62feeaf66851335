import { expect, test } from 'vitest';
import { buildPlaceUrl, type Place, parsePersonId, parsePlace } from '../../page/place.ts';

function readPlaceFrom(address: string): Place {
  return parsePlace(new URL(address, 'http://127.0.0.1:3000'));
}

test.each<[string, Place]>([
  ['/', {}],
  ['/archives/C1', { channel: 'C1' }],
  ['/archives/C1/p1790000000000100', { channel: 'C1', message: '1790000000.000100' }],
  [
    '/archives/C1/p1790000000000200?thread_ts=1790000000.000100&cid=C1',
    { channel: 'C1', message: '1790000000.000200', thread: '1790000000.000100' },
  ],
  ['/archives/D1#as=U0BOB&tab=home', { channel: 'D1', home: true }],
  ['/archives/C1/nonsense', { channel: 'C1' }],
  ['/elsewhere/C1', {}],
])('reads the place in %s', (address, place) => {
  expect(readPlaceFrom(address)).toEqual(place);
});

test('reads back the place and the person from a formatted address', () => {
  const places: Place[] = [
    {},
    { channel: 'C1' },
    { channel: 'C1', thread: '1790000000.000100' },
    { channel: 'C1', message: '1790000000.000200', thread: '1790000000.000100' },
    { channel: 'D1', home: true },
  ];
  for (const place of places) {
    const address = buildPlaceUrl(place, 'U0BOB');
    expect(readPlaceFrom(address), address).toEqual(place);
    expect(parsePersonId(new URL(address, 'http://a').hash)).toBe('U0BOB');
  }
  expect(parsePersonId('')).toBeUndefined();
});
