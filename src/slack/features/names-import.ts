import { readImport } from '../../names/details-import.ts';
import { decidingTagsChanged, type NameDetails } from '../../names/portfolio.ts';
import { type ActionCall, type Feature, type FormFeature, formOrigin, type Interaction } from '../feature.ts';
import { csvFile } from '../platform/csv.ts';
import { count, type Message } from '../views/blocks.ts';
import type { Form } from '../views/form.ts';
import { importIssuesText, importPlan } from '../views/names-import.ts';
import { decidingTagsText } from '../views/portfolio.ts';
import { attachedText, fileField, openFormWithFile } from './attached-text.ts';
import { mayDecide } from './may-decide.ts';
import { sendFile } from './send-file.ts';

/*
 * Owners, tags, channels and notes as CSV. A dry run shows what would change, and its button does exactly
 * that.
 */

/** Plans with more changes than a message shows are also sent as a file. */
const FILE_FROM = 20;

const form: Form = {
  name: 'names_import',
  title: 'Import owners, tags',
  submit: 'Show changes',
  fields: [
    fileField('CSV file', ['csv', 'txt', 'tsv'], 'As the export gives it.'),
    {
      name: 'rows',
      label: 'Or the names as text',
      kind: 'lines',
      optional: true,
      placeholder: 'name,owner,tags,channel,note\ncafe.rest,U0ADA,brand client-acme,C0BRAND,Ask legal',
      hint: 'A header and a name a line, as the export gives it. A missing column leaves what is set, an empty cell clears it. Nothing is changed before you have seen what would be.',
    },
  ],
};

const importForm: FormFeature = {
  form,
  needs: 'member',
  render: (_call, origin, values) => ({ form, origin, values }),
  async submit(call) {
    const given = await attachedText(call, {
      field: 'rows',
      missing: 'Attach a CSV file, or paste its rows here.',
    });
    if ('errors' in given) return { kind: 'errors', errors: given.errors };
    const read = readImport(given.text);
    if (!read.ok) return { kind: 'errors', errors: { [given.field]: importIssuesText(read.issues) } };
    const { portfolio, now } = call.deps;
    const plan = await portfolio.planImport(read.rows, call.person.id, now());
    if (plan.changed.length > FILE_FROM) await call.respond(await planFile(call, plan.changed));
    return { kind: 'done', say: importPlan(plan) };
  },
};

type Changed = Parameters<typeof importPlan>[0]['changed'];

function planFile(call: Interaction, changed: Changed): Promise<Message> {
  const cells = ({ owner, tags, channel, note }: NameDetails) => [
    owner ?? '',
    tags.join(' '),
    channel ?? '',
    note ?? '',
  ];
  const fields = ['owner', 'tags', 'channel', 'note'];
  const header = [
    'name',
    ...fields.map((field) => `${field}_before`),
    ...fields.map((field) => `${field}_after`),
  ];
  const rows = changed.map(({ name, before, after }) => [name, ...cells(before), ...cells(after)]);
  return sendFile(call, {
    text: csvFile([header, ...rows]),
    filename: 'domain-steward-names-plan.csv',
    what: `The plan with ${count(changed.length, 'change')}`,
  });
}

/** Applies exactly what was shown, or nothing: the plan is identified by the hash of its changes. */
async function applyImport(call: ActionCall): Promise<void> {
  const { portfolio, decidingTags, now, log } = call.deps;
  const [deciding, isDecider] = await Promise.all([decidingTags(), mayDecide(call)]);
  let tags: readonly string[] = [];
  const outcome = await portfolio.applyImport(call.value, call.person.id, now(), (before, after) => {
    tags = isDecider ? [] : decidingTagsChanged(before.tags, after.tags, deciding);
    return tags.length === 0;
  });
  if (outcome === 'gone') {
    return call.respond(
      'This plan was applied already, or is older than a day. Import the file again to see.',
    );
  }
  if ('stale' in outcome) return call.respond(importPlan(outcome.stale, true));
  if ('refused' in outcome) {
    return call.respond(`Nothing was changed. ${decidingTagsText(outcome.refused, tags)}`);
  }
  log.info({ by: call.person.id, names: outcome.changed }, 'details of names imported');
  await call.respond(`Saved for ${count(outcome.changed, 'name')}.`);
}

/** Opens the form, as `names import` and its button do. */
export function openNamesImport(call: Interaction): Promise<void> {
  return openFormWithFile(call, importForm, formOrigin(call), {});
}

export const namesImport: Feature = {
  forms: [importForm],
  actions: [
    { id: 'names_import', needs: 'member', run: openNamesImport },
    { id: 'names_import_apply', needs: 'member', run: applyImport },
  ],
};
