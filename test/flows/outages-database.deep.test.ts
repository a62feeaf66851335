import type { Actor } from '@domain-steward/slack-workspace';
import pg from 'pg';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { DatabaseProxy } from '../support/database-proxy.ts';
import { buttonsOf, DOMAINS, openForm, textOf, until, useTestDemo } from '../support/demo.ts';
import {
  orderOf,
  requestAndApprove,
  requestByCommand,
  requestsOf,
  type VisibleOrder,
} from '../support/orders.ts';
import { requestAndConfirm } from '../support/people.ts';

/*
 * The database is disconnected, hangs or is full while people keep working. Everyone gets a reply within
 * Slack's three seconds, no change is partial, and after the outage the same click takes effect once.
 */

const MAX_REPLY_MS = 3_000;
const DATABASE_DOWN_REPLY = /My database doesn’t respond.*Reference `?[0-9a-f]{8}/s;

const proxy = new DatabaseProxy();
// Registered first, so it runs last, when the bot no longer uses the proxy.
afterAll(() => proxy.close());
const t = useTestDemo({ databaseUrl: (url) => proxy.start(url), speedup: 8 });

afterEach(async () => {
  proxy.restore();
  // The bot may not have noticed yet that its connections were cut.
  await until('the bot uses the database again', async () =>
    (await actAndTimeReply(t.alice, () => t.alice.command(DOMAINS, '/domain whoami'))).text.includes(
      'context 4',
    ),
  );
});

/** Rows of the main tables. Leases are removed, because the bot keeps renewing them. */
async function readRows(): Promise<string[]> {
  const rows = (await t.dump()).split('\n');
  const tables = ['orders', 'order_items', 'events', 'approvals', 'domains', 'accounts', 'settings'];
  return rows
    .filter((row) => tables.some((table) => row.startsWith(`public.${table} `)))
    .map((row) => row.replaceAll(/"(notification_)?lease_until": (null|"[^"]*")/g, ''))
    .sort();
}

/** Acts, and waits for the next message to this person. @returns its text and how long it took */
async function actAndTimeReply(
  person: Actor,
  act: () => Promise<unknown>,
): Promise<{ text: string; ms: number }> {
  const startedAt = performance.now();
  const before = person.ephemerals().length;
  await act();
  const next = await t.workspace.waitFor(() => person.ephemerals()[before], { what: 'a reply' });
  return { text: textOf(next), ms: performance.now() - startedAt };
}

/** Acts while the database is down, and expects a timely reply with the reason. */
async function expectOutageReply(what: string, person: Actor, act: () => Promise<unknown>): Promise<void> {
  const reply = await actAndTimeReply(person, act);
  expect(reply.text, what).toMatch(DATABASE_DOWN_REPLY);
  expect(reply.ms, `ms until the reply to ${what}`).toBeLessThan(MAX_REPLY_MS);
}

describe('while the database is disconnected', () => {
  test('every action gets a reply in time, and no change is partial', async () => {
    const pendingOrder = await requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest');
    await t.alice.command(DOMAINS, '/domain watch bar.rest 2030-01-01');
    const form = await openForm(t.workspace, t.alice, '/domain renew');
    await t.waitUntilSlackIsCurrent();
    await until('the DNS lookup of the new name, which follows the registry lookup', async () =>
      (await readRows()).some((row) => /^public\.domains .*"mx"/.test(row)),
    );
    const before = await readRows();
    const messageCount = t.workspace.messages(DOMAINS).length;
    proxy.cut();

    const commands: readonly [Actor, string][] = [
      [t.alice, 'renew deli.rest'],
      [t.alice, 'create new.rest'],
      [t.alice, 'delete curry.rest'],
      [t.alice, 'whoami'],
      [t.alice, 'use 4'],
      [t.alice, 'unlink 4'],
      [t.alice, 'orders'],
      [t.alice, `order ${pendingOrder.id}`],
      [t.alice, 'watch new.rest'],
      [t.alice, 'unwatch bar.rest'],
      [t.alice, 'expiring'],
      [t.alice, 'calendar'],
      [t.alice, 'calendar reset'],
      [t.alice, 'prereg cafe'],
      [t.ada, 'settings'],
      [t.ada, 'audit'],
    ];
    for (const [person, text] of commands) {
      const command = `/domain ${text}`;
      await expectOutageReply(command, person, () => person.command(DOMAINS, command));
    }
    const clicks: readonly [Actor, string][] = [
      [t.bob, 'order_approve'],
      [t.carol, 'order_approve'],
      [t.bob, 'order_deny'],
      [t.alice, 'order_cancel'],
    ];
    for (const [person, button] of clicks) {
      await expectOutageReply(button, person, () => person.click(pendingOrder.card, button));
    }
    expect(await t.alice.submit(form, { names: 'deli.rest', period: '1' }), 'a form').toMatchObject({
      outcome: 'errors',
      errors: { names: expect.stringMatching(DATABASE_DOWN_REPLY) },
    });
    const help = await actAndTimeReply(t.alice, () => t.alice.command(DOMAINS, '/domain help'));
    expect(help.text, 'help needs no database').not.toMatch(/reference/i);
    await t.bob.openHome();
    const home = await t.workspace.waitFor(() => t.bob.homeView(), { what: 'Bob’s Home tab' });
    expect(textOf(home), 'the Home tab').toMatch(/reference `\w+`/);

    expect(await readRows(), 'rows in the database').toEqual(before);
    expect(t.workspace.messages(DOMAINS)).toHaveLength(messageCount);
    expect(requestsOf(t.service, pendingOrder)).toEqual([]);

    proxy.restore();
    // The form still has the typed values.
    expect(await t.alice.submit(form)).toMatchObject({ outcome: 'closed' });
    await Promise.all(
      [t.bob, t.carol, t.bob].map((person) => person.click(pendingOrder.card, 'order_approve')),
    );
    await pendingOrder.waitForResult('SUCCEEDED');
    expect(requestsOf(t.service, pendingOrder), 'requests of the order').toHaveLength(1);
  });

  test('no order is lost or sent twice, even during many concurrent approvals', async () => {
    const names = ['soup.rest', 'sushi.rest', 'tapas.rest', 'tavern.rest', 'picnic.rest', 'pasta.rest'];
    const orders: VisibleOrder[] = [];
    for (const name of names)
      orders.push(await requestByCommand(t.workspace, t.alice, `/domain renew ${name}`));
    await t.waitUntilSlackIsCurrent();
    // Enough concurrent clicks to interrupt some at every step.
    const clicks = orders.map((order) => t.bob.click(order.card, 'order_approve'));
    await until('the first approval', async () =>
      (await readRows()).some((row) => row.startsWith('public.approvals ')),
    );
    proxy.cut();
    for (const click of clicks) expect((await click).acked, 'whether the click was acknowledged').toBe(true);
    proxy.restore();
    for (const order of orders) {
      // People whose click failed click again.
      if (buttonsOf(order.card).includes('order_approve')) await t.bob.click(order.card, 'order_approve');
      await t.workspace.waitFor(() => (['SUCCEEDED', 'UNKNOWN'].includes(order.state) ? true : undefined), {
        what: `the order for ${orderOf(order.card)?.names} (${order.state}) to end`,
        timeoutMs: 15_000,
      });
      expect(requestsOf(t.service, order), `requests of ${order.id}`).toHaveLength(1);
    }
    const chargedNames = t.service.state.charges.map(({ name }) => name);
    expect(new Set(chargedNames).size, 'distinct names that were charged').toBe(chargedNames.length);
  });
});

describe('while the database hangs', () => {
  test('people see that it takes longer, and their clicks take effect once when it is back', async () => {
    const order = await requestByCommand(t.workspace, t.alice, '/domain renew tables.example');
    await t.waitUntilSlackIsCurrent();
    proxy.hang();
    const [first, second] = await Promise.all([
      actAndTimeReply(t.bob, () => t.bob.click(order.card, 'order_approve')),
      actAndTimeReply(t.carol, () => t.carol.click(order.card, 'order_approve')),
    ]);
    for (const { text, ms } of [first, second]) {
      expect(text).toMatch(/takes longer than usual/);
      expect(ms, 'ms until the reply').toBeLessThan(MAX_REPLY_MS);
    }
    expect(requestsOf(t.service, order)).toEqual([]);
    proxy.restore();
    await order.waitForResult('SUCCEEDED', 15_000);
    expect(requestsOf(t.service, order)).toHaveLength(1);
  });
});

test('a form shows if the database goes down while it is being checked', async () => {
  const form = await openForm(t.workspace, t.alice, '/domain renew');
  proxy.hang();
  expect(await t.alice.submit(form, { names: 'bistro-nord.rest', period: '1' })).toMatchObject({
    outcome: 'updated',
  });
  proxy.cut();
  await t.workspace.waitFor(
    () => t.alice.openedViews().find((view) => DATABASE_DOWN_REPLY.test(textOf(view))),
    {
      what: 'the form to show that the database is down',
    },
  );
});

describe('while the database is full', () => {
  /** Makes every write fail as on a full disk; reads still work. */
  async function withFullDisk(work: () => Promise<void>): Promise<void> {
    const admin = new pg.Client({ connectionString: t.databaseUrl });
    await admin.connect();
    // One table at a time, because locking several tables could deadlock with the bot.
    const forEachTable = async (sql: (table: string) => string) => {
      const { rows } = await admin.query<{ name: string }>(
        "SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname = 'public'",
      );
      for (const { name } of rows) await admin.query(sql(name));
    };
    try {
      await admin.query(`CREATE OR REPLACE FUNCTION public.no_room() RETURNS trigger LANGUAGE plpgsql AS $fn$
        BEGIN RAISE EXCEPTION 'could not extend file "base/1/1": No space left on device'
          USING ERRCODE = 'disk_full'; END $fn$`);
      await forEachTable(
        (table) =>
          `CREATE TRIGGER no_room BEFORE INSERT OR UPDATE OR DELETE ON ${table} EXECUTE FUNCTION public.no_room()`,
      );
      try {
        await work();
      } finally {
        await forEachTable((table) => `DROP TRIGGER no_room ON ${table}`);
      }
    } finally {
      await admin.end();
    }
  }

  const DATABASE_FULL_REPLY = /My database is full.*Reference `[0-9a-f]{8}`/s;

  test('people see the reason, and the same click works when there is space again', async () => {
    const order = await requestByCommand(t.workspace, t.alice, '/domain renew spoon.rest');
    await t.waitUntilSlackIsCurrent();
    await until('no pending work for completed orders', async () =>
      (await readRows()).every((row) => !row.includes('"state": "SUCCEEDED"') || !/"due_at": "/.test(row)),
    );
    // A later lookup of a new name would change rows.
    await t.demo.bot.catchUp();
    const before = await readRows();
    await withFullDisk(async () => {
      const attempts: readonly [Actor, () => Promise<unknown>][] = [
        [t.bob, () => t.bob.click(order.card, 'order_approve')],
        [t.alice, () => t.alice.click(order.card, 'order_cancel')],
        [t.alice, () => t.alice.command(DOMAINS, '/domain renew ramen.rest')],
        [t.alice, () => t.alice.command(DOMAINS, '/domain watch ramen.rest')],
        [t.alice, () => t.alice.command(DOMAINS, '/domain calendar')],
      ];
      for (const [person, act] of attempts) {
        const reply = await actAndTimeReply(person, act);
        expect(reply.text).toMatch(DATABASE_FULL_REPLY);
        expect(reply.ms, 'ms until the reply').toBeLessThan(MAX_REPLY_MS);
      }
      const reply = await actAndTimeReply(t.alice, () => t.alice.command(DOMAINS, '/domain orders mine'));
      expect(reply.text, 'reading still works').toContain('spoon.rest');
      expect((await fetch(`${t.botUrl}/healthz`)).status).toBe(200);
    });
    expect(await readRows()).toEqual(before);
    expect(requestsOf(t.service, order)).toEqual([]);
    await t.bob.click(order.card, 'order_approve');
    await order.waitForResult('SUCCEEDED');
    expect(requestsOf(t.service, order)).toHaveLength(1);
  });

  test('a response is saved once there is space, and the request isn’t sent again', async () => {
    t.service.faults.set({ kind: 'slow', delayMs: 700, times: 1, match: { task: 'domain.renew' } });
    const order = await requestAndApprove(
      t.bob,
      requestByCommand(t.workspace, t.alice, '/domain renew saffron.rest'),
    );
    await until('the request is sent', () => requestsOf(t.service, order).length === 1);
    await withFullDisk(async () => {
      await until('the service has responded', () => requestsOf(t.service, order)[0]?.status === 200);
      await until('the bot has tried to save the outcome', () =>
        t.getLog().includes('saving the outcome of a request'),
      );
    });
    await order.waitForResult('SUCCEEDED', 15_000);
    expect(requestsOf(t.service, order)).toHaveLength(1);
  });

  test('a request that can’t be marked as sent is delayed until there is space', async () => {
    const order = await requestAndConfirm(
      t.workspace,
      t.alice,
      '/domain nameservers plate.rest ns1.a.example ns2.a.example',
    );
    await order.waitForResult('SUCCEEDED');
    const pendingOrder = await requestByCommand(t.workspace, t.alice, '/domain renew plate.rest');
    const admin = new pg.Client({ connectionString: t.databaseUrl });
    await admin.connect();
    try {
      // The order can be claimed, but not marked as sent.
      await admin.query(`CREATE OR REPLACE FUNCTION public.no_room_for_sending() RETURNS trigger LANGUAGE plpgsql AS $fn$
        BEGIN IF NEW.kind = 'sending' THEN RAISE EXCEPTION 'No space left on device' USING ERRCODE = 'disk_full';
        END IF; RETURN NEW; END $fn$`);
      await admin.query(
        'CREATE TRIGGER no_room BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION public.no_room_for_sending()',
      );
      await t.bob.click(pendingOrder.card, 'order_approve');
      await until('the order is rescheduled', async () =>
        (await readRows()).some((row) => row.includes(pendingOrder.id) && row.includes('retry_scheduled')),
      );
      expect(requestsOf(t.service, pendingOrder)).toEqual([]);
    } finally {
      await admin.query('DROP TRIGGER IF EXISTS no_room ON events');
      await admin.end();
    }
    await pendingOrder.waitForResult('SUCCEEDED', 15_000);
    expect(requestsOf(t.service, pendingOrder)).toHaveLength(1);
  });
});
