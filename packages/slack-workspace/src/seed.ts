import type { Channel, User } from './protocol.ts';

/** These made-up ids are valid only in the local workspace. */
export const TEAM = { id: 'T0STEWARD', domain: 'steward-demo' } as const;
const OTHER_TEAM_ID = 'T0ELSEWHERE';
export const APP = {
  id: 'A0STEWARD',
  botId: 'B0STEWARD',
  botUserId: 'U0STEWARD',
  botHandle: 'app',
  verificationToken: 'local-verification-token',
} as const;
/** The author of Slack's own messages to a person, for example that a command failed. */
export const SLACKBOT_ID = 'USLACKBOT';

export interface Usergroup {
  id: string;
  handle: string;
  name: string;
  users: string[];
}

export interface Seed {
  teamName: string;
  appName: string;
  /** The Enterprise Grid organization of the workspace. */
  enterpriseId?: string;
  users: User[];
  channels: Channel[];
  usergroups: Usergroup[];
}

function createUser(id: string, name: string, role: string, tz: string, overrides: Partial<User> = {}): User {
  return {
    id,
    name: name.toLowerCase(),
    real_name: name,
    team_id: TEAM.id,
    tz,
    is_admin: false,
    is_owner: false,
    is_bot: false,
    is_stranger: false,
    deleted: false,
    is_restricted: false,
    is_ultra_restricted: false,
    role,
    ...overrides,
  };
}

function createChannel(
  id: string,
  name: string,
  members: string[],
  topic: string,
  is_private = false,
): Channel {
  return { id, name, members, topic, is_private, is_im: false };
}

/** Returns the id of the direct message between a person and the app. */
export function getDirectMessageId(userId: string): string {
  return `D${userId.slice(1)}`;
}

export function createDefaultSeed(): Seed {
  const memberIds = ['U0ALICE', 'U0BOB', 'U0CAROL', 'U0ADA'];
  const bot = APP.botUserId;
  return {
    teamName: 'Local workspace',
    appName: 'App',
    users: [
      createUser('U0ALICE', 'Alice', 'asks', 'Europe/Berlin'),
      createUser('U0BOB', 'Bob', 'approves', 'Europe/London'),
      createUser('U0CAROL', 'Carol', 'approves', 'America/New_York'),
      createUser('U0DAVE', 'Dave', 'guest', 'Asia/Tokyo', { team_id: OTHER_TEAM_ID, is_stranger: true }),
      createUser('U0ADA', 'Ada', 'admin', 'Europe/London', { is_admin: true }),
    ],
    channels: [
      createChannel('C0DOMAINS', 'domains', [...memberIds, 'U0DAVE', bot], 'Ask for domains here'),
      createChannel('C0GENERAL', 'general', [...memberIds, bot], 'Everything else'),
      createChannel('C0EXPIRY', 'domain-expiry', [...memberIds, bot], 'What expires soon'),
      createChannel('C0NOBOT', 'private-ish', memberIds, 'The bot is not here'),
      createChannel('C0LOCKED', 'leadership', ['U0ALICE', 'U0ADA'], 'Private, the bot is not here', true),
      {
        id: 'D0ALICEBOB',
        name: 'alice-bob',
        members: ['U0ALICE', 'U0BOB'],
        topic: '',
        is_private: true,
        is_im: true,
      },
    ],
    usergroups: [{ id: 'S0APPROVERS', handle: 'approvers', name: 'Approvers', users: ['U0CAROL'] }],
  };
}
