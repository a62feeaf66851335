import { z } from 'zod';
import { type Bench, type Line, measureAlternately, type Row } from '../measure.ts';
import { carryOut } from '../orders.ts';
import { Surroundings } from '../surroundings.ts';

/*
 * Concurrent orders in one process, from their approval until they are settled: click, commit, claim, `sentAt`,
 * request, outcome, and the card and thread in Slack. The reference is pg-boss with jobs that change one row each, sent
 * one by one.
 */

const MIN_RATIO = 0.35;
/** A generous estimate for a team with a few hundred names. */
const ORDERS_A_YEAR = 2_000;
/** Not counted. After these, V8 has compiled the hot code. */
const WARM_UP_ROUNDS = 3;

const rateSchema = z.object({ rate: z.number() });

async function* measure({ effort, progress }: Bench): AsyncGenerator<Line> {
  const amount = effort.quick ? 5 : 1_000;
  const s = await Surroundings.open();
  try {
    const bot = await s.start('bot.ts');
    const bare = await s.start('bare-jobs.ts', { DATABASE_URL: await s.postgres.createDatabase() });
    const ours = (round: number) => {
      progress(round < 0 ? 'warming up' : `round ${round + 1}`);
      return carryOut(s, [bot], amount);
    };
    const theirs = async () => (await bare.ask({ run: amount }, rateSchema)).rate;
    for (let round = -WARM_UP_ROUNDS; !effort.quick && round < 0; round += 1) {
      await ours(round);
      await theirs();
    }
    const rates = await measureAlternately(effort.rounds, ours, theirs);
    yield {
      row: 'orders',
      what: `orders approved until settled, one process, ${amount} at once`,
      reference: 'pg-boss, a row each',
      unit: '/s',
      ...rates,
      target: { of: 'ratio', kind: 'at least', value: MIN_RATIO },
    };
    yield {
      row: 'orders',
      what: `… what a team orders in a year (${ORDERS_A_YEAR})`,
      reference: '',
      unit: 's',
      ours: rates.ours.map((rate) => ORDERS_A_YEAR / rate),
      theirs: [],
    };
  } finally {
    await s.close();
  }
}

export const throughput: Row = { id: 'orders', seconds: 90, measure };
