import { randomUUID } from 'node:crypto';
import { Writable } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { createLog } from '../../src/lib/log.ts';
import { changeOrder } from '../../src/orders/change-order.ts';
import type { Order, OrderEvent } from '../../src/orders/order.ts';
import {
  markUnsentAsUnknown,
  type RunningHeartbeat,
  startHeartbeat,
} from '../../src/orders/restore-guard.ts';
import { refusalText } from '../../src/slack/orders/refusal.view.ts';
import { openDatabase } from '../../src/store/database.ts';
import { createHeartbeat } from '../../src/store/heartbeat.ts';
import { createOrderStore } from '../../src/store/orders.ts';
import { newOrder } from '../store/order-rig.ts';
import { BOT_SIGNER } from '../support/bot-signer.ts';
import { contextWith } from '../support/context.ts';
import { OwnServer } from '../support/own-server.ts';
import { renderResult } from './sample.ts';

/*
 * Servers are killed, restored and promoted, before a bot starts and while it runs: an order that the database shows as
 * unsent, but that may have been sent, isn't sent. A plain restart changes nothing.
 */

let server: OwnServer;
let url: string;
const processes: Process[] = [];

beforeAll(async () => {
  server = await OwnServer.open({ synchronous_commit: 'off' });
}, 120_000);
afterEach(async () => {
  for (const each of processes.splice(0)) await each.die();
});
afterAll(() => server.close());

const WITHIN = { timeout: 30_000, interval: 20 };

function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}

/** The parts of a bot process that the guard depends on. */
class Process {
  readonly #database: ReturnType<typeof openDatabase>;
  readonly store: ReturnType<typeof createOrderStore>;
  readonly #deps: Parameters<typeof markUnsentAsUnknown>[0];
  #heartbeat: RunningHeartbeat | undefined;
  logged = '';
  aheadMs = 0;

  constructor(beatMs: number) {
    this.#database = openDatabase({ url });
    this.store = createOrderStore(this.#database, BOT_SIGNER);
    const write = (chunk: unknown, _encoding: string, done: () => void) => {
      this.logged += String(chunk);
      done();
    };
    this.#deps = contextWith({
      store: this.store,
      heartbeat: createHeartbeat(this.#database),
      now: this.now,
      log: createLog('debug', new Writable({ write })),
      processId: randomUUID(),
      beatMs,
      otherProcessesMs: 2_000,
    });
    processes.push(this);
  }

  readonly now = (): Date => new Date(Date.now() + this.aheadMs);

  /** Checks the database, then starts the heartbeat. */
  async start(): Promise<this> {
    let known: Awaited<ReturnType<typeof markUnsentAsUnknown>> | undefined;
    // Another process's heartbeat may interfere; like the bot, retry.
    while (known === undefined) known = await markUnsentAsUnknown(this.#deps).catch(() => undefined);
    this.#heartbeat = startHeartbeat(this.#deps, known);
    return this;
  }

  async stop(): Promise<void> {
    await this.#heartbeat?.stopCleanly();
    await this.#end();
  }

  /** Stops without a clean stop, like a killed process. */
  async die(): Promise<void> {
    this.#heartbeat?.stop();
    await this.#end();
  }

  async #end(): Promise<void> {
    this.#heartbeat = undefined;
    processes.splice(processes.indexOf(this), 1);
    await this.#database.close();
  }

  async change(id: string, event: OrderEvent): Promise<Order> {
    const outcome = await changeOrder({ ...this, advance: () => undefined }, id, () =>
      event.type === 'sending' ? { event, guard: 'no_signatures' } : { event },
    );
    if (!outcome.ok) throw new Error(refusalText(outcome.refusal));
    return outcome.order;
  }

  async approvedOrder(): Promise<string> {
    const order = newOrder({
      id: `o${randomUUID()}`,
      state: 'APPROVED',
      expiresAt: undefined,
      remindAt: undefined,
    });
    await vi.waitUntil(() => succeeds(this.store.create({ order, log: [] })), WITHIN);
    return order.id;
  }

  async claim(id: string): Promise<Order> {
    return this.change(id, { type: 'claimed', workerId: 'w' });
  }

