import type { PendingChanges } from '../policy/pending-changes.ts';
import type { AdminPlannerDeps } from './admins.ts';
import type { SlackDeps } from './feature.ts';
import { directMessageTo, type NotificationPlanner, ONCE } from './notify.ts';
import { changeEnded, changeRequest, type WaitingChange } from './views/pending-change.ts';

/* The question to the other admins about settings and prices that wait, and what became of it. */

export type PendingChangePlannerDeps = AdminPlannerDeps &
  Pick<SlackDeps, 'directory' | 'pendingChanges' | 'now'>;

/** A plan that is due much later counts as written by a wrong clock. */
const LOOK_AGAIN_MS = 3_600_000;
const TO = 'to:';

export function createPendingChangePlanner(deps: PendingChangePlannerDeps): NotificationPlanner {
  const { admins, directory, pendingChanges, now } = deps;
  return async ({ id, notifications }, send) => {
    const found =
      (await read('settings', pendingChanges.settings, id)) ??
      (await read('prices', pendingChanges.prices, id));
    if (found === undefined) return undefined;
    const { waiting, decided } = found;
    const { askedBy, askedAt: since, expiresAt } = waiting;
    const ended = (userId: string) => async () =>
      changeEnded(waiting, decided, await directory.localeOf(userId));
    if (decided === undefined && expiresAt > now()) {
      for (const userId of admins.filter((admin) => admin !== askedBy))
        await send({
          purpose: `${TO}${userId}`,
          version: 'waits',
          since,
          places: [directMessageTo(directory, userId)],
          message: async () => changeRequest(waiting, { userId, locale: await directory.localeOf(userId) }),
        });
      return { again: new Date(Math.min(expiresAt.getTime(), now().getTime() + LOOK_AGAIN_MS)) };
    }
    for (const { purpose, message } of notifications)
      if (purpose.startsWith(TO) && message !== undefined)
        await send({
          purpose,
          version: 'ended',
          since,
          places: [],
          message: ended(purpose.slice(TO.length)),
        });
    if (decided !== undefined && decided.by !== askedBy)
      await send({
        purpose: 'outcome',
        version: ONCE,
        since,
        places: [directMessageTo(directory, askedBy)],
        message: ended(askedBy),
      });
    return undefined;
  };
}

async function read<Kind extends WaitingChange['kind'], Change>(
  kind: Kind,
  changes: PendingChanges<Change>,
  id: string,
) {
  const known = await changes.read(id);
  return known && { waiting: { kind, ...known }, decided: known.decided };
}
