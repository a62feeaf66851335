import { startWorkspace } from '@domain-steward/slack-workspace';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Secret } from '../../../src/service/secret.ts';
import {
  formatApproverError,
  formatChannelError,
  formatSlackError,
} from '../../../src/slack/outbound/slack-error.view.ts';
import { createSlackWeb, okResponseSchema, SlackApiError } from '../../../src/slack/outbound/web.ts';

const createRefusal = (code: string, needed?: string) =>
  new SlackApiError('refused', 'some.method', { code, needed });
const rateLimited = new SlackApiError('rate_limited', 'some.method', { retryAfterMs: 1_000 });
const unreachable = new SlackApiError('unreachable', 'some.method', {});

test.each([
  [rateLimited, 'Slack is rate-limiting me.', 'Try again in 1 second.'],
  [unreachable, 'Slack didn’t respond as expected.', 'Try again in a minute.'],
  [
    createRefusal('missing_scope', 'files:write'),
    'My app lacks a required permission, the scope files:write.',
    'Ask your operator to reinstall the app with its manifest, then try again.',
  ],
  [
    createRefusal('token_revoked'),
    'Slack no longer accepts my token (token_revoked).',
    'Tell your operator.',
  ],
  [
    createRefusal('something_new'),
    'Slack refused this (something_new).',
    'If it keeps failing, tell your operator.',
  ],
])('%s is formatted as a cause and a remedy', (problem, cause, remedy) => {
  expect(formatSlackError(problem)).toEqual({ cause, remedy });
});

test('an ID is called unknown only if Slack says so', () => {
  for (const code of ['user_not_found', 'no_such_subteam']) {
    expect(formatApproverError('S01GROUP', createRefusal(code))).toBe(
      'Slack doesn’t know S01GROUP. Copy the ID again.',
    );
  }
  for (const problem of [
    rateLimited,
    unreachable,
    createRefusal('missing_scope'),
    createRefusal('something_new'),
  ]) {
    expect(formatApproverError('S01GROUP', problem)).toMatch(/^I can’t look up S01GROUP\. /);
  }
});

test('an invitation is suggested only if the bot isn’t in the channel, or can’t see it', () => {
  for (const code of ['not_in_channel', 'channel_not_found']) {
    expect(formatChannelError(createRefusal(code))).toMatch(/^I can’t post there: .*\/invite/);
  }
  for (const problem of [
    rateLimited,
    unreachable,
    createRefusal('is_archived'),
    createRefusal('restricted_action'),
    createRefusal('missing_scope'),
  ]) {
    expect(formatChannelError(problem)).not.toContain('/invite');
  }
  expect(formatChannelError(unreachable)).toMatch(/^I couldn’t check whether I can post there\. /);
});

describe('the missing scope', () => {
  test('is read from Slack’s response', async () => {
    const workspace = await startWorkspace({ bot: { scopes: ['chat:write'] } });
    onTestFinished(() => workspace.close());
    const web = createSlackWeb(new Secret(workspace.botToken), workspace.apiUrl);
    const error = await web
      .call('files.getUploadURLExternal', { filename: 'a.csv', length: 1 }, okResponseSchema)
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'missing_scope', needed: 'files:write' });
  });
});
