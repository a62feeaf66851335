import { startWorkspace, type Workspace } from '@domain-steward/slack-workspace';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createLog } from '../src/log.ts';
import { Secret } from '../src/service/secret.ts';
import { createSlackWeb } from '../src/slack/outbound/web.ts';
import { identify, retryAtStart, StartError } from '../src/start.ts';
import { until } from './support/demo.ts';

let workspace: Workspace;
beforeAll(async () => {
  workspace = await startWorkspace();
});
afterAll(() => workspace.close());
afterEach(() => workspace.faults.clear());

function start(signal = new AbortController().signal) {
  let text = '';
  const log = createLog('debug', {
    write: (line) => {
      text += line;
    },
  });
  const web = createSlackWeb(new Secret(workspace.botToken), workspace.apiUrl);
  const identified = retryAtStart('Slack', log, signal, () => identify(web));
  identified.catch(() => undefined); // told when it is awaited
  return { identified, logged: () => text };
}

describe('when Slack asks to wait', () => {
  test('it is asked again when that time is over, and not before', { timeout: 30_000 }, async () => {
    const calls = () => workspace.calls.filter(({ method }) => method === 'auth.test').length;
    const before = calls();
    workspace.faults.set({ method: 'auth.test', kind: 'ratelimited', retryAfter: 3, times: 1 });
    const begun = performance.now();
    const { identified, logged } = start();
    expect(await identified).toMatchObject({ teamId: workspace.teamId });
    expect(performance.now() - begun, 'ms until it was asked').toBeGreaterThan(2_900);
    expect(calls() - before, 'calls').toBe(2);
    expect(logged()).toContain('"waitMs":3000');
  });

  test('a signal ends the waiting', async () => {
    const ending = new AbortController();
    workspace.faults.set({ method: 'auth.test', kind: 'ratelimited', retryAfter: 600 });
    const { identified, logged } = start(ending.signal);
    await until('it waits', () => logged().includes('"waitMs":600000'));
    ending.abort();
    await expect(identified).rejects.toMatchObject({ name: 'AbortError' });
  });
});

test('a token that Slack does not take is not tried again', async () => {
  workspace.faults.set({ method: 'auth.test', kind: 'error', code: 'token_revoked' });
  await expect(start().identified).rejects.toThrow(StartError);
});
