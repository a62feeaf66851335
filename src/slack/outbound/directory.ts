import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../lib/duration.ts';
import type { Directory, Membership } from '../../orders/ports.ts';
import { createConcurrencyLimiter, createRateLimiter } from '../kit/limiter.ts';
import { createCache } from './cache.ts';
import { okResponseSchema, SlackApiError, type SlackWeb } from './web.ts';

export interface Person {
  readonly id: string;
  /** Whether the person is a full member of the {@link HomeWorkspace}: active, no guest and not external. */
  readonly isMember: boolean;
  readonly isAdmin: boolean;
  /**
   * Whether Slack has confirmed the person. During an outage, people are known only from signed requests,
   * which is enough to view and request orders.
   */
  readonly isConfirmed: boolean;
}

/** For display only, not for decisions. */
export interface Profile {
  readonly isMember: boolean;
  readonly name?: string | undefined;
  readonly locale?: string | undefined;
  readonly timeZone?: string | undefined;
}

export interface SlackDirectory extends Directory {
  /**
   * Looks up the person who sent a request to the bot.
   * @param homeTeamId the person's workspace, if Slack's signed request names it
   */
  loadPerson(userId: string, homeTeamId: string | undefined): Promise<Person>;
  /** @throws {SlackApiError} if Slack doesn't return the members */
  loadGroupMembers(groupId: string): Promise<readonly string[]>;
  /**
   * @returns the names of all user groups, by id
   * @throws {SlackApiError} if Slack doesn't return them
   */
  loadGroupNames(): Promise<ReadonlyMap<string, string>>;
  /** Must be called when Slack reports a change to the person. */
  forgetPerson(userId: string): void;
  /** Must be called when Slack reports a change to the group's members. */
  forgetGroup(groupId: string): void;
  /**
   * Has its own share of Slack's rate limit, so that decisions don't have to wait.
   * @returns undefined on timeout
   */
  lookUpProfile(userId: string): Promise<Profile | undefined>;
  findName(userId: string): Promise<string | undefined>;
  /** @returns a BCP 47 language tag to format amounts; English if unknown */
  findLocale(userId: string): Promise<string>;
  findTimeZone(userId: string): Promise<string | undefined>;
  /**
   * @returns at most 20 admins and owners of the bot's own workspace
   * @throws {SlackApiError} if Slack doesn't return them
   */
  loadWorkspaceAdmins(): Promise<readonly string[]>;
  openDirectMessage(userId: string): Promise<string>;
}

export interface HomeWorkspace {
  readonly teamId: string;
  /** The Enterprise Grid organization whose other workspaces may also use the bot; undefined if none. */
  readonly orgId: string | undefined;
}

/** A person in Slack's responses and events. */
export const slackUserSchema = z.object({
  team_id: z.string().optional(),
  deleted: z.boolean().optional(),
  /** Multi-channel guest. */
  is_restricted: z.boolean().optional(),
  /** Single-channel guest. */
  is_ultra_restricted: z.boolean().optional(),
  is_stranger: z.boolean().optional(),
  is_admin: z.boolean().optional(),
  is_owner: z.boolean().optional(),
  is_bot: z.boolean().optional(),
  enterprise_user: z.object({ enterprise_id: z.string().optional() }).optional(),
});
type SlackUser = z.infer<typeof slackUserSchema>;

const userResponseSchema = z.object({ user: slackUserSchema });
const profileResponseSchema = z.object({
  user: slackUserSchema.extend({
    real_name: z.string().optional(),
    locale: z.string().optional(),
    tz: z.string().optional(),
  }),
});
const groupResponseSchema = okResponseSchema.extend({ users: z.array(z.string()) });
const groupsResponseSchema = okResponseSchema.extend({
  usergroups: z.array(z.object({ id: z.string(), name: z.string() })),
});
const usersResponseSchema = okResponseSchema.extend({
  members: z.array(slackUserSchema.extend({ id: z.string() })),
  response_metadata: z.object({ next_cursor: z.string().optional() }).optional(),
});
const conversationResponseSchema = okResponseSchema.extend({ channel: z.object({ id: z.string() }) });

const DEFAULT_LOCALE = 'en-GB';

