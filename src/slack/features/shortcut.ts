import { type FormFeature, type Submitted, textOf } from '../feature.ts';
import { type Form, formView } from '../views/form.ts';

/*
 * The message shortcut "Domain task…": the same forms on any message, whose thread the order's card then goes into.
 */

function menuOf(forms: readonly FormFeature[]): Form {
  const options = forms.map((each) => ({ value: each.form.name, text: each.form.title }));
  return {
    name: 'task_menu',
    title: 'Domain task',
    submit: 'Next',
    fields: [{ name: 'task', label: 'What to do', kind: 'choice', options }],
  };
}

/** @param forms the forms that make sense on a message */
export function createTaskMenu(forms: readonly FormFeature[]): FormFeature {
  return {
    form: menuOf(forms),
    needs: 'linked',
    async render(call, origin, values) {
      const refusals = await Promise.all(forms.map((each) => each.refusal?.(call)));
      const possible = forms.filter((_, index) => refusals[index] === undefined);
      return { form: menuOf(possible), origin, values };
    },
    async submit(call): Promise<Submitted> {
      const chosen = forms.find((each) => each.form.name === textOf(call.values, 'task'));
      if (chosen === undefined) return { kind: 'errors', errors: { task: 'Choose what to do.' } };
      const refusal = await chosen.refusal?.(call);
      if (refusal !== undefined) return { kind: 'errors', errors: { task: refusal.text } };
      return { kind: 'view', view: formView(await chosen.render(call, call.origin, {})) };
    },
  };
}
