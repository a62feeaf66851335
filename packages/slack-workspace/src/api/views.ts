import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Core } from '../core.ts';
import { SlackError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { createContentError } from '../messages.ts';
import type { JsonObject, View } from '../protocol.ts';
import { APP, TEAM } from '../seed.ts';
import { buildView, checkView } from '../views.ts';
import { defineMethod, type Method, objectArgument } from './method.ts';

/** @throws SlackError `invalid_arguments`, `unsupported_by_local_workspace` or `view_too_large` */
function validatePayload(payload: JsonObject, type: 'modal' | 'home'): JsonObject {
  if (JSON.stringify(payload).length > LIMITS.view.size) throw new SlackError('view_too_large');
  const problems = checkView(payload, type);
  if (problems.length > 0) throw createContentError('invalid_arguments', problems);
  return payload;
}

function createViewHash(core: Core): string {
  return `${Math.floor(core.state.now() / 1_000)}.${randomBytes(4).toString('hex')}`;
}

/** @param previousView the modal under the new one */
function openView(
  core: Core,
  payload: JsonObject,
  userId: string,
  type: View['type'],
  previousView?: View,
): View {
  const id = core.state.nextId('V');
  const view = buildView(
    validatePayload(payload, type),
    {
      id,
      hash: createViewHash(core),
      team_id: TEAM.id,
      app_id: APP.id,
      bot_id: APP.botId,
      root_view_id: previousView?.root_view_id ?? id,
      previous_view_id: previousView?.id ?? null,
    },
    undefined,
  );
  core.state.showView(userId, view);
  return view;
}

/** @throws SlackError `push_limit_reached` for more than three modals, or the errors of {@link openView} */
export function pushView(core: Core, payload: JsonObject, userId: string, previousView: View): View {
  const stack = core.state
    .getModals(userId)
    .filter((view) => view.root_view_id === previousView.root_view_id);
  if (stack.length >= LIMITS.view.stackedModals) throw new SlackError('push_limit_reached');
  return openView(core, payload, userId, 'modal', previousView);
}

/** Replaces the content of an open view. Keeps its ids, and what a person entered in inputs that haven't changed. */
export function updateView(core: Core, payload: JsonObject, userId: string, oldView: View): View {
  const view = buildView(
    validatePayload(payload, oldView.type),
    { ...oldView, hash: createViewHash(core) },
    oldView,
  );
  core.state.showView(userId, view);
  return view;
}

export function viewForApps(view: View): JsonObject {
  const copy: JsonObject = JSON.parse(JSON.stringify(view));
  if (view.type === 'home') for (const field of ['title', 'submit', 'close']) delete copy[field];
  return { ...copy, app_installed_team_id: TEAM.id };
}

const triggerArgsSchema = z.object({ trigger_id: z.string(), view: objectArgument });

const viewsOpen = defineMethod([], triggerArgsSchema, (core, args) => {
  const { userId } = core.triggers.exchange(args.trigger_id);
  return { view: viewForApps(openView(core, args.view, userId, 'modal')) };
});

const viewsPush = defineMethod([], triggerArgsSchema, (core, args) => {
  const { userId, viewId } = core.triggers.exchange(args.trigger_id);
  const previousView = core.state.getModals(userId).find((view) => view.id === viewId);
  if (!previousView) throw new SlackError('not_found');
  return { view: viewForApps(pushView(core, args.view, userId, previousView)) };
});

const viewsUpdate = defineMethod(
  [],
  z.object({
    view: objectArgument,
    view_id: z.string(),
    hash: z.string().optional(),
  }),
  (core, args) => {
    const openModal = core.state.findView(({ id, type }) => type === 'modal' && id === args.view_id);
    if (!openModal) throw new SlackError('not_found');
    if (args.hash !== undefined && args.hash !== openModal.view.hash) throw new SlackError('hash_conflict');
    return { view: viewForApps(updateView(core, args.view, openModal.userId, openModal.view)) };
  },
);

const viewsPublish = defineMethod(
  [],
  z.object({ user_id: z.string(), view: objectArgument, hash: z.string().optional() }),
  (core, args) => {
    if (!core.state.users.has(args.user_id)) throw new SlackError('user_not_found');
    const oldHome = core.state.homeViews.get(args.user_id);
    if (args.hash !== undefined && args.hash !== oldHome?.hash) throw new SlackError('hash_conflict');
    const view = oldHome
      ? updateView(core, args.view, args.user_id, oldHome)
      : openView(core, args.view, args.user_id, 'home');
    return { view: viewForApps(view) };
  },
);

export const viewMethods: Record<string, Method> = {
  'views.open': viewsOpen,
  'views.push': viewsPush,
  'views.update': viewsUpdate,
  'views.publish': viewsPublish,
};
