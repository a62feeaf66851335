import pg from 'pg';
import { z } from 'zod';
import { parseFilter } from '../../src/names/filter.ts';
import { openDatabase } from '../../src/store/database.ts';
import { createPortfolioStore } from '../../src/store/portfolio.ts';
import { fillPortfolio } from '../../test/support/portfolio.ts';
import { type Bench, type Line, measureAlternately, quantile, type Row } from '../measure.ts';
import { command } from '../slack-load.ts';
import { Surroundings, until } from '../surroundings.ts';

/*
 * `/domain names` in a portfolio of 100,000 names: the first page and the number of names in each zone, compared with
 * the same queries in plain SQL; and the time from the command until its response arrives at Slack.
 */

const TIMES = 2;
const END_TO_END_MS = 300;
const PAGE = 51;
const LEAST_ASKING_MS = 1_000;
const TEAM = 'T0STEWARD';

/** A typed filter, and the same condition in SQL. */
const FILTERS: readonly { readonly text: string; readonly byHand: string }[] = [
  { text: '', byHand: 'true' },
  {
    text: 'tag:client-acme expiring<90',
    byHand: "tags && '{client-acme}' AND expires_at < now() + interval '90 days'",
  },
  { text: 'owner:U0OWNER7', byHand: "owner_id = 'U0OWNER7'" },
  { text: 'zone:rest', byHand: "name LIKE '%.rest'" },
  { text: 'registrar:sandbox', byHand: "registrar ILIKE '%sandbox%'" },
  { text: 'contract', byHand: "(name LIKE '%contract%' OR note ILIKE '%contract%')" },
  { text: 'name777', byHand: "(name LIKE '%name777%' OR note ILIKE '%name777%')" },
  {
    text: 'unused',
    byHand: 'in_use = false',
  },
];

const COLUMNS = `name, expires_at, expiry_source, owner_id, tags, channel_id, note, registrar`;
const responses = z.object({ responses: z.array(z.tuple([z.number(), z.string()])) });

async function* measure(bench: Bench): AsyncGenerator<Line> {
  const amount = bench.effort.quick ? 1_000 : 100_000;
  const s = await Surroundings.open();
  try {
    bench.progress(`${amount} names`);
    await fillPortfolio(s.db, TEAM, amount);
    yield* besideSql(bench, s.databaseUrl, amount);
    yield* endToEnd(bench, s, amount);
  } finally {
    await s.close();
  }
}

async function* besideSql({ effort, progress }: Bench, url: string, amount: number): AsyncGenerator<Line> {
  const database = openDatabase({ url });
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  const store = createPortfolioStore(database, TEAM);
  try {
    for (const { text, byHand } of FILTERS) {
      progress(`the store, ${text}`);
      const read = parseFilter(text);
      if (!read.ok) throw new Error(`${text} is no filter`);
      const query = {
        filter: read.filter,
        owners: read.filter.owners,
        now: new Date(),
        cursor: undefined,
        isBackward: false,
        limit: PAGE,
      };
      const ours = async () => {
        const [page, zones] = await Promise.all([store.listPage(query), store.listZones(query)]);
        return [page.length, zones.reduce((sum, { count }) => sum + count, 0)];
      };
      const theirs = async () => {
        const [page, zones] = await Promise.all([
          pool.query(
            `SELECT ${COLUMNS} FROM domains WHERE ${byHand} ORDER BY expires_at NULLS LAST, name LIMIT ${PAGE}`,
          ),
          pool.query<{ count: number }>(
            `SELECT substring(name FROM position('.' IN name) + 1) AS zone, count(*)::int AS count
             FROM domains WHERE ${byHand} GROUP BY 1 ORDER BY 1`,
          ),
        ]);
        return [page.rows.length, zones.rows.reduce((sum, { count }) => sum + count, 0)];
      };
      const [found, expected] = [await ours(), await theirs()];
      if (found.join() !== expected.join() || (found[1] ?? 0) === 0) {
        throw new Error(`"${text}" finds ${found}, and by hand ${expected}`);
      }
      const several = async (ask: () => Promise<unknown>) => {
        const times: number[] = [];
        const askUntil = performance.now() + (effort.quick ? 0 : LEAST_ASKING_MS);
        // Short queries are repeated more often: of 20 durations, the 95th percentile is a single outlier.
        while (times.length < (effort.quick ? 2 : 20) || performance.now() < askUntil) {
          const startedAt = performance.now();
          await ask();
          times.push(performance.now() - startedAt);
        }
        return quantile(times, 0.95);
      };
      yield {
        row: 'names',
        what: `names ${text || '(all)'} of ${amount}, p95`,
        reference: 'the SQL by hand',
        unit: 'ms',
        ...(await measureAlternately(
          effort.rounds,
          () => several(ours),
          () => several(theirs),
        )),
        target: { of: 'ratio', kind: 'at most', value: TIMES },
      };
    }
  } finally {
    await database.close();
    await pool.end();
  }
}

async function* endToEnd({ effort, progress }: Bench, s: Surroundings, amount: number): AsyncGenerator<Line> {
  const bot = await s.start('bot.ts');
  let asked = 0;
  const answered = async (text: string): Promise<number> => {
    const startedAt = Number(process.hrtime.bigint()) / 1e6;
    await s.slack.deliver(bot.port, command(`names ${text}`, s.person(asked++), s.responseUrl));
    let answer: readonly [number, string] | undefined;
    await until(
      'the names are shown',
      async () => {
        answer = (await s.peers.ask('responses', responses)).responses[0];
        return answer !== undefined;
      },
      5,
    );
    const [at = Number.NaN, said = ''] = answer ?? [];
    if (!/^\d+ names?/.test(said)) throw new Error(`"names ${text}" was answered with: ${said}`);
    return at - startedAt;
  };
  for (const { text } of FILTERS) await answered(text);
  for (const { text } of FILTERS) {
    progress(`the command, ${text}`);
    const rounds: number[] = [];
    for (let round = 0; round < effort.rounds; round += 1) {
      const times: number[] = [];
      for (let n = 0; n < (effort.quick ? 2 : 20); n += 1) times.push(await answered(text));
      rounds.push(quantile(times, 0.95));
    }
    yield {
      row: 'names',
      what: `… from the command until its answer, ${text || '(all)'} of ${amount}, p95`,
      reference: '',
      unit: 'ms',
      ours: rounds,
      theirs: [],
      target: { of: 'ours', kind: 'at most', value: END_TO_END_MS },
    };
  }
}

export const names: Row = { id: 'names', seconds: 120, measure };
