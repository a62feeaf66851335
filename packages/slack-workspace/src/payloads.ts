/* The payloads of commands, interactions and events (docs.slack.dev, interaction payloads). */
import { userForApps } from './api/people.ts';
import { viewForApps } from './api/views.ts';
import type { Core } from './core.ts';
import { escapeText } from './mentions.ts';
import type { Channel, JsonObject, Message, User, View } from './protocol.ts';
import { APP, TEAM } from './seed.ts';
import { messageForApps } from './state.ts';

const WORKSPACE = {
  token: APP.verificationToken,
  api_app_id: APP.id,
  team: { id: TEAM.id, domain: TEAM.domain },
  enterprise: null,
  is_enterprise_install: false,
};

function formatUser(user: User): JsonObject {
  return { id: user.id, username: user.name, name: user.name, team_id: user.team_id };
}

function formatChannel(channel: Channel): JsonObject {
  const name = channel.is_im ? 'directmessage' : channel.is_private ? 'privategroup' : channel.name;
  return { id: channel.id, name };
}

/**
 * Slack escapes `&`, `<` and `>`. With `should_escape`, mentions and links become tokens too (docs.slack.dev,
 * implementing slash commands).
 */
function formatCommandText(core: Core, input: string): string {
  const escaped = escapeText(input.trim());
  if (!core.escapeEntities) return escaped;
  const users = [...core.state.users.values()];
  const channels = [...core.state.channels.values()];
  return escaped
    .replace(/(?<=^|\s)@([\w.-]+)/g, (mention, name: string) => {
      // The page shows the real names of people, which start with a capital.
      const user = users.find((candidate) => candidate.name === name.toLowerCase());
      return user ? `<@${user.id}|${user.name}>` : mention;
    })
    .replace(/(?<=^|\s)#([\w-]+)/g, (mention, name) => {
      const channel = channels.find((candidate) => !candidate.is_im && candidate.name === name);
      return channel ? `<#${channel.id}|${channel.name}>` : mention;
    })
    .replace(/(?<=^|\s)(https?:\/\/\S+)/g, '<$1>')
    .replace(/(?<=^|\s)((?:[a-z0-9-]+\.)+[a-z]{2,})(?=$|\s)/gi, '<http://$1|$1>');
}

export function commandPayload(
  core: Core,
  user: User,
  channel: Channel,
  command: string,
  text: string,
  triggerId: string,
): JsonObject {
  const { id, name } = formatChannel(channel);
  return {
    token: APP.verificationToken,
    team_id: user.team_id,
    team_domain: user.team_id === TEAM.id ? TEAM.domain : 'elsewhere',
    channel_id: id ?? '',
    channel_name: name ?? '',
    user_id: user.id,
    user_name: user.name,
    command,
    text: formatCommandText(core, text),
    api_app_id: APP.id,
    is_enterprise_install: 'false',
    response_url: core.origin + core.responseUrls.issuePath({ channel: channel.id, userId: user.id }),
    trigger_id: triggerId,
  };
}

export function messageActionsPayload(
  core: Core,
  user: User,
  channel: Channel,
  message: Message,
  action: JsonObject,
  triggerId: string,
): JsonObject {
  const ephemeral = message.ephemeral_to !== undefined;
  const responsePath = core.responseUrls.issuePath({
    channel: channel.id,
    userId: user.id,
    ts: message.ts,
    ephemeral,
  });
  return {
    type: 'block_actions',
    ...WORKSPACE,
    user: formatUser(user),
    container: {
      type: 'message',
      message_ts: message.ts,
      channel_id: channel.id,
      is_ephemeral: ephemeral,
      ...(message.thread_ts !== undefined && { thread_ts: message.thread_ts }),
    },
    trigger_id: triggerId,
    channel: formatChannel(channel),
    // Slack doesn't store ephemeral messages, so their payload has no message.
    ...(!ephemeral && { message: messageForApps(message, false) }),
    state: { values: {} },
    response_url: core.origin + responsePath,
    actions: [action],
  };
}

export function viewActionsPayload(
  user: User,
  view: View,
  action: JsonObject,
  triggerId: string,
): JsonObject {
  return {
    type: 'block_actions',
    ...WORKSPACE,
    user: formatUser(user),
    container: { type: 'view', view_id: view.id },
    trigger_id: triggerId,
    view: viewForApps(view),
    actions: [action],
  };
}

export function submissionPayload(user: User, view: View, triggerId: string): JsonObject {
  return {
    type: 'view_submission',
    ...WORKSPACE,
    user: formatUser(user),
    trigger_id: triggerId,
    view: viewForApps(view),
    response_urls: [],
  };
}

export function messageShortcutPayload(
  core: Core,
  user: User,
  channel: Channel,
  message: Message,
  callbackId: string,
  triggerId: string,
): JsonObject {
  const { api_app_id: _app, ...workspace } = WORKSPACE;
  return {
    type: 'message_action',
    ...workspace,
    action_ts: core.state.nextTs(),
    user: formatUser(user),
    channel: formatChannel(channel),
    callback_id: callbackId,
    trigger_id: triggerId,
    response_url: core.origin + core.responseUrls.issuePath({ channel: channel.id, userId: user.id }),
    message_ts: message.ts,
    message: messageForApps(message, false),
  };
}

export function globalShortcutPayload(
  core: Core,
  user: User,
  callbackId: string,
  triggerId: string,
): JsonObject {
  const { api_app_id: _app, ...workspace } = WORKSPACE;
  return {
    type: 'shortcut',
    ...workspace,
    action_ts: core.state.nextTs(),
    user: formatUser(user),
    callback_id: callbackId,
    trigger_id: triggerId,
  };
}

export function eventPayload(core: Core, event: JsonObject): JsonObject {
  return {
    token: APP.verificationToken,
    team_id: TEAM.id,
    api_app_id: APP.id,
    event,
    type: 'event_callback',
    event_id: core.state.nextId('Ev'),
    event_time: Math.floor(core.state.now() / 1_000),
    is_ext_shared_channel: false,
    authorizations: [
      {
        enterprise_id: null,
        team_id: TEAM.id,
        user_id: APP.botUserId,
        is_bot: true,
        is_enterprise_install: false,
      },
    ],
  };
}

export function homeOpenedEvent(core: Core, user: User): JsonObject {
  const home = core.state.homes.get(user.id);
  return {
    type: 'app_home_opened',
    user: user.id,
    channel: core.state.openDirectMessage(user.id).id,
    tab: 'home',
    event_ts: core.state.nextTs(),
    ...(home && { view: viewForApps(home) }),
  };
}

/** Slack sends this event to every app that may read users. */
export function userChangeEvent(core: Core, user: User): JsonObject {
  const now = core.state.now();
  return {
    type: 'user_change',
    user: userForApps(user, now),
    cache_ts: Math.floor(now / 1_000),
    event_ts: core.state.nextTs(),
  };
}

/** The event lists the people who joined or left, not all members. */
export function membersChangedEvent(
  core: Core,
  groupId: string,
  before: string[],
  after: string[],
): JsonObject {
  const added = after.filter((id) => !before.includes(id));
  const removed = before.filter((id) => !after.includes(id));
  const seconds = Math.floor(core.state.now() / 1_000);
  return {
    type: 'subteam_members_changed',
    subteam_id: groupId,
    team_id: TEAM.id,
    date_previous_update: seconds,
    date_update: seconds,
    added_users: added,
    added_users_count: added.length,
    removed_users: removed,
    removed_users_count: removed.length,
    event_ts: core.state.nextTs(),
  };
}
