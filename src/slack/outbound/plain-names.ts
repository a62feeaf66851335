import { escapeText, type Message } from '../kit/blocks.ts';
import type { WantedNotification } from './notify.ts';
import { SlackApiError } from './web.ts';

/** A mention of a person or user group, with the label that Slack may add. */
const MENTION = /<(?:@([UW][A-Z0-9]+)|!subteam\^(S[A-Z0-9]+))(?:\|[^>]*)?>/g;

/**
 * Replaces mentions of people with names, because field errors are plain text. Mentions of groups are
 * replaced with ids, because not everyone may see the groups' names.
 */
export async function replaceMentions(directory: NamingDirectory, text: string): Promise<string> {
  const ids = new Set([...text.matchAll(MENTION)].flatMap(([, userId]) => userId ?? []));
  const names = await findNames(directory, [...ids]);
  return text.replace(MENTION, (_all, userId?: string, groupId?: string) =>
    userId === undefined ? (groupId ?? '') : `@${names.get(userId) ?? userId}`,
  );
}

/** Replaces mentions of some people with names, so that Slack doesn't notify them. */
export function dropMentions(
  directory: NamingDirectory,
  wanted: WantedNotification,
  people: ReadonlySet<string>,
): WantedNotification {
  if (people.size === 0) return wanted;
  return { ...wanted, message: async (index) => unmention(directory, await wanted.message(index), people) };
}

async function unmention(
  directory: NamingDirectory,
  message: Message,
  people: ReadonlySet<string>,
): Promise<Message> {
  const json = JSON.stringify(message);
  const mentionedIds = [...people].filter((id) => json.includes(`<@${id}`));
  const names = await findNames(directory, mentionedIds);
  return JSON.parse(
    json.replace(MENTION, (mention, userId?: string) => {
      const name = userId === undefined ? undefined : names.get(userId);
      return name === undefined ? mention : JSON.stringify(escapeText(name)).slice(1, -1);
    }),
  );
}

interface NamingDirectory {
  findName(userId: string): Promise<string | undefined>;
}

async function findNames(
  directory: NamingDirectory,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  return new Map(await Promise.all(ids.map(async (id) => [id, await findNameOrId(directory, id)] as const)));
}

async function findNameOrId(directory: NamingDirectory, userId: string): Promise<string> {
  try {
    return (await directory.findName(userId)) ?? userId;
  } catch (error) {
    if (!(error instanceof SlackApiError)) throw error;
    return userId;
  }
}
