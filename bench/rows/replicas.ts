import { type Bench, type Line, type Row, roundsAtLeast } from '../measure.ts';
import { carryOut } from '../orders.ts';
import type { Process } from '../processes.ts';
import { Surroundings } from '../surroundings.ts';

/*
 * The same with more processes on one PostgreSQL, with clicks spread over them. How much the rate grows depends on the
 * free cores; it must not fall by much.
 */

const HOLDS = 0.8;
const MOST = 3;
/** Uncounted rounds of all processes. */
const WARM_UPS = 5;

async function* measure({ effort, progress }: Bench): AsyncGenerator<Line> {
  const amount = effort.quick ? 20 : 600;
  // The rates of three processes on two cores vary much between rounds, so there are more rounds.
  const rounds = roundsAtLeast(effort, 7);
  const rates: number[][] = Array.from({ length: MOST }, () => []);
  const s = await Surroundings.open();
  try {
    // All processes run and are warmed up; those that aren't measured get no clicks.
    const bots: Process[] = [];
    for (let n = 0; n < MOST; n += 1) bots.push(await s.start('bot.ts'));
    progress('warming up');
    for (let n = 0; !effort.quick && n < WARM_UPS; n += 1) await carryOut(s, bots, amount);
    for (let round = 0; round < rounds; round += 1) {
      for (const [index, rate] of rates.entries()) {
        progress(`round ${round + 1}, ${index + 1} of them`);
        rate.push(await carryOut(s, bots.slice(0, index + 1), amount));
      }
    }
  } finally {
    await s.close();
  }
  for (const [index, rate] of rates.entries()) {
    if (index === 0) continue;
    yield {
      row: 'replicas',
      what: `orders approved until settled, ${index + 1} processes`,
      reference: 'one process',
      unit: '/s',
      ours: rate,
      theirs: rates[0] ?? [],
      target: { of: 'ratio', kind: 'at least', value: HOLDS },
    };
  }
}

export const replicas: Row = { id: 'replicas', seconds: 240, measure };
