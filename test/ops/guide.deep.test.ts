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
import { readSealedKeyUsages, SEALED_COLUMNS } from '../../src/store/sealed-keys.ts';
import { newPolicyRule } from '../policy/sample.ts';
import { performAndWaitForView, readCommandReply, until, useTestDemo } from '../support/demo.ts';
import { requestAndApprove, requestByCommand } from '../support/orders.ts';
import { confirmPolicy } from '../support/proposals.ts';

/* Verifies what the operators' guide says about the commands for stored data, the settings and the image. */

const read = (path: string) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8');

const t = useTestDemo();
let client: pg.Client;

beforeAll(async () => {
  client = new pg.Client({ connectionString: t.databaseUrl });
  await client.connect();
  const renewal = await requestAndApprove(
    t.bob,
    requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest'),
  );
  await renewal.waitForResult('SUCCEEDED');
  const authCodeOrder = await requestByCommand(t.workspace, t.alice, '/domain authcode tavern.rest');
  await authCodeOrder.waitForResult('SUCCEEDED');
  await readCommandReply(t.workspace, t.alice, '/domain calendar');
  await readCommandReply(t.workspace, t.alice, '/domain watch tapas.rest 2027-01-01');
  const form = await performAndWaitForView(t.workspace, t.alice, async () => {
    await readCommandReply(t.workspace, t.alice, '/domain name tapas.rest');
    const screen = t.alice.ephemerals().at(-1);
    if (screen !== undefined) await t.alice.click(screen, 'name_edit');
  });
  expect(await t.alice.submit(form, { owner: 'U0ALICE' })).toMatchObject({ outcome: 'closed' });
  await publishPolicies();
});
afterAll(() => client.end());

/** Publishes policy versions with Alice as approver in a rule, as publisher and as confirmer. */
async function publishPolicies(): Promise<void> {
  const database = openDatabase({ url: t.databaseUrl });
  const store = createPolicyStore(database, t.workspace.teamId, true);
  for (const [rules, publisher, confirmer] of [
    [[newPolicyRule({ approvers: ['U0ALICE', 'U0BOB'] })], 'U0ALICE', 'U0BOB'],
    [[newPolicyRule({ approvers: ['U0BOB'] })], 'U0BOB', 'U0ALICE'],
  ] as const) {
    const { revision } = getDraftBase(await store.loadCurrentPolicy(), undefined);
    const draft = await store.saveDraft(rules, revision, publisher, new Date());
    await store.publish(draft?.revision ?? '', publisher, new Date());
    await confirmPolicy(database, t.workspace.teamId, draft?.revision ?? '', confirmer, new Date());
  }
  const { revision } = getDraftBase(await store.loadCurrentPolicy(), undefined);
  const draft = await store.saveDraft([], revision, 'U0ALICE', new Date());
  await store.publish(draft?.revision ?? '', 'U0ALICE', new Date());
  await database.close();
}

const countRowsWithAlice = async () =>
  (await t.dump())
    .split('\n')
    .filter((row) => row.includes('U0ALICE') && !row.startsWith('public.notifications ')).length;

const countRows = async (table: string) =>
  (await client.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${table}`)).rows[0]?.n;

describe('the commands for stored data', () => {
  test('list the keys in use', async () => {
    const keys = await readSealedKeyUsages(client);
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

  test('refuse to forget a person who is listed in a setting', async () => {
    await client.query(`INSERT INTO settings (key, value, updated_by, updated_at)
      VALUES ('approvers', '["U0ALICE"]', 'U0BOB', now())`);
    onTestFinished(async () => void (await client.query("DELETE FROM settings WHERE key = 'approvers'")));
    const before = await countRowsWithAlice();
    expect(await forgetPerson(client, 'U0ALICE', { dryRun: false })).toEqual({
      isDone: false,
      obstacles: [{ kind: 'setting', name: 'approvers' }],
    });
    expect(await countRowsWithAlice()).toBe(before);
  });

  test('forget a person; a dry run reports the same and changes nothing', async () => {
    await until('all notifications are posted', async () => {
      const dueNotifications = await client.query(
        "SELECT 1 FROM notifications WHERE due_at < now() + interval '1 minute'",
      );
      return dueNotifications.rowCount === 0;
    });
    const before = await countRowsWithAlice();
    expect(before).toBeGreaterThan(10);
    const dryRunReport = await forgetPerson(client, 'U0ALICE', { dryRun: true });
    expect(await countRowsWithAlice()).toBe(before);
    const report = await forgetPerson(client, 'U0ALICE', { dryRun: false });
    expect(report).toEqual(dryRunReport);
    expect(report).toMatchObject({
      isDone: true,
      changes: expect.arrayContaining([{ table: 'accounts', rowCount: 1 }]),
    });
    const remainingRows = (await t.dump()).split('\n').filter((row) => /U0ALICE|"alice/.test(row));
    expect(remainingRows).toEqual([]);
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
    const dryRunReport = await purge(client, before, { dryRun: true });
    expect(await countRows('orders')).toBe(2);
    expect(await purge(client, before, { dryRun: false })).toEqual(dryRunReport);
    expect(dryRunReport).toEqual(expect.arrayContaining([{ table: 'orders', rowCount: 1 }]));
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
    const finalStage = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')));
    expect(finalStage.filter((line) => /^USER /.test(line))).toEqual(['USER node']);
    expect(finalStage.findIndex((line) => line.startsWith('COPY'))).toBeLessThan(
      finalStage.indexOf('USER node'),
    );
    expect(finalStage.some((line) => line.startsWith('HEALTHCHECK'))).toBe(true);
    expect(finalStage).toContain('CMD ["node", "dist/main.js"]');
    expect(lines.join('\n')).toContain('npm prune --omit=dev --omit=optional');
  });

  test('the image excludes the demo, the workspace and the sandbox', async () => {
    const excludedFolders = ['demo', 'packages/sandbox-service', 'packages/slack-workspace'];
    const listOverlappingFolders = (path: string) =>
      excludedFolders.filter(
        (folder) => ['.', folder].includes(path) || isInside(folder, path) || isInside(path, folder),
      );
    const copiedPaths = [...(await read('Dockerfile')).matchAll(/^(?:COPY|ADD) (.+)$/gm)]
      .map(([, words = '']) => words.split(' ').filter((word) => !word.startsWith('--')))
      .flatMap((paths) => paths.slice(0, -1))
      .map((path) => path.replace(/^(\.|\/app)\/(?=.)/, '').replace(/\/$/, ''));
    expect(copiedPaths).toEqual(expect.arrayContaining(['src', 'packages/embedded-postgres', 'dist']));
    expect(copiedPaths.filter((path) => listOverlappingFolders(path).length > 0)).toEqual([]);

    const [first, ...exceptions] = (await read('.dockerignore')).trim().split('\n');
    expect(first, 'the builder gets only listed files').toBe('*');
    const allowedPaths = exceptions.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
    expect(allowedPaths).toContain('packages/embedded-postgres');
    expect(allowedPaths.filter((path) => listOverlappingFolders(path).length > 0)).toEqual([]);
  });
});

function isInside(path: string, folder: string): boolean {
  return path.startsWith(`${folder}/`);
}
