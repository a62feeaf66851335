import { expect, test } from 'vitest';
import { Bursts, type Click } from '../support/bursts.ts';
import { SHORT_LEASE_BOT } from '../support/harness.ts';
import { readInteger } from './seed.ts';

/*
 * BURSTS bursts of CLICKS concurrent clicks on Approve, over one and three bots, by one or several approvers.
 * In every other burst, Slack's API takes 150 ms a call and has rate limits. Each click changes its order, or
 * the person learns why not.
 */

const BURSTS = readInteger('BURSTS', 50);
const CLICKS = readInteger('CLICKS', 1_000);
/** Longer than the bot retries an answer. */
const ANSWERED_WITHIN_MS = 5 * 60_000;
const HOUR_MS = 3_600_000;

interface Crowd {
  readonly approvers: string;
  readonly people: readonly string[];
  readonly approvalsRequired: number;
}

const CROWDS: Readonly<Record<string, Crowd>> = {
  'one approver': { approvers: 'U0BOB', people: ['U0BOB'], approvalsRequired: 1 },
  'several approvers': {
    approvers: 'U0BOB,U0ADA,S0APPROVERS',
    people: ['U0BOB', 'U0ADA', 'U0CAROL'],
    approvalsRequired: 1,
  },
  'two approvals an order': {
    approvers: 'U0BOB,S0APPROVERS',
    people: ['U0BOB', 'U0CAROL'],
    approvalsRequired: 2,
  },
};

const cases = [1, 3].flatMap((bots) =>
  Object.entries(CROWDS).map(([what, crowd]) => ({ bots, what, crowd })),
);

test.each(cases)(
  'each click changes its order or gets an answer: $what, $bots bots',
  async ({ bots, what, crowd }) => {
    const { approvers, people, approvalsRequired } = crowd;
    const settings = { APPROVERS: approvers, APPROVALS_REQUIRED: String(approvalsRequired) };
    const bursts = await Bursts.start({ bots, settings });
    try {
      for (let burst = 1; burst <= Math.ceil(BURSTS / cases.length); burst += 1) {
        const orders = await bursts.createPendingOrders(CLICKS / approvalsRequired);
        if (burst % 2 === 0) slowDownSlack(bursts);
        const clicks = orders.flatMap((order, n) =>
          Array.from({ length: approvalsRequired }, (_, approval): Click => {
            const userId = people[(n + approval) % people.length] ?? '';
            return { order, userId, hasResponseUrl: n % 3 > 0 };
          }),
        );
        const { approved, answerCounts, unanswered } = await bursts.click(clicks, ANSWERED_WITHIN_MS);
        const answers = JSON.stringify([...answerCounts]);
        process.stdout.write(
          `${what}, ${bots} bots, burst ${burst}: ${clicks.length} clicks, ${approved} approvals, answers ${answers}, unanswered ${unanswered.length}\n`,
        );
        expect(unanswered, `clicks without a change or an answer\n${bursts.listLoggedErrors()}`).toEqual([]);
        bursts.environment.workspace.faults.clear();
        await bursts.waitUntilIdle();
      }
    } finally {
      await bursts.close();
    }
  },
  HOUR_MS,
);

/** Slack is slow, and sometimes rate limits each method that a click needs. */
function slowDownSlack({ environment }: Bursts): void {
  const { faults } = environment.workspace;
  const methods = ['users.info', 'usergroups.users.list', 'chat.postEphemeral', 'conversations.open'];
  for (const method of methods) {
    faults.set({ method, kind: 'ratelimited', retryAfterSeconds: 1, times: Math.ceil(CLICKS / 50) });
  }
  faults.set({ method: '*', kind: 'slow', delayMs: 150 });
}

test(
  'each click beyond a person’s limit per minute gets an answer',
  async () => {
    const bursts = await Bursts.start({ entry: SHORT_LEASE_BOT });
    try {
      const orders = await bursts.createPendingOrders(CLICKS);
      const { approved, answerCounts, unanswered } = await bursts.click(
        orders.map((order) => ({ order, userId: 'U0BOB', hasResponseUrl: true })),
        ANSWERED_WITHIN_MS,
      );
      process.stdout.write(`limited: ${approved} approvals, answers ${JSON.stringify([...answerCounts])}\n`);
      expect(unanswered).toEqual([]);
    } finally {
      await bursts.close();
    }
  },
  HOUR_MS,
);
