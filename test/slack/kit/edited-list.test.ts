import { expect, test } from 'vitest';
import { z } from 'zod';
import { createListForm } from '../../../src/slack/kit/edited-list.ts';
import {
  choiceField,
  type FormOrigin,
  type FormValues,
  textField,
  unvalidatedTextSchema,
} from '../../../src/slack/kit/form.ts';

/*
 * The form of a list, declared once for new and existing entries: its content, parsing and responses.
 */

interface Tea {
  readonly name: string;
  readonly cups: number;
}

function createTeaForm(teas: Map<string, Tea>) {
  return createListForm({
    form: { name: 'tea', title: 'Tea', submit: 'Save' },
    createSchema: (tea: Tea | undefined) =>
      z.object({
        name: textField('Name', {}, z.string('Give a name.')),
        cups: textField(
          'Cups',
          { kind: 'number' },
          z.coerce.number('Give a number.').min(tea?.cups ?? 0, 'Fewer.'),
        ),
        kind: choiceField('Kind', { green: 'Green', black: 'Black' }, unvalidatedTextSchema),
      }),
    find: async (_call: object, id: string) => teas.get(id),
    buildValues: (tea) => (tea === undefined ? { cups: '1' } : { name: tea.name, cups: String(tea.cups) }),
    notFoundErrors: { name: 'It is drunk.' },
    async save(_call: { readonly values: FormValues; readonly origin: FormOrigin }, { name, cups }, tea) {
      return { reply: `${tea?.name ?? 'new'} → ${name} ${cups}` };
    },
  });
}

const HERE = { channelId: 'C1' };
const originOf = (subject: string) => ({ ...HERE, subject });

test('the form shows the current entry, overridden by typed values', async () => {
  const list = createTeaForm(new Map([['t1', { name: 'Assam', cups: 3 }]]));
  expect(list.form.fields.map(({ name, optional = false }) => [name, optional])).toEqual([
    ['name', false],
    ['cups', false],
    ['kind', true],
  ]);
  expect((await list.render({}, HERE, {})).values).toEqual({ cups: '1' });
  expect((await list.render({}, originOf('t1'), { cups: '4' })).values).toEqual({ name: 'Assam', cups: '4' });
});

test('a submission saves the entry, or reports all errors or that the entry is gone', async () => {
  const teas = new Map([['t1', { name: 'Assam', cups: 3 }]]);
  const list = createTeaForm(teas);
  const submit = (origin: FormOrigin, values: FormValues) => list.submit({ origin, values });
  expect(await submit(HERE, { name: 'Mate', cups: '2' })).toEqual({ reply: 'new → Mate 2' });
  expect(await submit(originOf('t1'), { name: 'Darjeeling', cups: '5' })).toEqual({
    reply: 'Assam → Darjeeling 5',
  });
  expect(await submit(originOf('t1'), { cups: '2' })).toEqual({
    errors: { name: 'Give a name.', cups: 'Fewer.' },
  });
  teas.clear();
  expect(await submit(originOf('t1'), { name: 'Darjeeling', cups: '5' })).toEqual({
    errors: { name: 'It is drunk.' },
  });
});
