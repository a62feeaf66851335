import type { Bench, Line, Row } from '../measure.ts';
import { approveAll, ask } from '../orders.ts';
import type { Process } from '../processes.ts';
import { Postgres, Surroundings } from '../surroundings.ts';

/*
 * The same with more processes on one PostgreSQL, clicks spread over them. How far it grows is a matter of the cores
 * that are left for them; it must not fall.
 */

const HOLDS = 0.9;
const MOST = 3;

async function* measure({ effort, progress }: Bench): AsyncGenerator<Line> {
  const amount = effort.quick ? 20 : 300;
  const rates: number[][] = Array.from({ length: MOST }, () => []);
  const postgres = await Postgres.start();
  const s = await Surroundings.open(postgres);
  try {
    for (let round = 0; round < effort.rounds; round += 1) {
      const bots: Process[] = [];
      for (const [index, rate] of rates.entries()) {
        bots.push(await s.start('bot.ts'));
        progress(`round ${round + 1}, ${index + 1} of them`);
        if (!effort.quick) await warmUp(s, bots);
        await ask(s, bots, amount);
        rate.push(await approveAll(s, bots, amount));
        await s.quiet();
      }
      await Promise.all(bots.map((bot) => bot.stop()));
    }
  } finally {
    await s.close();
    await postgres.stop();
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

/** Compiled code first. */
async function warmUp(s: Surroundings, bots: readonly Process[]): Promise<void> {
  await ask(s, bots, 150);
  await approveAll(s, bots, 150);
  await s.quiet();
}

export const replicas: Row = { id: 'replicas', seconds: 240, measure };
