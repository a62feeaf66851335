import { expect, test } from 'vitest';
import { parseProfile } from '../../src/accounts/profile.ts';

test.each([
  [
    'with documented values',
    { status: 1, substatus: 0, language: 'de', owner: { user: 'kim', context: 4 } },
    { status: 1, substatus: 0, language: 'de', owner: { user: 'kim', context: 4 } },
  ],
  [
    'with numbers as text, as in XML',
    { status: '2', owner: { user: 'kim', context: '4' } },
    { status: 2, owner: { user: 'kim', context: 4 } },
  ],
  ['with empty numbers', { status: null, substatus: '', owner: { context: null } }, { owner: {} }],
  ['with other types', { status: true, substatus: [], language: 5, owner: 'kim' }, {}],
])('only valid values are read from a user’s record %s', (_how, record, profile) => {
  expect(parseProfile(record)).toEqual(profile);
});
