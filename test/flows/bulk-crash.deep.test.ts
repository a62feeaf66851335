import type { Message } from '@domain-steward/slack-workspace';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { CrashSite } from '../support/crash.ts';
import { buttonsOf, DOMAINS, openForm, textOf, until } from '../support/demo.ts';
import { approveInDetails } from '../support/looking.ts';
import { type VisibleOrder, waitForOrder } from '../support/orders.ts';
import { seededRandom } from '../support/seeded.ts';

/*
 * The bot is killed (SIGKILL) in every wave of a bulk order and restarted: no row is sent twice, none is lost, and the
 * result file matches the audit log. `BULK_ROWS=2000` tests the largest file.
 */

/** Rows of the file, including invalid ones. */
const FILE_ROWS = Number(process.env['BULK_ROWS'] ?? 60);
const ROWS_PER_WAVE = 20;
const MAX_WAIT_MS = 120_000 + FILE_ROWS * 1_500;
/** The share of rows for each kind of mistake. */
const MISTAKE_SHARE = 0.05;
const MISTAKE_KINDS = 8;
/** The number of valid rows. The last row of the file repeats the first one. */
const VALID_ROWS = Math.floor((FILE_ROWS - 1) / (1 + MISTAKE_KINDS * MISTAKE_SHARE));

let site: CrashSite;
let db: pg.Pool;
beforeAll(async () => {
  site = await CrashSite.open();
  db = new pg.Pool({ connectionString: site.environment.databaseUrl, max: 1 });
  db.on('error', () => undefined);
}, 120_000);
afterAll(async () => {
  await db.end();
  await site.close();
});

const itemRowsSchema = z.array(
  z.object({ n: z.number(), name: z.string(), state: z.string(), ctid: z.string() }),
);

async function loadItems(orderId: string) {
  const { rows } = await db.query(
    'SELECT n, name, state, client_tid AS ctid FROM order_items WHERE order_id = $1 ORDER BY n',
    [orderId],
  );
  return itemRowsSchema.parse(rows);
}

/** Builds a file of valid rows, with invalid rows of every kind between them. */
function buildFile(validNames: readonly string[]): string {
  const countPerKind = Math.max(1, Math.floor(validNames.length * MISTAKE_SHARE));
  const invalidRows = Array.from({ length: countPerKind }, (_, index) => [
    `nodot${index},1`,
    `bad_${index}.rest,1`,
    `long-${index}.rest,99`,
    `word-${index}.rest,two`,
    `cells-${index}.rest,1,2,3`,
    `,1`,
    `contra-${index}.rest,1`,
    `contra-${index}.rest,2`,
  ]).flat();
  const rows = validNames.flatMap((name, index) => [
    `${name},1`,
    ...(invalidRows[index] === undefined ? [] : [invalidRows[index]]),
  ]);
  return `name,period\n${[...rows, ...invalidRows.slice(validNames.length), `${validNames[0]},1`].join('\n')}\n`;
}

async function requestBulkRenewal(file: string, rows: number): Promise<VisibleOrder> {
  const { workspace } = site.environment;
  const form = await openForm(workspace, site.alice, '/domain bulk renew');
  const before = site.alice.ephemerals().length;
  await site.alice.submit(form, { file: [site.alice.upload('names.csv', file)] });
  const plan = await workspace.waitFor(
    () =>
      site.alice
        .ephemerals()
        .slice(before)
        .find((message) => buttonsOf(message).includes('order_confirm')),
    { what: 'the plan', timeoutMs: 60_000 },
  );
  expect(textOf(plan)).toContain(`${rows} of `);
  return waitForOrder(workspace, () => site.alice.click(plan, 'order_confirm'));
}

