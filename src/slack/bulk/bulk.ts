import { z } from 'zod';
import { resumeOrder } from '../../approvals/approve.ts';
import { BULK_TASKS, type BulkTask } from '../../orders/bulk/columns.ts';
import { MAX_ROWS, parseBulkFile } from '../../orders/bulk/read-csv.ts';
import { discardDraft } from '../../orders/confirm-draft.ts';
import { getOrderTask } from '../../orders/tasks.ts';
import { createCsvFields, readCsvInput } from '../attached-text.ts';
import type {
  ActionCall,
  CommandCall,
  Feature,
  FormFeature,
  Interaction,
  SubmissionResult,
} from '../feature.ts';
import { choiceField, type FormValues, parseForm, reasonField, sendAtField, toFields } from '../kit/form.ts';
import { findNearest } from '../kit/parse.ts';
import { ownerField } from '../names/owner-fields.ts';
import { openForm } from '../open-form.ts';
import { createChangeAction } from '../orders/order-buttons.ts';
import { resumedText } from '../orders/order-buttons.view.ts';
import { requireFullView } from '../orders/order-details.ts';
import { ownershipSchema, readOwnership } from '../orders/order-form.ts';
import { checkAccount } from '../orders/ordering.ts';
import { refusalText } from '../orders/refusal.view.ts';
import { AUTH_CODES_NOTE, bulkTasksText, fileIssuesText, PLAN_DISCARDED } from './bulk.view.ts';
import { savePlan } from './bulk-plan.ts';

/* Runs one task for many names from a CSV file. The valid rows become one order. */

const bulkSchema = z.object({
  task: choiceField(
    'Task',
    Object.fromEntries(BULK_TASKS.map((task) => [task, getOrderTask(task).words.title])),
    z.enum(BULK_TASKS, 'Choose a task.'),
  ),
  ...createCsvFields(`A header and one row per name, at most ${MAX_ROWS} rows.`, {
    label: 'Or paste the rows',
    placeholder: 'name,period\ncafe.rest,1\nbar.rest,2',
    hint: 'A header and one row per name. Columns: “name”, “period”, “nameservers”, “ownerc”, “adminc”, “techc”, “auth”. You can check the plan before you request it.',
  }),
  owner: ownerField({ label: 'Owner on your team', hint: 'For registrations and transfers.' }),
  note: ownershipSchema.shape.note,
  reason: reasonField('Shown to the approvers.'),
  send_at: sendAtField,
});

function needsOwner(task: BulkTask): boolean {
  return task === 'create' || task === 'transfer';
}

/** The requester is the owner unless the form says otherwise. */
function addDefaultOwner({ person }: Interaction, values: FormValues): FormValues {
  return { owner: person.id, ...values };
}

const bulkForm: FormFeature<'bulk'> = {
  form: { name: 'bulk', title: 'Bulk task', submit: 'Show plan', fields: toFields(bulkSchema) },
  render: (interaction, _origin, values) => ({
    intro: [AUTH_CODES_NOTE],
    values: addDefaultOwner(interaction, values),
  }),

  async submit(call): Promise<SubmissionResult> {
    const parsed = parseForm(bulkSchema, call.values);
    if ('errors' in parsed) return parsed;
    const { task, reason, send_at: sendAt } = parsed.value;
    const csv = await readCsvInput(call);
    if ('errors' in csv) return csv;
    const { text, field } = csv;
    const refusal = await checkAccount(call, task);
    if (refusal !== undefined) return { reply: refusal };
    const file = await parseBulkFile(task, text);
    if (!file.ok) return { errors: { [field]: fileIssuesText(file.issues, task, findNearest) } };
    const ownership = await readOwnership(needsOwner(task), call, addDefaultOwner(call, call.values));
    if ('errors' in ownership) return ownership;
    return savePlan(call, call.origin, { task, ...file, ...ownership, reason, sendAt });
  },
};

async function runBulk(call: CommandCall): Promise<void> {
  const [word, ...extraWords] = call.words.map((text) => text.toLowerCase());
  const task = BULK_TASKS.find((name) => name === word);
  if (extraWords.length > 0 || (word !== undefined && task === undefined)) {
    return call.respond(bulkTasksText(findNearest(word ?? '', BULK_TASKS)));
  }
  const values = {
    ...(task === undefined ? {} : { task }),
    ...(call.reason === undefined ? {} : { reason: call.reason }),
    ...(call.sendAt === undefined ? {} : { send_at: call.sendAt }),
  };
  await openForm(call, bulkForm, { channelId: call.channelId }, values);
}

async function discardPlan(call: ActionCall): Promise<void> {
  const refusal = await discardDraft(call.context.orders, call.value, call.person.id);
  await call.respond(refusal === undefined ? PLAN_DISCARDED : refusalText(refusal), {
    replace: refusal === undefined,
  });
}

export const bulk = {
  commands: [
    {
      usage: 'bulk [TASK]',
      summary: 'Request one task for up to 2,000 names from a CSV file',
      example: '/domain bulk renew',
      time: 'accepted',
      run: runBulk,
    },
  ],
  forms: [bulkForm],
  actions: [
    { id: 'bulk_drop', run: discardPlan },
    { id: 'order_resume', run: requireFullView(createChangeAction(resumeOrder, resumedText)) },
  ],
} as const satisfies Feature;
