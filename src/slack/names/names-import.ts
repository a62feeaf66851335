import { z } from 'zod';
import { parseDetailsImport } from '../../names/details-import.ts';
import { MAX_IMPORTED_NAMES } from '../../names/portfolio.ts';
import type { ReportProgress } from '../../names/ports.ts';
import { createCsvFields, readCsvInput } from '../attached-text.ts';
import {
  type ActionCall,
  type Feature,
  type FormFeature,
  type Interaction,
  toFormOrigin,
} from '../feature.ts';
import { toFields } from '../kit/form.ts';
import { createOpenFormAction } from '../open-form.ts';
import { runWithProgress } from '../outbound/progress.ts';
import { sendFile } from '../send-file.ts';
import { completeEdit, createChangesFile } from './name-changes.ts';
import { MAX_SHOWN_CHANGES } from './name-changes.view.ts';
import { findChannelIssue } from './name-edit.ts';
import {
  importIssuesText,
  importPlanMessage,
  importProgressMessage,
  PLAN_NOT_FOUND,
} from './names-import.view.ts';
import { findNewOwnersIssue } from './owners.ts';
import { ownersIssueText } from './portfolio.view.ts';

/*
 * Imports owners, tags, channels and notes from CSV. A dry run shows the changes, and its button applies exactly those.
 */

const importSchema = z.object(
  createCsvFields(
    `In the format of an export, with at most ${MAX_IMPORTED_NAMES.toLocaleString('en')} names.`,
    {
      label: 'Or paste the names',
      placeholder: 'name,owner,tags,channel,note\ncafe.rest,U0ADA,brand client-acme,C0BRAND,Ask legal',
      hint: 'A header and one name per line, as in an export. Missing columns stay unchanged, empty cells clear a value. You can check the changes before you apply them.',
    },
  ),
);

export const namesImportForm: FormFeature<'names_import'> = {
  form: {
    name: 'names_import',
    title: 'Import owners, tags',
    submit: 'Show changes',
    fields: toFields(importSchema),
  },
  async submit(call) {
    const input = await readCsvInput(call);
    if ('errors' in input) return input;
    const parsed = await parseDetailsImport(input.text);
    if (!parsed.ok) return { errors: { [input.field]: importIssuesText(parsed.issues) } };
    const ownersIssue = await findNewOwnersIssue(
      call.context,
      parsed.rows.map(({ change }) => change.owner),
    );
    if (ownersIssue !== undefined) return { errors: { [input.field]: ownersIssueText(ownersIssue) } };
    const { portfolio, now } = call.context;
    const plan = await runWithImportProgress(call.respond, 'Compared', (onProgress) =>
      portfolio.planImport(parsed.rows, call.person.id, now(), onProgress),
    );
    const channels = plan.changedNames.flatMap(({ before, after }) =>
      after?.channel === undefined || after.channel === before?.channel ? [] : after.channel,
    );
    const channelIssue = await findChannelIssue(call.context, new Set(channels));
    if (channelIssue !== undefined)
      return { errors: { [input.field]: `${channelIssue.channelId}: ${channelIssue.text}` } };
    if (plan.changedNames.length > MAX_SHOWN_CHANGES)
      await call.respond(await sendFile(call, await createChangesFile(plan.changedNames)));
    return { reply: importPlanMessage(plan) };
  },
};

export function runWithImportProgress<T>(
  respond: Interaction['respond'],
  activity: 'Compared' | 'Changed',
  run: (onProgress: ReportProgress) => Promise<T>,
): Promise<T> {
  let progress = { done: 0, total: 0 };
  return runWithProgress(
    respond,
    () => importProgressMessage(activity, progress),
    () =>
      run((done, total) => {
        progress = { done, total };
      }),
  );
}

/** Applies the plan that the button's hash identifies, or nothing if names have changed since. */
async function applyImport(call: ActionCall): Promise<void> {
  const { protectedChanges } = call.context;
  const outcome = await runWithImportProgress(call.respond, 'Changed', (onProgress) =>
    protectedChanges.applyImport(call.value, call.person.id, toFormOrigin(call), onProgress),
  );
  if (outcome === 'gone') return call.respond(PLAN_NOT_FOUND);
  if (typeof outcome !== 'string' && 'stale' in outcome)
    return call.respond(importPlanMessage(outcome.stale, true));
  await call.respond(await completeEdit(call, outcome, false));
}

export const namesImport = {
  forms: [namesImportForm],
  actions: [
    createOpenFormAction('names_import', namesImportForm),
    { id: 'names_import_apply', run: applyImport },
  ],
} as const satisfies Feature;
