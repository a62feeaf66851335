import { setTimeout as sleep } from 'node:timers/promises';
import type { SlackDeps } from '../feature.ts';
import { publishHome } from '../home/home.ts';
import { isFullMember } from '../outbound/directory.ts';
import { ACKNOWLEDGE_WITHIN_MS } from './acknowledgement.ts';
import { announcement, homePayload } from './payload.ts';
import type { WorkTracker } from './work-tracker.ts';

/** Handles an event about people and groups. Resolves when it is committed, or has taken too long. */
export async function takeIn(deps: SlackDeps, { track }: WorkTracker, body: unknown): Promise<void> {
  const announced = announcement.safeParse(body).data;
  if (announced?.team_id !== deps.teamId) return;
  const { event } = announced;
  if (event.type === 'subteam_members_changed') deps.directory.forgetGroup(event.subteam_id);
  if (event.type === 'user_change') {
    const { user } = event;
    deps.directory.forgetPerson(user.id);
    if (isFullMember(user, deps)) return;
    // If this fails, the daily look finds the person.
    const offboarded = track('offboarding', () => deps.offboard(user.id));
    await Promise.race([offboarded, sleep(ACKNOWLEDGE_WITHIN_MS, undefined, { ref: false })]);
  }
}

/** Shows the Home tab to whoever opened it. */
export function showHome(deps: SlackDeps, { track }: WorkTracker, event: unknown): void {
  void track('home', async () => {
    const payload = homePayload.parse(event);
    if (payload.tab === 'messages') return;
    await publishHome(deps, payload.user);
  });
}
