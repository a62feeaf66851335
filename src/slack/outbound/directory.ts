import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../lib/duration.ts';
import type { Directory, Membership } from '../../orders/ports.ts';
import { createLimiter, createSlots } from '../kit/limiter.ts';
import { createCache } from './cache.ts';
import { okResponse, SlackApiError, type SlackWeb } from './web.ts';

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

/** What is shown of a person. It decides nothing about orders. */
export interface Profile {
  readonly isMember: boolean;
  readonly name?: string | undefined;
  readonly locale?: string | undefined;
  readonly timeZone?: string | undefined;
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
  /**
   * What is shown of a person; undefined when Slack does not tell in time. It has a share of Slack's limit of its own,
   * so that nothing that decides waits for it.
   */
  lookUp(userId: string): Promise<Profile | undefined>;
  /** A person's display name; undefined when Slack does not tell in time. */
  nameOf(userId: string): Promise<string | undefined>;
  /** How a person writes amounts, as a BCP 47 tag; English where Slack does not say. */
  localeOf(userId: string): Promise<string>;
  /** A person’s time zone as the IANA names it; undefined where Slack does not say. */
  timeZoneOf(userId: string): Promise<string | undefined>;
  /** Admins and owners of the bot's own workspace, at most 20. @throws {SlackApiError} when Slack does not tell */
  workspaceAdmins(): Promise<readonly string[]>;
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
const profileAnswer = z.object({
  user: slackUser.extend({
    real_name: z.string().optional(),
    locale: z.string().optional(),
    tz: z.string().optional(),
  }),
});
const groupAnswer = okResponse.extend({ users: z.array(z.string()) });
const groupsAnswer = okResponse.extend({
  usergroups: z.array(z.object({ id: z.string(), name: z.string() })),
});
const usersAnswer = okResponse.extend({
  members: z.array(slackUser.extend({ id: z.string() })),
  response_metadata: z.object({ next_cursor: z.string().optional() }).optional(),
});
const conversationAnswer = okResponse.extend({ channel: z.object({ id: z.string() }) });

const DEFAULT_LOCALE = 'en-GB';

/** `users.info` is of Slack's Tier 4: more than 100 calls a minute. */
const PERSON_MAX_AGE_MS = 60_000;
/** Slack announces changes, and what is shown may be a little old. */
const PROFILE_MAX_AGE_MS = HOUR_MS;
/** The share of `users.info` for what is only shown. The rest is for what decides. */
const LOOK_UPS_PER_MINUTE = 40;
const LOOK_UPS_AT_ONCE = 4;
/** What is not known by then is shown without a name. */
const MAX_LOOK_UP_MS = 2_000;
const ADMINS_MAX_AGE_MS = DAY_MS;
const MAX_ADMINS = 20;
const USERS_PER_PAGE = 200;
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

/** An admin of a sibling workspace has no say in this one. */
function isWorkspaceAdmin(user: SlackUser, home: HomeWorkspace): boolean {
  const isAdmin = user.is_admin === true || user.is_owner === true;
  return isAdmin && isAtHome(user.team_id, home.teamId) && isFullMember(user, home);
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

async function readPerson(web: SlackWeb, home: HomeWorkspace, userId: string): Promise<Person> {
  const { user } = await web.call('users.info', { user: userId }, userAnswer);
  const isMember = isFullMember(user, home);
  return { id: userId, isMember, isAdmin: isWorkspaceAdmin(user, home), isConfirmed: true };
}

async function readProfile(web: SlackWeb, home: HomeWorkspace, userId: string): Promise<Profile> {
  const { user } = await web.call('users.info', { user: userId, include_locale: true }, profileAnswer);
  const { real_name: name, locale, tz: timeZone } = user;
  return { isMember: isFullMember(user, home), name, locale, timeZone };
}

async function readAdmins(web: SlackWeb, home: HomeWorkspace): Promise<readonly string[]> {
  const found: string[] = [];
  let cursor: string | undefined;
  do {
    const page = { limit: USERS_PER_PAGE, ...(cursor === undefined ? {} : { cursor }) };
    const { members, response_metadata } = await web.call('users.list', page, usersAnswer);
    found.push(...members.filter((user) => isWorkspaceAdmin(user, home)).map(({ id }) => id));
    cursor = response_metadata?.next_cursor || undefined;
  } while (cursor !== undefined && found.length < MAX_ADMINS);
  return found.slice(0, MAX_ADMINS);
}

async function readGroup(web: SlackWeb, groupId: string): Promise<readonly string[]> {
  return (await web.call('usergroups.users.list', { usergroup: groupId }, groupAnswer)).users;
}

async function readGroupNames(web: SlackWeb): Promise<ReadonlyMap<string, string>> {
  const { usergroups } = await web.call('usergroups.list', {}, groupsAnswer);
  return new Map(usergroups.map(({ id, name }) => [id, name]));
}

async function openDirectMessage(web: SlackWeb, userId: string): Promise<string> {
  const { channel } = await web.call('conversations.open', { users: userId }, conversationAnswer);
  return channel.id;
}

function knownLocale(locale = DEFAULT_LOCALE): string {
  try {
    return Intl.NumberFormat.supportedLocalesOf(locale)[0] ?? DEFAULT_LOCALE;
  } catch (error) {
    // `Intl` throws it for an invalid tag.
    if (!(error instanceof RangeError)) throw error;
    return DEFAULT_LOCALE;
  }
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
  const home = { teamId, orgId };
  const caches = createCaches(web, home, { now, sleep });
  const { people, profiles, admins, groups } = caches;
  return {
    person: (userId, homeTeamId) => readActor(caches, home, userId, homeTeamId),
    membership: (userId) => membership(caches, userId),
    groupMembers: groups.get,
    groupNames: () => readGroupNames(web),
    async membersOf(groupId) {
      try {
        return await groups.get(groupId);
      } catch (error) {
        if (!(error instanceof SlackApiError)) throw error;
        onUnreadableGroup(groupId, error);
        return undefined;
      }
    },
    workspaceAdmins: () => admins.get('admins'),
    forgetPerson(userId) {
      people.forget(userId);
      admins.forget('admins');
      profiles.forget(userId);
    },
    forgetGroup: groups.forget,
    lookUp: (userId) => lookUp(caches, userId),
    nameOf: async (userId) => (await lookUp(caches, userId))?.name,
    timeZoneOf: async (userId) => (await lookUp(caches, userId))?.timeZone,
    localeOf: async (userId) => knownLocale((await lookUp(caches, userId))?.locale),
    directMessage: (userId) => openDirectMessage(web, userId),
  };
}

type Caches = ReturnType<typeof createCaches>;

function createCaches(
  web: SlackWeb,
  home: HomeWorkspace,
  clock: Required<Pick<DirectoryOptions, 'now' | 'sleep'>>,
) {
  const profileCalls = createLimiter(LOOK_UPS_PER_MINUTE, MINUTE_MS, clock.now);
  const inSlot = createSlots(LOOK_UPS_AT_ONCE);
  return {
    people: createCache<Person>({
      ...clock,
      maxAgeMs: PERSON_MAX_AGE_MS,
      load: (userId) => readPerson(web, home, userId),
    }),
    profiles: createCache<Profile>({
      ...clock,
      maxAgeMs: PROFILE_MAX_AGE_MS,
      load: async (userId) => {
        const seconds = profileCalls.take('users.info');
        if (seconds !== undefined)
          throw new SlackApiError('rate_limited', 'users.info', { retryAfterMs: seconds * 1_000 });
        return inSlot(() => readProfile(web, home, userId));
      },
    }),
    admins: createCache<readonly string[]>({
      ...clock,
      maxAgeMs: ADMINS_MAX_AGE_MS,
      load: () => readAdmins(web, home),
    }),
    groups: createCache<readonly string[]>({
      ...clock,
      maxAgeMs: GROUP_MAX_AGE_MS,
      load: (groupId) => readGroup(web, groupId),
    }),
  };
}

async function readActor(
  { people }: Caches,
  { teamId, orgId }: HomeWorkspace,
  userId: string,
  homeTeamId: string | undefined,
): Promise<Person> {
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
}

async function membership({ people }: Caches, userId: string): Promise<Membership> {
  try {
    return (await people.get(userId)).isMember ? 'member' : 'left';
  } catch (error) {
    if (!(error instanceof SlackApiError)) throw error;
    return saysNoSuchPerson(error) ? 'left' : 'unknown';
  }
}

async function lookUp({ profiles }: Caches, userId: string): Promise<Profile | undefined> {
  try {
    return await Promise.race([profiles.get(userId), setTimeout(MAX_LOOK_UP_MS, undefined, { ref: false })]);
  } catch (error) {
    if (!(error instanceof SlackApiError)) throw error;
    return saysNoSuchPerson(error) ? { isMember: false } : undefined;
  }
}

function saysNoSuchPerson({ kind, code }: SlackApiError): boolean {
  return kind === 'refused' && code !== undefined && NO_SUCH_PERSON.has(code);
}
