import type { SlackContext } from '../context.ts';
import { findAlertPlace } from '../ledger/ledger-notifications.ts';
import { createDirectMessagePlace, type NotificationPlanner, STATIC_VERSION } from '../outbound/notify.ts';
import { findOwnerlessNames } from './assign-owners.ts';
import { ownerLeftMessage } from './owner.view.ts';

/** Alerts once if a person who has left still owns names. */
export function createOwnerLeftPlanner(context: SlackContext): NotificationPlanner {
  return async ({ id }, send) => {
    const [userId = '', leftAt = ''] = id.split(' ');
    const ownerlessNames = await findOwnerlessNames(context, userId);
    if (ownerlessNames.total === 0) return undefined;
    const admins = await context.adminsToNotify();
    await send({
      purpose: 'alert',
      version: STATIC_VERSION,
      occurredAt: new Date(leftAt),
      places: [
        () => findAlertPlace(context),
        ...admins.map((admin) => createDirectMessagePlace(context.directory, admin)),
      ],
      mustArrive: true,
      alertsAdmins: true,
      message: () => ownerLeftMessage(userId, ownerlessNames),
    });
    return undefined;
  };
}
