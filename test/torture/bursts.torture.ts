import { expect, test } from 'vitest';
import { Bursts, type Click } from '../support/bursts.ts';
import { SHORT_LEASES } from '../support/harness.ts';
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
  readonly approvals: number;
}

const CROWDS: Readonly<Record<string, Crowd>> = {
  'one approver': { approvers: 'U0BOB', people: ['U0BOB'], approvals: 1 },
  'several approvers': {
    approvers: 'U0BOB,U0ADA,S0APPROVERS',
    people: ['U0BOB', 'U0ADA', 'U0CAROL'],
    approvals: 1,
  },
  'two approvals an order': {
    approvers: 'U0BOB,S0APPROVERS',
    people: ['U0BOB', 'U0CAROL'],
    approvals: 2,
  },
};

const cases = [1, 3].flatMap((bots) =>
  Object.entries(CROWDS).map(([what, crowd]) => ({ bots, what, crowd })),
);

test.each(cases)(
  'each click has an effect or an answer: $what, $bots bots',
  async ({ bots, what, crowd }) => {
    const { approvers, people, approvals } = crowd;
    const settings = { APPROVERS: approvers, APPROVALS_REQUIRED: String(approvals) };
    const bursts = await Bursts.start({ bots, settings });
    try {
      for (let burst = 1; burst <= Math.ceil(BURSTS / cases.length); burst += 1) {
        const orders = await bursts.waiting(CLICKS / approvals);
        if (burst % 2 === 0) limit(bursts);
        const clicks = orders.flatMap((order, n) =>
          Array.from({ length: approvals }, (_, vote): Click => {
            const userId = people[(n + vote) % people.length] ?? '';
            return { order, userId, hasResponseUrl: n % 3 > 0 };
          }),
        );
        const { approved, told, silent } = await bursts.click(clicks, ANSWERED_WITHIN_MS);
        const answers = JSON.stringify([...told]);
        process.stdout.write(
          `${what}, ${bots} bots, burst ${burst}: ${clicks.length} clicks, ${approved} approvals, answers ${answers}, unanswered ${silent.length}\n`,
        );
        expect(silent, `clicks without an effect or an answer\n${bursts.complaints()}`).toEqual([]);
        bursts.s.workspace.faults.clear();
        await bursts.quiet();
      }
    } finally {
      await bursts.close();
    }
  },
  HOUR_MS,
);

/** Slack is slow, and sometimes rate limits each method that a click needs. */
function limit({ s }: Bursts): void {
  const { faults } = s.workspace;
  const methods = ['users.info', 'usergroups.users.list', 'chat.postEphemeral', 'conversations.open'];
  for (const method of methods) {
    faults.set({ method, kind: 'ratelimited', retryAfter: 1, times: Math.ceil(CLICKS / 50) });
  }
  faults.set({ method: '*', kind: 'slow', delayMs: 150 });
}

test(
  'each click beyond one person’s limit per minute is answered',
  async () => {
    const bursts = await Bursts.start({ entry: SHORT_LEASES });
    try {
      const orders = await bursts.waiting(CLICKS);
      const { approved, told, silent } = await bursts.click(
        orders.map((order) => ({ order, userId: 'U0BOB', hasResponseUrl: true })),
        ANSWERED_WITHIN_MS,
      );
      process.stdout.write(`limited: ${approved} approvals, answers ${JSON.stringify([...told])}\n`);
      expect(silent).toEqual([]);
    } finally {
      await bursts.close();
    }
  },
  HOUR_MS,
);
