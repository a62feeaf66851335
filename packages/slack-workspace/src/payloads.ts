/* The payloads of commands, interactions and events (docs.slack.dev, interaction payloads). */
import { userForApps } from './api/people.ts';
import { viewForApps } from './api/views.ts';
import type { Core } from './core.ts';
import { escapeText } from './mentions.ts';
import type { Channel, JsonObject, Message, User, View } from './protocol.ts';
import { APP, TEAM } from './seed.ts';
import { buildAppMessage } from './state.ts';

const COMMON_FIELDS = {
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
      // A mention may be capitalized, because the page shows people's real names.
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

export function buildCommandPayload(
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

export function buildMessageActionsPayload(
  core: Core,
  user: User,
  channel: Channel,
  message: Message,
  action: JsonObject,
  triggerId: string,
): JsonObject {
  const isEphemeral = message.ephemeral_to !== undefined;
  const responsePath = core.responseUrls.issuePath({
    channel: channel.id,
    userId: user.id,
    ts: message.ts,
    isEphemeral,
  });
  return {
    type: 'block_actions',
    ...COMMON_FIELDS,
    user: formatUser(user),
    container: {
      type: 'message',
      message_ts: message.ts,
      channel_id: channel.id,
      is_ephemeral: isEphemeral,
      ...(message.thread_ts !== undefined && { thread_ts: message.thread_ts }),
    },
    trigger_id: triggerId,
    channel: formatChannel(channel),
    // Slack doesn't store ephemeral messages, so their payload has no message.
    ...(!isEphemeral && { message: buildAppMessage(message, false) }),
    state: { values: {} },
    response_url: core.origin + responsePath,
    actions: [action],
  };
}

export function buildViewActionsPayload(
  user: User,
  view: View,
  action: JsonObject,
  triggerId: string,
): JsonObject {
  return {
    type: 'block_actions',
    ...COMMON_FIELDS,
    user: formatUser(user),
    container: { type: 'view', view_id: view.id },
    trigger_id: triggerId,
    view: viewForApps(view),
    actions: [action],
  };
}

export function buildSubmissionPayload(user: User, view: View, triggerId: string): JsonObject {
  return {
    type: 'view_submission',
    ...COMMON_FIELDS,
    user: formatUser(user),
    trigger_id: triggerId,
    view: viewForApps(view),
    response_urls: [],
  };
}

export function buildMessageShortcutPayload(
  core: Core,
  user: User,
  channel: Channel,
  message: Message,
  callbackId: string,
  triggerId: string,
): JsonObject {
  const { api_app_id: _app, ...commonFields } = COMMON_FIELDS;
  return {
    type: 'message_action',
    ...commonFields,
    action_ts: core.state.nextTs(),
    user: formatUser(user),
    channel: formatChannel(channel),
    callback_id: callbackId,
    trigger_id: triggerId,
    response_url: core.origin + core.responseUrls.issuePath({ channel: channel.id, userId: user.id }),
    message_ts: message.ts,
    message: buildAppMessage(message, false),
  };
}

export function buildGlobalShortcutPayload(
  core: Core,
  user: User,
  callbackId: string,
  triggerId: string,
): JsonObject {
  const { api_app_id: _app, ...commonFields } = COMMON_FIELDS;
  return {
    type: 'shortcut',
    ...commonFields,
    action_ts: core.state.nextTs(),
    user: formatUser(user),
    callback_id: callbackId,
    trigger_id: triggerId,
  };
}

export function buildEventPayload(core: Core, event: JsonObject): JsonObject {
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

export function buildHomeOpenedEvent(core: Core, user: User): JsonObject {
  const home = core.state.homeViews.get(user.id);
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
export function buildUserChangeEvent(core: Core, user: User): JsonObject {
  const now = core.state.now();
  return {
    type: 'user_change',
    user: userForApps(user, now),
    cache_ts: Math.floor(now / 1_000),
    event_ts: core.state.nextTs(),
  };
}

/** Lists the people who joined or left, not all members. */
export function buildMembersChangedEvent(
  core: Core,
  groupId: string,
  previousUserIds: string[],
  currentUserIds: string[],
): JsonObject {
  const addedUserIds = currentUserIds.filter((id) => !previousUserIds.includes(id));
  const removedUserIds = previousUserIds.filter((id) => !currentUserIds.includes(id));
  const nowSeconds = Math.floor(core.state.now() / 1_000);
  return {
    type: 'subteam_members_changed',
    subteam_id: groupId,
    team_id: TEAM.id,
    date_previous_update: nowSeconds,
    date_update: nowSeconds,
    added_users: addedUserIds,
    added_users_count: addedUserIds.length,
    removed_users: removedUserIds,
    removed_users_count: removedUserIds.length,
    event_ts: core.state.nextTs(),
  };
}
