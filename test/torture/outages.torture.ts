import { execFileSync } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Actor } from '@domain-steward/slack-workspace';
import pg from 'pg';
import { describe, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { TEMPLATE_DATABASE } from '../support/database.ts';
import { DatabaseProxy } from '../support/database-proxy.ts';
import { buttonsOf, DOMAINS, performAndReadReply, TestDemo, textOf, until } from '../support/demo.ts';
import { STALE_ORDER_MESSAGES_SQL } from '../support/notifier.ts';
import { orderOf, requestByCommand, requestsOf } from '../support/orders.ts';
import { seededRandom } from '../support/seeded.ts';
import { JSON_FAULTS } from '../support/service-faults.ts';
import { readInteger, readSeed } from './seed.ts';

/* While people work, the database is down for half a minute, the disk is full, or everything fails at once. */

const MINUTE_MS = 60_000;
const DATABASE_DOWN_MS = 30_000;
const ORDERS = readInteger('ORDERS', 60);
const seed = readSeed();

/** Runs a bot with a proxy to its database, and Alice linked. */
async function runDemo(
  work: (t: TestDemo, proxy: DatabaseProxy) => Promise<void>,
  settings: Readonly<Record<string, string>> = {},
): Promise<void> {
  const proxy = new DatabaseProxy();
  const t = new TestDemo({ databaseUrl: (url) => proxy.start(url), speedup: 8, settings });
  try {
    await t.start();
    await work(t, proxy);
  } finally {
    proxy.restore();
    await t.stop();
    proxy.close();
  }
}

describe('while the database is down for 30 s', () => {
  test.each(['cut', 'hang'] as const)(
    'each click is answered within 3 s, and each order is sent once afterwards (%s)',
    (how) =>
      runDemo(async (t, proxy) => {
        const people = [t.bob, t.carol];
        const names = ['soup.rest', 'sushi.rest', 'tapas.rest', 'tavern.rest'];
        const orders = [];
        for (const name of names)
          orders.push(await requestByCommand(t.workspace, t.alice, `/domain renew ${name}`));
        await t.waitUntilSlackIsCurrent();
        proxy[how]();
        const endsAt = performance.now() + DATABASE_DOWN_MS;
        for (let turn = 0; performance.now() < endsAt; turn += 1) {
          const person = people[turn % people.length];
          const order = orders[turn % orders.length];
          if (person === undefined || order === undefined) throw new Error('there is no person or order');
          const startedAt = performance.now();
          const answer = await performAndReadReply(t.workspace, person, () =>
            person.click(order.card, 'order_approve'),
          );
          expect(answer).toMatch(/database doesn’t respond|takes longer than usual/);
          expect(performance.now() - startedAt, 'ms until the answer').toBeLessThan(3_000);
          await sleep(500);
        }
        for (const order of orders) expect(requestsOf(t.service, order)).toEqual([]);
        proxy.restore();
        for (const order of orders) {
          if (buttonsOf(order.card).includes('order_approve')) {
            await people[0]?.click(order.card, 'order_approve');
          }
          await order.waitForResult('SUCCEEDED', 30_000);
          expect(requestsOf(t.service, order)).toHaveLength(1);
        }
      }),
    3 * MINUTE_MS,
  );
});

test(
  'while the disk is full, people get an error and nothing is sent (needs root, for a small disk)',
  async () => {
    const disk = mkdtempSync(join(tmpdir(), 'domain-steward-disk-'));
    const admin = new pg.Client({ connectionString: inject('postgresUrl') });
    await admin.connect();
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=48m', 'tmpfs', disk]);
    try {
      // PostgreSQL's user must own it.
      const { rows } = await admin.query<{ folder: string }>('SELECT current_setting($1) AS folder', [
        'data_directory',
      ]);
      const { uid, gid } = statSync(rows[0]?.folder ?? '');
      chownSync(disk, uid, gid);
      await admin.query(`CREATE TABLESPACE small LOCATION '${disk}'`);
      await admin.query(`CREATE DATABASE small TEMPLATE ${TEMPLATE_DATABASE} TABLESPACE small`);
      const url = new URL(inject('postgresUrl'));
      url.pathname = '/small';
      const t = new TestDemo({ databaseUrl: () => url.href, speedup: 8 });
      const filler = new pg.Client({ connectionString: url.href });
      await filler.connect();
      try {
        await t.start();
        const { alice, bob } = t;
        const order = await requestByCommand(t.workspace, alice, '/domain renew soup.rest');
        await filler.query('CREATE TABLE filler (bytes text)');
        await filler.query('ALTER TABLE filler ALTER bytes SET STORAGE EXTERNAL');
        // The table's last page may still have room for some rows.
        let problem: unknown;
        for (const size of [1_000_000, 100_000, 8_000, 1]) {
          problem = undefined;
          while (problem === undefined) {
            problem = await filler
              .query(`INSERT INTO filler SELECT repeat('x', $1)`, [size])
              .then(() => undefined)
              .catch((error: unknown) => error);
          }
        }
        expect(problem).toMatchObject({ code: '53100' });
        // Rows that fit into existing pages work for a while; then people get an error.
        let answer = '';
        for (let tries = 0; tries < 200 && !/no room left/.test(answer); tries += 1) {
          const reason = 'x'.repeat(2_000);
          t.service.state.addDomain({ name: `full-${tries}.rest`, context: 4 });
          const before = alice.ephemerals().length;
          const cards = t.workspace.messages(DOMAINS).length;
          await alice.command(DOMAINS, `/domain renew full-${tries}.rest -- ${reason}`);
          await until(
            'the command is answered',
            () => alice.ephemerals().length > before || t.workspace.messages(DOMAINS).length > cards,
            20_000,
          );
          const reply = alice.ephemerals()[before];
          answer = reply === undefined ? '' : textOf(reply);
        }
        expect(answer).toMatch(/My database is full/);
        expect(requestsOf(t.service, order)).toEqual([]);
        await filler.query('DROP TABLE filler');
        await bob.click(order.card, 'order_approve');
        await order.waitForResult('SUCCEEDED', 30_000);
        expect(requestsOf(t.service, order)).toHaveLength(1);
      } finally {
        await filler.end();
        await t.stop();
      }
    } finally {
      await admin.query('DROP DATABASE IF EXISTS small WITH (FORCE)');
      await admin.query('DROP TABLESPACE IF EXISTS small');
      await admin.end();
      execFileSync('umount', [disk]);
      rmSync(disk, { recursive: true, force: true });
    }
  },
  3 * MINUTE_MS,
);

const SLACK_FAULTS = [
  { kind: 'ratelimited', retryAfterSeconds: 1 },
  { kind: 'http_500' },
  { kind: 'error', code: 'internal_error' },
  { kind: 'error', code: 'not_in_channel' },
  { kind: 'lost_answer' },
] as const;
const SLACK_METHODS = ['chat.postMessage', 'chat.update', 'chat.postEphemeral', 'response_url'] as const;

const orderRow = z.object({
  id: z.string(),
  state: z.string(),
  name: z.string(),
  cards: z.array(z.string()),
});

test(
  `when everything fails at once, each order is charged at most once and shown correctly, SEED=${seed}`,
  () =>
    runDemo(
      async (t, proxy) => {
        const random = seededRandom(seed);
        const randomBelow = (n: number) => Math.floor(random() * n);
        const pick = <T>(all: readonly T[]): T => {
          const one = all[randomBelow(all.length)];
          if (one === undefined) throw new Error('there is nothing to choose from');
          return one;
        };
        const { alice } = t;
        const approvers: readonly Actor[] = [t.bob, t.carol];
        const database = new pg.Client({ connectionString: t.databaseUrl });
        // If the test fails first, the connection ends with its database.
        database.on('error', () => undefined);
        await database.connect();
        const loadOrders = async () => {
          const found = await database.query(`
            SELECT o.id, o.state, o.names[1] AS name, ARRAY(
              SELECT m.ts FROM notifications m WHERE m.subject_kind = 'order' AND m.subject_id = o.id
                AND m.purpose LIKE 'card%' AND m.ts IS NOT NULL) AS cards
            FROM orders o`);
          return z.array(orderRow).parse(found.rows);
        };
        const moveTime = (ms: number) => t.demo.moveTime(ms).catch(() => undefined);
        const decidePendingOrders = async () => {
          const pendingIds = new Set(
            (await loadOrders()).filter(({ state }) => state === 'PENDING').map(({ id }) => id),
          );
          const cards = ['C0DOMAINS', 'C0GENERAL', 'D0ALICE'].flatMap((channel) =>
            t.workspace.messages(channel),
          );
          for (const card of cards) {
            const id = orderOf(card)?.id;
            if (id === undefined || !pendingIds.has(id) || !buttonsOf(card).includes('order_approve'))
              continue;
            // If the bot couldn't post in the channel, only Alice has the card.
            if (card.channel === 'D0ALICE') await alice.click(card, 'order_cancel');
            else await pick(approvers).click(card, 'order_approve');
          }
        };
        const failures: readonly (() => unknown)[] = [
          () =>
            t.service.faults.set({
              kind: pick(JSON_FAULTS),
              times: 1 + randomBelow(3),
              match: { task: 'domain.renew' },
            }),
          () =>
            t.workspace.faults.set({
              method: pick(SLACK_METHODS),
              times: 1 + randomBelow(2),
              ...pick(SLACK_FAULTS),
            }),
          async () => {
            if (randomBelow(2) === 0) proxy.cut();
            else proxy.hang();
            await sleep(50 + randomBelow(1_500));
            proxy.restore();
          },
          () => moveTime((randomBelow(3) === 0 ? -1 : 1) * randomBelow(2 * 60) * MINUTE_MS),
          () => decidePendingOrders(),
        ];
        await moveTime(24 * 60 * MINUTE_MS);
        for (let n = 0; n < ORDERS; n += 1) {
          const name = `chaos-${n}.rest`;
          t.service.state.addDomain({ name, context: 4 });
          if (randomBelow(3) > 0) void Promise.resolve(pick(failures)()).catch(() => undefined);
          const command = await alice.command(
            randomBelow(2) === 0 ? DOMAINS : 'C0GENERAL',
            `/domain renew ${name}`,
          );
          expect(command.acked, `SEED=${seed}: the command for ${name} is acknowledged`).toBe(true);
          await sleep(randomBelow(150));
          if (randomBelow(4) === 0) await decidePendingOrders();
        }
        t.service.faults.clear();
        t.workspace.faults.clear();
        proxy.restore();
        const hasEnded = ({ state }: { readonly state: string }) =>
          !['PENDING', 'APPROVED', 'EXECUTING'].includes(state);
        await until(
          `SEED=${seed}: every order has ended`,
          async () => {
            await moveTime(20 * MINUTE_MS);
            await decidePendingOrders();
            await sleep(300);
            return (await loadOrders()).every(hasEnded);
          },
          3 * MINUTE_MS,
        );
        await until(
          `SEED=${seed}: every message about an order is up to date`,
          async () => {
            const { rows: staleMessages } = await database.query(STALE_ORDER_MESSAGES_SQL);
            if (staleMessages.length > 0) await moveTime(11 * MINUTE_MS);
            await sleep(500);
            return staleMessages.length === 0;
          },
          MINUTE_MS,
        );

        const stateCounts = new Map<string, number>();
        for (const { id, state, name, cards } of await loadOrders()) {
          const label = `SEED=${seed}: order ${id} for ${name}, ${state}`;
          stateCounts.set(state, (stateCounts.get(state) ?? 0) + 1);
          const sent = t.service.requestsFor({ ctid: id });
          const charges = t.service.state.charges.filter(({ ctid }) => ctid === id).length;
          const accepted = sent.filter(({ status }) => status !== 429);
          expect(accepted.length, `${label}: requests`).toBeLessThanOrEqual(1);
          expect(charges, `${label}: charges`).toBeLessThanOrEqual(1);
          if (state === 'SUCCEEDED') expect(charges, `${label}: charges`).toBe(1);
          if (state === 'FAILED') expect(charges, `${label}: charges`).toBe(0);
          const messages = ['C0DOMAINS', 'C0GENERAL', 'D0ALICE']
            .flatMap((channel) => t.workspace.messages(channel))
            .filter((message) => orderOf(message)?.id === id);
          expect(cards.length, `${label}: cards that the bot knows`).toBeGreaterThan(0);
          const knownCards = messages.filter(({ ts }) => cards.includes(ts));
          const currentCards = knownCards.filter((card) => orderOf(card)?.state === state);
          const threadStates = messages
            .filter(({ ts }) => !cards.includes(ts))
            .map((reply) => orderOf(reply)?.state);
          // If Slack refused to update a card, its thread has the state.
          if (currentCards.length < knownCards.length)
            expect(threadStates, `${label}: states in its thread`).toContain(state);
        }
        process.stdout.write(`SEED=${seed}: ${JSON.stringify(Object.fromEntries(stateCounts))}\n`);
        expect([...stateCounts.values()].reduce((sum, count) => sum + count, 0)).toBeGreaterThan(ORDERS / 3);
        await database.end();
      },
      { SERVICE_TIMEOUT: '1s', APPROVAL_TTL: '90d', APPROVAL_REMIND_AFTER: '80d' },
    ),
  8 * MINUTE_MS,
);
