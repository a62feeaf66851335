import pg from 'pg';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { DatabaseProxy } from '../support/database-proxy.ts';
import { DOMAINS, until, useTestDemo } from '../support/demo.ts';

/* Health checks and metrics must respond under load. */

describe('a separate metrics port', () => {
  const t = useTestDemo({ settings: { METRICS_PORT: '0' } });

  test('serves only metrics', async () => {
    expect(t.demo.bot.metricsPort).not.toBe(t.demo.bot.port);
    const metricsOrigin = `http://127.0.0.1:${t.demo.bot.metricsPort}`;
    expect(await (await fetch(`${metricsOrigin}/metrics`)).text()).toContain(
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
    const lockClient = new pg.Client({ connectionString: t.databaseUrl });
    await lockClient.connect();
    onTestFinished(() => lockClient.end());
    await lockClient.query('BEGIN; LOCK TABLE accounts IN ACCESS EXCLUSIVE MODE');
    const countWaitingConnections = async () => {
      await lockClient.query('SELECT pg_stat_clear_snapshot()');
      const { rows } = await lockClient.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      return rows.length;
    };
    const commands = Array.from({ length: 15 }, () => t.alice.command(DOMAINS, '/domain whoami'));
    await until(
      'all ten pooled connections wait for the lock',
      async () => (await countWaitingConnections()) === 10,
    );
    expect((await fetchReadiness()).status).toBe(200);
    expect(await scrape()).toContain('domain_steward_database_up 1');
    expect(await countWaitingConnections(), 'waiting connections').toBe(10);
    await lockClient.query('ROLLBACK');
    await Promise.all(commands);
  });

  test('report unsealed events in a warning and a metric, but stay ready', async () => {
    const sealLockClient = new pg.Client({ connectionString: t.databaseUrl });
    await sealLockClient.connect();
    onTestFinished(() => sealLockClient.end());
    // Holds the lock for sealing, so the bot can't seal events.
    await sealLockClient.query(`SELECT pg_advisory_lock(${0x4c454447}, hashtext(installation_team()))`);
    await t.alice.command(DOMAINS, '/domain watch noodle.rest');
    const backdate = () =>
      sealLockClient.query(`UPDATE unsealed_events SET since = now() - interval '100 s' RETURNING 1`);
    await until('an event is unsealed', async () => ((await backdate()).rowCount ?? 0) > 0);
    const response = await fetchReadiness();
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({
      status: 'ready',
      details: { ledger: expect.stringMatching(/^events have been waiting for a seal for 10\d s$/) },
    });
    const [, seconds] = /^domain_steward_unsealed_seconds (\S+)$/m.exec(await scrape()) ?? [];
    expect(Number(seconds)).toBeGreaterThan(99);
    await sealLockClient.query('SELECT pg_advisory_unlock_all()');
    await until(
      'the event is sealed',
      async () => JSON.stringify(await (await fetchReadiness()).json()) === '{"status":"ready"}',
    );
    // Another event may still be unsealed.
    await until('all events are sealed', async () =>
      /^domain_steward_unsealed_seconds 0$/m.test(await scrape()),
    );
  });

  test('report a hanging database as not ready, and omit only its metrics', async () => {
    await until('the bot is ready', async () => (await fetchReadiness()).status === 200);
    onTestFinished(() => proxy.restore());
    proxy.hang();
    await until('the bot is not ready', async () => (await fetchReadiness()).status === 503);
    const startedAtMs = performance.now();
    const response = await fetchReadiness();
    expect(performance.now() - startedAtMs, 'response time in ms').toBeLessThan(4_000);
    expect(await response.json()).toMatchObject({ missing: { database: 'does not answer' } });
    let text = '';
    await until('the metrics show the database as down', async () => {
      text = await scrape();
      return text.includes('domain_steward_database_up 0');
    });
    expect(text).not.toContain('domain_steward_orders{');
    expect(text).not.toMatch(/^domain_steward_queue_age_seconds/m);
    expect(text).toContain('process_cpu_user_seconds_total');
    proxy.restore();
    await until('the bot is ready again', async () => (await fetchReadiness()).status === 200);
  });
});
