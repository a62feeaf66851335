import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { BOT_SCOPES } from '../../src/slack/outbound/scopes.ts';

/** Slack's manifest, as far as this app uses it. https://docs.slack.dev/reference/app-manifest */
const manifest = z
  .strictObject({
    _metadata: z.strictObject({ major_version: z.literal(2) }),
    display_information: z.strictObject({
      name: z.string().max(35),
      description: z.string().max(140),
      long_description: z.string().min(175).max(4_000),
      background_color: z.string().regex(/^#[0-9a-f]{6}$/),
    }),
    features: z.strictObject({
      app_home: z.strictObject({
        home_tab_enabled: z.boolean(),
        messages_tab_enabled: z.boolean(),
        messages_tab_read_only_enabled: z.boolean(),
      }),
      bot_user: z.strictObject({ display_name: z.string().max(80), always_online: z.boolean() }),
      slash_commands: z.array(
        z.strictObject({
          command: z.string().max(32),
          url: z.url(),
          description: z.string().max(2_000),
          usage_hint: z.string().max(1_000),
          should_escape: z.boolean(),
        }),
      ),
      shortcuts: z.array(
        z.strictObject({
          name: z.string().max(24),
          type: z.enum(['message', 'global']),
          callback_id: z.string().max(255),
          description: z.string().max(150),
        }),
      ),
    }),
    oauth_config: z.strictObject({
      scopes: z.strictObject({ bot: z.array(z.string()), bot_optional: z.array(z.string()) }),
    }),
    settings: z.strictObject({
      event_subscriptions: z.strictObject({ request_url: z.url(), bot_events: z.array(z.string()) }),
      interactivity: z.strictObject({ is_enabled: z.boolean(), request_url: z.url() }),
      org_deploy_enabled: z.boolean(),
      socket_mode_enabled: z.boolean(),
      token_rotation_enabled: z.boolean(),
    }),
  })
  .parse(parse(readFileSync(new URL('../../manifest.yml', import.meta.url), 'utf8')));

/** The scopes that let a bot call a method; none means any token. https://docs.slack.dev/reference/methods */
const SCOPES_OF: Readonly<Record<string, readonly string[]>> = {
  'auth.test': [],
  'chat.deleteScheduledMessage': ['chat:write'],
  'chat.getPermalink': [],
  'chat.postEphemeral': ['chat:write'],
  'chat.postMessage': ['chat:write'],
  'chat.scheduleMessage': ['chat:write'],
  'chat.update': ['chat:write'],
  'conversations.open': ['im:write'],
  'files.completeUploadExternal': ['files:write'],
  'files.getUploadURLExternal': ['files:write'],
  'usergroups.list': ['usergroups:read'],
  'usergroups.users.list': ['usergroups:read'],
  'users.info': ['users:read'],
  'users.list': ['users:read'],
  'views.open': [],
  'views.publish': [],
  'views.update': [],
};

/** https://docs.slack.dev/reference/events */
const SCOPES_OF_EVENTS: Readonly<Record<string, readonly string[]>> = {
  app_home_opened: [],
  subteam_members_changed: ['usergroups:read'],
  user_change: ['users:read'],
};

function sources(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return sources(path);
    return entry.name.endsWith('.ts') ? [readFileSync(path, 'utf8')] : [];
  });
}

const root = fileURLToPath(new URL('../../src/', import.meta.url));
const slackSource = [...sources(join(root, 'slack')), readFileSync(join(root, 'app/bot.ts'), 'utf8')].join(
  '\n',
);

/** The captured names, which must be literals in the source. */
function listCaptures(pattern: RegExp): string[] {
  return [...new Set([...slackSource.matchAll(pattern)].map(([, name]) => name ?? ''))].sort();
}

describe('manifest.yml', () => {
  it('declares the command that the bot handles', () => {
    const { slash_commands: commands } = manifest.features;
    expect(commands.map(({ command }) => command)).toEqual(listCaptures(/\bapp\.command\('([^']+)'/g));
    // Escaping passes people as IDs. `slack/kit/parse.ts` removes Slack's tokens from names and reasons.
    expect(commands.every((command) => command.should_escape)).toBe(true);
  });

  it('declares the shortcuts that the bot handles', () => {
    const ids = manifest.features.shortcuts.map(({ callback_id: id }) => id);
    expect(ids).toEqual(listCaptures(/\bapp\.shortcut\('([^']+)'/g));
    expect(manifest.features.shortcuts.map(({ type }) => type)).toEqual(['message', 'global']);
  });

  it('subscribes to the events that the bot handles', () => {
    expect([...manifest.settings.event_subscriptions.bot_events].sort()).toEqual(
      listCaptures(/\bevent(?:\.type === |\()'([^']+)'/g),
    );
    expect(manifest.features.app_home.home_tab_enabled).toBe(true);
    expect(manifest.settings.interactivity.is_enabled).toBe(true);
  });

  it('uses the one URL path that the bot listens on', () => {
    const { settings, features } = manifest;
    const urls = [
      settings.event_subscriptions.request_url,
      settings.interactivity.request_url,
      ...features.slash_commands.map(({ url }) => url),
    ];
    expect([...new Set(urls)].map((url) => new URL(url).pathname)).toEqual(['/slack/events']);
  });

  it('requests exactly the scopes that the calls need', () => {
    const called = listCaptures(/\bcall\(\s*'([a-z]+\.[A-Za-z.]+)'/g);
    expect(called.filter((method) => SCOPES_OF[method] === undefined)).toEqual([]);
    // A file attached to a form is read from its URL, not with a method.
    const attached = /type: 'file_input'/.test(slackSource) ? ['files:read'] : [];
    const needed = new Set(['commands', ...attached, ...called.flatMap((method) => SCOPES_OF[method] ?? [])]);
    expect([...manifest.oauth_config.scopes.bot].sort()).toEqual([...needed].sort());
  });

  it('works without the scopes for user groups and attached files, which are optional', () => {
    const { bot, bot_optional: optional } = manifest.oauth_config.scopes;
    expect(optional).toEqual(['files:read', 'usergroups:read']);
    expect(BOT_SCOPES.filter(({ isOptional }) => isOptional).map(({ scope }) => scope)).toEqual(optional);
    expect(optional.filter((scope) => !bot.includes(scope))).toEqual([]);
  });

  it('requests the scopes of its events', () => {
    const { bot_events: events } = manifest.settings.event_subscriptions;
    const needed = events.flatMap((event) => SCOPES_OF_EVENTS[event] ?? ['unknown']);
    expect(needed.filter((scope) => !manifest.oauth_config.scopes.bot.includes(scope))).toEqual([]);
  });

  it('requests the scopes that the local workspace grants', () => {
    expect(manifest.oauth_config.scopes.bot).toEqual(BOT_SCOPES.map(({ scope }) => scope));
  });
});
