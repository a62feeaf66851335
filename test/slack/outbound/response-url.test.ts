import { describe, expect, test } from 'vitest';
import { isSlackResponseUrl } from '../../../src/slack/outbound/response-url.ts';

test.each([
  'https://hooks.slack.com/commands/T1/2/3',
  'https://hooks.slack.com:443/actions/T1/2/3',
  'https://HOOKS.slack.com/app/T1/2/3',
  'https://hooks.slack-gov.com/commands/T1/2/3',
])('%s is a response URL of Slack', (address) => {
  expect(isSlackResponseUrl(address, undefined)).toBe(true);
});

const OTHER_URLS = [
  'http://hooks.slack.com/commands/T1/2/3',
  'https://hooks.slack.com:8443/commands/T1/2/3',
  'https://slack.com/api/chat.postMessage',
  'https://hooks.slack.com.evil.example/commands/T1',
  'https://evil.example/hooks.slack.com',
  'https://hooks.slack.com@evil.example/commands/T1',
  'https://me:secret@hooks.slack.com/commands/T1',
  'https://evilhooks.slack.com/commands/T1',
  'https://hooks.slack.com./commands/T1',
  'http://169.254.169.254/latest/meta-data',
  'http://127.0.0.1:8080/',
  'file:///etc/passwd',
  'hooks.slack.com/commands/T1',
  '//hooks.slack.com/commands/T1',
  '',
];

test.each(OTHER_URLS)('%j isn’t a response URL of Slack', (address) => {
  expect(isSlackResponseUrl(address, undefined)).toBe(false);
});

describe('with SLACK_API_URL', () => {
  const apiUrl = 'http://127.0.0.1:8081/api/';

  test.each(['http://127.0.0.1:8081/response/1', 'https://hooks.slack.com/commands/T1/2/3'])(
    '%s is accepted',
    (address) => {
      expect(isSlackResponseUrl(address, apiUrl)).toBe(true);
    },
  );

  test.each([
    ...OTHER_URLS,
    'https://127.0.0.1:8081/response/1',
    'http://127.0.0.1:8082/response/1',
    'http://127.0.0.1/response/1',
    'http://localhost:8081/response/1',
    'http://me@127.0.0.1:8081/response/1',
  ])('%j is refused', (address) => {
    expect(isSlackResponseUrl(address, apiUrl)).toBe(false);
  });
});
