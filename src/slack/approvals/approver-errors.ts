import type { TeamSettings } from '../../config/environment.ts';
import { formatSettings, type SettingChange, teamSettingsSchema } from '../../config/settings.ts';
import { isGroupId } from '../../policy/policy.ts';
import type { SlackContext } from '../context.ts';
import { formatApproverError } from '../outbound/slack-error.view.ts';
import { SlackApiError } from '../outbound/web.ts';
import { NO_APPROVERS_TEXT, notMemberText, tooFewApproversText } from '../settings/settings.view.ts';

/** Changing these settings can leave too few approvers. */
export const APPROVER_SETTINGS: ReadonlySet<string> = new Set([
  'approvers',
  'silent_approvers',
  'approvals_required',
]);

export function applySettingChanges(settings: TeamSettings, changes: readonly SettingChange[]): TeamSettings {
  return teamSettingsSchema.parse({
    ...formatSettings(settings),
    ...Object.fromEntries(changes.map(({ name, after }) => [name, after])),
  });
}

/** @returns the people, including the members of groups, or an error */
export async function lookUpPeople(
  { directory }: SlackContext,
  ids: readonly string[],
): Promise<ReadonlySet<string> | string> {
  const people = new Set<string>();
  for (const id of ids) {
    try {
      if (isGroupId(id)) {
        // Skips the cache, because people may open the settings after a recent change.
        directory.forgetGroup(id);
        for (const member of await directory.loadGroupMembers(id)) people.add(member);
      } else if ((await directory.loadPerson(id, undefined)).isMember) people.add(id);
      else return notMemberText((await directory.findName(id)) ?? id);
    } catch (error) {
      if (!(error instanceof SlackApiError)) throw error;
      return formatApproverError(id, error);
    }
  }
  return people;
}

/** @returns errors by field, if the settings would leave too few people who can approve */
export async function findApproverErrors(
  context: SlackContext,
  settings: TeamSettings,
): Promise<Readonly<Record<string, string>>> {
  const approvers = await lookUpPeople(context, settings.approvers);
  if (typeof approvers === 'string') return { approvers };
  const silentApprovers = await lookUpPeople(context, settings.silentApprovers);
  if (typeof silentApprovers === 'string') return { silent_approvers: silentApprovers };
  const people = new Set([...approvers, ...silentApprovers]);
  if (people.size === 0) return { approvers: NO_APPROVERS_TEXT };
  return people.size < settings.approvalsRequired
    ? { approvals_required: tooFewApproversText(people.size, settings.approvalsRequired) }
    : {};
}
