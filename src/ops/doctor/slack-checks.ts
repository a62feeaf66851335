import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { TeamSettings } from '../../config/environment.ts';
import { isFullMember, slackUserSchema } from '../../slack/outbound/directory.ts';
import { tryPosting } from '../../slack/outbound/post-message.ts';
import { BOT_SCOPES } from '../../slack/outbound/scopes.ts';
import { okResponseSchema, SlackApiError, type SlackWeb } from '../../slack/outbound/web.ts';
import { type Finding, formatCount, ok, warning, wrong } from './finding.ts';

export interface SlackIdSettings {
  /** The effective settings: saved settings override the environment. */
  readonly settings: TeamSettings;
  readonly admins: readonly string[];
  readonly allowOrgMembers: boolean;
}

const REINSTALL_ACTION = 'Reinstall the app with its manifest.';
const identitySchema = z.object({
  team: z.string().optional(),
  team_id: z.string(),
  enterprise_id: z.string().optional(),
  response_metadata: z.object({ scopes: z.array(z.string()).optional() }).optional(),
});

/** Checks the bot token and its scopes, then the people, groups and channels in the settings. */
export async function checkSlack(web: SlackWeb, idSettings: SlackIdSettings): Promise<readonly Finding[]> {
  let identity: z.output<typeof identitySchema>;
  try {
    identity = await web.call('auth.test', {}, identitySchema);
  } catch (error) {
    return [
      wrong('Slack', `SLACK_BOT_TOKEN: ${formatError(error)}.`, 'Reinstall the app, and set its bot token.'),
    ];
  }
  const workspace = {
    teamId: identity.team_id,
    orgId: idSettings.allowOrgMembers ? identity.enterprise_id : undefined,
  };
  return [
    ok('Slack', `SLACK_BOT_TOKEN belongs to the workspace ${identity.team ?? identity.team_id}.`),
    ...checkScopes(identity.response_metadata?.scopes),
    ...(await checkSlackIds(web, idSettings, workspace)),
  ];
}

/** Checks the people, groups and channels in the settings. */
export async function checkSlackIds(
  web: SlackWeb,
  { settings, admins }: SlackIdSettings,
  workspace: Parameters<typeof isFullMember>[1],
): Promise<readonly Finding[]> {
  const idsByVariable = {
    APPROVERS: settings.approvers,
    SILENT_APPROVERS: settings.silentApprovers,
    APPROVAL_ESCALATE_TO: settings.approvalEscalateTo,
    ADMINS: admins,
  };
  const channelsByVariable = {
    APPROVAL_CHANNEL: settings.approvalChannel,
    ALERT_CHANNEL: settings.alertChannel,
    REPORT_CHANNEL: settings.reportChannel,
    REMINDER_CHANNEL: settings.reminderChannel,
  };
  const findings: Finding[] = [];
  for (const [variable, ids] of Object.entries(idsByVariable)) {
    for (const id of ids)
      findings.push(
        await (id.startsWith('S')
          ? checkGroup(web, variable, id)
          : checkPerson(web, variable, id, workspace)),
      );
  }
  for (const [variable, id] of Object.entries(channelsByVariable)) {
    if (id !== undefined) findings.push(await checkChannel(web, variable, id));
  }
  return findings;
}

function checkScopes(grantedScopes: readonly string[] | undefined): readonly Finding[] {
  // Slack sends the scopes in a header, which a proxy may remove.
  if (grantedScopes === undefined) return [];
  const missingScopes = BOT_SCOPES.filter(({ scope }) => !grantedScopes.includes(scope));
  if (missingScopes.length === 0) return [ok('Scopes', 'all scopes of manifest.yml are granted.')];
  return missingScopes.map(({ scope, isOptional, consequenceIfMissing }) =>
    (isOptional ? warning : wrong)(
      'Scopes',
      `${scope} is missing: ${consequenceIfMissing}.`,
      REINSTALL_ACTION,
    ),
  );
}

async function checkPerson(
  web: SlackWeb,
  variable: string,
  id: string,
  workspace: Parameters<typeof isFullMember>[1],
): Promise<Finding> {
  const action = `Remove ${id} from ${variable}, or correct it.`;
  try {
    const { user } = await retryIfRateLimited(() =>
      web.call('users.info', { user: id }, z.object({ user: slackUserSchema })),
    );
    return isFullMember(user, workspace)
      ? ok(variable, `${id} is a member.`)
      : warning(
          variable,
          `${id} is deactivated, a guest, a bot or from elsewhere, and can’t approve.`,
          action,
        );
  } catch (error) {
    return warning(variable, `${id}: ${formatError(error)}.`, action);
  }
}

const groupMembersSchema = okResponseSchema.extend({ users: z.array(z.string()) });

async function checkGroup(web: SlackWeb, variable: string, id: string): Promise<Finding> {
  try {
    const { users } = await retryIfRateLimited(() =>
      web.call('usergroups.users.list', { usergroup: id }, groupMembersSchema),
    );
    return users.length > 0
      ? ok(variable, `the group ${id} has ${formatCount(users.length, 'member')}.`)
      : warning(variable, `the group ${id} is empty.`, 'Add people to it in Slack.');
  } catch (error) {
    return warning(
      variable,
      `the group ${id}: ${formatError(error)}.`,
      `Check that it exists. ${REINSTALL_ACTION}`,
    );
  }
}

async function checkChannel(web: SlackWeb, variable: string, id: string): Promise<Finding> {
  try {
    await retryIfRateLimited(() => tryPosting(web, id));
    return ok(variable, `the bot can post in ${id}.`);
  } catch (error) {
    const action = 'Invite the bot there (/invite @Domain Steward), or choose another channel.';
    return warning(variable, `${id}: ${formatError(error)}.`, action);
  }
}

/** Retries once. */
async function retryIfRateLimited<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof SlackApiError) || error.kind !== 'rate_limited') throw error;
    await sleep(Math.min(error.retryAfterMs ?? 1_000, 30_000));
    return call();
  }
}

function formatError(error: unknown): string {
  if (!(error instanceof SlackApiError)) return error instanceof Error ? error.message : String(error);
  const { code, needed } = error;
  if (needed !== undefined) return `Slack says ${code ?? 'no'}, ${needed} is needed`;
  return code === undefined ? 'Slack can’t be reached' : `Slack says ${code}`;
}
