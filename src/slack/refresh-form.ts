import type { ModalView } from '@slack/types';
import type { Action, ActionCall, FormFeature } from './feature.ts';
import { formView } from './kit/form.ts';
import { renderForm } from './open-form.ts';
import { okResponseSchema, SlackApiError, type SlackWeb } from './outbound/web.ts';

/* Menus that change the fields of their form. */

/**
 * Replaces an open view with each of the given views in turn. Doesn't send the view's hash, because an
 * earlier update may have changed it. The caller must make sure that the last update wins.
 */
export async function updateOpenView(
  web: SlackWeb,
  viewId: string,
  ...views: readonly ModalView[]
): Promise<void> {
  try {
    for (const view of views) await web.call('views.update', { view_id: viewId, view }, okResponseSchema);
  } catch (error) {
    // The person has closed the view.
    if (!(error instanceof SlackApiError) || error.code !== 'not_found') throw error;
  }
}

/** Updates an open form in the order of the person's clicks. Ignores clicks that are older than the last one. */
export function updateInClickOrder(
  { context, clickedAt }: ActionCall,
  viewId: string,
  render: () => Promise<readonly ModalView[]>,
): Promise<void> {
  return context.formUpdates.run(
    viewId,
    async () => updateOpenView(context.web, viewId, ...(await render())),
    clickedAt,
  );
}

/**
 * The action of a menu that changes its form. Renders the open form for the new choice and keeps the input.
 * @param features the forms that have this menu
 */
export function createRefreshAction<const Name extends string>(
  fieldName: Name,
  ...features: readonly FormFeature[]
): Action<Name> {
  return {
    id: fieldName,
    async run(call) {
      const { view, value } = call;
      const feature = features.find(({ form }) => form.name === view?.formName);
      if (view === undefined || feature === undefined) return;
      await updateInClickOrder(call, view.id, async () => {
        const values = { ...view.values, [fieldName]: value };
        return [formView(await renderForm(feature, call, view.origin, values))];
      });
    },
  };
}
