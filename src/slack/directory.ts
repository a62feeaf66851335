import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import type { Directory } from '../orders/ports.ts';
import { createCache } from './platform/cache.ts';
import { okResponse, SlackApiError, type SlackWeb } from './platform/web.ts';

/** What the bot needs to know about a person. */
export interface Person {
  readonly id: string;
  /** A full member of the {@link HomeWorkspace}: neither deactivated, nor a guest, nor from elsewhere. */
  readonly isMember: boolean;
  /** Admin or owner of the bot's own workspace. */
  readonly isAdmin: boolean;
  /**
   * Slack has confirmed it. While Slack does not answer, only the signed request vouches for the person. That is enough
   * to ask and to read, and for nothing else.
   */
  readonly isConfirmed: boolean;
}

export interface SlackDirectory extends Directory {
  /**
   * Reads who is acting.
   * @param homeTeamId the person's own workspace, if Slack's signed request names it
   */
  person(userId: string, homeTeamId: string | undefined): Promise<Person>;
  /** The members of a user group. @throws {SlackApiError} when Slack does not tell */
  groupMembers(groupId: string): Promise<readonly string[]>;
  /** Every user group of the workspace, by id. @throws {SlackApiError} when Slack does not tell */
  groupNames(): Promise<ReadonlyMap<string, string>>;
  /** Forgets a person, because Slack has announced a change. */
  forgetPerson(userId: string): void;
  /** Forgets the members of a group, because Slack has announced a change. */
  forgetGroup(groupId: string): void;
  /** A person's display name; undefined when Slack does not tell. */
  nameOf(userId: string): Promise<string | undefined>;
  /** How a person writes amounts, as a BCP 47 tag; English where Slack does not say. */
  localeOf(userId: string): Promise<string>;
  /** A person’s time zone as the IANA names it; undefined where Slack does not say. */
  timeZoneOf(userId: string): Promise<string | undefined>;
  /** The channel of a direct message with a person. */
  directMessage(userId: string): Promise<string>;
}

/** Whose people are members. */
export interface HomeWorkspace {
  /** The bot's own workspace. */
  readonly teamId: string;
  /** The Enterprise Grid organisation whose other workspaces are let in too; undefined for none. */
  readonly orgId: string | undefined;
}

/** A person as Slack describes them, in answers and in events. */
export const slackUser = z.object({
  team_id: z.string().optional(),
  deleted: z.boolean().optional(),
  /** A guest in several channels. */
  is_restricted: z.boolean().optional(),
  /** A guest in one channel. */
  is_ultra_restricted: z.boolean().optional(),
  is_stranger: z.boolean().optional(),
  is_admin: z.boolean().optional(),
  is_owner: z.boolean().optional(),
  is_bot: z.boolean().optional(),
  enterprise_user: z.object({ enterprise_id: z.string().optional() }).optional(),
});
type SlackUser = z.infer<typeof slackUser>;

const userAnswer = z.object({ user: slackUser });
const nameAnswer = z.object({ user: z.object({ real_name: z.string().optional() }) });
const localeAnswer = z.object({ user: z.object({ locale: z.string().optional() }) });
const zoneAnswer = z.object({ user: z.object({ tz: z.string().optional() }) });
const groupAnswer = okResponse.extend({ users: z.array(z.string()) });
const groupsAnswer = okResponse.extend({
  usergroups: z.array(z.object({ id: z.string(), name: z.string() })),
});
const conversationAnswer = okResponse.extend({ channel: z.object({ id: z.string() }) });

const DEFAULT_LOCALE = 'en-GB';

/** `users.info` is of Slack's Tier 4: more than 100 calls a minute. */
const PERSON_MAX_AGE_MS = 60_000;
/** `usergroups.users.list` is of Tier 2: about 20 calls a minute. */
const GROUP_MAX_AGE_MS = 10_000;

/** Codes with which Slack says that the workspace does not have this person. */
const NO_SUCH_PERSON: ReadonlySet<string> = new Set(['user_not_found', 'user_not_visible']);

/** Whether somebody is a full member of the home workspace, or of its organisation where that is let in. */
export function isFullMember(user: SlackUser, { teamId, orgId }: HomeWorkspace): boolean {
  const isOfOrg = orgId !== undefined && user.enterprise_user?.enterprise_id === orgId;
  const excluded = [
    user.deleted,
    user.is_restricted,
    user.is_ultra_restricted,
    user.is_stranger,
    user.is_bot,
  ];
  return (isOfOrg || isAtHome(user.team_id, teamId)) && !excluded.includes(true);
}

