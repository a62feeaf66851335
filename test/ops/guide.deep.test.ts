import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { VARIABLE_EXAMPLES } from '../../src/config/environment.ts';
import { getDraftBase } from '../../src/policy/drafts.ts';
import { openDatabase } from '../../src/store/database.ts';
import { forgetPerson } from '../../src/store/forget-person.ts';
import { createPolicyStore } from '../../src/store/policies.ts';
import { purge } from '../../src/store/purge.ts';
import { findSealedKeys, SEALED_COLUMNS } from '../../src/store/sealed-keys.ts';
import { rule } from '../policy/sample.ts';
import { actUntilOpened, readCommandReply, until, useTestDemo } from '../support/demo.ts';
import { approveRequested, requestByCommand } from '../support/orders.ts';
import { confirmPolicy } from '../support/proposals.ts';

/* Verifies the operators' guide: the commands for records, the settings, the image. */

const read = (path: string) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8');

const t = useTestDemo();
let client: pg.Client;

beforeAll(async () => {
  client = new pg.Client({ connectionString: t.databaseUrl });
  await client.connect();
  const renewed = await approveRequested(
    t.bob,
    requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest'),
  );
  await renewed.waitForResult('SUCCEEDED');
  const fetched = await requestByCommand(t.workspace, t.alice, '/domain authcode tavern.rest');
  await fetched.waitForResult('SUCCEEDED');
  await readCommandReply(t.workspace, t.alice, '/domain calendar');
  await readCommandReply(t.workspace, t.alice, '/domain watch tapas.rest 2027-01-01');
  const form = await actUntilOpened(t.workspace, t.alice, async () => {
    await readCommandReply(t.workspace, t.alice, '/domain name tapas.rest');
    const screen = t.alice.ephemerals().at(-1);
    if (screen !== undefined) await t.alice.click(screen, 'name_edit');
  });
  expect(await t.alice.submit(form, { owner: 'U0ALICE' })).toMatchObject({ outcome: 'closed' });
  await publishPolicies();
});
afterAll(() => client.end());

/** Publishes policy versions with Alice as publisher, as confirmer, and, in an earlier one, in a rule. */
async function publishPolicies(): Promise<void> {
  const database = openDatabase({ url: t.databaseUrl });
  const store = createPolicyStore(database, t.workspace.teamId, true);
  for (const [rules, by, confirms] of [
    [[rule({ approvers: ['U0ALICE', 'U0BOB'] })], 'U0ALICE', 'U0BOB'],
    [[rule({ approvers: ['U0BOB'] })], 'U0BOB', 'U0ALICE'],
  ] as const) {
    const { revision } = getDraftBase(await store.current(), undefined);
    const draft = await store.saveDraft(rules, revision, by, new Date());
    await store.publish(draft?.revision ?? '', by, new Date());
    await confirmPolicy(database, t.workspace.teamId, draft?.revision ?? '', confirms, new Date());
  }
  const { revision } = getDraftBase(await store.current(), undefined);
  const draft = await store.saveDraft([], revision, 'U0ALICE', new Date());
  await store.publish(draft?.revision ?? '', 'U0ALICE', new Date());
  await database.close();
}

const countTraces = async () =>
  (await t.dump())
    .split('\n')
    .filter((row) => row.includes('U0ALICE') && !row.startsWith('public.notifications ')).length;

