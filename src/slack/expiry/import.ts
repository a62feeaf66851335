import type { Feature, FormFeature, SubmissionCall } from '../feature.ts';
import { message } from '../kit/blocks.ts';
import type { Form } from '../kit/form.ts';
import { noticeView } from '../kit/form.ts';
import { openForm } from '../orders/ordering.ts';
import { importProgress, importReport } from './expiry.view.ts';

/*
 * Putting many names on the watch list at once.
 */

/** Lists with more lines than this report their progress. */
const SLOW_LINES = 1_000;

const form: Form<'import'> = {
  name: 'import',
  title: 'Watch many names',
  submit: 'Import',
  fields: [
    {
      name: 'names',
      label: 'Names',
      kind: 'lines',
      placeholder: 'cafe.rest, 2027-03-01\nbar.rest',
      hint: 'One a line, each with its expiry after a comma or blank if you know it. A CSV file’s lines will do.',
    },
  ],
};

const importForm: FormFeature<'import'> = {
  form,

  async submit(call) {
    const typed = typedText(call);
    if (typed.trim() === '') return { errors: { names: 'Give at least one name.' } };
    const lines = typed.split(/\r\n|\n|\r/).length;
    const run = (progress: (done: number, total: number) => Promise<void>) =>
      call.deps.expiry.importNames(typed, call.person.id, progress);
    if (lines <= SLOW_LINES) {
      const { text, blocks } = importReport(await run(async () => undefined));
      return { say: message(text, blocks) };
    }
    return {
      view: noticeView(form.title, importProgress(0, lines)),
      async meanwhile(show) {
        const summary = await run((done, total) => show(noticeView(form.title, importProgress(done, total))));
        const { text, blocks } = importReport(summary);
        await show(noticeView(form.title, blocks));
        // The view may have been closed.
        await call.respond(message(text, blocks));
      },
    };
  },
};

function typedText({ values }: SubmissionCall): string {
  const value = values['names'] ?? '';
  return typeof value === 'string' ? value : value.join('\n');
}

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
