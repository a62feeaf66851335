import { expect, test } from 'vitest';
import { readProfile } from '../../src/accounts/profile.ts';

test.each([
  [
    'as the document has it',
    { status: 1, substatus: 0, language: 'de', owner: { user: 'kim', context: 4 } },
    { status: 1, substatus: 0, language: 'de', owner: { user: 'kim', context: 4 } },
  ],
  [
    'with numbers as texts, as XML has them',
    { status: '2', owner: { user: 'kim', context: '4' } },
    { status: 2, owner: { user: 'kim', context: 4 } },
  ],
  [
    'with nothing where numbers are',
    { status: null, substatus: '', owner: { context: null } },
    { owner: {} },
  ],
  ['in other types', { status: true, substatus: [], language: 5, owner: 'kim' }, {}],
])('a user’s record %s adds no facts', (_how, record, profile) => {
  expect(readProfile(record)).toEqual(profile);
});
