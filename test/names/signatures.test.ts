import { expect, test } from 'vitest';
import { createFact, createUnknownFact, type Fact } from '../../src/names/facts.ts';
import { getSignatureWarningTime, toSignaturesFact } from '../../src/names/signatures.ts';
import fc from '../support/properties.ts';

const AT = new Date('2026-11-22T00:00:00Z');
const HOUR = 3_600;
const now = AT.getTime() / 1000;
/** In hours from now. */
const signed = (begin: number, end: number) => ({
  inception: (now + begin * HOUR) >>> 0,
  expiration: (now + end * HOUR) >>> 0,
});
const ends = (hours: number, ...kind: string[]): Fact =>
  createFact([new Date(AT.getTime() + hours * HOUR * 1000).toISOString(), ...kind]);
const LONG = signed(-9, 1000);

test.each([
  ['the latest signature of an RRset', [[signed(-9, 200), signed(-9, 300)], [LONG]], ends(300)],
  ['the RRset that expires first', [[signed(-9, 400)], [signed(-9, 300)]], ends(300)],
  ['an expired signature', [[signed(-300, -9)], [LONG]], ends(-9)],
  ['a signature that begins within a day', [[signed(23, 300)], [LONG]], ends(300)],
  ['a signature that begins in a day', [[signed(24, 300)], [LONG]], ends(300)],
  ['no signature without a duration', [[signed(-9, -9)], [LONG]], createUnknownFact('unsigned_answer')],
  ['no signature that begins later', [[signed(25, 300), signed(-9, 200)], [LONG]], ends(200)],
  ['nothing that ends before it begins', [[signed(-9, -10)], [LONG]], createUnknownFact('unsigned_answer')],
  ['a signature of less than a week as short', [[LONG], [signed(-25, 25)]], ends(25, 'short')],
  ['a signature of a week as long', [[LONG], [signed(-68, 100)]], ends(100)],
  ['the RRset to warn of first', [[signed(-900, 90)], [signed(-25, 25)]], ends(90)],
  ['nothing if an RRset has no signature', [[LONG], []], createUnknownFact('unsigned_answer')],
])('counts %s', (_case, found, fact) => {
  expect(toSignaturesFact(found, AT)).toEqual(fact);
});

test.each<
  [what: string, kind: string[], firstSeen: number, lastSeen: number, warnedFrom: number | undefined]
>([
  ['a long signature three days before it expires', [], -99, 0, 28],
  ['a long signature that is first seen later, at once', [], 50, 60, 50],
  ['a short signature that the next daily lookup finds again', ['short'], 40, 58, 40],
  ['no short signature that is newer', ['short'], 40, 57.9, undefined],
  ['a short signature that expired', ['short'], 99, 100, 99],
])('warns of %s', (_what, kind, firstSeen, lastSeen, warnedFrom) => {
  const at = (hours: number) => new Date(AT.getTime() + hours * HOUR * 1000);
  const value = [at(100).toISOString(), ...kind];
  const from = warnedFrom === undefined ? undefined : at(warnedFrom).getTime();
  expect(getSignatureWarningTime({ value, firstSeen: at(firstSeen), lastSeen: at(lastSeen) })).toBe(from);
});

test('signature times wrap around in 2106', () => {
  const at = new Date((2 ** 32 - HOUR) * 1000);
  const signature = { inception: 2 ** 32 - 200 * HOUR, expiration: 100 * HOUR };
  const end = new Date((2 ** 32 + 100 * HOUR) * 1000).toISOString();
  expect(toSignaturesFact([[signature], [signature]], at)).toEqual(createFact([end]));
});

test('any signature times are accepted', () => {
  const serial = fc.integer({ min: 0, max: 2 ** 32 - 1 });
  const signatures = fc.array(fc.record({ inception: serial, expiration: serial }), { maxLength: 50 });
  fc.assert(
    fc.property(signatures, signatures, (keys, soa) => {
      expect(['seen', 'unseen']).toContain(toSignaturesFact([keys, soa], AT).state);
    }),
  );
});