/** Slack leaves the workspace out where it is the bot's own. */
function isAtHome(userTeamId: string | undefined, teamId: string): boolean {
  return userTeamId === undefined || userTeamId === teamId;
}

export interface DirectoryOptions {
  /** As in {@link HomeWorkspace}; none when left out. */
  readonly orgId?: string | undefined;
  /** In milliseconds; a monotonic clock when left out. */
  readonly now?: () => number;
  /** Waits for some milliseconds; a real timer when left out. */
  readonly sleep?: (milliseconds: number) => Promise<unknown>;
  /** Called each time that the members of an approver group could not be read. */
  readonly onUnreadableGroup?: (groupId: string, problem: SlackApiError) => void;
}

/** People and user groups, read from Slack. A person is cached for a minute, a group for ten seconds. */
export function createDirectory(
  web: SlackWeb,
  teamId: string,
  {
    orgId,
    now = () => performance.now(),
    sleep = setTimeout,
    onUnreadableGroup = () => undefined,
  }: DirectoryOptions = {},
): SlackDirectory {
  const people = createCache<Person>({
    maxAgeMs: PERSON_MAX_AGE_MS,
    now,
    sleep,
    load: async (userId) => {
      const { user } = await web.call('users.info', { user: userId }, userAnswer);
      const isMember = isFullMember(user, { teamId, orgId });
      return {
        id: userId,
        isMember,
        // An admin of a sibling workspace has no say in this one.
        isAdmin:
          isMember && isAtHome(user.team_id, teamId) && (user.is_admin === true || user.is_owner === true),
        isConfirmed: true,
      };
    },
  });
  const groups = createCache<readonly string[]>({
    maxAgeMs: GROUP_MAX_AGE_MS,
    now,
    sleep,
    load: async (groupId) =>
      (await web.call('usergroups.users.list', { usergroup: groupId }, groupAnswer)).users,
  });

  return {
    async person(userId, homeTeamId) {
      const stranger = { id: userId, isMember: false, isAdmin: false, isConfirmed: true };
      const isForeign = homeTeamId !== undefined && homeTeamId !== teamId;
      if (isForeign && orgId === undefined) return stranger;
      try {
        return await people.get(userId);
      } catch (error) {
        // Without a signed request of the bot's own workspace nobody is admitted.
        if (!(error instanceof SlackApiError) || homeTeamId === undefined || isForeign) throw error;
        return saysNoSuchPerson(error) ? stranger : { ...stranger, isMember: true, isConfirmed: false };
      }
    },

    async membership(userId) {
      try {
        return (await people.get(userId)).isMember ? 'member' : 'left';
      } catch (error) {
        if (!(error instanceof SlackApiError)) throw error;
        return saysNoSuchPerson(error) ? 'left' : 'unknown';
      }
    },

    groupMembers: (groupId) => groups.get(groupId),

    async groupNames() {
      const { usergroups } = await web.call('usergroups.list', {}, groupsAnswer);
      return new Map(usergroups.map(({ id, name }) => [id, name]));
    },

    async membersOf(groupId) {
      try {
        return await groups.get(groupId);
      } catch (error) {
        if (!(error instanceof SlackApiError)) throw error;
        onUnreadableGroup(groupId, error);
        return undefined;
      }
    },

    forgetPerson: people.forget,
    forgetGroup: groups.forget,

    async nameOf(userId) {
      const { user } = await web.call('users.info', { user: userId }, nameAnswer);
      return user.real_name;
    },

    async localeOf(userId) {
      try {
        const asked = { user: userId, include_locale: true };
        const { user } = await web.call('users.info', asked, localeAnswer);
        const [locale = DEFAULT_LOCALE] = Intl.NumberFormat.supportedLocalesOf(user.locale ?? []);
        return locale;
      } catch (error) {
        // `Intl` throws a RangeError for an invalid tag.
        if (!(error instanceof SlackApiError || error instanceof RangeError)) throw error;
        return DEFAULT_LOCALE;
      }
    },

    async timeZoneOf(userId) {
      try {
        const { user } = await web.call('users.info', { user: userId }, zoneAnswer);
        return user.tz;
      } catch (error) {
        if (!(error instanceof SlackApiError)) throw error;
        return undefined;
      }
    },

    async directMessage(userId) {
      const { channel } = await web.call('conversations.open', { users: userId }, conversationAnswer);
      return channel.id;
    },
  };
}

function saysNoSuchPerson({ kind, code }: SlackApiError): boolean {
  return kind === 'refused' && code !== undefined && NO_SUCH_PERSON.has(code);
}
