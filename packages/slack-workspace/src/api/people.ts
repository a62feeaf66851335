import { z } from 'zod';
import { SlackError } from '../errors.ts';
import { requireChannel } from '../messages.ts';
import type { Channel, JsonObject, User } from '../protocol.ts';
import { APP, TEAM, type Usergroup } from '../seed.ts';
import { defineMethod, type Method } from './method.ts';

const noArgumentsSchema = z.object({});

function computeUtcOffsetSeconds(tz: string, timeMs: number): number {
  const parts = new Intl.DateTimeFormat('en-US', { timeZone: tz, timeZoneName: 'longOffset' }).formatToParts(
    timeMs,
  );
  const offsetName = parts.find((part) => part.type === 'timeZoneName')?.value ?? 'GMT';
  const match = /GMT([+-])(\d{2}):(\d{2})/.exec(offsetName);
  if (!match) return 0;
  const [, sign, hours, minutes] = match;
  return (sign === '-' ? -1 : 1) * (Number(hours) * 3_600 + Number(minutes) * 60);
}

/** A person in responses and events (docs.slack.dev, user object). */
export function userForApps(user: User, now: number): JsonObject {
  return {
    id: user.id,
    team_id: user.team_id,
    name: user.name,
    real_name: user.real_name,
    deleted: user.deleted,
    tz: user.tz,
    tz_offset: computeUtcOffsetSeconds(user.tz, now),
    is_admin: user.is_admin,
    is_owner: user.is_owner,
    is_primary_owner: false,
    is_restricted: user.is_restricted,
    is_ultra_restricted: user.is_ultra_restricted,
    is_bot: user.is_bot,
    is_app_user: false,
    ...(user.is_stranger && { is_stranger: true }),
    ...(user.enterprise_id !== undefined && {
      enterprise_user: { id: user.id, enterprise_id: user.enterprise_id, teams: [user.team_id] },
    }),
    profile: { real_name: user.real_name, display_name: user.name, team: user.team_id },
  };
}

function channelForApps(channel: Channel): JsonObject {
  return {
    id: channel.id,
    name: channel.name,
    is_channel: !channel.is_im && !channel.is_private,
    is_group: !channel.is_im && channel.is_private,
    is_im: channel.is_im,
    is_private: channel.is_private,
    is_archived: channel.is_archived === true,
    is_member: channel.members.includes(APP.botUserId),
    topic: { value: channel.topic },
    ...(channel.is_im && { user: channel.members.find((member) => member !== APP.botUserId) ?? '' }),
  };
}

function usergroupForApps(group: Usergroup): JsonObject {
  return {
    id: group.id,
    team_id: TEAM.id,
    is_usergroup: true,
    name: group.name,
    handle: group.handle,
    date_delete: 0,
    user_count: group.users.length,
  };
}

const authTest = defineMethod([], noArgumentsSchema, (core) => ({
  url: `${core.origin}/`,
  team: core.state.teamName,
  user: APP.botHandle,
  team_id: TEAM.id,
  user_id: APP.botUserId,
  bot_id: APP.botId,
  ...(core.state.enterpriseId !== undefined && { enterprise_id: core.state.enterpriseId }),
  is_enterprise_install: false,
}));

const usersInfo = defineMethod(['users:read'], z.object({ user: z.string() }), (core, args) => {
  const user = core.state.users.get(args.user);
  if (!user) throw new SlackError('user_not_found');
  return { user: userForApps(user, core.state.now()) };
});

const usersList = defineMethod(['users:read'], noArgumentsSchema, (core) => ({
  members: [...core.state.users.values()].map((user) => userForApps(user, core.state.now())),
  response_metadata: { next_cursor: '' },
}));

const conversationsOpen = defineMethod(
  ['im:write', 'mpim:write'],
  z.object({ users: z.string().optional(), channel: z.string().optional() }),
  (core, args) => {
    if (args.channel !== undefined) return { channel: { id: requireChannel(core, args.channel).id } };
    const users = (args.users ?? '').split(',').filter((id) => id !== '');
    const [user] = users;
    if (user === undefined) throw new SlackError('users_list_not_supplied');
    if (users.length > 1) throw new SlackError('method_not_supported_for_channel_type');
    if (!core.state.users.has(user)) throw new SlackError('user_not_found');
    return { channel: { id: core.state.openDirectMessage(user).id } };
  },
);

const CHANNEL_READ_SCOPES = ['channels:read', 'groups:read', 'im:read', 'mpim:read'];

const conversationsInfo = defineMethod(
  CHANNEL_READ_SCOPES,
  z.object({ channel: z.string() }),
  (core, args) => {
    const channel = core.state.channels.get(args.channel);
    const isHidden = channel?.is_private && !channel.members.includes(APP.botUserId);
    if (!channel || isHidden) throw new SlackError('channel_not_found');
    return { channel: channelForApps(channel) };
  },
);

const conversationsList = defineMethod(
  CHANNEL_READ_SCOPES,
  z.object({ types: z.string().optional() }),
  (core, args) => {
    const types = (args.types ?? 'public_channel').split(',');
    const visibleChannels = [...core.state.channels.values()].filter((channel) => {
      const isMember = channel.members.includes(APP.botUserId);
      if (channel.is_im) return types.includes('im') && isMember;
      return channel.is_private
        ? types.includes('private_channel') && isMember
        : types.includes('public_channel');
    });
    return { channels: visibleChannels.map(channelForApps), response_metadata: { next_cursor: '' } };
  },
);

const conversationsMembers = defineMethod(
  CHANNEL_READ_SCOPES,
  z.object({ channel: z.string() }),
  (core, args) => ({
    members: requireChannel(core, args.channel).members,
    response_metadata: { next_cursor: '' },
  }),
);

const usergroupsList = defineMethod(['usergroups:read'], noArgumentsSchema, (core) => ({
  usergroups: [...core.state.usergroups.values()].map(usergroupForApps),
}));

const usergroupsUsersList = defineMethod(
  ['usergroups:read'],
  z.object({ usergroup: z.string() }),
  (core, args) => {
    const group = core.state.usergroups.get(args.usergroup);
    if (!group) throw new SlackError('no_such_subteam');
    return { users: group.users };
  },
);

const connectionsOpen = defineMethod(
  ['connections:write'],
  noArgumentsSchema,
  (core) => ({ url: core.origin.replace(/^http/, 'ws') + core.socket.issuePath() }),
  'app',
);

export const peopleMethods: Record<string, Method> = {
  'auth.test': authTest,
  'users.info': usersInfo,
  'users.list': usersList,
  'conversations.open': conversationsOpen,
  'conversations.info': conversationsInfo,
  'conversations.list': conversationsList,
  'conversations.members': conversationsMembers,
  'usergroups.list': usergroupsList,
  'usergroups.users.list': usergroupsUsersList,
  'apps.connections.open': connectionsOpen,
};
