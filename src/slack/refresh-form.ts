import type { ModalView } from '@slack/types';
import type { Action, ActionCall, FormFeature } from './feature.ts';
import { formView } from './kit/form.ts';
import { renderForm } from './open-form.ts';
import { okResponse, SlackApiError, type SlackWeb } from './outbound/web.ts';

/* Menus whose choice changes the fields of their form. */

/**
 * Shows one view after the other in the place of an open one. They go without its hash, which the choice before may have
 * changed: the caller sees to it that the last choice wins.
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

/** Changes an open form for a choice, after those that were made before it; for none that was made before the last one. */
export function afterEarlier(
  { context, pressedAt }: ActionCall,
  viewId: string,
  render: () => Promise<readonly ModalView[]>,
): Promise<void> {
  return context.openForms.run(
    viewId,
    async () => updateOpenView(context.web, viewId, ...(await render())),
    pressedAt,
  );
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
      await afterEarlier(call, view.id, async () => {
        const shown = await renderForm(feature, call, view.origin, { ...view.values, [field]: value });
        return [formView(shown)];
      });
    },
  };
}
