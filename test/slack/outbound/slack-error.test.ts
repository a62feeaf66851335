import { startWorkspace } from '@domain-steward/slack-workspace';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Secret } from '../../../src/service/secret.ts';
import {
  approverError,
  channelError,
  formatSlackError,
} from '../../../src/slack/outbound/slack-error.view.ts';
import { createSlackWeb, okResponse, SlackApiError } from '../../../src/slack/outbound/web.ts';

const refused = (code: string, needed?: string) =>
  new SlackApiError('refused', 'some.method', { code, needed });
const limited = new SlackApiError('rate_limited', 'some.method', { retryAfterMs: 1_000 });
const unreachable = new SlackApiError('unreachable', 'some.method', {});

test.each([
  [limited, 'Slack limits how often I may ask it.', 'Try again in 1 second.'],
  [unreachable, 'Slack did not answer me as it should.', 'Try again in a minute.'],
  [
    refused('missing_scope', 'files:write'),
    'My app lacks a right that this needs, the scope files:write.',
    'Whoever runs me installs the app again with its manifest; then try again.',
  ],
  [refused('token_revoked'), 'Slack no longer takes my token (token_revoked).', 'Tell whoever runs me.'],
  [refused('something_new'), 'Slack refuses this (something_new).', 'If it stays so, tell whoever runs me.'],
])('%s is said as it is', (problem, said, todo) => {
  expect(formatSlackError(problem)).toEqual({ said, todo });
});

test('an id is unknown only where Slack says so', () => {
  for (const code of ['user_not_found', 'no_such_subteam']) {
    expect(approverError('S01GROUP', refused(code))).toBe('Slack knows no S01GROUP. Copy the id again.');
  }
  for (const problem of [limited, unreachable, refused('missing_scope'), refused('something_new')]) {
    expect(approverError('S01GROUP', problem)).toMatch(/^I cannot look S01GROUP up\. /);
  }
});

test('an invitation helps only where the bot is not in the channel, or cannot see it', () => {
  for (const code of ['not_in_channel', 'channel_not_found']) {
    expect(channelError(refused(code))).toMatch(/^I cannot post there: .*\/invite/);
  }
  for (const problem of [
    limited,
    unreachable,
    refused('is_archived'),
    refused('restricted_action'),
    refused('missing_scope'),
  ]) {
    expect(channelError(problem)).not.toContain('/invite');
  }
  expect(channelError(unreachable)).toMatch(/^I do not know whether I can post there\. /);
});

describe('which scope is missing', () => {
  test('is what Slack itself says', async () => {
    const workspace = await startWorkspace({ bot: { scopes: ['chat:write'] } });
    onTestFinished(() => workspace.close());
    const web = createSlackWeb(new Secret(workspace.botToken), workspace.apiUrl);
    const error = await web
      .call('files.getUploadURLExternal', { filename: 'a.csv', length: 1 }, okResponse)
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'missing_scope', needed: 'files:write' });
  });
});
