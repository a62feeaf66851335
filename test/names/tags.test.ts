import { expect, test } from 'vitest';
import { parseDetailsImport } from '../../src/names/details-import.ts';
import { parseTags } from '../../src/names/portfolio.ts';

test.each([
  ['Client ACME', ['client-acme']],
  ['brand, Client  ACME', ['brand', 'client-acme']],
  ['#Brand #Client ACME', ['brand', 'client-acme']],
  ['brand;client-acme\nshop', ['brand', 'client-acme', 'shop']],
  [' , ', []],
])('the tags %j are parsed', (text, tags) => {
  expect(parseTags(text)).toEqual({ ok: true, tags });
});

test.each([
  ['brand client-acme', ['brand', 'client-acme']],
  ['"brand, Client ACME"', ['brand', 'client-acme']],
])('a CSV cell with the tags %s is parsed', async (cell, tags) => {
  expect(await parseDetailsImport(`name,tags\ncafe.rest,${cell}\n`)).toMatchObject({
    rows: [{ change: { tags } }],
  });
});

test.each([
  ['', 'owner,channel,note', { owner: null, channel: null, note: null }],
  ['U0BOB', 'owner', { owner: 'U0BOB' }],
  ['C0OPS', 'channel', { channel: 'C0OPS' }],
  ['for  the shop', 'note', { note: 'for the shop' }],
])('cells with %j change only %s', async (cell, columns, change) => {
  const cells = columns.split(',').map(() => cell);
  const read = await parseDetailsImport(`name,${columns}\ncafe.rest,${cells.join()}\n`);
  expect(read.ok && read.rows[0]?.change).toEqual(change);
});

test('a note has at most 500 characters', async () => {
  const read = (length: number) => parseDetailsImport(`name,note\ncafe.rest,${'x'.repeat(length)}\n`);
  expect((await read(500)).ok).toBe(true);
  expect(await read(501)).toMatchObject({ issues: [{ code: 'note_too_long' }] });
});