  async send(id: string): Promise<void> {
    await this.claim(id);
    await this.change(id, { type: 'sending', workerId: 'w', n: 1 });
  }

  /** Undefined while the database doesn't respond. */
  async stateOf(id: string): Promise<string | undefined> {
    return this.store.load(id, 'system').then(
      (order) => order?.state,
      () => undefined,
    );
  }

  /** Tries to claim an order until it is claimed or unknown. @returns its state */
  async tries(id: string): Promise<string> {
    let outcome = '';
    await vi.waitUntil(async () => {
      const claimed = await this.claim(id).catch((error: unknown) => error);
      outcome = claimed instanceof Error ? ((await this.stateOf(id)) ?? '') : 'EXECUTING';
      return outcome === 'EXECUTING' || outcome === 'UNKNOWN';
    }, WITHIN);
    return outcome;
  }
}

const OFTEN_MS = 50;
const LATE_INTERVAL_MS = 3_600_000;

async function startProcess(beatMs = OFTEN_MS): Promise<Process> {
  return new Process(beatMs).start();
}

/** Rewrites the current rows, like loading a fresh dump. */
async function loadDump(): Promise<void> {
  await server.sql(
    `BEGIN; LOCK TABLE heartbeats; CREATE TEMPORARY TABLE dump ON COMMIT DROP AS SELECT * FROM heartbeats;
     DELETE FROM heartbeats; INSERT INTO heartbeats SELECT * FROM dump; COMMIT`,
    url,
  );
}

describe('while a bot is running', () => {
  let bot: Process;
  let order: string;
  const startBot = async (beatMs?: number) => {
    url = await server.database();
    bot = await startProcess(beatMs);
    order = await bot.approvedOrder();
  };

  test('a clean restart of the server changes nothing', async () => {
    await startBot();
    await server.stop();
    await server.start();
    expect(await bot.tries(order)).toBe('EXECUTING');
  });

  test('a kill of the server with asynchronous commits loses no confirmed commit', async () => {
    await startBot();
    const more = await bot.approvedOrder();
    await server.restartKilled();
    expect(await bot.tries(more)).toBe('EXECUTING');
    expect(await bot.tries(order)).toBe('EXECUTING');
    await server.restartKilled();
    expect(await bot.tries(await bot.approvedOrder()), 'after a second kill').toBe('EXECUTING');
  });

  test('a restored data folder makes recently sent orders unknown', async () => {
    await startBot(LATE_INTERVAL_MS);
    const restore = await server.snapshot();
    await bot.send(order);
    await restore();
    await server.start();
    expect(await bot.tries(order)).toBe('UNKNOWN');
    expect(bot.logged).toContain('the server lost commits');
    expect(renderResult((await bot.store.load(order, 'system'))?.items[0])).toMatch(/restored from a backup/);
    expect(await bot.tries(await bot.approvedOrder()), 'a later approval').toBe('EXECUTING');
  });

  test('after a restored data folder, an idle bot waits until the sending bot has checked', async () => {
    await startBot(LATE_INTERVAL_MS);
    const idle = await startProcess(LATE_INTERVAL_MS);
    const restore = await server.snapshot();
    await bot.send(order);
    await restore();
    await server.start();
    const tried = idle.tries(order);
    await vi.waitUntil(() => idle.logged.includes('other processes first check'), WITHIN);
    await vi.waitUntil(() => succeeds(bot.store.load(order, 'system')), WITHIN);
    expect(await tried).toBe('UNKNOWN');
    expect(await idle.tries(await bot.approvedOrder()), 'a later approval').toBe('EXECUTING');
  });

  test('nothing is claimed on a standby, and unsent orders are unknown after its promotion', async () => {
    await startBot();
    await server.stop();
    await server.becomeStandby();
    await server.start();
    await vi.waitUntil(async () => (await bot.stateOf(order)) === 'APPROVED', WITHIN);
    await expect(bot.claim(order)).rejects.toThrow();
    await server.sql('SELECT pg_promote()');
    expect(await bot.tries(order)).toBe('UNKNOWN');
    expect(bot.logged).toContain('a server that was promoted');
  });

  test('rows that are restored without a restart are detected at the next heartbeat', async () => {
    await startBot();
    await loadDump();
    await vi.waitUntil(async () => (await bot.stateOf(order)) === 'UNKNOWN', WITHIN);
    expect(bot.logged).toContain('loaded from a dump');
  });

  test('a heartbeat count that goes back is detected at the next heartbeat', async () => {
    await startBot();
    await server.sql('UPDATE heartbeats SET beat = beat - 3, xact_id = pg_current_xact_id()::text', url);
    await vi.waitUntil(async () => (await bot.stateOf(order)) === 'UNKNOWN', WITHIN);
    expect(bot.logged).toContain('heartbeat went back');
  });

  test('before the check, nothing is claimed or sent, but everything else continues', async () => {
    url = await server.database();
    const unchecked = new Process(OFTEN_MS);
    const [first, second] = [await unchecked.approvedOrder(), await unchecked.approvedOrder()];
    await unchecked.claim(first);
    await server.restartKilled();
    await vi.waitUntil(async () => (await unchecked.stateOf(first)) !== undefined, WITHIN);
    await expect(unchecked.claim(second)).rejects.toMatchObject({ code: 'database_unverified' });
    const sending = { type: 'sending', workerId: 'w', n: 1 } as const;
    await expect(unchecked.change(first, sending)).rejects.toMatchObject({ code: 'database_unverified' });
    const third = await unchecked.approvedOrder();
    const [released] = await Promise.all([
      unchecked.change(first, { type: 'released' }),
      expect(unchecked.claim(third), 'concurrently').rejects.toMatchObject({
        code: 'database_unverified',
      }),
    ]);
    expect(released.state).toBe('APPROVED');
    await unchecked.start();
    expect(await unchecked.tries(first)).toBe('EXECUTING');
  });
});

