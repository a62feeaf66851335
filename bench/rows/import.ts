import { openDatabase } from '../../src/store/database.ts';
import { createWatchListStore } from '../../src/store/domains.ts';
import { createPortfolioStore } from '../../src/store/portfolio.ts';
import { importNames } from '../../test/support/unprotected.ts';
import { type Bench, type Line, measureAlternately, type Row } from '../measure.ts';
import { Postgres } from '../surroundings.ts';

/*
 * Importing a pasted list of names to the watch list: it is parsed, each name and date is checked, and batches are
 * stored. The reference is Prisma's `createMany` of the same prepared rows.
 */

const LEAST = 0.5;
const DAY_MS = 86_400_000;

async function* measure({ effort, progress }: Bench): AsyncGenerator<Line> {
  const amount = effort.quick ? 200 : 10_000;
  const postgres = await Postgres.start();
  const database = openDatabase({ url: await postgres.database() });
  try {
    const now = new Date();
    const names = Array.from({ length: amount }, (_, n) => ({
      name: `import-${n}.rest`,
      expiresAt: new Date(Math.floor(now.getTime() / DAY_MS + (n % 700)) * DAY_MS),
    }));
    const list = names
      .map(({ name, expiresAt }) => `${name},${expiresAt.toISOString().slice(0, 10)}`)
      .join('\n');
    const rows = names.map((each) => ({
      ...each,
      expirySource: 'person',
      addedBy: 'U0PERSON',
      addedAt: now,
      nextDnsAt: now,
      nextRegistryAt: now,
    }));
    const store = createWatchListStore(database);
    const timed = async (put: () => Promise<number>) => {
      await database.prisma.$executeRaw`TRUNCATE domains`;
      const startedAt = performance.now();
      const put_ = await put();
      if (put_ !== amount) throw new Error(`${put_} of ${amount} names were put on the list`);
      return (amount * 1_000) / (performance.now() - startedAt);
    };
    const ours = () =>
      timed(
        async () =>
          (
            await importNames(
              { store, portfolio: createPortfolioStore(database, 'T0TEAM'), now: () => now },
              list,
              'U0PERSON',
              async () => undefined,
            )
          ).added,
      );
    const theirs = () => timed(async () => (await database.prisma.domain.createMany({ data: rows })).count);
    for (const each of [ours, theirs]) await each();
    const measured = await measureAlternately(
      effort.rounds,
      (round) => {
        progress(`round ${round + 1}`);
        return ours();
      },
      theirs,
    );
    yield {
      row: 'import',
      what: `import of ${amount} names with dates`,
      reference: 'Prisma createMany',
      unit: 'names/s',
      ...measured,
      target: { of: 'ratio', kind: 'at least', value: LEAST },
    };
  } finally {
    await database.close();
    await postgres.stop();
  }
}

export const importing: Row = { id: 'import', seconds: 20, measure };
