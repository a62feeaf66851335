import { type Bench, type Line, measureAlternately, quantile, type Row, roundsAtLeast } from '../measure.ts';
import { buildClick, buildCommand, type Delivery } from '../slack-load.ts';
import { Surroundings, waitUntil } from '../surroundings.ts';

/*
 * How long Slack waits for acknowledgements, at 50 deliveries a second, compared with a Bolt app that only commits one
 * row to the same PostgreSQL before it acknowledges. The bot acknowledges when all changes of a delivery are committed.
 * Before that it looks up the person, and it posts cards and sends renewals at the same time.
 */

const PER_SECOND = 50;
/** The absolute time also has a target, because people notice it. */
const MAX_P99_RATIO = 3;
const MAX_P99_MS = 100;
const WARM_UP_ROUNDS = 1;
/** The 99th percentile of a round is the fifth slowest of 500, so rounds differ by a factor of two. */
const MIN_ROUNDS = 5;

async function* measure({ effort, progress }: Bench): AsyncGenerator<Line> {
  const seconds = effort.quick ? 0.4 : 10;
  const amount = Math.ceil(PER_SECOND * seconds);
  const rounds = roundsAtLeast(effort, MIN_ROUNDS);
  const s = await Surroundings.open();
  try {
    const bare = await s.start('committing-bolt.ts');
    const bot = await s.start('bot.ts');
    let name = 0;
    const help = () => buildCommand('help', s.person(name++), s.responseUrl);
    const renew = () => buildCommand(`renew bench-${name++}.rest 2 -- paid`, s.person(name), s.responseUrl);
    const createMany = (make: () => Delivery) => Array.from({ length: amount }, make);
    const createClicks = async () => {
      progress('requesting orders to approve');
      const missing = amount - (await s.listWaitingOrders()).length;
      if (missing > 0) await s.slack.sendConcurrently(bot.port, Array.from({ length: missing }, renew), 4);
      await waitUntil('the cards are posted', async () => (await s.listWaitingOrders()).length >= amount);
      await s.waitUntilIdle();
      const waiting = (await s.listWaitingOrders()).slice(0, amount);
      return waiting.map((order) => buildClick('order_approve', order, s.approver, s.responseUrl));
    };
    const kinds: [string, () => Promise<Delivery[]>][] = [
      ['/domain help', async () => createMany(help)],
      ['/domain renew, complete', async () => createMany(renew)],
      ['Approve click', createClicks],
    ];
    for (const [what, make] of kinds) {
      const ours = async () => {
        const deliveries = await make();
        progress(what);
        const durations = await s.slack.sendAtRate(bot.port, deliveries, PER_SECOND);
        await s.waitUntilIdle();
        return durations;
      };
      const theirs = async () => s.slack.sendAtRate(bare.port, await make(), PER_SECOND);
      // Opens connections and compiles code; not counted.
      for (let round = 0; round < WARM_UP_ROUNDS; round += 1) for (const side of [ours, theirs]) await side();
      const measured = await measureAlternately(rounds, ours, theirs);
      for (const [label, fraction] of [
        ['p50', 0.5],
        ['p99', 0.99],
      ] as const) {
        const line = {
          row: 'ack',
          what: `ack of ${what} at ${PER_SECOND}/s, ${label}`,
          reference: 'Bolt, one commit',
          unit: 'ms',
          ours: measured.ours.map((durations) => quantile(durations, fraction)),
          theirs: measured.theirs.map((durations) => quantile(durations, fraction)),
        };
        if (label === 'p50') yield line;
        else {
          yield { ...line, target: { of: 'ratio', kind: 'at most', value: MAX_P99_RATIO } };
          yield { ...line, what: '… itself', target: { of: 'ours', kind: 'at most', value: MAX_P99_MS } };
        }
      }
    }
  } finally {
    await s.close();
  }
}

export const acknowledge: Row = { id: 'ack', seconds: 420, measure };
