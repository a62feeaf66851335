import { expect, test } from 'vitest';
import type { JsonObject } from '../../packages/slack-workspace/page/json.ts';
import { chooseScale } from '../../packages/slack-workspace/page/scale.ts';
import { getCellText, getRows, sortRows } from '../../packages/slack-workspace/page/sorting.ts';
import { table } from '../../src/slack/kit/blocks.ts';

function buildTable(rows: string[][]): JsonObject {
  return JSON.parse(JSON.stringify(table({ caption: 'T', columns: ['Name', 'When'], rows })));
}

test('words with numbers are sorted by value, in both directions', () => {
  const [, ...body] = getRows(
    buildTable([
      ['b10.rest', '2026-01-02'],
      ['b9.rest', '2025-12-30'],
      ['A.rest', ''],
    ]),
  );
  const names = (rows: JsonObject[][]): string[] => rows.map(([cell]) => (cell ? getCellText(cell) : ''));
  expect(names(sortRows(body, 0, 'ascending'))).toEqual(['A.rest', 'b9.rest', 'b10.rest']);
  expect(names(sortRows(body, 0, 'descending'))).toEqual(['b10.rest', 'b9.rest', 'A.rest']);
  expect(names(sortRows(body, 1, 'ascending'))).toEqual(['A.rest', 'b9.rest', 'b10.rest']);
});

test('a rich-text cell is read as plain text', () => {
  const cell: JsonObject = {
    type: 'rich_text',
    elements: [
      {
        type: 'rich_text_section',
        elements: [
          { type: 'text', text: 'cafe' },
          { type: 'text', text: '.rest' },
        ],
      },
    ],
  };
  expect(getCellText(cell)).toBe('cafe.rest');
});

test.each([
  [0, { top: 1, step: 1 }],
  [3, { top: 3, step: 1 }],
  [7, { top: 8, step: 2 }],
  [12, { top: 15, step: 5 }],
  [95, { top: 100, step: 20 }],
  [1_234, { top: 1_500, step: 500 }],
])('the scale fits values up to %d', (largest, scale) => {
  expect(chooseScale(largest)).toEqual(scale);
});
