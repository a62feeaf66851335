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
import { saidOf } from './sample.ts';

/*
 * Servers that are killed, restored and promoted, before a bot starts and while it runs: an order that a database calls
 * unsent, but that may have been sent, isn't sent. A mere restart changes nothing.
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

/** Whether something succeeds. */
function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}

/** A bot process's use of its database, as far as the guard is concerned. */
class Process {
  readonly #database: ReturnType<typeof openDatabase>;
  readonly store: ReturnType<typeof createOrderStore>;
  readonly #deps: Parameters<typeof markUnsentAsUnknown>[0];
  #heartbeat: RunningHeartbeat | undefined;
  logged = '';
  /** How far the clock is ahead. */
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

  /** Checks, then claims work. */
  async start(): Promise<this> {
    let known: Awaited<ReturnType<typeof markUnsentAsUnknown>> | undefined;
    // Another process's beat may come between: like the bot, tries again.
    while (known === undefined) known = await markUnsentAsUnknown(this.#deps).catch(() => undefined);
    this.#heartbeat = startHeartbeat(this.#deps, known);
    return this;
  }

  async stop(): Promise<void> {
    await this.#heartbeat?.stopCleanly();
    await this.#end();
  }

  /** As if killed: it is silent from now on. */
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

  /** Retries until the database responds. */
  async stateOf(id: string): Promise<string | undefined> {
    return this.store.load(id, 'system').then(
      (order) => order?.state,
      () => undefined,
    );
  }

  /** Claims an order repeatedly. @returns its state when it is claimed or has ended */
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

/** Restores the current rows, like loading a fresh dump. */
async function loadDump(): Promise<void> {
  await server.sql(
    `BEGIN; LOCK TABLE heartbeats; CREATE TEMPORARY TABLE dump ON COMMIT DROP AS SELECT * FROM heartbeats;
     DELETE FROM heartbeats; INSERT INTO heartbeats SELECT * FROM dump; COMMIT`,
    url,
  );
}

describe('while a bot is running', () => {
  let living: Process;
  let order: string;
  const begin = async (beatMs?: number) => {
    url = await server.database();
    living = await startProcess(beatMs);
    order = await living.approvedOrder();
  };

  test('after a clean restart of the server it continues', async () => {
    await begin();
    await server.stop();
    await server.start();
    expect(await living.tries(order)).toBe('EXECUTING');
  });

  test('after a kill of the server, with commits off, no confirmed commit is lost, and it continues', async () => {
    await begin();
    const more = await living.approvedOrder();
    await server.restartKilled();
    expect(await living.tries(more)).toBe('EXECUTING');
    expect(await living.tries(order)).toBe('EXECUTING');
    await server.restartKilled();
    expect(await living.tries(await living.approvedOrder()), 'and again').toBe('EXECUTING');
  });

  test('after a restore of the folder, requests sent since aren’t repeated, however recent', async () => {
    await begin(LATE_INTERVAL_MS);
    const restore = await server.snapshot();
    await living.send(order);
    await restore();
    await server.start();
    expect(await living.tries(order)).toBe('UNKNOWN');
    expect(living.logged).toContain('the server lost commits');
    expect(saidOf((await living.store.load(order, 'system'))?.items[0])).toMatch(/restored from a backup/);
    expect(await living.tries(await living.approvedOrder()), 'what is approved now').toBe('EXECUTING');
  });

  test('after a restore of the folder, a bot that has seen nothing waits until the sending one has checked', async () => {
    await begin(LATE_INTERVAL_MS);
    const idle = await startProcess(LATE_INTERVAL_MS);
    const restore = await server.snapshot();
    await living.send(order);
    await restore();
    await server.start();
    const tried = idle.tries(order);
    await vi.waitUntil(() => idle.logged.includes('other processes first check'), WITHIN);
    await vi.waitUntil(() => succeeds(living.store.load(order, 'system')), WITHIN);
    expect(await tried).toBe('UNKNOWN');
    expect(await idle.tries(await living.approvedOrder()), 'what is approved now').toBe('EXECUTING');
  });

  test('a standby that takes over: nothing is claimed while it is a standby, and unsent orders are unknown', async () => {
    await begin();
    await server.stop();
    await server.becomeStandby();
    await server.start();
    await vi.waitUntil(async () => (await living.stateOf(order)) === 'APPROVED', WITHIN);
    await expect(living.claim(order)).rejects.toThrow();
    await server.sql('SELECT pg_promote()');
    expect(await living.tries(order)).toBe('UNKNOWN');
    expect(living.logged).toContain('a server that was promoted');
  });

  test('rows that are restored without a restart are detected at the next beat', async () => {
    await begin();
    await loadDump();
    await vi.waitUntil(async () => (await living.stateOf(order)) === 'UNKNOWN', WITHIN);
    expect(living.logged).toContain('loaded from a dump');
  });

  test('a count that goes back is detected at the next beat', async () => {
    await begin();
    await server.sql('UPDATE heartbeats SET beat = beat - 3, xact_id = pg_current_xact_id()::text', url);
    await vi.waitUntil(async () => (await living.stateOf(order)) === 'UNKNOWN', WITHIN);
    expect(living.logged).toContain('heartbeat went back');
  });

  test('until the check nothing is claimed or sent, and everything else continues', async () => {
    url = await server.database();
    // Never checks.
    const blind = new Process(OFTEN_MS);
    const [first, second] = [await blind.approvedOrder(), await blind.approvedOrder()];
    await blind.claim(first);
    await server.restartKilled();
    await vi.waitUntil(async () => (await blind.stateOf(first)) !== undefined, WITHIN);
    await expect(blind.claim(second)).rejects.toMatchObject({ code: 'database_unverified' });
    const sending = { type: 'sending', workerId: 'w', n: 1 } as const;
    await expect(blind.change(first, sending)).rejects.toMatchObject({ code: 'database_unverified' });
    const third = await blind.approvedOrder();
    const [released] = await Promise.all([
      blind.change(first, { type: 'released' }),
      expect(blind.claim(third), 'at the same moment').rejects.toMatchObject({ code: 'database_unverified' }),
    ]);
    expect(released.state).toBe('APPROVED');
    await blind.start();
    expect(await blind.tries(first)).toBe('EXECUTING');
  });
});

describe('at a start', () => {
  beforeEach(async () => {
    url = await server.database();
  });

  /** An order that a process has left approved and unsent. */
  const left = async (how: 'stop' | 'die'): Promise<string> => {
    const before = await startProcess();
    const order = await before.approvedOrder();
    await before[how]();
    return order;
  };
  const stateAfterStart = async (order: string): Promise<string | undefined> =>
    (await startProcess()).stateOf(order);

  test('after a kill of only the bot it continues', async () => {
    expect(await stateAfterStart(await left('die'))).toBe('APPROVED');
  });

  test('after a clean stop of bot and server it continues', async () => {
    const order = await left('stop');
    await server.stop();
    await server.start();
    expect(await stateAfterStart(order)).toBe('APPROVED');
  });

  test('a killed bot, with its server restarted since: like after a power failure, or a restored folder', async () => {
    const order = await left('die');
    await server.restartKilled();
    expect(await stateAfterStart(order)).toBe('UNKNOWN');
  });

  test('a folder restored within minutes, although the bot has stopped cleanly since', async () => {
    const before = await startProcess();
    const order = await before.approvedOrder();
    const restore = await server.snapshot();
    await before.send(order);
    await before.stop();
    await restore();
    await server.start();
    expect(await stateAfterStart(order)).toBe('UNKNOWN');
  });

  test('a clean stop while another bot was running, which was killed with the server', async () => {
    const other = await startProcess();
    const order = await left('stop');
    await other.die();
    await server.restartKilled();
    expect(await stateAfterStart(order)).toBe('UNKNOWN');
  });

  test('a kill long before the last clean stop is forgotten', async () => {
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

  test('a dump that was loaded over it, although all bots had stopped cleanly', async () => {
    const order = await left('stop');
    await loadDump();
    expect(await stateAfterStart(order)).toBe('UNKNOWN');
  });

  test('while another bot is running nothing is doubted', async () => {
    const other = await startProcess();
    const order = await other.approvedOrder();
    expect(await stateAfterStart(order)).toBe('APPROVED');
    expect(await other.tries(order)).toBe('EXECUTING');
  });
});
