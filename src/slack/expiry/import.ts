import { z } from 'zod';
import { parseImport } from '../../expiry/import.ts';
import { attachedFields, attachedText } from '../attached-text.ts';
import type { Feature, FormFeature } from '../feature.ts';
import { message } from '../kit/blocks.ts';
import { fieldsOf, noticeView } from '../kit/form.ts';
import { gateOf } from '../names/fact-changes.ts';
import { openForm } from '../open-form.ts';
import { importProgress, importReport } from './expiry.view.ts';
import { listIssueText } from './watch-list.view.ts';

/*
 * Putting many names on the watch list at once.
 */

/** Lists with more lines than this report their progress. */
const SLOW_LINES = 1_000;

const NAMES = 'names';

const imported = z.object(
  attachedFields(
    {
      label: 'CSV file',
      fileTypes: ['csv', 'txt', 'tsv'],
      hint: 'With headings, such as “domain” and “expires”, or one name a line.',
    },
    NAMES,
    {
      label: 'Or the names as text',
      placeholder: 'cafe.rest, 2027-03-01\nbar.rest',
      hint: 'One a line, each with its expiry after a comma or blank if you know it. Slack takes 3,000 characters here, about 100 names. Attach a file if you have more.',
    },
  ),
);

const importForm: FormFeature<'import'> = {
  form: { name: 'import', title: 'Watch many names', submit: 'Import', fields: fieldsOf(imported) },

  async submit(call) {
    const given = await attachedText(call, {
      field: NAMES,
      missing: 'Attach a file, or give at least one name.',
    });
    if ('errors' in given) return given;
    const list = await parseImport(given.text);
    if ('issue' in list) return { errors: { [given.field]: listIssueText(list.issue) } };
    const run = (progress: (done: number, total: number) => Promise<void>) =>
      call.context.expiry.importNames(list, gateOf(call), progress);
    const total = list.accepted.length;
    if (total + list.rejected.length <= SLOW_LINES) {
      const { text, blocks } = importReport(await run(async () => undefined));
      return { say: message(text, blocks) };
    }
    const { title } = importForm.form;
    return {
      view: noticeView(title, importProgress(0, total)),
      async meanwhile(show) {
        const summary = await run((done) => show(noticeView(title, importProgress(done, total))));
        const { text, blocks } = importReport(summary);
        await show(noticeView(title, blocks));
        // The view may have been closed.
        await call.respond(message(text, blocks));
      },
    };
  },
};

export const importing = {
  commands: [
    {
      usage: 'import',
      summary: 'Put many names on the watch list',
      example: '/domain import',
      run: (call) => openForm(call, importForm, { channelId: call.channelId }),
    },
  ],
  forms: [importForm],
} as const satisfies Feature;
