import { SlackApiError } from './web.ts';

/** A mention of a person or user group, with the label that Slack may add. */
const MENTION = /<(?:@([UW][A-Z0-9]+)|!subteam\^(S[A-Z0-9]+))(?:\|[^>]*)?>/g;

/**
 * Replaces mentions of people by names, because field errors are plain text. Groups keep their ids: not everyone may
 * see their names.
 */
export async function withPlainNames(
  directory: { nameOf(userId: string): Promise<string | undefined> },
  text: string,
): Promise<string> {
  const ids = new Set([...text.matchAll(MENTION)].flatMap(([, userId]) => userId ?? []));
  const names = new Map(await Promise.all([...ids].map(async (id) => [id, await nameOf(id)] as const)));
  return text.replace(MENTION, (_all, userId?: string, groupId?: string) =>
    userId === undefined ? (groupId ?? '') : `@${names.get(userId) ?? userId}`,
  );

  async function nameOf(userId: string): Promise<string> {
    try {
      return (await directory.nameOf(userId)) ?? userId;
    } catch (error) {
      if (!(error instanceof SlackApiError)) throw error;
      return userId;
    }
  }
}