describe('when a bot starts, an unsent order', () => {
  beforeEach(async () => {
    url = await server.database();
  });

  /** An order that a process left approved and unsent. */
  const leaveUnsent = async (how: 'stop' | 'die'): Promise<string> => {
    const before = await startProcess();
    const order = await before.approvedOrder();
    await before[how]();
    return order;
  };
  const stateAfterStart = async (order: string): Promise<string | undefined> =>
    (await startProcess()).stateOf(order);

  test('continues after only the bot was killed', async () => {
    expect(await stateAfterStart(await leaveUnsent('die'))).toBe('APPROVED');
  });

  test('continues after a clean stop of bot and server', async () => {
    const order = await leaveUnsent('stop');
    await server.stop();
    await server.start();
    expect(await stateAfterStart(order)).toBe('APPROVED');
  });

  test('is unknown after the bot was killed and the server restarted', async () => {
    const order = await leaveUnsent('die');
    await server.restartKilled();
    expect(await stateAfterStart(order)).toBe('UNKNOWN');
  });

  test('is unknown after a restored data folder, even with a clean stop', async () => {
    const before = await startProcess();
    const order = await before.approvedOrder();
    const restore = await server.snapshot();
    await before.send(order);
    await before.stop();
    await restore();
    await server.start();
    expect(await stateAfterStart(order)).toBe('UNKNOWN');
  });

  test('is unknown after a clean stop if another bot was killed with the server', async () => {
    const other = await startProcess();
    const order = await leaveUnsent('stop');
    await other.die();
    await server.restartKilled();
    expect(await stateAfterStart(order)).toBe('UNKNOWN');
  });

  test('continues if a bot was killed long before the last clean stop', async () => {
    const killed = await startProcess();
    await killed.die();
    const last = new Process(OFTEN_MS);
    last.aheadMs = 120_000;
    await last.start();
    const order = await last.approvedOrder();
    await last.stop();
    await server.restartKilled();
    expect(await stateAfterStart(order)).toBe('APPROVED');
  });

  test('is unknown after a dump was loaded, even if all bots stopped cleanly', async () => {
    const order = await leaveUnsent('stop');
    await loadDump();
    expect(await stateAfterStart(order)).toBe('UNKNOWN');
  });

  test('continues while another bot is running', async () => {
    const other = await startProcess();
    const order = await other.approvedOrder();
    expect(await stateAfterStart(order)).toBe('APPROVED');
    expect(await other.tries(order)).toBe('EXECUTING');
  });
});
