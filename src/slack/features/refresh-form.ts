import type { Action, ActionCall, FormFeature } from '../feature.ts';
import { okResponse, SlackApiError } from '../platform/web.ts';
import { formView } from '../views/form.ts';

/* Menus whose choice changes the fields of their form. */

/** Renders the open form again for what was chosen; what was typed is kept. */
async function refreshForm(call: ActionCall, feature: FormFeature, field: string): Promise<void> {
  if (call.view === undefined) return;
  const { id, values, origin } = call.view;
  const view = formView(await feature.render(call, origin, { ...values, [field]: call.value }));
  try {
    // Without its hash: of two quick changes the later one wins, whatever the view showed in between.
    await call.deps.web.call('views.update', { view_id: id, view }, okResponse);
  } catch (error) {
    // The view was closed meanwhile.
    if (!(error instanceof SlackApiError) || error.code !== 'not_found') throw error;
  }
}

/** The action of a menu that {@link Field.dispatches}. */
export function refreshing(feature: FormFeature, field: string): Action {
  return { id: field, needs: feature.needs, run: (call) => refreshForm(call, feature, field) };
}

/** The action of such a menu that several forms share. */
export function refreshingEach(features: readonly FormFeature[], field: string): Action {
  return {
    id: field,
    needs: 'account',
    async run(call) {
      const feature = features.find(({ form }) => form.name === call.view?.form);
      if (feature !== undefined) await refreshForm(call, feature, field);
    },
  };
}
