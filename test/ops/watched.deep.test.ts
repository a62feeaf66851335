import pg from 'pg';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { DatabaseProxy } from '../support/database-proxy.ts';
import { DOMAINS, until, useTestDemo } from '../support/demo.ts';

/* Health checks and metrics must respond under load. */

describe('a separate metrics port', () => {
  const t = useTestDemo({ settings: { METRICS_PORT: '0' } });

  test('serves only metrics', async () => {
    expect(t.demo.bot.metricsPort).not.toBe(t.demo.bot.port);
    const own = `http://127.0.0.1:${t.demo.bot.metricsPort}`;
    expect(await (await fetch(`${own}/metrics`)).text()).toContain(
      'domain_steward_orders{state="PENDING"} 0',
    );
    expect((await fetch(`${t.botUrl}/metrics`)).status).toBe(404);
    expect((await fetch(`${t.botUrl}/readyz`)).status).toBe(200);
  });
});

describe('health checks and metrics on one port', () => {
  const proxy = new DatabaseProxy();
  // Registered first, so it runs last, after the bot has stopped.
  afterAll(() => proxy.close());
  const t = useTestDemo({ databaseUrl: (url) => proxy.start(url) });

  const scrape = async () => (await fetch(`${t.botUrl}/metrics`)).text();
  const fetchReadiness = () => fetch(`${t.botUrl}/readyz`);

  test('respond while every pooled connection is busy', async () => {
    const holder = new pg.Client({ connectionString: t.databaseUrl });
    await holder.connect();
    onTestFinished(() => holder.end());
    await holder.query('BEGIN; LOCK TABLE accounts IN ACCESS EXCLUSIVE MODE');
    const countWaiting = async () => {
      await holder.query('SELECT pg_stat_clear_snapshot()');
      const { rows } = await holder.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      return rows.length;
    };
    const commands = Array.from({ length: 15 }, () => t.alice.command(DOMAINS, '/domain whoami'));
    await until('all ten pooled connections wait for the lock', async () => (await countWaiting()) === 10);
    expect((await fetchReadiness()).status).toBe(200);
    expect(await scrape()).toContain('domain_steward_database_up 1');
    expect(await countWaiting(), 'waiting connections').toBe(10);
    await holder.query('ROLLBACK');
    await Promise.all(commands);
  });

  test('report unsealed events in a warning and a metric, but stay ready', async () => {
    const sealer = new pg.Client({ connectionString: t.databaseUrl });
    await sealer.connect();
    onTestFinished(() => sealer.end());
    // Another process is sealing, and doesn't finish.
    await sealer.query(`SELECT pg_advisory_lock(${0x4c454447}, hashtext(installation_team()))`);
    await t.alice.command(DOMAINS, '/domain watch noodle.rest');
    const backdate = () =>
      sealer.query(`UPDATE unsealed_events SET since = now() - interval '100 s' RETURNING 1`);
    await until('an event is unsealed', async () => ((await backdate()).rowCount ?? 0) > 0);
    const response = await fetchReadiness();
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({
      status: 'ready',
      details: { ledger: expect.stringMatching(/^events have been waiting for a seal for 10\d s$/) },
    });
    const [, seconds] = /^domain_steward_unsealed_seconds (\S+)$/m.exec(await scrape()) ?? [];
    expect(Number(seconds)).toBeGreaterThan(99);
    await sealer.query('SELECT pg_advisory_unlock_all()');
    await until(
      'the event is sealed',
      async () => JSON.stringify(await (await fetchReadiness()).json()) === '{"status":"ready"}',
    );
    // Another event may be waiting for its seal.
    await until('all are sealed', async () => /^domain_steward_unsealed_seconds 0$/m.test(await scrape()));
  });

  test('report a hanging database as not ready, and omit only its metrics', async () => {
    await until('the bot is ready', async () => (await fetchReadiness()).status === 200);
    onTestFinished(() => proxy.mend());
    proxy.hang();
    await until('the bot is not ready', async () => (await fetchReadiness()).status === 503);
    const begun = performance.now();
    const response = await fetchReadiness();
    expect(performance.now() - begun, 'response time in ms').toBeLessThan(4_000);
    expect(await response.json()).toMatchObject({ missing: { database: 'does not answer' } });
    let text = '';
    await until('the metrics show the database as down', async () => {
      text = await scrape();
      return text.includes('domain_steward_database_up 0');
    });
    expect(text).not.toContain('domain_steward_orders{');
    expect(text).not.toMatch(/^domain_steward_queue_age_seconds/m);
    expect(text).toContain('process_cpu_user_seconds_total');
    proxy.mend();
    await until('the bot is ready again', async () => (await fetchReadiness()).status === 200);
  });
});
