import { displayName } from '../../zones/names.ts';
import {
  type FormFeature,
  linesOf,
  renderForm,
  type SubmissionCall,
  type Submitted,
  textOf,
} from '../feature.ts';
import { type Field, type Form, type FormOrigin, type FormValues, formView } from '../kit/form.ts';

/*
 * The shortcuts: the same forms on any message, whose names are offered and whose thread gets the order's card, and
 * anywhere else.
 */

function menuOf(forms: readonly FormFeature[], names: readonly string[], origin: FormOrigin): Form {
  const options = forms.map((each) => ({ value: each.form.name, text: each.form.title }));
  return {
    name: 'task_menu',
    title: 'Domain task',
    submit: 'Next',
    fields: [
      { name: 'task', label: 'What to do', kind: 'choice', options },
      ...(names.length === 0 ? [] : [namesField(names)]),
      ...(origin.channelId === '' ? [CHANNEL] : []),
    ],
  };
}

function namesField(names: readonly string[]): Field {
  return {
    name: 'names',
    label: 'Names in the message',
    kind: 'picks',
    optional: true,
    options: names.map((name) => ({ value: name, text: displayName(name) })),
    hint: 'The form opens with those that are ticked.',
  };
}

/** The global shortcut has no channel, so the person picks one. */
const CHANNEL: Field = {
  name: 'channel',
  label: 'Channel',
  kind: 'channel',
  optional: true,
  hint: 'Where the order’s card goes. Left empty, it goes into our direct message.',
};

/** @param forms the forms to offer */
export function createTaskMenu(forms: readonly FormFeature[]): FormFeature {
  return {
    form: menuOf(forms, [], { channelId: '-' }),
    needs: 'account',
    async render(call, origin, values) {
      const refusals = await Promise.all(forms.map((each) => each.refusal?.(call)));
      const possible = forms.filter((_, index) => refusals[index] === undefined);
      return { form: menuOf(possible, linesOf(values, 'names'), origin) };
    },
    async submit(call): Promise<Submitted> {
      const chosen = forms.find((each) => each.form.name === textOf(call.values, 'task'));
      if (chosen === undefined) return { errors: { task: 'Choose what to do.' } };
      const values = valuesFor(chosen, linesOf(call.values, 'names'));
      const refusal = await chosen.refusal?.(call, values);
      if (refusal !== undefined) return { errors: { task: refusal.text } };
      if (values === undefined) {
        return { errors: { names: 'This task takes one name. Tick one.' } };
      }
      return { view: formView(await renderForm(chosen, call, await originFor(call), values)) };
    },
  };
}

/**
 * The ticked names, for the field that a form has for them.
 * @returns undefined when it takes fewer
 */
function valuesFor({ form }: FormFeature, names: readonly string[]): FormValues | undefined {
  const [name] = names;
  if (name === undefined) return {};
  const fields = form.fields.map((field) => field.name);
  if (fields.includes('names')) return { names: names.join('\n') };
  const field = ['name', 'source'].find((each) => fields.includes(each));
  if (field === undefined) return {};
  return names.length > 1 ? undefined : { [field]: name };
}

async function originFor({ origin, values, deps, person }: SubmissionCall): Promise<FormOrigin> {
  if (origin.channelId !== '') return origin;
  return {
    ...origin,
    channelId: textOf(values, 'channel') ?? (await deps.directory.directMessage(person.id)),
  };
}
