import { z } from 'zod';
import { decodeFile, MAX_CSV_BYTES } from '../lib/csv.ts';
import type { SubmissionCall } from './feature.ts';
import {
  BOTH_FILE_AND_TEXT,
  FILE_ACCESS_NOT_GRANTED,
  FILE_DELETED,
  FILE_UNREADABLE,
  NO_CSV_GIVEN,
} from './files.view.ts';
import { formatUnreadableFile } from './kit/csv-issue.view.ts';
import { type FieldDisplay, type FieldErrors, field, splitLines } from './kit/form.ts';
import { SlackApiError } from './outbound/web.ts';

/* Form fields for text that is attached as a file or pasted. */

const FILE_FIELD = 'file';
const ROWS_FIELD = 'rows';

export function createTextFields<Name extends string>(
  fileDisplay: { readonly label: string; readonly fileTypes: readonly string[]; readonly hint: string },
  pasteFieldName: Name,
  pasteDisplay: Omit<FieldDisplay, 'kind'>,
) {
  return {
    [FILE_FIELD]: field({ ...fileDisplay, kind: 'file' }, z.string().optional()),
    [pasteFieldName]: field({ ...pasteDisplay, kind: 'lines' }, z.array(z.string()).optional()),
  };
}

export function createCsvFields(hint: string, pasteDisplay: Omit<FieldDisplay, 'kind'>) {
  return createTextFields(
    { label: 'CSV file', fileTypes: ['csv', 'txt', 'tsv'], hint },
    ROWS_FIELD,
    pasteDisplay,
  );
}

type TextInputResult = { readonly text: string; readonly field: string } | { readonly errors: FieldErrors };

/** Reads the CSV file from a form that also has a field for pasting rows. */
export function readCsvInput(call: SubmissionCall): Promise<TextInputResult> {
  return readTextInput(call, { field: ROWS_FIELD, errorIfEmpty: NO_CSV_GIVEN });
}

export async function readTextInput(
  call: SubmissionCall,
  {
    field: pasteField,
    errorIfEmpty,
    isPrefilled = false,
  }: {
    readonly field: string;
    readonly errorIfEmpty: string;
    /** Whether the field is prefilled with the current text. An attached file then takes precedence. */
    readonly isPrefilled?: boolean;
  },
): Promise<TextInputResult> {
  const { context, values } = call;
  // Whitespace within the text is kept, because it matters in YAML.
  const pastedText = [values[pasteField] ?? []].flat().join('\n').trimEnd();
  const [url] = splitLines(values[FILE_FIELD]);
  if (url !== undefined && pastedText !== '' && !isPrefilled)
    return { errors: { [pasteField]: BOTH_FILE_AND_TEXT } };
  if (url === undefined)
    return pastedText === ''
      ? { errors: { [pasteField]: errorIfEmpty } }
      : { text: pastedText, field: pasteField };
  try {
    const decoded = decodeFile(await context.readFile(url));
    return decoded.ok
      ? { text: decoded.text, field: FILE_FIELD }
      : { errors: { [FILE_FIELD]: formatUnreadableFile(decoded.issue) } };
  } catch (error) {
    if (!(error instanceof SlackApiError)) throw error;
    context.log.warn({ err: error, by: call.person.id }, 'reading an attached file failed');
    return { errors: { [FILE_FIELD]: fileErrorText(error) } };
  }
}

function fileErrorText({ code }: SlackApiError): string {
  switch (code) {
    case 'too_large':
      return formatUnreadableFile({ code: 'too_large', maxBytes: MAX_CSV_BYTES });
    case 'missing_scope':
      return FILE_ACCESS_NOT_GRANTED;
    case 'file_deleted':
      return FILE_DELETED;
    default:
      return FILE_UNREADABLE;
  }
}
