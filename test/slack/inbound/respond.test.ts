import { startWorkspace, type Workspace } from '@domain-steward/slack-workspace';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { Secret } from '../../../src/service/secret.ts';
import { respondWithRetries } from '../../../src/slack/inbound/respond.ts';
import { textMessage } from '../../../src/slack/kit/blocks.ts';
import { createDirectory } from '../../../src/slack/outbound/directory.ts';
import { createSlackWeb } from '../../../src/slack/outbound/web.ts';
import { slackContextWith } from '../../support/context.ts';
import { DOMAINS } from '../../support/demo.ts';

/* Notifying one person, whatever Slack does meanwhile. */

const DIRECT = 'D0BOB';
const NO_WAITS = [0, 0, 0];

let workspace: Workspace;
let logged: string[] = [];
const log = pino({ level: 'info' }, { write: (line: string) => void logged.push(line) });

beforeAll(async () => {
  workspace = await startWorkspace();
});
beforeEach(() => {
  workspace.faults.clear();
  logged = [];
});
afterAll(() => workspace.close());

async function tellBob(text: string): Promise<void> {
  const web = createSlackWeb(new Secret(workspace.botToken), workspace.apiUrl);
  const directory = createDirectory(web, workspace.teamId);
  const deps = slackContextWith({ web, directory, isSlackResponseUrl: () => true, log });
  const person = { id: 'U0BOB', isMember: true, isConfirmed: true, isAdmin: false };
  const to = { person, channelId: DOMAINS, threadTs: undefined, responseUrl: undefined };
  await respondWithRetries(deps, to, textMessage(text), {}, NO_WAITS);
}

const inChannel = (text: string) =>
  workspace
    .as('U0BOB')
    .ephemerals()
    .filter((message) => message.text === text);
const directly = (text: string) => workspace.messages(DIRECT).filter((message) => message.text === text);

test('a person whom Slack limits everywhere gets the message once that is over', async () => {
  workspace.faults.set({ method: 'chat.postEphemeral', kind: 'ratelimited', retryAfter: 0, times: 2 });
  workspace.faults.set({ method: 'chat.postMessage', kind: 'ratelimited', retryAfter: 0, times: 2 });
  await tellBob('limited');
  expect(inChannel('limited')).toHaveLength(1);
  expect(directly('limited')).toHaveLength(0);
  expect(logged.filter((line) => line.includes('will retry'))).toHaveLength(2);
});

test.each([{ kind: 'http_500' }, { kind: 'error', code: 'internal_error' }] as const)(
  'while Slack fails ($kind) it is retried',
  async (fault) => {
    workspace.faults.set({ method: '*', times: 2, ...fault });
    await tellBob(`after ${fault.kind}`);
    expect(inChannel(`after ${fault.kind}`)).toHaveLength(1);
  },
);

test('if direct messages are turned off, the channel is tried again', async () => {
  workspace.faults.set({ method: 'chat.postEphemeral', kind: 'ratelimited', retryAfter: 0, times: 1 });
  workspace.faults.set({ method: 'conversations.open', kind: 'error', code: 'cannot_dm_bot' });
  await tellBob('no direct messages');
  expect(inChannel('no direct messages')).toHaveLength(1);
});

test('a message that Slack refuses for good, or for too long, is logged', async () => {
  workspace.faults.set({ method: '*', kind: 'error', code: 'account_inactive' });
  await tellBob('refused');
  expect(logged.filter((line) => line.includes('couldn’t be notified'))).toHaveLength(1);
  expect(logged.filter((line) => line.includes('will retry'))).toHaveLength(0);
  workspace.faults.clear();
  workspace.faults.set({ method: '*', kind: 'http_500' });
  await tellBob('lost');
  expect(logged.filter((line) => line.includes('will retry'))).toHaveLength(NO_WAITS.length);
  expect(logged.filter((line) => line.includes('couldn’t be notified'))).toHaveLength(2);
});