/** `users.info` is in Tier 4: over 100 calls a minute. */
const PERSON_MAX_AGE_MS = MINUTE_MS;
/** Long, because Slack reports changes, and displayed data may be slightly out of date. */
const PROFILE_MAX_AGE_MS = HOUR_MS;
/** The share of `users.info` for display. The rest is for decisions. */
const PROFILE_LOOKUPS_PER_MINUTE = 40;
const MAX_CONCURRENT_LOOKUPS = 4;
/** On timeout, no name is shown. */
const LOOKUP_TIMEOUT_MS = 2_000;
const ADMINS_MAX_AGE_MS = DAY_MS;
const MAX_ADMINS = 20;
const USERS_PER_PAGE = 200;
/** `usergroups.users.list` is in Tier 2: about 20 calls a minute. */
const GROUP_MAX_AGE_MS = 10_000;

const NO_SUCH_PERSON_CODES: ReadonlySet<string> = new Set(['user_not_found', 'user_not_visible']);

/** Whether the person is a full member of the home workspace or, if allowed, of its organization. */
export function isFullMember(user: SlackUser, { teamId, orgId }: HomeWorkspace): boolean {
  const isOrgMember = orgId !== undefined && user.enterprise_user?.enterprise_id === orgId;
  const disqualifications = [
    user.deleted,
    user.is_restricted,
    user.is_ultra_restricted,
    user.is_stranger,
    user.is_bot,
  ];
  return (isOrgMember || isHomeTeam(user.team_id, teamId)) && !disqualifications.includes(true);
}

/** Admins of other workspaces in the organization have no rights here. */
function isWorkspaceAdmin(user: SlackUser, home: HomeWorkspace): boolean {
  const isAdmin = user.is_admin === true || user.is_owner === true;
  return isAdmin && isHomeTeam(user.team_id, home.teamId) && isFullMember(user, home);
}

/** Slack leaves out the workspace if it is the bot's own. */
function isHomeTeam(userTeamId: string | undefined, teamId: string): boolean {
  return userTeamId === undefined || userTeamId === teamId;
}

export interface DirectoryOptions {
  readonly orgId?: string | undefined;
  /** In milliseconds. Default: a monotonic clock. */
  readonly now?: () => number;
  /** Default: a real timer. */
  readonly sleep?: (milliseconds: number) => Promise<unknown>;
  readonly onUnreadableGroup?: (groupId: string, error: SlackApiError) => void;
}

async function fetchPerson(web: SlackWeb, home: HomeWorkspace, userId: string): Promise<Person> {
  const { user } = await web.call('users.info', { user: userId }, userResponseSchema);
  const isMember = isFullMember(user, home);
  return { id: userId, isMember, isAdmin: isWorkspaceAdmin(user, home), isConfirmed: true };
}

async function fetchProfile(web: SlackWeb, home: HomeWorkspace, userId: string): Promise<Profile> {
  const { user } = await web.call(
    'users.info',
    { user: userId, include_locale: true },
    profileResponseSchema,
  );
  const { real_name: name, locale, tz: timeZone } = user;
  return { isMember: isFullMember(user, home), name, locale, timeZone };
}

async function fetchAdmins(web: SlackWeb, home: HomeWorkspace): Promise<readonly string[]> {
  const adminIds: string[] = [];
  let cursor: string | undefined;
  do {
    const pageArgs = { limit: USERS_PER_PAGE, ...(cursor === undefined ? {} : { cursor }) };
    const { members, response_metadata } = await web.call('users.list', pageArgs, usersResponseSchema);
    adminIds.push(...members.filter((user) => isWorkspaceAdmin(user, home)).map(({ id }) => id));
    cursor = response_metadata?.next_cursor || undefined;
  } while (cursor !== undefined && adminIds.length < MAX_ADMINS);
  return adminIds.slice(0, MAX_ADMINS);
}

async function fetchGroupMembers(web: SlackWeb, groupId: string): Promise<readonly string[]> {
  return (await web.call('usergroups.users.list', { usergroup: groupId }, groupResponseSchema)).users;
}

async function fetchGroupNames(web: SlackWeb): Promise<ReadonlyMap<string, string>> {
  const { usergroups } = await web.call('usergroups.list', {}, groupsResponseSchema);
  return new Map(usergroups.map(({ id, name }) => [id, name]));
}

async function openDirectMessage(web: SlackWeb, userId: string): Promise<string> {
  const { channel } = await web.call('conversations.open', { users: userId }, conversationResponseSchema);
  return channel.id;
}

