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
import { DedicatedServer } from '../support/own-server.ts';
import { renderResult } from './sample.ts';

/*
 * Servers are killed, restored and promoted, before a bot starts and while it runs: an order that the database shows as
 * unsent, but that may have been sent, isn't sent. A plain restart changes nothing.
 */

let server: DedicatedServer;
let url: string;
const processes: BotProcess[] = [];

beforeAll(async () => {
  server = await DedicatedServer.open({ synchronous_commit: 'off' });
}, 120_000);
afterEach(async () => {
  for (const each of processes.splice(0)) await each.kill();
});
afterAll(() => server.close());

const WAIT_OPTIONS = { timeout: 30_000, interval: 20 };

function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}

/** The parts of a bot process that the guard depends on. */
class BotProcess {
  readonly #database: ReturnType<typeof openDatabase>;
  readonly store: ReturnType<typeof createOrderStore>;
  readonly #deps: Parameters<typeof markUnsentAsUnknown>[0];
  #heartbeat: RunningHeartbeat | undefined;
  logText = '';
  clockOffsetMs = 0;

  constructor(beatMs: number) {
    this.#database = openDatabase({ url });
    this.store = createOrderStore(this.#database, BOT_SIGNER);
    const write = (chunk: unknown, _encoding: string, done: () => void) => {
      this.logText += String(chunk);
      done();
    };
    this.#deps = contextWith({
      store: this.store,
      heartbeat: createHeartbeat(this.#database),
      now: this.now,
      log: createLog('debug', new Writable({ write })),
      processId: randomUUID(),
      beatMs,
      otherProcessesCheckMs: 2_000,
    });
    processes.push(this);
  }

