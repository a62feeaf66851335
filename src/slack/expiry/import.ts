import { z } from 'zod';
import { parseWatchListImport } from '../../expiry/import.ts';
import { createTextFields, readTextInput } from '../attached-text.ts';
import type { Feature, FormFeature } from '../feature.ts';
import { message } from '../kit/blocks.ts';
import { noticeView, toFields } from '../kit/form.ts';
import { createChangeSaver } from '../names/name-changes.ts';
import { openForm } from '../open-form.ts';
import { buildImportReport, importProgressBlocks } from './expiry.view.ts';
import { importIssueText } from './watch-list.view.ts';

const MAX_LINES_WITHOUT_PROGRESS = 1_000;

const NAMES_FIELD = 'names';

const importSchema = z.object(
  createTextFields(
    {
      label: 'CSV file',
      fileTypes: ['csv', 'txt', 'tsv'],
      hint: 'With column headings such as “domain” and “expires”, or with one name per line.',
    },
    NAMES_FIELD,
    {
      label: 'Or paste the names',
      placeholder: 'cafe.rest, 2027-03-01\nbar.rest',
      hint: 'One name per line. If you know the expiry date, put it after a comma or space. For more than about 100 names, attach a file.',
    },
  ),
);

const importForm: FormFeature<'import'> = {
  form: { name: 'import', title: 'Watch names in bulk', submit: 'Import', fields: toFields(importSchema) },

  async submit(call) {
    const input = await readTextInput(call, {
      field: NAMES_FIELD,
      errorIfEmpty: 'Attach a file, or enter at least one name.',
    });
    if ('errors' in input) return input;
    const parsed = await parseWatchListImport(input.text);
    if ('issue' in parsed) return { errors: { [input.field]: importIssueText(parsed.issue) } };
    const importNames = (onProgress: (importedCount: number, total: number) => Promise<void>) =>
      call.context.expiry.importNames(parsed, createChangeSaver(call), onProgress);
    const total = parsed.accepted.length;
    if (total + parsed.rejected.length <= MAX_LINES_WITHOUT_PROGRESS) {
      const { text, blocks } = buildImportReport(await importNames(async () => undefined));
      return { reply: message(text, blocks) };
    }
    const { title } = importForm.form;
    return {
      view: noticeView(title, importProgressBlocks(0, total)),
      async backgroundTask(show) {
        const summary = await importNames((importedCount) =>
          show(noticeView(title, importProgressBlocks(importedCount, total))),
        );
        const { text, blocks } = buildImportReport(summary);
        await show(noticeView(title, blocks));
        // The person may have closed the view.
        await call.respond(message(text, blocks));
      },
    };
  },
};

export const watchListImport = {
  commands: [
    {
      usage: 'import',
      summary: 'Watch names in bulk',
      example: '/domain import',
      run: (call) => openForm(call, importForm, { channelId: call.channelId }),
    },
  ],
  forms: [importForm],
} as const satisfies Feature;
