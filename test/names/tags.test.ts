import { expect, test } from 'vitest';
import { parseImport } from '../../src/names/details-import.ts';
import { parseTags } from '../../src/names/portfolio.ts';

test.each([
  ['Client ACME', ['client-acme']],
  ['brand, Client  ACME', ['brand', 'client-acme']],
  ['#Brand #Client ACME', ['brand', 'client-acme']],
  ['brand;client-acme\nshop', ['brand', 'client-acme', 'shop']],
  [' , ', []],
])('the tags %j', (text, tags) => {
  expect(parseTags(text)).toEqual({ ok: true, tags });
});

test.each([
  ['brand client-acme', ['brand', 'client-acme']],
  ['"brand, Client ACME"', ['brand', 'client-acme']],
])('a cell with the tags %s', async (cell, tags) => {
  expect(await parseImport(`name,tags\ncafe.rest,${cell}\n`)).toMatchObject({ rows: [{ change: { tags } }] });
});