test('a bot killed in every wave sends no row twice, loses none and writes a correct file', {
  timeout: MAX_WAIT_MS,
}, async () => {
  const { service, workspace } = site.environment;
  const random = seededRandom(11);
  const names = Array.from({ length: VALID_ROWS }, (_, index) => `row-${index + 1}.rest`);
  // In each wave, the bot is killed while one of these rows is running. The service is slow to answer it.
  const namesAtKill = Array.from({ length: Math.ceil(VALID_ROWS / ROWS_PER_WAVE) }, (_, wave) => {
    const rows = names.slice(wave * ROWS_PER_WAVE, (wave + 1) * ROWS_PER_WAVE);
    return rows[Math.floor(random() * rows.length)] ?? '';
  });
  for (const [index, name] of names.entries()) {
    service.state.addDomain({ name, context: 4 });
    const match = { name };
    if (namesAtKill.includes(name)) service.faults.set({ kind: 'slow', delayMs: 60_000, times: 1, match });
    // Three consecutive refusals would pause the order.
    else if (index % 19 === 7)
      service.faults.set({ kind: 'refuse', code: 'EF01055', text: 'no', times: 1, match });
    else service.faults.set({ kind: 'slow', delayMs: Math.floor(random() * 40), times: 1, match });
  }
  const order = await requestBulkRenewal(buildFile(names), VALID_ROWS);
  await order.waitForState('PENDING', 60_000);
  await approveInDetails(workspace, site.bob, order.card);

  const listSentRequests = () => service.requests.filter(({ ctid }) => ctid?.startsWith(`${order.id}.`));
  const findPausedCard = (): Message | undefined =>
    workspace
      .messages(DOMAINS)
      .findLast((message) => message.ts === order.card.ts && buttonsOf(message).includes('order_resume'));
  const isComplete = async () =>
    (await loadItems(order.id)).every(({ state }) => state !== 'WAITING' && state !== 'SENT');
  const resumeIfPaused = async () => {
    const card = findPausedCard();
    if (card !== undefined) await site.bob.click(card, 'order_resume');
  };

  for (const name of namesAtKill) {
    let polls = 0;
    await until(
      `${name} is sent`,
      async () => {
        polls += 1;
        if (polls % 50 === 0) await resumeIfPaused();
        return service.requests.some(({ path }) => path.includes(`/${name}/`));
      },
      MAX_WAIT_MS,
    );
    await site.bot.child.kill('SIGKILL');
    await site.restart();
  }
  let polls = 0;
  await until(
    'every row has a result',
    async () => {
      polls += 1;
      if (polls % 50 === 0) await resumeIfPaused();
      return isComplete();
    },
    120_000,
  );

  const items = await loadItems(order.id);
  expect(items.map(({ name }) => name)).toEqual(names);
  for (const { ctid, name, state } of items) {
    const requests = listSentRequests().filter((request) => request.ctid === ctid);
    const charges = service.state.charges.filter((charge) => charge.name === name);
    expect(requests.length, `requests with the ctid ${ctid}`).toBeLessThan(2);
    expect(charges.length, `charges for ${name}`).toBeLessThan(2);
    if (state === 'SUCCEEDED') expect(charges, `charges for ${name}, marked as done`).toHaveLength(1);
    if (state === 'FAILED') expect(charges, `charges for ${name}, marked as failed`).toHaveLength(0);
  }
  const resultFile = await workspace.waitFor(
    () =>
      workspace
        .messages(DOMAINS)
        .filter(({ thread_ts: thread }) => thread === order.card.ts)
        .flatMap(({ files }) => files ?? [])
        .findLast(({ name }) => name.includes('result')),
    { what: 'the result file', timeoutMs: 30_000 },
  );
  const bytes = await (await fetch(new URL(resultFile.url_private_download, workspace.url))).arrayBuffer();
  const lines = Buffer.from(bytes)
    .toString('utf8')
    .split('\r\n')
    .filter((line) => line !== '');
  expect(lines).toHaveLength(VALID_ROWS + 1);
  const OUTCOME_PATTERNS: Readonly<Record<string, RegExp>> = {
    SUCCEEDED: /,answered,.*,SUCCEEDED,/,
    FAILED: /,answered,.*,FAILED,/,
    // Without a response, the last event is the release of the dead worker's lease.
    UNKNOWN: /,(?:released|answered),.*,UNKNOWN,/,
  };
  for (const { n, ctid, name, state } of items) {
    const line = lines[n] ?? '';
    expect(line).toContain(`,${name},`);
    expect(line).toContain(`,${ctid},`);
    expect(line, `${name}, which is ${state}`).toMatch(OUTCOME_PATTERNS[state] ?? /never/);
  }
});
