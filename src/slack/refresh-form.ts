import type { ModalView } from '@slack/types';
import type { Action, ActionCall, FormFeature } from './feature.ts';
import { formView } from './kit/form.ts';
import { renderForm } from './open-form.ts';
import { okResponse, SlackApiError, type SlackWeb } from './outbound/web.ts';

/* Menus that change their form's fields. */

/**
 * Updates an open view repeatedly. Sends no hash, because an earlier choice may have changed it; the caller makes sure
 * that the last choice wins.
 */
export async function updateOpenView(
  web: SlackWeb,
  id: string,
  ...views: readonly ModalView[]
): Promise<void> {
  try {
    for (const view of views) await web.call('views.update', { view_id: id, view }, okResponse);
  } catch (error) {
    // The view was closed.
    if (!(error instanceof SlackApiError) || error.code !== 'not_found') throw error;
  }
}

/** Updates an open form in order of choices; drops choices older than the last. */
export function updateInOrder(
  { context, clickedAt }: ActionCall,
  viewId: string,
  render: () => Promise<readonly ModalView[]>,
): Promise<void> {
  return context.openForms.run(
    viewId,
    async () => updateOpenView(context.web, viewId, ...(await render())),
    clickedAt,
  );
}

/**
 * Action of a menu that {@link Field.dispatches}: rerenders the open form for the choice and keeps input.
 * @param features forms with such a menu
 */
export function createRefreshAction<const Name extends string>(
  field: Name,
  ...features: readonly FormFeature[]
): Action<Name> {
  return {
    id: field,
    async run(call) {
      const { view, value } = call;
      const feature = features.find(({ form }) => form.name === view?.form);
      if (view === undefined || feature === undefined) return;
      await updateInOrder(call, view.id, async () => {
        const shown = await renderForm(feature, call, view.origin, { ...view.values, [field]: value });
        return [formView(shown)];
      });
    },
  };
}
