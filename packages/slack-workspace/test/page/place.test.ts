import { expect, test } from 'vitest';
import { addressOf, type Place, readPerson, readPlace } from '../../page/place.ts';

function read(address: string): Place {
  return readPlace(new URL(address, 'http://127.0.0.1:3000'));
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
  expect(read(address)).toEqual(place);
});

test('reads back the places and people in the addresses it formats', () => {
  const places: Place[] = [
    {},
    { channel: 'C1' },
    { channel: 'C1', thread: '1790000000.000100' },
    { channel: 'C1', message: '1790000000.000200', thread: '1790000000.000100' },
    { channel: 'D1', home: true },
  ];
  for (const place of places) {
    const address = addressOf(place, 'U0BOB');
    expect(read(address), address).toEqual(place);
    expect(readPerson(new URL(address, 'http://a').hash)).toBe('U0BOB');
  }
  expect(readPerson('')).toBeUndefined();
});
