import { z } from 'zod';
import { formatDomainName } from '../../zones/names.ts';
import type { FormFeature, SubmissionCall, SubmissionResult } from '../feature.ts';
import type { MenuOption } from '../kit/blocks.ts';
import {
  choicesSchema,
  type Form,
  type FormOrigin,
  type FormValues,
  field,
  formView,
  parseForm,
  splitLines,
  toFields,
} from '../kit/form.ts';
import { renderForm } from '../open-form.ts';

/*
 * The message shortcut offers task forms for the names in a message. The card is posted in the message's thread. The
 * global shortcut offers the same forms without a message.
 */

const menuSchema = z.object({
  task: field({ label: 'Task', kind: 'choice' }, z.string('Choose a task.')),
  names: field(
    {
      label: 'Names in the message',
      kind: 'multi_select',
      hint: 'The form opens with the selected names.',
    },
    choicesSchema,
  ),
  // The global shortcut has no channel, so the person picks one.
  channel: field(
    {
      label: 'Channel',
      kind: 'channel',
      hint: 'I post the order’s card there. Leave empty to get it as a direct message.',
    },
    z.string().optional(),
  ),
});

function buildMenu(
  forms: readonly FormFeature[],
  names: readonly string[],
  origin: FormOrigin,
): Form<'task_menu'> {
  const optionsByField: Readonly<Record<string, readonly MenuOption[]>> = {
    task: forms.map(({ form }) => ({ value: form.name, text: form.title })),
    names: names.map((name) => ({ value: name, text: formatDomainName(name) })),
  };
  const visibleFields = toFields(menuSchema).filter(({ name }) =>
    name === 'names' ? names.length > 0 : name !== 'channel' || origin.channelId === '',
  );
  const fields = visibleFields.map((menuField) => ({
    ...menuField,
    ...(optionsByField[menuField.name] && { options: optionsByField[menuField.name] }),
  }));
  return { name: 'task_menu', title: 'Domain task', submit: 'Next', fields };
}

export function createTaskMenu(forms: readonly FormFeature[]): FormFeature<'task_menu'> {
  return {
    form: buildMenu(forms, [], { channelId: '-' }),
    async render(interaction, origin, values) {
      const refusals = await Promise.all(forms.map((feature) => feature.checkAccess?.(interaction)));
      const allowedForms = forms.filter((_, index) => refusals[index] === undefined);
      return { form: buildMenu(allowedForms, splitLines(values['names']), origin) };
    },
    async submit(call): Promise<SubmissionResult> {
      const parsed = parseForm(menuSchema, call.values);
      if ('errors' in parsed) return parsed;
      const { task, names, channel } = parsed.value;
      const feature = forms.find(({ form }) => form.name === task);
      if (feature === undefined) return { errors: { task: 'Choose a task.' } };
      const values = toNameValues(feature, names);
      const refusal = await feature.checkAccess?.(call, values);
      if (refusal !== undefined) return { errors: { task: refusal.text } };
      if (values === undefined) {
        return { errors: { names: 'This task takes one name. Select only one.' } };
      }
      return {
        view: formView(await renderForm(feature, call, await buildFormOrigin(call, channel), values)),
      };
    },
  };
}

/**
 * Fills the name field of a form with the selected names.
 * @returns undefined if the field takes only one name
 */
function toNameValues({ form }: FormFeature, names: readonly string[]): FormValues | undefined {
  const [name] = names;
  if (name === undefined) return {};
  const fieldNames = form.fields.map((field) => field.name);
  if (fieldNames.includes('names')) return { names: names.join('\n') };
  const nameFieldName = ['name', 'source'].find((candidate) => fieldNames.includes(candidate));
  if (nameFieldName === undefined) return {};
  return names.length > 1 ? undefined : { [nameFieldName]: name };
}

async function buildFormOrigin(
  { origin, context, person }: SubmissionCall,
  channel: string | undefined,
): Promise<FormOrigin> {
  if (origin.channelId !== '') return origin;
  return {
    ...origin,
    channelId: channel ?? (await context.directory.openDirectMessage(person.id)),
  };
}
