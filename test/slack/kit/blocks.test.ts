import { describe, expect, it, onTestFinished } from 'vitest';
import {
  actions,
  button,
  context,
  hasTablesOrCharts,
  header,
  lineSections,
  message,
  monthChart,
  replaceTablesAndCharts,
  section,
  sectionFields,
  setTruncationHandler,
  table,
  textMessage,
} from '../../../src/slack/kit/blocks.ts';
import { failOnTruncation } from '../../setup.ts';
import fc from '../../support/properties.ts';
import { expectValidBlocks, expectValidMessage, listMentions } from './limits.ts';

const words = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 4_000 });

describe('blocks', () => {
  it('stay within Slack’s limits for any content', () => {
    setTruncationHandler(() => undefined);
    onTestFinished(() => setTruncationHandler(failOnTruncation));
    fc.assert(
      fc.property(words, fc.integer({ min: 1, max: 60 }), (text, many) => {
        const list = Array.from({ length: many }, () => text);
        const buttons = list.map((_, n) => button(`a${n}`, text, 'v', { label: text }));
        expectValidMessage(
          message(`Renewal: ${text}`, [
            header(text),
            section(text),
            ...sectionFields(list.slice(0, 12).map((each) => ['Label', each])),
            table({ caption: text, columns: ['A', 'B'], rows: list.map((each) => [each, each]) }),
            ...actions('row', buttons),
            context(...list),
            ...lineSections(list),
          ]),
        );
      }),
      { numRuns: 40 },
    );
  });

  it('show a long field completely, across the width', () => {
    const long = Array.from({ length: 100 }, (_, n) => `ns${n}.example.net`).join('\n');
    const blocks = sectionFields([
      ['Period', '2 years'],
      ['Nameservers', long],
    ]);
    expect(blocks.map(({ fields }) => fields?.length)).toEqual([1, undefined]);
    expect(blocks.at(1)?.text?.text).toBe(`*Nameservers*\n${long}`);
  });

  it('leave out fields without a value', () => {
    const [block, ...others] = sectionFields([
      ['Period', undefined],
      ['Note', ''],
    ]);
    expect(block?.fields?.map(({ text }) => text)).toEqual(['*Note*\n']);
    expect(others).toEqual([]);
  });
});

describe('a table', () => {
  it('shows people without notifying them, and times in the reader’s time zone', () => {
    const block = table({
      caption: 'Orders',
      columns: ['What', 'Who', 'When'],
      rows: [['Renew <!channel>', { person: 'U0ALICE' }, { moment: new Date(0) }]],
    });
    expect(JSON.stringify(block)).toContain('{"type":"user","user_id":"U0ALICE"}');
    expectValidBlocks([block], 'message');
    const [fallback] = replaceTablesAndCharts([block]);
    expect(fallback).toEqual(
      section(
        '*Orders*\nWhat  ·  Who  ·  When\nRenew &lt;!channel&gt;  ·  <@U0ALICE>  ·  <!date^0^{date_short_pretty} {time}|1970-01-01 00:00 UTC>',
      ),
    );
    expect(listMentions(message('x', [block]))).not.toContain('channel');
  });

  it('keeps all rows in the text that replaces it', () => {
    const rows = Array.from({ length: 60 }, (_, n) => [`name-${n}.rest`, 'x'.repeat(80)]);
    const plain = JSON.stringify(
      replaceTablesAndCharts([table({ caption: 'c', columns: ['a', 'b'], rows })]),
    );
    expect(rows.filter(([name]) => !plain.includes(`${name}`))).toEqual([]);
  });
});

describe('a chart', () => {
  it('becomes bars of text if Slack doesn’t support charts', () => {
    const chart = monthChart('Names that expire', 'Names', [
      { label: 'Jan 2027', count: 4 },
      { label: 'Feb 2027', count: 0 },
    ]);
    expectValidBlocks([chart], 'message');
    expect(hasTablesOrCharts([chart])).toBe(true);
    expect(replaceTablesAndCharts([chart])).toEqual([
      section('*Names that expire*\n████████████ Jan 2027: 4\n· Feb 2027: 0'),
    ]);
  });
});

it('the notification text of a message has no markup', () => {
  expect(textMessage('*Done*: `/domain help`.').text).toBe('Done: /domain help.');
});