function toSupportedLocale(locale = DEFAULT_LOCALE): string {
  try {
    return Intl.NumberFormat.supportedLocalesOf(locale)[0] ?? DEFAULT_LOCALE;
  } catch (error) {
    // `Intl` throws a RangeError for an invalid tag.
    if (!(error instanceof RangeError)) throw error;
    return DEFAULT_LOCALE;
  }
}

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
    loadPerson: (userId, homeTeamId) => loadPerson(caches, home, userId, homeTeamId),
    findMembership: (userId) => findMembership(caches, userId),
    loadGroupMembers: groups.get,
    loadGroupNames: () => fetchGroupNames(web),
    async listGroupMembers(groupId) {
      try {
        return await groups.get(groupId);
      } catch (error) {
        if (!(error instanceof SlackApiError)) throw error;
        onUnreadableGroup(groupId, error);
        return undefined;
      }
    },
    loadWorkspaceAdmins: () => admins.get('admins'),
    forgetPerson(userId) {
      people.forget(userId);
      admins.forget('admins');
      profiles.forget(userId);
    },
    forgetGroup: groups.forget,
    lookUpProfile: (userId) => lookUpProfile(caches, userId),
    findName: async (userId) => (await lookUpProfile(caches, userId))?.name,
    findTimeZone: async (userId) => (await lookUpProfile(caches, userId))?.timeZone,
    findLocale: async (userId) => toSupportedLocale((await lookUpProfile(caches, userId))?.locale),
    openDirectMessage: (userId) => openDirectMessage(web, userId),
  };
}

type Caches = ReturnType<typeof createCaches>;

function createCaches(
  web: SlackWeb,
  home: HomeWorkspace,
  clock: Required<Pick<DirectoryOptions, 'now' | 'sleep'>>,
) {
  const profileCallLimiter = createRateLimiter(PROFILE_LOOKUPS_PER_MINUTE, MINUTE_MS, clock.now);
  const runInSlot = createConcurrencyLimiter(MAX_CONCURRENT_LOOKUPS);
  return {
    people: createCache<Person>({
      ...clock,
      maxAgeMs: PERSON_MAX_AGE_MS,
      load: (userId) => fetchPerson(web, home, userId),
    }),
    profiles: createCache<Profile>({
      ...clock,
      maxAgeMs: PROFILE_MAX_AGE_MS,
      load: async (userId) => {
        const waitSeconds = profileCallLimiter.recordUse('users.info');
        if (waitSeconds !== undefined)
          throw new SlackApiError('rate_limited', 'users.info', { retryAfterMs: waitSeconds * 1_000 });
        return runInSlot(() => fetchProfile(web, home, userId));
      },
    }),
    admins: createCache<readonly string[]>({
      ...clock,
      maxAgeMs: ADMINS_MAX_AGE_MS,
      load: () => fetchAdmins(web, home),
    }),
    groups: createCache<readonly string[]>({
      ...clock,
      maxAgeMs: GROUP_MAX_AGE_MS,
      load: (groupId) => fetchGroupMembers(web, groupId),
    }),
  };
}

async function loadPerson(
  { people }: Caches,
  { teamId, orgId }: HomeWorkspace,
  userId: string,
  homeTeamId: string | undefined,
): Promise<Person> {
  const nonMember = { id: userId, isMember: false, isAdmin: false, isConfirmed: true };
  const isFromOtherWorkspace = homeTeamId !== undefined && homeTeamId !== teamId;
  if (isFromOtherWorkspace && orgId === undefined) return nonMember;
  try {
    return await people.get(userId);
  } catch (error) {
    // If Slack can't confirm the person, only a signed request from the bot's own workspace is enough.
    if (!(error instanceof SlackApiError) || homeTeamId === undefined || isFromOtherWorkspace) throw error;
    return isNoSuchPersonError(error) ? nonMember : { ...nonMember, isMember: true, isConfirmed: false };
  }
}

async function findMembership({ people }: Caches, userId: string): Promise<Membership> {
  try {
    return (await people.get(userId)).isMember ? 'member' : 'left';
  } catch (error) {
    if (!(error instanceof SlackApiError)) throw error;
    return isNoSuchPersonError(error) ? 'left' : 'unknown';
  }
}

async function lookUpProfile({ profiles }: Caches, userId: string): Promise<Profile | undefined> {
  try {
    return await Promise.race([
      profiles.get(userId),
      setTimeout(LOOKUP_TIMEOUT_MS, undefined, { ref: false }),
    ]);
  } catch (error) {
    if (!(error instanceof SlackApiError)) throw error;
    return isNoSuchPersonError(error) ? { isMember: false } : undefined;
  }
}

function isNoSuchPersonError({ kind, code }: SlackApiError): boolean {
  return kind === 'refused' && code !== undefined && NO_SUCH_PERSON_CODES.has(code);
}
