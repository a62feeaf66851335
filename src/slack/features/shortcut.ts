import { type FormFeature, type Submitted, textOf } from '../feature.ts';
import { type Form, formView } from '../views/form.ts';

/*
 * The message shortcut "Domain task…": the same forms on any message, whose thread the order's card then goes into.
 */

/** @param forms the forms that make sense on a message */
export function createTaskMenu(forms: readonly FormFeature[]): FormFeature {
  const form: Form = {
    name: 'task_menu',
    title: 'Domain task',
    submit: 'Next',
    fields: [
      {
        name: 'task',
        label: 'What to do',
        kind: 'choice',
        options: forms.map((each) => ({ value: each.form.name, text: each.form.title })),
      },
    ],
  };
  return {
    form,
    needs: 'linked',
    render: (_call, origin, values) => ({ form, origin, values }),
    async submit(call): Promise<Submitted> {
      const chosen = forms.find((each) => each.form.name === textOf(call.values, 'task'));
      if (chosen === undefined) return { kind: 'errors', errors: { task: 'Choose what to do.' } };
      return { kind: 'view', view: formView(await chosen.render(call, call.origin, {})) };
    },
  };
}
