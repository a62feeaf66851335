import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CrashSite } from '../support/crash.ts';
import { buttonsOf, until } from '../support/demo.ts';
import type { RunningBot } from '../support/harness.ts';
import { type VisibleOrder, waitForOrder } from '../support/orders.ts';
import { giveReason } from '../support/people.ts';

/*
 * A process is suspended (SIGSTOP) between committing `sentAt` and the first byte, and continues after its lease has
 * expired: none of its requests reach the service.
 */

const MAX_WAIT_MS = 120_000;

let site: CrashSite;
let db: pg.Client;
beforeAll(async () => {
  site = await CrashSite.open();
  db = new pg.Client({ connectionString: site.environment.databaseUrl });
  await db.connect();
}, MAX_WAIT_MS);
afterAll(async () => {
  await db.end();
  await site.close();
});

/** Requests a renewal, and suspends the bot that handles the approval. */
async function suspendRenewal(
  names: string,
  bot: RunningBot,
  point: 'sentAt committed' | 'connected',
): Promise<VisibleOrder> {
  const { workspace } = site.environment;
  workspace.setRequestUrl(`${bot.url}/slack/events`);
  const order = await waitForOrder(workspace, () => site.requestRenewal(names));
  // Not earlier, because other work of the bot must not trigger the suspension.
  await site.suspendAt(point);
  // The click times out if the bot doesn't respond.
  void site.bob.click(order.card, 'order_approve').catch(() => undefined);
  await until('the bot is suspended', async () => {
    const status = await readFile(`/proc/${bot.child.pid}/status`, 'utf8');
    return /^State:\s+T/m.test(status);
  });
  return order;
}

const requestsFor = (names: string) => site.listRenewalRequests().filter(({ name }) => name === names);

async function stateOf(id: string): Promise<{ readonly state: string; readonly isLeaseExpired: boolean }> {
  const { rows } = await db.query<{ state: string; isLeaseExpired: boolean }>(
    `SELECT state, coalesce(lease_until < now(), true) AS "isLeaseExpired" FROM orders WHERE id = $1`,
    [id],
  );
  const [row] = rows;
  if (row === undefined) throw new Error(`no order ${id}`);
  return row;
}

test(
  'a bot suspended at “connected” sends nothing after its lease has expired',
  async () => {
    const names = site.addNames('alone');
    const order = await suspendRenewal(names, site.bot, 'connected');
    await until('the lease has expired', async () => (await stateOf(order.id)).isLeaseExpired);
    process.kill(site.bot.child.pid, 'SIGCONT');
    await order.waitForResult('UNKNOWN');
    expect(requestsFor(names)).toEqual([]);
  },
  MAX_WAIT_MS,
);

test(
  'a bot suspended at “sentAt committed” sends nothing after another bot has taken over',
  async () => {
    const { workspace } = site.environment;
    const names = site.addNames('replaced');
    const { bot } = site;
    const order = await suspendRenewal(names, bot, 'sentAt committed');
    // Started only now, so that it can't claim the order first.
    const other = await site.startBot();
    workspace.setRequestUrl(`${other.url}/slack/events`);
    const unknown = await order.waitForResult('UNKNOWN', 30_000);
    await giveReason(workspace, site.bob, unknown, 'order_resolve_failed', 'Not on the invoice');
    const settled = await order.waitForResult('FAILED');
    await until('the Retry button', () => buttonsOf(settled).includes('order_retry'));
    const again = await waitForOrder(workspace, () => site.alice.click(settled, 'order_retry'));
    await site.bob.click(again.card, 'order_approve');
    await again.waitForResult('SUCCEEDED');

    process.kill(bot.child.pid, 'SIGCONT');
    await bot.child.waitForLine(new RegExp(`"orderId":"${order.id}".*"ended":`));
    await other.child.kill('SIGTERM');
    expect(requestsFor(names).map(({ ctid }) => ctid)).toEqual([again.id]);
    expect((await stateOf(order.id)).state).toBe('FAILED');
  },
  MAX_WAIT_MS,
);
