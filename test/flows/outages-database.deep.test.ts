import type { Actor } from '@domain-steward/slack-workspace';
import pg from 'pg';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { DatabaseProxy } from '../support/database-proxy.ts';
import { buttonsOf, DOMAINS, openForm, textOf, until, useTestDemo } from '../support/demo.ts';
import { approvedBy, ask, orderOf, requestsOf, type SeenOrder } from '../support/orders.ts';
import { askAndConfirm } from '../support/people.ts';

/*
 * The database is cut off, hangs, or is full, while people keep working: each of them gets an answer within Slack's
 * three seconds, nothing is half done, and afterwards the same click works, once.
 */

const TOLD_WITHIN_MS = 3_000;
const AWAY = /My database doesn’t respond.*Reference `?[0-9a-f]{8}/s;

const proxy = new DatabaseProxy();
// Registered first, so it runs last, when the bot no longer uses the proxy.
afterAll(() => proxy.close());
const t = useTestDemo({ databaseUrl: (url) => proxy.start(url), speedup: 8 });

afterEach(async () => {
  proxy.mend();
  // The bot may not have noticed yet that its connections were cut.
  await until('the bot uses the database again', async () =>
    (await told(t.alice, () => t.alice.command(DOMAINS, '/domain whoami'))).text.includes('context 4'),
  );
});

/** Orders, items, approvals and the watch list in the database, without leases, which change by themselves. */
async function kept(): Promise<string[]> {
  const rows = (await t.dump()).split('\n');
  const tables = ['orders', 'order_items', 'events', 'approvals', 'domains', 'accounts', 'settings'];
  return rows
    .filter((row) => tables.some((table) => row.startsWith(`public.${table} `)))
    .map((row) => row.replaceAll(/"(notification_)?lease_until": (null|"[^"]*")/g, ''))
    .sort();
}

/** A person's next message, which may say that it takes longer, and after how many milliseconds it came. */
async function told(person: Actor, act: () => Promise<unknown>): Promise<{ text: string; ms: number }> {
  const startedAt = performance.now();
  const before = person.ephemerals().length;
  await act();
  const next = await t.workspace.waitFor(() => person.ephemerals()[before], { what: 'an answer' });
  return { text: textOf(next), ms: performance.now() - startedAt };
}

/** Does something while the database is down: the person gets the reason in time. */
async function isToldOfIt(what: string, person: Actor, act: () => Promise<unknown>): Promise<void> {
  const said = await told(person, act);
  expect(said.text, what).toMatch(AWAY);
  expect(said.ms, `ms until ${what} was answered`).toBeLessThan(TOLD_WITHIN_MS);
}

describe('cut off', () => {
  test('every action gets an answer in time, and nothing is half done', async () => {
    const waiting = await ask(t.workspace, t.alice, '/domain renew cafe.rest');
    await t.alice.command(DOMAINS, '/domain watch bar.rest 2030-01-01');
    const form = await openForm(t.workspace, t.alice, '/domain renew');
    await t.allShown();
    await until('a DNS lookup of the new name, after its registry’s', async () =>
      (await kept()).some((row) => /^public\.domains .*"mx"/.test(row)),
    );
    const before = await kept();
    const cards = t.workspace.messages(DOMAINS).length;
    proxy.cut();

    const commands: readonly [Actor, string][] = [
      [t.alice, 'renew deli.rest'],
      [t.alice, 'create new.rest'],
      [t.alice, 'delete curry.rest'],
      [t.alice, 'whoami'],
      [t.alice, 'use 4'],
      [t.alice, 'unlink 4'],
      [t.alice, 'orders'],
      [t.alice, `order ${waiting.id}`],
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
      await isToldOfIt(command, person, () => person.command(DOMAINS, command));
    }
    const clicks: readonly [Actor, string][] = [
      [t.bob, 'order_approve'],
      [t.carol, 'order_approve'],
      [t.bob, 'order_deny'],
      [t.alice, 'order_cancel'],
    ];
    for (const [person, button] of clicks) {
      await isToldOfIt(button, person, () => person.click(waiting.card, button));
    }
    expect(await t.alice.submit(form, { names: 'deli.rest', period: '1' }), 'a form').toMatchObject({
      outcome: 'errors',
      errors: { names: expect.stringMatching(AWAY) },
    });
    const help = await told(t.alice, () => t.alice.command(DOMAINS, '/domain help'));
    expect(help.text, 'help needs no database').not.toMatch(/reference/i);
    await t.bob.openHome();
    const home = await t.workspace.waitFor(() => t.bob.homeView(), { what: 'Bob’s Home tab' });
    expect(textOf(home), 'the Home tab').toMatch(/reference `\w+`/);

    expect(await kept(), 'what the database has').toEqual(before);
    expect(t.workspace.messages(DOMAINS)).toHaveLength(cards);
    expect(requestsOf(t.service, waiting)).toEqual([]);

    proxy.mend();
    // The form keeps typed values.
    expect(await t.alice.submit(form)).toMatchObject({ outcome: 'closed' });
    await Promise.all([t.bob, t.carol, t.bob].map((person) => person.click(waiting.card, 'order_approve')));
    await waiting.ends('SUCCEEDED');
    expect(requestsOf(t.service, waiting), 'requests of the order').toHaveLength(1);
  });

  test('during many concurrent approvals: each order is approved or stays pending, and is sent at most once', async () => {
    const names = ['soup.rest', 'sushi.rest', 'tapas.rest', 'tavern.rest', 'picnic.rest', 'pasta.rest'];
    const orders: SeenOrder[] = [];
    for (const name of names) orders.push(await ask(t.workspace, t.alice, `/domain renew ${name}`));
    await t.allShown();
    // Enough concurrent clicks to hit some at every step.
    const clicks = orders.map((order) => t.bob.click(order.card, 'order_approve'));
    await until('the first of them is approved', async () =>
      (await kept()).some((row) => row.startsWith('public.approvals ')),
    );
    proxy.cut();
    for (const click of clicks) expect((await click).acked, 'a click is acknowledged').toBe(true);
    proxy.mend();
    for (const order of orders) {
      // People whose click failed click again.
      if (buttonsOf(order.card).includes('order_approve')) await t.bob.click(order.card, 'order_approve');
      await t.workspace.waitFor(() => (['SUCCEEDED', 'UNKNOWN'].includes(order.state) ? true : undefined), {
        what: `the order for ${orderOf(order.card)?.names} (${order.state}) to end`,
        timeoutMs: 15_000,
      });
      expect(requestsOf(t.service, order), `requests of ${order.id}`).toHaveLength(1);
    }
    const charged = t.service.state.charges.map(({ name }) => name);
    expect(new Set(charged).size, 'names that were charged for').toBe(charged.length);
  });
});

describe('hanging', () => {
  test('people learn that it takes longer; when it is back their click is applied, once', async () => {
    const order = await ask(t.workspace, t.alice, '/domain renew tables.example');
    await t.allShown();
    proxy.hang();
    const [first, second] = await Promise.all([
      told(t.bob, () => t.bob.click(order.card, 'order_approve')),
      told(t.carol, () => t.carol.click(order.card, 'order_approve')),
    ]);
    for (const { text, ms } of [first, second]) {
      expect(text).toMatch(/takes longer than usual/);
      expect(ms, 'ms until it was said').toBeLessThan(TOLD_WITHIN_MS);
    }
    expect(requestsOf(t.service, order)).toEqual([]);
    proxy.mend();
    await order.ends('SUCCEEDED', 15_000);
    expect(requestsOf(t.service, order)).toHaveLength(1);
  });
});

test('it goes down while a form says that it is checking: the form says so', async () => {
  const form = await openForm(t.workspace, t.alice, '/domain renew');
  proxy.hang();
  expect(await t.alice.submit(form, { names: 'bistro-nord.rest', period: '1' })).toMatchObject({
    outcome: 'updated',
  });
  proxy.cut();
  await t.workspace.waitFor(() => t.alice.openedViews().find((view) => AWAY.test(textOf(view))), {
    what: 'the form to say that the database is down',
  });
});

describe('full', () => {
  /** Every write fails as on a full disk, every read works. */
  async function withFullDisk(work: () => Promise<void>): Promise<void> {
    const admin = new pg.Client({ connectionString: t.databaseUrl });
    await admin.connect();
    // One table at a time: a statement that locks several would deadlock with the bot.
    const each = async (sql: (table: string) => string) => {
      const { rows } = await admin.query<{ name: string }>(
        "SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname = 'public'",
      );
      for (const { name } of rows) await admin.query(sql(name));
    };
    try {
      await admin.query(`CREATE OR REPLACE FUNCTION public.no_room() RETURNS trigger LANGUAGE plpgsql AS $fn$
        BEGIN RAISE EXCEPTION 'could not extend file "base/1/1": No space left on device'
          USING ERRCODE = 'disk_full'; END $fn$`);
      await each(
        (table) =>
          `CREATE TRIGGER no_room BEFORE INSERT OR UPDATE OR DELETE ON ${table} EXECUTE FUNCTION public.no_room()`,
      );
      try {
        await work();
      } finally {
        await each((table) => `DROP TRIGGER no_room ON ${table}`);
      }
    } finally {
      await admin.end();
    }
  }

  const FULL = /My database is full.*Reference `[0-9a-f]{8}`/s;

  test('people get the reason, nothing is sent, and the same click works when there is room again', async () => {
    const order = await ask(t.workspace, t.alice, '/domain renew spoon.rest');
    await t.allShown();
    await until('nothing is left to do for earlier successes', async () =>
      (await kept()).every((row) => !row.includes('"state": "SUCCEEDED"') || !/"due_at": "/.test(row)),
    );
    // A lookup of a new name would write it meanwhile.
    await t.demo.bot.catchUp();
    const before = await kept();
    await withFullDisk(async () => {
      const attempts: readonly [Actor, () => Promise<unknown>][] = [
        [t.bob, () => t.bob.click(order.card, 'order_approve')],
        [t.alice, () => t.alice.click(order.card, 'order_cancel')],
        [t.alice, () => t.alice.command(DOMAINS, '/domain renew ramen.rest')],
        [t.alice, () => t.alice.command(DOMAINS, '/domain watch ramen.rest')],
        [t.alice, () => t.alice.command(DOMAINS, '/domain calendar')],
      ];
      for (const [person, act] of attempts) {
        const said = await told(person, act);
        expect(said.text).toMatch(FULL);
        expect(said.ms, 'ms until it was said').toBeLessThan(TOLD_WITHIN_MS);
      }
      const said = await told(t.alice, () => t.alice.command(DOMAINS, '/domain orders mine'));
      expect(said.text, 'reading still works').toContain('spoon.rest');
      expect((await fetch(`${t.botUrl}/healthz`)).status).toBe(200);
    });
    expect(await kept()).toEqual(before);
    expect(requestsOf(t.service, order)).toEqual([]);
    await t.bob.click(order.card, 'order_approve');
    await order.ends('SUCCEEDED');
    expect(requestsOf(t.service, order)).toHaveLength(1);
  });

  test('a response that arrives meanwhile is saved as soon as there is room, and the request isn’t sent again', async () => {
    t.service.faults.set({ kind: 'slow', delayMs: 700, times: 1, match: { task: 'domain.renew' } });
    const order = await approvedBy(t.bob, ask(t.workspace, t.alice, '/domain renew saffron.rest'));
    await until('the request is under way', () => requestsOf(t.service, order).length === 1);
    await withFullDisk(async () => {
      await until('the service has answered', () => requestsOf(t.service, order)[0]?.status === 200);
      await until('the bot has tried to save it', () =>
        t.logged().includes('saving the outcome of a request'),
      );
    });
    await order.ends('SUCCEEDED', 15_000);
    expect(requestsOf(t.service, order)).toHaveLength(1);
  });

  test('a request that couldn’t be marked wasn’t sent: it is sent when there is room', async () => {
    const order = await askAndConfirm(
      t.workspace,
      t.alice,
      '/domain nameservers plate.rest ns1.a.example ns2.a.example',
    );
    await order.ends('SUCCEEDED');
    const waiting = await ask(t.workspace, t.alice, '/domain renew plate.rest');
    const admin = new pg.Client({ connectionString: t.databaseUrl });
    await admin.connect();
    try {
      // Claiming it works, but marking it as sent doesn't.
      await admin.query(`CREATE OR REPLACE FUNCTION public.no_room_for_sending() RETURNS trigger LANGUAGE plpgsql AS $fn$
        BEGIN IF NEW.kind = 'sending' THEN RAISE EXCEPTION 'No space left on device' USING ERRCODE = 'disk_full';
        END IF; RETURN NEW; END $fn$`);
      await admin.query(
        'CREATE TRIGGER no_room BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION public.no_room_for_sending()',
      );
      await t.bob.click(waiting.card, 'order_approve');
      await until('it was held back', async () =>
        (await kept()).some((row) => row.includes(waiting.id) && row.includes('retry_scheduled')),
      );
      expect(requestsOf(t.service, waiting)).toEqual([]);
    } finally {
      await admin.query('DROP TRIGGER IF EXISTS no_room ON events');
      await admin.end();
    }
    await waiting.ends('SUCCEEDED', 15_000);
    expect(requestsOf(t.service, waiting)).toHaveLength(1);
  });
});
