import type { ModalView } from '@slack/types';
import { type Action, type FormFeature, renderForm } from './feature.ts';
import { formView } from './kit/form.ts';
import { okResponse, SlackApiError, type SlackWeb } from './outbound/web.ts';

/* Menus whose choice changes the fields of their form. */

/**
 * Shows one view after the other in the place of an open one. They go without its hash: of two quick changes the later one
 * wins, whatever the view showed in between.
 */
export async function updateOpenView(
  web: SlackWeb,
  id: string,
  ...views: readonly ModalView[]
): Promise<void> {
  try {
    for (const view of views) await web.call('views.update', { view_id: id, view }, okResponse);
  } catch (error) {
    // The view was closed meanwhile.
    if (!(error instanceof SlackApiError) || error.code !== 'not_found') throw error;
  }
}

/**
 * The action of a menu that {@link Field.dispatches}: renders the open form again for what was chosen; what was typed is
 * kept.
 * @param features the forms that have such a menu
 */
export function refreshing<const Name extends string>(
  field: Name,
  ...features: readonly FormFeature[]
): Action<Name> {
  return {
    id: field,
    async run(call) {
      const { view, value } = call;
      const feature = features.find(({ form }) => form.name === view?.form);
      if (view === undefined || feature === undefined) return;
      const shown = await renderForm(feature, call, view.origin, { ...view.values, [field]: value });
      await updateOpenView(call.deps.web, view.id, formView(shown));
    },
  };
}
