import {
  type Action,
  type ActionCall,
  type CommandCall,
  type FormFeature,
  type Interaction,
  toFormOrigin,
} from './feature.ts';
import { type FormContent, type FormOrigin, type FormValues, formView } from './kit/form.ts';
import { unusedWordsText } from './orders/input-issue.view.ts';
import { refusalText } from './orders/refusal.view.ts';
import { SlackApiError } from './outbound/web.ts';

/* Opens forms from a button, menu or command. */

export async function renderForm(
  feature: FormFeature,
  interaction: Interaction,
  origin: FormOrigin,
  values: FormValues,
): Promise<FormContent> {
  return { form: feature.form, origin, values, ...(await feature.render?.(interaction, origin, values)) };
}

/** Opens a form, or responds with the refusal. If Slack rejects file inputs, the form opens without them. */
export async function openForm(
  interaction: Interaction,
  feature: FormFeature,
  origin: FormOrigin,
  values: FormValues = {},
): Promise<void> {
  const refusal = await feature.checkAccess?.(interaction, values);
  if (refusal !== undefined) return interaction.respond(refusal);
  const content = await renderForm(feature, interaction, origin, values);
  const { fields } = content.form;
  const fieldsWithoutFiles = fields.filter(({ kind }) => kind !== 'file');
  try {
    await interaction.open(formView(content));
  } catch (error) {
    const isRefused = error instanceof SlackApiError && error.kind === 'refused';
    if (!isRefused || fieldsWithoutFiles.length === fields.length) throw error;
    await interaction.open(formView({ ...content, form: { ...content.form, fields: fieldsWithoutFiles } }));
  }
}

/** @param getSubject returns what the form is about, such as an order's id */
export function createOpenFormAction<const Id extends string>(
  id: Id,
  feature: FormFeature,
  getSubject: (call: ActionCall) => string | undefined = () => undefined,
): Action<Id> {
  return {
    id,
    run: (call) => openForm(call, feature, toFormOrigin(call, getSubject(call))),
  };
}

/** The words after the subcommand. The form uses the first `usedCount` of them. */
interface CommandWords {
  readonly words: readonly string[];
  readonly usedCount: number;
}

/**
 * Opens a form that is prefilled from a command and already shows errors. An unused word may be a secret, so only its
 * position is shown.
 */
export async function openFormFromCommand(
  call: CommandCall,
  feature: FormFeature,
  values: FormValues,
  { words, usedCount }: CommandWords = { words: [], usedCount: 0 },
): Promise<void> {
  const refusal = await feature.checkAccess?.(call, values);
  if (refusal !== undefined) return call.respond(refusal);
  const initialValues = {
    ...values,
    ...(call.reason === undefined ? {} : { reason: call.reason }),
    ...(call.sendAt === undefined ? {} : { send_at: call.sendAt }),
  };
  const content = await renderForm(feature, call, { channelId: call.channelId }, initialValues);
  if (call.sendAt !== undefined && content.form.fields.every(({ name }) => name !== 'send_at'))
    return call.respond(refusalText({ code: 'send_at', issue: 'not_for_task' }));
  // Positions count from 1 and include the subcommand.
  const warnings = words.length > usedCount ? [unusedWordsText(usedCount + 2, words.length + 1)] : [];
  await call.open(
    formView({ ...content, warnings, fieldWarnings: feature.findFieldErrors?.(initialValues) ?? {} }),
  );
}
