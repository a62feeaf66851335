import { openDatabase } from '../../src/store/database.ts';
import { createWatchListStore } from '../../src/store/domains.ts';
import { createPortfolioStore } from '../../src/store/portfolio.ts';
import { importNames } from '../../test/support/unprotected.ts';
import { type Bench, type Line, measureAlternately, type Row } from '../measure.ts';
import { Postgres } from '../surroundings.ts';

/*
 * Imports a pasted list of names to the watch list: parses it, checks each name and date, and stores batches. The
 * reference is Prisma's `createMany` of the same prepared rows.
 */

const MIN_RATIO = 0.5;
const DAY_MS = 86_400_000;

async function* measure({ effort, progress }: Bench): AsyncGenerator<Line> {
  const amount = effort.quick ? 200 : 10_000;
  const postgres = await Postgres.start();
  const database = openDatabase({ url: await postgres.createDatabase() });
  try {
    const now = new Date();
    const names = Array.from({ length: amount }, (_, n) => ({
      name: `import-${n}.rest`,
      expiresAt: new Date(Math.floor(now.getTime() / DAY_MS + (n % 700)) * DAY_MS),
    }));
    const list = names
      .map(({ name, expiresAt }) => `${name},${expiresAt.toISOString().slice(0, 10)}`)
      .join('\n');
    const rows = names.map((entry) => ({
      ...entry,
      expirySource: 'person',
      addedBy: 'U0PERSON',
      addedAt: now,
      nextDnsLookupAt: now,
      nextRegistryLookupAt: now,
    }));
    const store = createWatchListStore(database);
    const timeImport = async (insert: () => Promise<number>) => {
      await database.prisma.$executeRaw`TRUNCATE domains`;
      const startedAt = performance.now();
      const storedCount = await insert();
      if (storedCount !== amount) throw new Error(`${storedCount} of ${amount} names were stored`);
      return (amount * 1_000) / (performance.now() - startedAt);
    };
    const ours = () =>
      timeImport(
        async () =>
          (
            await importNames(
              { store, portfolio: createPortfolioStore(database, 'T0TEAM'), now: () => now },
              list,
              'U0PERSON',
              async () => undefined,
            )
          ).addedCount,
      );
    const theirs = () =>
      timeImport(async () => (await database.prisma.domain.createMany({ data: rows })).count);
    for (const side of [ours, theirs]) await side();
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
      target: { of: 'ratio', kind: 'at least', value: MIN_RATIO },
    };
  } finally {
    await database.close();
    await postgres.stop();
  }
}

export const importing: Row = { id: 'import', seconds: 20, measure };