const countRows = async (table: string) =>
  (await client.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${table}`)).rows[0]?.n;

describe('the commands for records', () => {
  test('list the keys in use', async () => {
    const keys = await findSealedKeys(client);
    expect(keys.map(({ nouns: [, many], keyId }) => `${many} ${keyId}`)).toEqual([
      'accounts demo',
      'calendars demo',
      'keys of the ledger demo',
      'results demo',
    ]);
  });

  test('cover every table with sealed values', async () => {
    const { rows } = await client.query<{ place: string }>(
      `SELECT table_name AS place FROM information_schema.columns
       WHERE table_schema = 'public' AND data_type = 'bytea' AND column_name LIKE '%sealed%' ORDER BY 1`,
    );
    expect(SEALED_COLUMNS.map(([, , table]) => table).toSorted()).toEqual(rows.map(({ place }) => place));
  });

  test('refuse to forget a person who is in a setting', async () => {
    await client.query(`INSERT INTO settings (key, value, updated_by, updated_at)
      VALUES ('approvers', '["U0ALICE"]', 'U0BOB', now())`);
    onTestFinished(async () => void (await client.query("DELETE FROM settings WHERE key = 'approvers'")));
    const before = await countTraces();
    expect(await forgetPerson(client, 'U0ALICE', { dryRun: false })).toEqual({
      done: false,
      obstacles: [{ kind: 'setting', name: 'approvers' }],
    });
    expect(await countTraces()).toBe(before);
  });

  test('forget a person; a dry run reports the same and changes nothing', async () => {
    await until('all notifications are posted', async () => {
      const due = await client.query(
        "SELECT 1 FROM notifications WHERE due_at < now() + interval '1 minute'",
      );
      return due.rowCount === 0;
    });
    const before = await countTraces();
    expect(before).toBeGreaterThan(10);
    const dry = await forgetPerson(client, 'U0ALICE', { dryRun: true });
    expect(await countTraces()).toBe(before);
    const forgetting = await forgetPerson(client, 'U0ALICE', { dryRun: false });
    expect(forgetting).toEqual(dry);
    expect(forgetting).toMatchObject({
      done: true,
      changes: expect.arrayContaining([{ table: 'accounts', rows: 1 }]),
    });
    const left = (await t.dump()).split('\n').filter((row) => /U0ALICE|"alice/.test(row));
    expect(left).toEqual([]);
    expect(await countRows('orders'), 'remaining orders').toBe(2);
    const { rows } = await client.query(`SELECT DISTINCT actor FROM events WHERE kind = 'requested'`);
    expect(rows).toEqual([{ actor: 'former' }]);
  });

  test('purge only old rows; a dry run reports the same and changes nothing', async () => {
    await client.query(
      `UPDATE orders SET closed_at = closed_at - interval '4 years' WHERE task = 'authcode'`,
    );
    await client.query('ALTER TABLE events DISABLE TRIGGER events_only_added');
    await client.query(
      `UPDATE events SET at = at - interval '4 years' WHERE subject_id IN (SELECT id FROM orders WHERE task = 'authcode')`,
    );
    await client.query('ALTER TABLE events ENABLE TRIGGER events_only_added');
    const before = new Date(Date.now() - 3 * 365 * 86_400_000);
    const dry = await purge(client, before, { dryRun: true });
    expect(await countRows('orders')).toBe(2);
    expect(await purge(client, before, { dryRun: false })).toEqual(dry);
    expect(dry).toEqual(expect.arrayContaining([{ table: 'orders', rows: 1 }]));
    expect(await countRows('orders')).toBe(1);
    for (const table of ['order_items', 'revealable_secrets']) {
      const { rowCount } = await client.query(`SELECT FROM ${table} x JOIN orders o ON o.id = x.order_id`);
      expect(await countRows(table), `rows of ${table} with an order`).toBe(rowCount);
    }
    const { rows } = await client.query(
      `SELECT DISTINCT o.id AS kept FROM events e LEFT JOIN orders o ON o.id = e.subject_id WHERE e.subject_kind = 'order'`,
    );
    const { rowCount: orphans } = await client.query(
      "SELECT FROM notifications WHERE subject_kind = 'order' AND subject_id NOT IN (SELECT id FROM orders)",
    );
    expect(orphans).toBe(0);
    expect(rows, 'orders with events').toEqual([{ kept: expect.any(String) }]);
  });
});

describe('the image and its deployment', () => {
  const services = z.object({
    services: z.object({
      bot: z.object({
        read_only: z.literal(true),
        tmpfs: z.array(z.string()),
        cap_drop: z.tuple([z.literal('ALL')]),
        security_opt: z.array(z.string()),
        stop_grace_period: z.string(),
        environment: z.record(z.string(), z.string()),
      }),
      database: z.looseObject({ image: z.string(), healthcheck: z.object({ test: z.array(z.string()) }) }),
    }),
  });

  test('compose runs the bot without privileges, and exposes no database port', async () => {
    const { bot, database } = services.parse(parse(await read('deploy/compose.yml'))).services;
    expect(bot.tmpfs).toContain('/tmp');
    expect(bot.security_opt).toContain('no-new-privileges:true');
    expect(Number.parseInt(bot.stop_grace_period, 10)).toBeGreaterThan(10);
    expect(database).not.toHaveProperty('ports');
    expect(Object.keys(bot.environment).filter((name) => !(name in VARIABLE_EXAMPLES))).toEqual([]);
  });

  test('the image has no development packages, runs without privileges, and has a health check', async () => {
    const lines = (await read('Dockerfile')).split('\n');
    const last = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')));
    expect(last.filter((line) => /^USER /.test(line))).toEqual(['USER node']);
    expect(last.findIndex((line) => line.startsWith('COPY'))).toBeLessThan(last.indexOf('USER node'));
    expect(last.some((line) => line.startsWith('HEALTHCHECK'))).toBe(true);
    expect(last).toContain('CMD ["node", "dist/main.js"]');
    expect(lines.join('\n')).toContain('npm prune --omit=dev --omit=optional');
  });

  test('the image excludes the demo, the workspace and the sandbox', async () => {
    const excluded = ['demo', 'packages/sandbox-service', 'packages/slack-workspace'];
    const listContained = (path: string) =>
      excluded.filter(
        (folder) => ['.', folder].includes(path) || isInside(folder, path) || isInside(path, folder),
      );
    const copied = [...(await read('Dockerfile')).matchAll(/^(?:COPY|ADD) (.+)$/gm)]
      .map(([, words = '']) => words.split(' ').filter((word) => !word.startsWith('--')))
      .flatMap((paths) => paths.slice(0, -1))
      .map((path) => path.replace(/^(\.|\/app)\/(?=.)/, '').replace(/\/$/, ''));
    expect(copied).toEqual(expect.arrayContaining(['src', 'packages/embedded-postgres', 'dist']));
    expect(copied.filter((path) => listContained(path).length > 0)).toEqual([]);

    const [first, ...exceptions] = (await read('.dockerignore')).trim().split('\n');
    expect(first, 'the builder gets only listed files').toBe('*');
    const allowed = exceptions.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
    expect(allowed).toContain('packages/embedded-postgres');
    expect(allowed.filter((path) => listContained(path).length > 0)).toEqual([]);
  });
});

function isInside(path: string, folder: string): boolean {
  return path.startsWith(`${folder}/`);
}
