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

/* Notifying one person while Slack fails, limits or refuses calls. */

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

async function notifyBob(text: string): Promise<void> {
  const web = createSlackWeb(new Secret(workspace.botToken), workspace.apiUrl);
  const directory = createDirectory(web, workspace.teamId);
  const deps = slackContextWith({ web, directory, isSlackResponseUrl: () => true, log });
  const person = { id: 'U0BOB', isMember: true, isConfirmed: true, isAdmin: false };
  const to = { person, channelId: DOMAINS, threadTs: undefined, responseUrl: undefined };
  await respondWithRetries(deps, to, textMessage(text), {}, NO_WAITS);
}

const listEphemerals = (text: string) =>
  workspace
    .as('U0BOB')
    .ephemerals()
    .filter((message) => message.text === text);
const listDirect = (text: string) => workspace.messages(DIRECT).filter((message) => message.text === text);

test('a message that Slack rate-limits everywhere is delivered after the limit ends', async () => {
  workspace.faults.set({ method: 'chat.postEphemeral', kind: 'ratelimited', retryAfterSeconds: 0, times: 2 });
  workspace.faults.set({ method: 'chat.postMessage', kind: 'ratelimited', retryAfterSeconds: 0, times: 2 });
  await notifyBob('limited');
  expect(listEphemerals('limited')).toHaveLength(1);
  expect(listDirect('limited')).toHaveLength(0);
  expect(logged.filter((line) => line.includes('will retry'))).toHaveLength(2);
});

test.each([{ kind: 'http_500' }, { kind: 'error', code: 'internal_error' }] as const)(
  'a message is retried while Slack fails ($kind)',
  async (fault) => {
    workspace.faults.set({ method: '*', times: 2, ...fault });
    await notifyBob(`after ${fault.kind}`);
    expect(listEphemerals(`after ${fault.kind}`)).toHaveLength(1);
  },
);

test('the channel is retried if direct messages are turned off', async () => {
  workspace.faults.set({ method: 'chat.postEphemeral', kind: 'ratelimited', retryAfterSeconds: 0, times: 1 });
  workspace.faults.set({ method: 'conversations.open', kind: 'error', code: 'cannot_dm_bot' });
  await notifyBob('no direct messages');
  expect(listEphemerals('no direct messages')).toHaveLength(1);
});

test('a message that Slack refuses permanently or for too long is logged', async () => {
  workspace.faults.set({ method: '*', kind: 'error', code: 'account_inactive' });
  await notifyBob('refused');
  expect(logged.filter((line) => line.includes('couldn’t be notified'))).toHaveLength(1);
  expect(logged.filter((line) => line.includes('will retry'))).toHaveLength(0);
  workspace.faults.clear();
  workspace.faults.set({ method: '*', kind: 'http_500' });
  await notifyBob('lost');
  expect(logged.filter((line) => line.includes('will retry'))).toHaveLength(NO_WAITS.length);
  expect(logged.filter((line) => line.includes('couldn’t be notified'))).toHaveLength(2);
});
