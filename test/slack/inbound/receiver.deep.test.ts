import { createServer } from 'node:http';
import { startWorkspace, type Workspace } from '@domain-steward/slack-workspace';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createLog, type Log } from '../../../src/lib/log.ts';
import { Secret } from '../../../src/service/secret.ts';
import { createBoltLogger, createReceiver } from '../../../src/slack/inbound/receiver.ts';
import { until } from '../../support/demo.ts';

let workspace: Workspace;
beforeAll(async () => {
  workspace = await startWorkspace();
});
afterAll(() => workspace.close());

function capture(): { readonly log: Log; readonly lines: () => { readonly msg: string }[]; text(): string } {
  let text = '';
  const log = createLog('debug', {
    write: (line) => {
      text += line;
    },
  });
  const lines = () =>
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  return { log, lines, text: () => text };
}

function openSocket(apiUrl: string, log: Log) {
  const receiver = createReceiver({ kind: 'socket', appToken: new Secret(workspace.appToken) }, apiUrl, log);
  onTestFinished(() => receiver.stop());
  return receiver;
}

describe('when Slack asks to wait before another connection', () => {
  const listOpens = () => workspace.calls.filter(({ method }) => method === 'apps.connections.open');

  test('the receiver connects after that time, not before', { timeout: 30_000 }, async () => {
    const { log, text } = capture();
    const before = listOpens().length;
    workspace.faults.set({
      method: 'apps.connections.open',
      kind: 'ratelimited',
      retryAfterSeconds: 3,
      times: 1,
    });
    const receiver = openSocket(workspace.apiUrl, log);
    const startedAt = performance.now();
    await receiver.start();
    expect(performance.now() - startedAt, 'ms until it was connected').toBeGreaterThan(2_900);
    expect(listOpens().length - before, 'calls').toBe(2);
    expect(receiver.isConnected()).toBe(true);
    expect(text()).toContain('"waitMs":3000');
  });

  test('stopping doesn’t wait that long', async () => {
    const { log, text } = capture();
    workspace.faults.set({
      method: 'apps.connections.open',
      kind: 'ratelimited',
      retryAfterSeconds: 600,
      times: 1,
    });
    const receiver = openSocket(workspace.apiUrl, log);
    const starting = receiver.start();
    await until('the receiver waits', () => text().includes('"waitMs":600000'));
    await receiver.stop();
    await starting;
    expect(receiver.isConnected()).toBe(false);
  });
});

test('a failed socket connection is logged with a meaningful message', async () => {
  const { log, lines } = capture();
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ ok: true, url: 'ws://127.0.0.1:1/link' }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const receiver = openSocket(`http://127.0.0.1:${port}/api/`, log);
  const starting = receiver.start();
  await until('two attempts are logged', () => lines().length >= 2);
  await receiver.stop();
  await starting;
  for (const line of lines()) {
    expect(line).toMatchObject({
      msg: 'connecting to Slack failed, will retry',
      err: { cause: { message: 'the socket couldn’t be opened', cause: { type: 'SMWebsocketError' } } },
    });
  }
});

describe('an error from Slack’s library', () => {
  test.each<[what: string, parts: readonly unknown[], line: object | undefined]>([
    ['a sentence', ['Not acknowledged in time'], { msg: 'Not acknowledged in time', from: 'slack' }],
    [
      'a sentence and an error',
      ['Slack API error: invalid_auth', Object.assign(new Error('refused'), { code: 'E1' })],
      { msg: 'Slack API error: invalid_auth', err: { message: 'refused', code: 'E1' } },
    ],
    [
      'an error without a sentence',
      [new AggregateError([Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })])],
      {
        msg: 'error in Slack’s library',
        err: { type: 'AggregateError', cause: { code: 'ECONNREFUSED' } },
      },
    ],
    ['nothing', [], undefined],
    ['an empty line', ['  '], undefined],
    ['an object, which may be a payload', [{ text: 'a payload' }], undefined],
    ['a socket’s error, which has its own event', ['WebSocket error occurred: '], undefined],
    ['the other form of a socket’s error', ['WebSocket error! Error'], undefined],
    ['a failed call, which its caller reports', ['Failed to retrieve a new WSS URL (error: x)'], undefined],
  ])('is logged or dropped: %s', (_what, parts, line) => {
    const { log, lines } = capture();
    createBoltLogger(log).error(...parts);
    expect(lines()).toEqual(line === undefined ? [] : [expect.objectContaining({ level: 50 })]);
    if (line !== undefined) expect(lines()[0]).toMatchObject(line);
  });
});
