import { startWorkspace, type Workspace } from '@domain-steward/slack-workspace';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { checkSettingsLater, fetchBotIdentity, retryAtStart, StartError } from '../../src/app/start.ts';
import { readConfig } from '../../src/config/environment.ts';
import { applySavedSettings } from '../../src/config/settings.ts';
import { createLog } from '../../src/lib/log.ts';
import { Secret } from '../../src/service/secret.ts';
import { createSlackWeb } from '../../src/slack/outbound/web.ts';
import { until } from '../support/demo.ts';

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
  const identified = retryAtStart('Slack', log, signal, () => fetchBotIdentity(web));
  identified.catch(() => undefined); // reported when it is awaited
  return { identified, logged: () => text };
}

describe('when Slack rate-limits the start', () => {
  test('it retries after the given time', { timeout: 30_000 }, async () => {
    const calls = () => workspace.calls.filter(({ method }) => method === 'auth.test').length;
    const before = calls();
    workspace.faults.set({ method: 'auth.test', kind: 'ratelimited', retryAfterSeconds: 1, times: 1 });
    const begun = performance.now();
    const { identified, logged } = start();
    expect(await identified).toMatchObject({ teamId: workspace.teamId });
    expect(performance.now() - begun, 'ms until the retry').toBeGreaterThan(900);
    expect(calls() - before, 'calls').toBe(2);
    expect(logged()).toContain('"waitMs":1000');
  });

  test('a signal ends the wait', async () => {
    const ending = new AbortController();
    workspace.faults.set({ method: 'auth.test', kind: 'ratelimited', retryAfterSeconds: 600 });
    const { identified, logged } = start(ending.signal);
    await until('the wait begins', () => logged().includes('"waitMs":600000'));
    ending.abort();
    await expect(identified).rejects.toMatchObject({ name: 'AbortError' });
  });
});

test('an invalid token isn’t retried', async () => {
  workspace.faults.set({ method: 'auth.test', kind: 'error', code: 'token_revoked' });
  await expect(start().identified).rejects.toThrow(StartError);
});

describe('the settings check half a minute after the start', () => {
  afterEach(() => void vi.useRealTimers());

  /** Schedules the check, and advances the clock. @returns the warnings, and `giveUp` to cancel the check */
  async function runDelayedCheck(settings: Readonly<Record<string, string>>, ms = 30_000) {
    const config = readConfig({
      ...{ SLACK_BOT_TOKEN: workspace.botToken, SLACK_SIGNING_SECRET: workspace.signingSecret },
      ...{ SERVICE_JSON_URL: 'https://service.example/v1', CREDENTIALS_KEYS: `a:${'A'.repeat(43)}=` },
      ...settings,
    });
    const lines: string[] = [];
    const log = createLog('info', { write: (line) => void lines.push(line) });
    const web = createSlackWeb(new Secret(workspace.botToken), workspace.apiUrl);
    const bot = await fetchBotIdentity(web);
    const teamSettings = vi.fn(async () => applySavedSettings(config.defaultSettings, {}));
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const giveUp = checkSettingsLater({ config, log }, { web, bot, orgId: undefined }, teamSettings);
    vi.advanceTimersByTime(ms);
    vi.useRealTimers();
    return { lines, teamSettings, giveUp };
  }

  test('warns about missing approvers and channels, with what to do', async () => {
    const { lines } = await runDelayedCheck({
      APPROVERS: 'U0BOB,U0NOBODY,S0NOBODY',
      REMINDER_CHANNEL: 'C0NOWHERE',
      ALERT_CHANNEL: 'C0EXPIRY',
    });
    await until('all warnings are logged', () => lines.length === 3);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      {
        level: 40,
        setting: 'APPROVERS',
        found: expect.stringContaining('U0NOBODY'),
        action: 'Remove U0NOBODY from APPROVERS, or correct it.',
      },
      { level: 40, setting: 'APPROVERS', found: expect.stringContaining('the group S0NOBODY') },
      {
        level: 40,
        setting: 'REMINDER_CHANNEL',
        found: expect.stringContaining('C0NOWHERE'),
        action: expect.stringContaining('/invite'),
      },
    ]);
  });

  test('doesn’t run earlier, and logs nothing if everything is right', async () => {
    const right = { APPROVERS: 'U0BOB', REMINDER_CHANNEL: 'C0EXPIRY' };
    const early = await runDelayedCheck(right, 29_999);
    expect(early.teamSettings).not.toHaveBeenCalled();
    early.giveUp();
    const before = workspace.calls.length;
    const { lines } = await runDelayedCheck(right);
    await until('everything is checked', () =>
      workspace.calls.slice(before).some(({ method }) => method === 'chat.deleteScheduledMessage'),
    );
    expect(lines).toEqual([]);
  });
});
