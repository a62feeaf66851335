import type { FactsChange } from '../../names/ports.ts';
import { count } from '../kit/blocks.ts';
import { csvFile } from '../kit/csv-file.ts';
import type { TextFile } from '../send-file.ts';

const FIELDS = ['owner', 'tags', 'channel', 'note'] as const;

/** All that changes of names, as a CSV file. */
export function changesFile(changes: FactsChange['names']): TextFile {
  const cells = (details: FactsChange['names'][number]['after']) =>
    details === undefined
      ? FIELDS.map(() => '')
      : [details.owner ?? '', details.tags.join(' '), details.channel ?? '', details.note ?? ''];
  const header = [
    'name',
    ...FIELDS.map((field) => `${field}_before`),
    ...FIELDS.map((field) => `${field}_after`),
    'watched_after',
  ];
  const rows = changes.map(({ name, before, after }) => [
    name,
    ...cells(before),
    ...cells(after),
    after === undefined ? 'no' : 'yes',
  ]);
  return {
    text: csvFile([header, ...rows]),
    filename: 'domain-steward-names-plan.csv',
    what: `The plan with ${count(changes.length, 'change')}`,
  };
}
