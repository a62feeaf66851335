import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { createMetrics } from '../../src/app/metrics.ts';
import { RELEASE } from '../../src/app/release.ts';
import { ORDER_STATES } from '../../src/orders/order.ts';
import { until, useTestDemo } from '../support/demo.ts';
import { requestAndApprove, requestByCommand } from '../support/orders.ts';

const alertsSchema = z.object({
  groups: z.array(z.object({ rules: z.array(z.object({ alert: z.string(), expr: z.string() })) })),
});

const t = useTestDemo();
let metricsText: string;

beforeAll(async () => {
  const order = await requestAndApprove(
    t.bob,
    requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest'),
  );
  await order.waitForResult('SUCCEEDED');
  await until('the events are sealed', async () => {
    metricsText = await scrape();
    return parseValues('domain_steward_last_seal_timestamp_seconds').size > 0;
  });
});

const scrape = async () => (await fetch(`${t.botUrl}/metrics`)).text();

/** Maps a metric's labels to its values. */
function parseValues(name: string): Map<string, number> {
  const lines = [...metricsText.matchAll(new RegExp(`^${name}(?:\\{(.*)\\})? (\\S+)$`, 'gm'))];
  return new Map(lines.map(([, labels = '', value]) => [labels, Number(value)]));
}

test('orders are counted by state, including states without orders', () => {
  const counts = parseValues('domain_steward_orders');
  expect([...counts.keys()]).toEqual(ORDER_STATES.map((state) => `state="${state}"`));
  expect(counts.get('state="SUCCEEDED"')).toBe(1);
  expect(counts.get('state="PENDING"')).toBe(0);
});

test('acknowledgments, service requests and Slack calls have metrics', () => {
  const acks = parseValues('domain_steward_ack_seconds_count');
  expect([...acks.keys()].sort()).toEqual([
    'kind="block_actions"',
    'kind="command"',
    'kind="view_submission"',
  ]);
  expect(acks.get('kind="command"')).toBe(2);
  expect(
    parseValues('domain_steward_service_request_seconds_count').get('task="renew",outcome="SUCCEEDED"'),
  ).toBe(1);
  expect(
    parseValues('domain_steward_slack_calls_total').get('method="chat.postMessage",outcome="ok"'),
  ).toBeGreaterThan(0);
  expect(parseValues('domain_steward_queue_age_seconds').get('')).toBe(0);
  expect(parseValues('domain_steward_database_up').get('')).toBe(1);
});

const dashboardSchema = z.object({
  panels: z.array(z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })) })),
});
const read = (path: string) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8');

/** Metrics without a value here, because they need an embedded database, a backup, a digest or a webhook. */
const DECLARED_ONLY_METRIC =
  /^domain_steward_(database_disk_free|backup_disk_free|last_(backup|digest|anchor|webhook))_/;

test('every metric in the alerts and the dashboard exists', async () => {
  const alerts = alertsSchema.parse(parse(await read('deploy/prometheus/alerts.yml')));
  const { panels: panelList } = dashboardSchema.parse(
    JSON.parse(await read('deploy/grafana/dashboard.json')),
  );
  const all = [
    ...alerts.groups.flatMap((group) => group.rules).map(({ alert, expr }) => [alert, expr] as const),
    ...panelList.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const)),
  ];
  expect(all.length).toBeGreaterThan(20);
  for (const [source, expr] of all) {
    const names = expr.match(/(domain_steward|process|nodejs)_\w+/g) ?? [];
    for (const name of names) {
      if (DECLARED_ONLY_METRIC.test(name))
        expect(metricsText, `${name} of ${source}`).toContain(`# TYPE ${name} gauge`);
      else expect(parseValues(name).size, `${name} of ${source}`).toBeGreaterThan(0);
    }
    for (const [, state = ''] of expr.matchAll(/state="(\w+)"/g)) expect(ORDER_STATES).toContain(state);
  }
});

test('background work and the environment have metrics', () => {
  expect(parseValues('domain_steward_database_bytes').get('')).toBeGreaterThan(1_000_000);
  expect(parseValues('domain_steward_names').get('')).toBe(1);
  expect(parseValues('domain_steward_names_overdue').get('')).toBe(0);
  expect([...parseValues('domain_steward_build_info')]).toEqual([
    [`version="${RELEASE}",node="${process.version}"`, 1],
  ]);
  expect(
    Date.now() / 1_000 - (parseValues('domain_steward_last_seal_timestamp_seconds').get('') ?? 0),
  ).toBeLessThan(600);
  expect(parseValues('domain_steward_webhook_waiting_seconds').get('')).toBe(0);
  // No embedded database, no backups and no endpoints here.
  expect(parseValues('domain_steward_database_disk_free_bytes').size).toBe(0);
  for (const what of ['backup', 'anchor', 'webhook'])
    expect(parseValues(`domain_steward_last_${what}_timestamp_seconds`).size, what).toBe(0);
});

describe('while the database is down', () => {
  test('database metrics are omitted, and the others are served', async () => {
    let isDown = false;
    const metrics = createMetrics();
    metrics.setOrderSource(async () => {
      if (isDown) throw new Error('away');
      return { byState: { PENDING: 3 }, unsealedSeconds: 0, queueAgeSeconds: 7 };
    });
    metrics.countSlackCall('chat.update', 'rate_limited');
    expect(await metrics.text()).toContain('domain_steward_orders{state="PENDING"} 3');
    isDown = true;
    const body = await metrics.text();
    expect(body).toContain('domain_steward_database_up 0');
    expect(body).not.toContain('domain_steward_orders{');
    expect(body).not.toMatch(/^domain_steward_queue_age_seconds/m);
    expect(body).toContain('domain_steward_slack_calls_total{method="chat.update",outcome="rate_limited"} 1');
  });
});

test('the health check responds, and the bot becomes ready', async () => {
  expect(await (await fetch(`${t.botUrl}/healthz`)).json()).toEqual({ status: 'alive' });
  await until('the bot is ready', async () => (await fetch(`${t.botUrl}/readyz`)).status === 200);
});
