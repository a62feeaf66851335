import { z } from 'zod';
import { type CsvIssue, type CsvRecord, hasExtraCells, iterateWithPauses, readCsv } from '../lib/csv.ts';
import { findColumn } from '../lib/csv-headings.ts';
import { parseDomainName } from '../zones/names.ts';
import type { ZoneIssue } from '../zones/zone-issue.ts';
import {
  DETAIL_COLUMNS,
  MAX_IMPORTED_NAMES,
  MAX_NOTE_LENGTH,
  parseTags,
  type TagIssue,
} from './portfolio.ts';

/** Parses CSV with a header row. A missing column leaves the field unchanged; an empty cell clears it. */

/** Rows are stored between the dry run and the import. */
export const importRowSchema = z.object({
  name: z.string(),
  change: z.object({
    owner: z.string().nullable().exactOptional(),
    tags: z.array(z.string()).exactOptional(),
    channel: z.string().nullable().exactOptional(),
    note: z.string().nullable().exactOptional(),
  }),
});
export type ImportRow = z.infer<typeof importRowSchema>;

export type ImportIssue =
  | CsvIssue
  | {
      readonly line: number;
      readonly code:
        | 'empty'
        | 'missing_name_column'
        | 'too_many_cells'
        | 'invalid_owner'
        | 'invalid_channel'
        | 'note_too_long';
    }
  | { readonly line: number; readonly code: 'unknown_column'; readonly column: string }
  | { readonly line: number; readonly code: 'invalid_name'; readonly issue: ZoneIssue }
  | { readonly line: number; readonly code: 'repeated'; readonly name: string }
  | { readonly line: number; readonly code: 'tags'; readonly issue: TagIssue };

/** Export columns that the import ignores. */
const IGNORED_COLUMNS: readonly string[] = ['expires', 'registrar', 'findings'];

export type ImportResult =
  | { readonly ok: true; readonly rows: readonly ImportRow[] }
  | { readonly ok: false; readonly issues: readonly ImportIssue[] };

/** Rejects the whole file if there is a single issue. */
export async function parseDetailsImport(text: string): Promise<ImportResult> {
  const csv = await readCsv(text, { maxRows: MAX_IMPORTED_NAMES, findColumn });
  if (!csv.ok) return { ok: false, issues: [csv.issue] };
  const { header } = csv;
  if (header === undefined || csv.rows.length === 0)
    return { ok: false, issues: [{ line: 1, code: 'empty' }] };
  const columns = header.cells.map(findColumn);
  const issues = findHeaderIssues(columns, header);
  if (issues.length > 0) return { ok: false, issues };
  const rows = new Map<string, ImportRow>();
  for await (const { line, cells } of iterateWithPauses(csv.rows)) {
    const row = parseRow(new Map(columns.map((column, index) => [column, cells[index] ?? ''])), line);
    if (hasExtraCells(cells, columns)) issues.push({ line, code: 'too_many_cells' });
    else if ('issues' in row) issues.push(...row.issues);
    else if (rows.has(row.name)) issues.push({ line, code: 'repeated', name: row.name });
    else rows.set(row.name, row);
  }
  return issues.length > 0 ? { ok: false, issues } : { ok: true, rows: [...rows.values()] };
}

function findHeaderIssues(columns: readonly string[], { line, cells }: CsvRecord): ImportIssue[] {
  const knownColumns: readonly string[] = ['name', ...DETAIL_COLUMNS, ...IGNORED_COLUMNS];
  return [
    ...(columns.includes('name') ? [] : [{ line, code: 'missing_name_column' } as const]),
    ...cells
      .filter((_, index) => !knownColumns.includes(columns[index] ?? ''))
      .map((column) => ({ line, code: 'unknown_column', column }) as const),
  ];
}

function parseRow(
  cells: ReadonlyMap<string, string>,
  line: number,
): ImportRow | { readonly issues: readonly ImportIssue[] } {
  const issues: ImportIssue[] = [];
  const parsedName = parseDomainName(cells.get('name') ?? '');
  if (!parsedName.ok) issues.push({ line, code: 'invalid_name', issue: parsedName.issue });
  const [owner, channel, note] = [cells.get('owner'), cells.get('channel'), cells.get('note')];
  const parsedTags = parseTags(separateTagsByComma(cells.get('tags') ?? ''));
  if (!parsedTags.ok)
    issues.push(...parsedTags.issues.map((issue) => ({ line, code: 'tags', issue }) as const));
  if (owner !== undefined && !/^([UW][A-Z0-9]{2,})?$/.test(owner))
    issues.push({ line, code: 'invalid_owner' });
  if (channel !== undefined && !/^([CG][A-Z0-9]{2,})?$/.test(channel))
    issues.push({ line, code: 'invalid_channel' });
  if (note !== undefined && note.length > MAX_NOTE_LENGTH) issues.push({ line, code: 'note_too_long' });
  if (!parsedName.ok || !parsedTags.ok || issues.length > 0) return { issues };
  return {
    name: parsedName.value.ascii,
    change: {
      ...(owner === undefined ? {} : { owner: owner || null }),
      ...(cells.has('tags') ? { tags: [...parsedTags.tags] } : {}),
      ...(channel === undefined ? {} : { channel: channel || null }),
      ...(note === undefined ? {} : { note: note.replace(/\s+/g, ' ') || null }),
    },
  };
}

/** Exports separate tags by spaces. People may also use commas, semicolons or line breaks. */
function separateTagsByComma(text: string): string {
  return /[,;\n]/.test(text) ? text : text.replace(/\s+/g, ',');
}
