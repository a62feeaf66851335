import { z } from 'zod';
import type { Directory } from '../orders/ports.ts';
import { done, SlackProblem, type SlackWeb } from './web.ts';

/** What the bot needs to know of a person. */
export interface Person {
  readonly id: string;
  /** Of the bot's own workspace; guests of other workspaces (Slack Connect) are not. */
  readonly isMember: boolean;
  /** Workspace admin or owner. */
  readonly isAdmin: boolean;
}

export interface SlackDirectory extends Directory {
  /**
   * @param homeTeamId the person's own workspace as a signed request of Slack named it, if it did
   */
  person(userId: string, homeTeamId: string | undefined): Promise<Person>;
  /** What a person calls themselves, or undefined when Slack does not say. */
  nameOf(userId: string): Promise<string | undefined>;
  /** The channel of a direct message with a person. */
  directMessage(userId: string): Promise<string>;
}

const userAnswer = z.object({
  user: z.object({
    team_id: z.string().optional(),
    deleted: z.boolean().optional(),
    is_stranger: z.boolean().optional(),
    is_admin: z.boolean().optional(),
    is_owner: z.boolean().optional(),
    is_bot: z.boolean().optional(),
  }),
});

const nameAnswer = z.object({ user: z.object({ real_name: z.string().optional() }) });
const groupAnswer = done.extend({ users: z.array(z.string()) });
const conversationAnswer = done.extend({ channel: z.object({ id: z.string() }) });

const REMEMBER_MS = 60_000;
const MAX_REMEMBERED = 5_000;

/**
 * People and user groups, asked of Slack. A person is remembered for a minute, a group never.
 * @param now in milliseconds; by default a clock that nobody puts back
 */
export function createDirectory(
  web: SlackWeb,
  teamId: string,
  now: () => number = () => performance.now(),
): SlackDirectory {
  const remembered = new Map<string, { readonly until: number; readonly person: Person }>();

  async function ask(userId: string, homeTeamId: string | undefined): Promise<Person> {
    try {
      const { user } = await web.call('users.info', { user: userId }, userAnswer);
      const ofThisTeam = user.team_id === undefined ? homeTeamId === teamId : user.team_id === teamId;
      return {
        id: userId,
        isMember: ofThisTeam && user.is_stranger !== true && user.deleted !== true && user.is_bot !== true,
        isAdmin: ofThisTeam && (user.is_admin === true || user.is_owner === true),
      };
    } catch (error) {
      // Slack's signed request names the person's workspace as well; without either nobody is let in.
      if (error instanceof SlackProblem && homeTeamId !== undefined) {
        return { id: userId, isMember: homeTeamId === teamId, isAdmin: false };
      }
      throw error;
    }
  }

  return {
    async person(userId, homeTeamId) {
      if (homeTeamId !== undefined && homeTeamId !== teamId)
        return { id: userId, isMember: false, isAdmin: false };
      const known = remembered.get(userId);
      if (known !== undefined && known.until > now()) return known.person;
      const person = await ask(userId, homeTeamId);
      if (remembered.size >= MAX_REMEMBERED) remembered.clear();
      remembered.set(userId, { until: now() + REMEMBER_MS, person });
      return person;
    },

    async membersOf(groupId) {
      const { users } = await web.call('usergroups.users.list', { usergroup: groupId }, groupAnswer);
      return users;
    },

    async nameOf(userId) {
      const { user } = await web.call('users.info', { user: userId }, nameAnswer);
      return user.real_name;
    },

    async directMessage(userId) {
      const { channel } = await web.call('conversations.open', { users: userId }, conversationAnswer);
      return channel.id;
    },
  };
}