  readonly now = (): Date => new Date(Date.now() + this.clockOffsetMs);

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
  async kill(): Promise<void> {
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

  async createApprovedOrder(): Promise<string> {
    const order = newOrder({
      id: `o${randomUUID()}`,
      state: 'APPROVED',
      expiresAt: undefined,
      remindAt: undefined,
    });
    await vi.waitUntil(() => succeeds(this.store.create({ order, log: [] })), WAIT_OPTIONS);
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
  async loadState(id: string): Promise<string | undefined> {
    return this.store.load(id, 'system').then(
      (order) => order?.state,
      () => undefined,
    );
  }

  /** Tries to claim an order until it is claimed or unknown. @returns its state */
  async tryToClaim(id: string): Promise<string> {
    let outcome = '';
    await vi.waitUntil(async () => {
      const claimed = await this.claim(id).catch((error: unknown) => error);
      outcome = claimed instanceof Error ? ((await this.loadState(id)) ?? '') : 'EXECUTING';
      return outcome === 'EXECUTING' || outcome === 'UNKNOWN';
    }, WAIT_OPTIONS);
    return outcome;
  }
}

const SHORT_BEAT_MS = 50;
const LONG_BEAT_MS = 3_600_000;

async function startProcess(beatMs = SHORT_BEAT_MS): Promise<BotProcess> {
  return new BotProcess(beatMs).start();
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
  let bot: BotProcess;
  let orderId: string;
  const startBot = async (beatMs?: number) => {
    url = await server.createDatabase();
    bot = await startProcess(beatMs);
    orderId = await bot.createApprovedOrder();
  };

  test('a clean restart of the server changes nothing', async () => {
    await startBot();
    await server.stop();
    await server.start();
    expect(await bot.tryToClaim(orderId)).toBe('EXECUTING');
  });

  test('a kill of the server with asynchronous commits loses no confirmed commit', async () => {
    await startBot();
    const secondOrderId = await bot.createApprovedOrder();
    await server.killAndRestart();
    expect(await bot.tryToClaim(secondOrderId)).toBe('EXECUTING');
    expect(await bot.tryToClaim(orderId)).toBe('EXECUTING');
    await server.killAndRestart();
    expect(await bot.tryToClaim(await bot.createApprovedOrder()), 'after a second kill').toBe('EXECUTING');
  });

  test('a restored data folder makes recently sent orders unknown', async () => {
    await startBot(LONG_BEAT_MS);
    const restore = await server.snapshot();
    await bot.send(orderId);
    await restore();
    await server.start();
    expect(await bot.tryToClaim(orderId)).toBe('UNKNOWN');
    expect(bot.logText).toContain('the server lost commits');
    expect(renderResult((await bot.store.load(orderId, 'system'))?.items[0])).toMatch(
      /restored from a backup/,
    );
    expect(await bot.tryToClaim(await bot.createApprovedOrder()), 'a later approval').toBe('EXECUTING');
  });

  test('after a restored data folder, an idle bot waits until the sending bot has checked', async () => {
    await startBot(LONG_BEAT_MS);
    const idle = await startProcess(LONG_BEAT_MS);
    const restore = await server.snapshot();
    await bot.send(orderId);
    await restore();
    await server.start();
    const claimAttempt = idle.tryToClaim(orderId);
    await vi.waitUntil(() => idle.logText.includes('other processes first check'), WAIT_OPTIONS);
    await vi.waitUntil(() => succeeds(bot.store.load(orderId, 'system')), WAIT_OPTIONS);
    expect(await claimAttempt).toBe('UNKNOWN');
    expect(await idle.tryToClaim(await bot.createApprovedOrder()), 'a later approval').toBe('EXECUTING');
  });

  test('nothing is claimed on a standby, and unsent orders are unknown after its promotion', async () => {
    await startBot();
    await server.stop();
    await server.markAsStandby();
    await server.start();
    await vi.waitUntil(async () => (await bot.loadState(orderId)) === 'APPROVED', WAIT_OPTIONS);
    await expect(bot.claim(orderId)).rejects.toThrow();
    await server.sql('SELECT pg_promote()');
    expect(await bot.tryToClaim(orderId)).toBe('UNKNOWN');
    expect(bot.logText).toContain('a server that was promoted');
  });

  test('rows that are restored without a restart are detected at the next heartbeat', async () => {
    await startBot();
    await loadDump();
    await vi.waitUntil(async () => (await bot.loadState(orderId)) === 'UNKNOWN', WAIT_OPTIONS);
    expect(bot.logText).toContain('loaded from a dump');
  });

  test('a heartbeat count that goes back is detected at the next heartbeat', async () => {
    await startBot();
    await server.sql('UPDATE heartbeats SET beat = beat - 3, xact_id = pg_current_xact_id()::text', url);
    await vi.waitUntil(async () => (await bot.loadState(orderId)) === 'UNKNOWN', WAIT_OPTIONS);
    expect(bot.logText).toContain('heartbeat went back');
  });

  test('nothing is claimed or sent before the check, but everything else continues', async () => {
    url = await server.createDatabase();
    const uncheckedBot = new BotProcess(SHORT_BEAT_MS);
    const [first, second] = [
      await uncheckedBot.createApprovedOrder(),
      await uncheckedBot.createApprovedOrder(),
    ];
    await uncheckedBot.claim(first);
    await server.killAndRestart();
    await vi.waitUntil(async () => (await uncheckedBot.loadState(first)) !== undefined, WAIT_OPTIONS);
    await expect(uncheckedBot.claim(second)).rejects.toMatchObject({ code: 'database_unverified' });
    const sending = { type: 'sending', workerId: 'w', n: 1 } as const;
    await expect(uncheckedBot.change(first, sending)).rejects.toMatchObject({ code: 'database_unverified' });
    const third = await uncheckedBot.createApprovedOrder();
    const [released] = await Promise.all([
      uncheckedBot.change(first, { type: 'released' }),
      expect(uncheckedBot.claim(third), 'a concurrent claim').rejects.toMatchObject({
        code: 'database_unverified',
      }),
    ]);
    expect(released.state).toBe('APPROVED');
    await uncheckedBot.start();
    expect(await uncheckedBot.tryToClaim(first)).toBe('EXECUTING');
  });
});

describe('when a bot starts, an unsent order', () => {
  beforeEach(async () => {
    url = await server.createDatabase();
  });

  /** Creates an order that a process leaves approved and unsent. */
  const leaveUnsent = async (how: 'stop' | 'kill'): Promise<string> => {
    const firstBot = await startProcess();
    const order = await firstBot.createApprovedOrder();
    await firstBot[how]();
    return order;
  };
  const loadStateAfterStart = async (order: string): Promise<string | undefined> =>
    (await startProcess()).loadState(order);

  test('continues if only the bot was killed', async () => {
    expect(await loadStateAfterStart(await leaveUnsent('kill'))).toBe('APPROVED');
  });

  test('continues after a clean stop of bot and server', async () => {
    const order = await leaveUnsent('stop');
    await server.stop();
    await server.start();
    expect(await loadStateAfterStart(order)).toBe('APPROVED');
  });

  test('is unknown after the bot was killed and the server restarted', async () => {
    const order = await leaveUnsent('kill');
    await server.killAndRestart();
    expect(await loadStateAfterStart(order)).toBe('UNKNOWN');
  });

  test('is unknown after a restored data folder, even with a clean stop', async () => {
    const firstBot = await startProcess();
    const order = await firstBot.createApprovedOrder();
    const restore = await server.snapshot();
    await firstBot.send(order);
    await firstBot.stop();
    await restore();
    await server.start();
    expect(await loadStateAfterStart(order)).toBe('UNKNOWN');
  });

  test('is unknown after a clean stop if another bot was killed with the server', async () => {
    const other = await startProcess();
    const order = await leaveUnsent('stop');
    await other.kill();
    await server.killAndRestart();
    expect(await loadStateAfterStart(order)).toBe('UNKNOWN');
  });

  test('continues if a bot was killed long before the last clean stop', async () => {
    const killed = await startProcess();
    await killed.kill();
    const last = new BotProcess(SHORT_BEAT_MS);
    last.clockOffsetMs = 120_000;
    await last.start();
    const order = await last.createApprovedOrder();
    await last.stop();
    await server.killAndRestart();
    expect(await loadStateAfterStart(order)).toBe('APPROVED');
  });

  test('is unknown after a dump was loaded, even if all bots stopped cleanly', async () => {
    const order = await leaveUnsent('stop');
    await loadDump();
    expect(await loadStateAfterStart(order)).toBe('UNKNOWN');
  });

  test('continues while another bot is running', async () => {
    const other = await startProcess();
    const order = await other.createApprovedOrder();
    expect(await loadStateAfterStart(order)).toBe('APPROVED');
    expect(await other.tryToClaim(order)).toBe('EXECUTING');
  });
});
