import type { TeamSettings } from '../config.ts';
import { type AdminPlannerDeps, notifyAdmins } from './admins.ts';
import type { NotificationPlanner } from './notify.ts';
import { unreachableAlert } from './views/unreachable.ts';

/** Tells admins, once, of a place where nothing can be posted. It is forgotten when something can. */
export function createPlacePlanner(
  deps: AdminPlannerDeps & { readonly settings: () => Promise<TeamSettings> },
): NotificationPlanner {
  return async ({ id, refused = '' }, send) => {
    const { approvalChannel } = await deps.settings();
    await notifyAdmins(
      deps,
      send,
      unreachableAlert(id, refused, id === approvalChannel ? 'approvals' : 'other'),
    );
    return undefined;
  };
}
