import pg from 'pg';
import { z } from 'zod';
import { parseFilter } from '../../src/names/filter.ts';
import { openDatabase } from '../../src/store/database.ts';
import { createPortfolioStore } from '../../src/store/portfolio.ts';
import { fillPortfolio } from '../../test/support/portfolio.ts';
import { type Bench, type Line, measureAlternately, quantile, type Row } from '../measure.ts';
import { buildCommand } from '../slack-load.ts';
import { Surroundings, waitUntil } from '../surroundings.ts';

/*
 * `/domain names` in a portfolio of 100,000 names: the first page and the number of names in each zone, compared with
 * the same queries in plain SQL; and the time from the command until its response arrives at Slack.
 */

const MAX_RATIO = 2;
const MAX_END_TO_END_MS = 300;
const PAGE_SIZE = 51;
const MIN_MEASURING_MS = 1_000;
const TEAM = 'T0STEWARD';

/** Filters, and the same conditions in SQL. */
const FILTERS: readonly { readonly text: string; readonly sql: string }[] = [
  { text: '', sql: 'true' },
  {
    text: 'tag:client-acme expiring<90',
    sql: "tags && '{client-acme}' AND expires_at < now() + interval '90 days'",
  },
  { text: 'owner:U0OWNER7', sql: "owner_id = 'U0OWNER7'" },
  { text: 'zone:rest', sql: "name LIKE '%.rest'" },
  { text: 'registrar:sandbox', sql: "registrar ILIKE '%sandbox%'" },
  { text: 'contract', sql: "(name LIKE '%contract%' OR note ILIKE '%contract%')" },
  { text: 'name777', sql: "(name LIKE '%name777%' OR note ILIKE '%name777%')" },
  {
    text: 'unused',
    sql: 'in_use = false',
  },
];

const COLUMNS = `name, expires_at, expiry_source, owner_id, tags, channel_id, note, registrar`;
const responsesSchema = z.object({ responses: z.array(z.tuple([z.number(), z.string()])) });

async function* measure(bench: Bench): AsyncGenerator<Line> {
  const amount = bench.effort.quick ? 1_000 : 100_000;
  const s = await Surroundings.open();
  try {
    bench.progress(`${amount} names`);
    await fillPortfolio(s.db, TEAM, amount);
    yield* timeSql(bench, s.databaseUrl, amount);
    yield* measureCommand(bench, s, amount);
  } finally {
    await s.close();
  }
}

async function* timeSql({ effort, progress }: Bench, url: string, amount: number): AsyncGenerator<Line> {
  const database = openDatabase({ url });
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  const store = createPortfolioStore(database, TEAM);
  try {
    for (const { text, sql } of FILTERS) {
      progress(`the store, ${text}`);
      const parsed = parseFilter(text);
      if (!parsed.ok) throw new Error(`${text} is not a filter`);
      const query = {
        filter: parsed.filter,
        owners: parsed.filter.owners,
        now: new Date(),
        cursor: undefined,
        isBackward: false,
        limit: PAGE_SIZE,
      };
      const ours = async () => {
        const [page, zones] = await Promise.all([store.listPage(query), store.listZones(query)]);
        return [page.length, zones.reduce((sum, { count }) => sum + count, 0)];
      };
      const theirs = async () => {
        const [page, zones] = await Promise.all([
          pool.query(
            `SELECT ${COLUMNS} FROM domains WHERE ${sql} ORDER BY expires_at NULLS LAST, name LIMIT ${PAGE_SIZE}`,
          ),
          pool.query<{ count: number }>(
            `SELECT substring(name FROM position('.' IN name) + 1) AS zone, count(*)::int AS count
             FROM domains WHERE ${sql} GROUP BY 1 ORDER BY 1`,
          ),
        ]);
        return [page.rows.length, zones.rows.reduce((sum, { count }) => sum + count, 0)];
      };
      const [found, expected] = [await ours(), await theirs()];
      if (found.join() !== expected.join() || (found[1] ?? 0) === 0) {
        throw new Error(`"${text}" finds ${found}, but the SQL finds ${expected}`);
      }
      const measureP95 = async (ask: () => Promise<unknown>) => {
        const times: number[] = [];
        const deadline = performance.now() + (effort.quick ? 0 : MIN_MEASURING_MS);
        // Short queries are repeated more often, because the 95th percentile of 20 durations is a single outlier.
        while (times.length < (effort.quick ? 2 : 20) || performance.now() < deadline) {
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
          () => measureP95(ours),
          () => measureP95(theirs),
        )),
        target: { of: 'ratio', kind: 'at most', value: MAX_RATIO },
      };
    }
  } finally {
    await database.close();
    await pool.end();
  }
}

async function* measureCommand(
  { effort, progress }: Bench,
  s: Surroundings,
  amount: number,
): AsyncGenerator<Line> {
  const bot = await s.start('bot.ts');
  let commandCount = 0;
  const timeCommand = async (text: string): Promise<number> => {
    const startedAt = Number(process.hrtime.bigint()) / 1e6;
    await s.slack.deliver(bot.port, buildCommand(`names ${text}`, s.person(commandCount++), s.responseUrl));
    let answer: readonly [number, string] | undefined;
    await waitUntil(
      'the names are shown',
      async () => {
        answer = (await s.peers.ask('responses', responsesSchema)).responses[0];
        return answer !== undefined;
      },
      5,
    );
    const [at = Number.NaN, said = ''] = answer ?? [];
    if (!/^\d+ names?/.test(said)) throw new Error(`"names ${text}" was answered with: ${said}`);
    return at - startedAt;
  };
  for (const { text } of FILTERS) await timeCommand(text);
  for (const { text } of FILTERS) {
    progress(`the command, ${text}`);
    const rounds: number[] = [];
    for (let round = 0; round < effort.rounds; round += 1) {
      const times: number[] = [];
      for (let n = 0; n < (effort.quick ? 2 : 20); n += 1) times.push(await timeCommand(text));
      rounds.push(quantile(times, 0.95));
    }
    yield {
      row: 'names',
      what: `… from the command until its answer, ${text || '(all)'} of ${amount}, p95`,
      reference: '',
      unit: 'ms',
      ours: rounds,
      theirs: [],
      target: { of: 'ours', kind: 'at most', value: MAX_END_TO_END_MS },
    };
  }
}

export const names: Row = { id: 'names', seconds: 120, measure };
