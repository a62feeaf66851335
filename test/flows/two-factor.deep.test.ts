import { afterAll, beforeAll, expect, test } from 'vitest';
import { DOMAINS, performAndWaitForView } from '../support/demo.ts';
import {
  type BotEnvironment,
  type RunningBot,
  SHORT_LEASE_BOT,
  startBotEnvironment,
} from '../support/harness.ts';
import { type VisibleOrder, waitForOrder } from '../support/orders.ts';
import { linkTwoFactor } from '../support/people.ts';

/*
 * A two-factor account is linked with its shared secret and used immediately: on the same bot, on another one, and
 * after a restart. One token is used in total.
 */

const MAX_WAIT_MS = 120_000;

let s: BotEnvironment;
let one: RunningBot;
let two: RunningBot;
beforeAll(async () => {
  s = await startBotEnvironment();
  two = await s.start(SHORT_LEASE_BOT);
  one = await s.start(SHORT_LEASE_BOT);
}, MAX_WAIT_MS);
afterAll(() => s.stop());

/** Requests a redirect at a bot. */
async function requestRedirectAt(bot: RunningBot, target: string): Promise<VisibleOrder> {
  const { workspace } = s;
  const carol = workspace.as('U0CAROL');
  workspace.setRequestUrl(`${bot.url}/slack/events`);
  const form = await performAndWaitForView(workspace, carol, () =>
    carol.command(DOMAINS, '/domain redirect shop.cafe.rest'),
  );
  return waitForOrder(workspace, () =>
    carol.submit(form, { source: 'shop.cafe.rest', target, type: 'domain', mode: 'single' }),
  );
}

test(
  'the session opened when linking is shared by all bots and survives a restart',
  async () => {
    await linkTwoFactor(s.workspace, s.workspace.as('U0CAROL'));
    await (await requestRedirectAt(one, 'https://a.example')).waitForResult('SUCCEEDED');
    await (await requestRedirectAt(two, 'https://b.example')).waitForResult('SUCCEEDED');
    await one.child.kill('SIGTERM');
    one = await s.start(SHORT_LEASE_BOT);
    await (await requestRedirectAt(one, 'https://c.example')).waitForResult('SUCCEEDED');

    const answerCodes = (task: 'session.create' | 'redirect.update') =>
      s.service.requestsFor({ task }).map(({ answerCode }) => answerCode);
    expect(answerCodes('session.create')).toEqual(['S1321001']);
    expect(answerCodes('redirect.update')).toEqual(['S0502', 'S0502', 'S0502']);
  },
  MAX_WAIT_MS,
);
