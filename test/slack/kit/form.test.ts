import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  field,
  parseForm,
  reasonField,
  requiredReasonField,
  requiredTextSchema,
  toFields,
} from '../../../src/slack/kit/form.ts';

/* A form is declared once: its fields, their parsing, and their errors. */

const short = z.string().max(3, 'Use at most 3 characters.');
const declared = z.object({
  name: field({ label: 'Name', kind: 'text' }, requiredTextSchema.pipe(short)),
  nick: field({ label: 'Nick', kind: 'text', hint: 'If you have one.' }, short.optional()),
  hosts: field({ label: 'Hosts', kind: 'lines' }, z.array(z.string()).default([])),
  code: field({ label: 'Code', kind: 'secret' }, z.string().optional()),
});

test('fields are listed in order, and marked if optional', () => {
  expect(toFields(declared)).toEqual([
    { name: 'name', label: 'Name', kind: 'text' },
    { name: 'nick', label: 'Nick', kind: 'text', hint: 'If you have one.', optional: true },
    { name: 'hosts', label: 'Hosts', kind: 'lines', optional: true },
    { name: 'code', label: 'Code', kind: 'secret', optional: true },
  ]);
});

test('a field without a label is rejected', () => {
  expect(() => toFields(z.object({ name: requiredTextSchema }))).toThrow('the field name has no display');
});

describe('a submission', () => {
  test('is read as typed or picked, without spaces around it, except for secrets', () => {
    const values = { name: ' Ada ', hosts: ' a \n\n b', code: ' 1 ', other: 'x' };
    expect(parseForm(declared, values)).toEqual({ value: { name: 'Ada', hosts: ['a', 'b'], code: ' 1 ' } });
    expect(parseForm(declared, { name: 'Ada', nick: ' ', hosts: ['a', 'b'] })).toEqual({
      value: { name: 'Ada', hosts: ['a', 'b'] },
    });
  });

  test('is refused with all errors, each at its field', () => {
    expect(parseForm(declared, { name: '  ', nick: 'longer' })).toEqual({
      errors: { name: 'Fill this in.', nick: 'Use at most 3 characters.' },
    });
  });
});

test('a reason is on one line, and can be required', () => {
  const free = z.object({ reason: reasonField('Shown in the thread.') });
  expect(parseForm(free, { reason: 'one\ntwo' })).toEqual({ value: { reason: 'one two' } });
  expect(parseForm(free, {})).toEqual({ value: {} });
  const needed = z.object({ reason: requiredReasonField('Shown in the thread.') });
  expect(parseForm(needed, { reason: ' \n ' })).toEqual({ errors: { reason: 'Enter a reason.' } });
  expect(toFields(needed)).toMatchObject([{ name: 'reason', label: 'Reason', kind: 'text' }]);
  expect(toFields(needed)[0]).not.toHaveProperty('optional');
});
