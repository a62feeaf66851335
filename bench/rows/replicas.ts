import { type Bench, type Line, type Row, roundsAtLeast } from '../measure.ts';
import { carryOut } from '../orders.ts';
import type { Process } from '../processes.ts';
import { Surroundings } from '../surroundings.ts';

/*
 * Concurrent orders with several processes on one PostgreSQL, with clicks spread over them. How much the rate grows
 * depends on the free cores, but it must not fall by much.
 */

const MIN_RATIO = 0.8;
const MAX_PROCESSES = 3;
/** Not counted. */
const WARM_UP_ROUNDS = 5;

async function* measure({ effort, progress }: Bench): AsyncGenerator<Line> {
  const amount = effort.quick ? 20 : 600;
  // With three processes on two cores, rates vary much between rounds.
  const rounds = roundsAtLeast(effort, 7);
  const rates: number[][] = Array.from({ length: MAX_PROCESSES }, () => []);
  const s = await Surroundings.open();
  try {
    // All processes run and are warmed up; those that aren't measured get no clicks.
    const bots: Process[] = [];
    for (let n = 0; n < MAX_PROCESSES; n += 1) bots.push(await s.start('bot.ts'));
    progress('warming up');
    for (let n = 0; !effort.quick && n < WARM_UP_ROUNDS; n += 1) await carryOut(s, bots, amount);
    for (let round = 0; round < rounds; round += 1) {
      for (const [index, roundRates] of rates.entries()) {
        progress(`round ${round + 1}, ${index + 1} processes`);
        roundRates.push(await carryOut(s, bots.slice(0, index + 1), amount));
      }
    }
  } finally {
    await s.close();
  }
  for (const [index, roundRates] of rates.entries()) {
    if (index === 0) continue;
    yield {
      row: 'replicas',
      what: `orders approved until settled, ${index + 1} processes`,
      reference: 'one process',
      unit: '/s',
      ours: roundRates,
      theirs: rates[0] ?? [],
      target: { of: 'ratio', kind: 'at least', value: MIN_RATIO },
    };
  }
}

export const replicas: Row = { id: 'replicas', seconds: 240, measure };
