import type { TeamSettings } from '../../config.ts';
import type { NotificationPlanner } from '../outbound/notify.ts';
import { type AdminPlannerDeps, notifyAdmins } from './admins.ts';
import { unreachableAlert } from './unreachable.view.ts';

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
