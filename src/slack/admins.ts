import { type Account, accountName } from '../accounts/account.ts';
import type { Log } from '../log.ts';
import type { SettingsStore } from '../settings.ts';
import type { SlackDirectory } from './directory.ts';
import type { SendNotification } from './notify.ts';
import type { SlackApiError, SlackWeb } from './platform/web.ts';
import { postMessage } from './post-message.ts';
import { code, type Message, mention, mentionApprover, textMessage } from './views/blocks.ts';

export interface AdminAlertDeps {
  readonly web: SlackWeb;
  readonly directory: Pick<SlackDirectory, 'directMessage'>;
  /** `ADMINS`: admins beside those of the workspace, by id. */
  readonly admins: readonly string[];
}

/**
 * Sends each admin a direct message.
 * @throws {SlackApiError}
 */
export async function alertAdmins(
  { web, directory, admins }: AdminAlertDeps,
  message: Message,
): Promise<void> {
  for (const admin of admins) {
    await postMessage(web, { channelId: await directory.directMessage(admin) }, message);
  }
}

/** What planning messages to admins needs. */
export type AdminPlannerDeps = Pick<AdminAlertDeps, 'directory' | 'admins'>;

/** Sends each admin a direct message about a subject, once. Whom Slack does not deliver to is left out. */
export async function notifyAdmins(
  { directory, admins }: AdminPlannerDeps,
  send: SendNotification,
  message: Message,
): Promise<void> {
  for (const admin of admins) {
    await send({
      purpose: `to:${admin}`,
      version: 'once',
      since: new Date(0),
      places: [async () => ({ channelId: await directory.directMessage(admin) })],
      message: () => message,
    });
  }
}

/** What telling admins once needs. */
export interface OnceDeps extends AdminAlertDeps {
  readonly store: Pick<SettingsStore, 'noteOnce' | 'forgetNote'>;
  readonly now: () => Date;
  readonly log: Log;
}

/** Tells admins something once, by the note of it. Where that fails, the note is removed: a later call tries again. */
async function tellOnce(
  { store, now }: Pick<OnceDeps, 'store' | 'now'>,
  note: string,
  tell: () => Promise<void>,
): Promise<void> {
  try {
    if (await store.noteOnce(note, now())) await tell();
  } catch (error) {
    await store.forgetNote(note).catch(() => undefined);
    throw error;
  }
}

const DAY_MS = 24 * 60 * 60_000;

/**
 * Tells admins once a day that an approver group cannot be read. Only a refusal of Slack counts, because any other
 * error passes by itself.
 */
export function createGroupAlert(
  deps: AdminAlertDeps & { readonly now: () => Date; readonly log: Log },
): (groupId: string, problem: SlackApiError) => void {
  const { log } = deps;
  const alertedAt = new Map<string, number>();
  return (groupId, problem) => {
    log.warn({ err: problem, groupId }, 'the members of an approver group cannot be read');
    const now = deps.now().getTime();
    if (problem.kind !== 'refused' || now - (alertedAt.get(groupId) ?? Number.NEGATIVE_INFINITY) < DAY_MS)
      return;
    alertedAt.set(groupId, now);
    alertAdmins(deps, unreadableGroup(groupId, problem)).catch((err: unknown) => {
      alertedAt.delete(groupId);
      log.warn({ err, groupId }, 'telling admins of an approver group that cannot be read');
    });
  };
}

/**
 * Tells admins, once, that who linked the team's account has left. A message that could not be sent is tried again when the
 * person is looked at again.
 */
export function createTeamAccountAlert(deps: OnceDeps): (account: Account, userId: string) => Promise<void> {
  const { log } = deps;
  return (account, userId) =>
    tellOnce(deps, `who linked the account ${account.id} has left: ${userId}`, () => {
      log.warn({ userId, accountId: account.id }, 'who linked the team’s account has left; it stays linked');
      // Slack takes no message to somebody who is gone.
      const admins = deps.admins.filter((admin) => admin !== userId);
      return alertAdmins({ ...deps, admins }, departedLinker(account, userId));
    }).catch((err: unknown) =>
      log.warn({ err, userId }, 'telling admins that who linked the team’s account has left'),
    );
}

function departedLinker(account: Account, userId: string): Message {
  return textMessage(
    `:warning: ${mention(userId)} has left the workspace. They linked the team’s account, ${code(accountName(account))}, which stays linked: approved orders of people without an account of their own go out with it. They may know its password, so change it at the domain service, then link it again with \`/domain link\`. \`/domain unlink team\` forgets it.`,
  );
}

function unreadableGroup(groupId: string, problem: SlackApiError): Message {
  return textMessage(
    `:warning: I could not read the group ${mentionApprover(groupId)} (${code(groupId)}), which is among the approvers. Slack says ${code(problem.code ?? problem.kind)}. Until I can, its members cannot approve; people who are listed themselves can. Check that the group exists and that I have the permission ${code('usergroups:read')}, or change the approvers with \`/domain settings\`.`,
  );
}
