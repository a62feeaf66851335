import type { TeamSettings } from '../config.ts';
import { type AdminPlannerDeps, notifyAdmins } from './admins.ts';
import type { NotificationPlanner } from './notify.ts';
import { unreachableAlert } from './views/unreachable.ts';

/** Tells admins, once, of a place where nothing can be posted. It is forgotten when something can. */
export function createPlacePlanner(
  deps: AdminPlannerDeps & { readonly settings: () => Promise<TeamSettings> },
): NotificationPlanner {
  return async ({ id, refused = '' }, send) => {
    const { approvalChannel, reminderChannel } = await deps.settings();
    const use = id === approvalChannel ? 'approvals' : id === reminderChannel ? 'reminders' : 'other';
    await notifyAdmins(deps, send, unreachableAlert(id, refused, use));
    return undefined;
  };
}
