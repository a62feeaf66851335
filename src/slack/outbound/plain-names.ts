import { escapeText, type Message } from '../kit/blocks.ts';
import type { NotificationSpec } from './notify.ts';
import { SlackApiError } from './web.ts';

/** A mention of a person or user group, with the label that Slack may add. */
const MENTION = /<(?:@([UW][A-Z0-9]+)|!subteam\^(S[A-Z0-9]+))(?:\|[^>]*)?>/g;

/**
 * Replaces mentions of people with names, because field errors are plain text. Mentions of groups are
 * replaced with ids, because not everyone may see the groups' names.
 */
export async function replaceMentions(directory: NameDirectory, text: string): Promise<string> {
  const ids = new Set([...text.matchAll(MENTION)].flatMap(([, userId]) => userId ?? []));
  const names = await findNames(directory, [...ids]);
  return text.replace(MENTION, (_all, userId?: string, groupId?: string) =>
    userId === undefined ? (groupId ?? '') : `@${names.get(userId) ?? userId}`,
  );
}

/** Replaces mentions of the given people with names, so that Slack doesn't notify them. */
export function replaceNotificationMentions(
  directory: NameDirectory,
  spec: NotificationSpec,
  userIds: ReadonlySet<string>,
): NotificationSpec {
  if (userIds.size === 0) return spec;
  return {
    ...spec,
    message: async (index) => replaceMessageMentions(directory, await spec.message(index), userIds),
  };
}

async function replaceMessageMentions(
  directory: NameDirectory,
  message: Message,
  userIds: ReadonlySet<string>,
): Promise<Message> {
  const json = JSON.stringify(message);
  const mentionedIds = [...userIds].filter((id) => json.includes(`<@${id}`));
  const names = await findNames(directory, mentionedIds);
  return JSON.parse(
    json.replace(MENTION, (mention, userId?: string) => {
      const name = userId === undefined ? undefined : names.get(userId);
      return name === undefined ? mention : JSON.stringify(escapeText(name)).slice(1, -1);
    }),
  );
}

interface NameDirectory {
  findName(userId: string): Promise<string | undefined>;
}

async function findNames(
  directory: NameDirectory,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  return new Map(await Promise.all(ids.map(async (id) => [id, await findNameOrId(directory, id)] as const)));
}

async function findNameOrId(directory: NameDirectory, userId: string): Promise<string> {
  try {
    return (await directory.findName(userId)) ?? userId;
  } catch (error) {
    if (!(error instanceof SlackApiError)) throw error;
    return userId;
  }
}
