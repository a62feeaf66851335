import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { expect } from 'vitest';
import { z } from 'zod';
import type { CrashPoint } from '../../src/crash-points.ts';
import type { Actor, Message } from '../../src/demo/workspace/index.ts';
import { isFinal, ORDER_STATES } from '../../src/orders/order.ts';
import { buttonsOf, DOMAINS, link, orderOf, textOf, until } from './demo.ts';
import { type RunningBot, type Surroundings, startSurroundings } from './harness.ts';

/** Every named moment: those of the store's border, and the one on the wire. */
export const CRASH_POINTS = [
  'order committed',
  'card not posted',
  'card posted, not recorded',
  'approval committed',
  'claimed',
  'sentAt committed',
  'request written',
  'answer read',
  'outcome committed',
  'reply posted, not recorded',
] as const satisfies readonly (CrashPoint | 'request written')[];

/** Between the mark of sending and the kept answer nobody can know. */
const UNKNOWN_AFTER: readonly string[] = ['sentAt committed', 'request written', 'answer read'];

const CRASHING = new URL('./children/crashing-bot.ts', import.meta.url);
/** An order is final or UNKNOWN within this time after the crash, and Slack says so. */
const SETTLED_WITHIN_MS = 60_000;

const kept = z.array(z.object({ id: z.string(), name: z.string(), state: z.enum(ORDER_STATES) }));
type KeptOrder = z.output<typeof kept>[number];

/** A bot that dies again and again, the people who work with it, and what they find afterwards. */
export class CrashSite {
  readonly s: Surroundings;
  readonly alice: Actor;
  readonly bob: Actor;
  readonly #db: pg.Pool;
  readonly #settings: Readonly<Record<string, string>>;
  #bot: RunningBot | undefined;

  private constructor(s: Surroundings, db: pg.Pool, settings: Readonly<Record<string, string>>) {
    this.#settings = settings;
    this.s = s;
    this.#db = db;
    this.alice = s.workspace.as('U0ALICE');
    this.bob = s.workspace.as('U0BOB');
  }

  /** @param settings of its bots, over those of the surroundings */
  static async open(settings: Readonly<Record<string, string>> = {}): Promise<CrashSite> {
    const s = await startSurroundings();
    const db = new pg.Pool({ connectionString: s.databaseUrl, max: 2 });
    // The database is dropped at the end of it.
    db.on('error', () => undefined);
    const site = new CrashSite(s, db, settings);
    await site.restart();
    await link(s.workspace, site.alice);
    return site;
  }

  async close(): Promise<void> {
    await this.#db.end();
    await this.s.stop();
  }

  get #crashFile(): string {
    return join(this.s.folder, 'crash-at');
  }

  async restart(): Promise<void> {
    this.#bot = await this.startBot();
  }

  /** One more bot on the same database. */
  startBot(): Promise<RunningBot> {
    return this.s.start(CRASHING, { ...this.#settings, CRASH_FILE: this.#crashFile });
  }

  get bot(): RunningBot {
    if (this.#bot === undefined) throw new Error('no bot was started');
    return this.#bot;
  }

  /** The bot will kill itself when it comes there next. */
  crashAt(point: (typeof CRASH_POINTS)[number]): Promise<void> {
    return writeFile(this.#crashFile, point);
  }

  /** A name that can be renewed, and was not yet. */
  name(label: string): string {
    const name = `${label}.rest`;
    this.s.service.state.addDomain({ name, context: 4 });
    return name;
  }

  /** What people do for a renewal, as far as the bot is there: ask, and approve as soon as there is a card. */
  async renewal(name: string, isOver: () => boolean): Promise<void> {
    await this.alice.command(DOMAINS, `/domain renew ${name}`);
    while (!isOver() && this.approvable(name) === undefined) await sleep(10);
    const card = this.approvable(name);
    if (!isOver() && card !== undefined) await this.bob.click(card, 'order_approve');
  }

  #messagesOf(name: string): Message[] {
    return this.s.workspace.messages(DOMAINS).filter((message) => orderOf(message)?.names === name);
  }

  /** The newest card of a name that can be approved. */
  approvable(name: string): Message | undefined {
    return this.#messagesOf(name).findLast(
      (message) => orderOf(message)?.state === 'PENDING' && buttonsOf(message).includes('order_approve'),
    );
  }

  async keptOrders(): Promise<readonly KeptOrder[]> {
    const { rows } = await this.#db.query(
      'SELECT o.id, i.name, o.state FROM orders o JOIN order_items i ON i.order_id = o.id ORDER BY o.id',
    );
    return kept.parse(rows);
  }

  /** The order for a name, as the database has it. */
  async kept(name: string): Promise<KeptOrder | undefined> {
    return (await this.keptOrders()).find((order) => order.name === name);
  }

  /**
   * Goes on after the crash until the order has ended or its outcome is unknown, and Slack says so. A click or a
   * command that was lost with the bot is given again, as people do.
   */
  async settles(name: string, context: string): Promise<KeptOrder> {
    const committedBefore = await this.kept(name);
    let order = committedBefore;
    let pressed = 0;
    await until(
      `${context}: the order for ${name} has ended, and its card and its thread say so`,
      async () => {
        order = await this.kept(name);
        if (order === undefined) {
          expect(committedBefore, `${context}: the order for ${name} is lost`).toBeUndefined();
          await this.alice.command(DOMAINS, `/domain renew ${name}`);
          return false;
        }
        const card = this.approvable(name);
        if (order.state === 'PENDING' && card !== undefined && Date.now() - pressed > 1_000) {
          pressed = Date.now();
          await this.bob.click(card, 'order_approve');
        }
        return (isFinal(order.state) || order.state === 'UNKNOWN') && this.#isShown(order);
      },
      SETTLED_WITHIN_MS,
    ).catch((cause: unknown) => {
      const shown = this.#messagesOf(name).map(
        (message) => `${orderOf(message)?.state}: ${textOf(message).slice(0, 80)}`,
      );
      throw new Error(
        `${String(cause)}\nkept: ${JSON.stringify(order)}\nshown: ${shown.join('\n')}\nthe bot: ${this.bot.child.output().slice(-2_000)}`,
        { cause },
      );
    });
    if (order === undefined) throw new Error(`there is no order for ${name}`);
    return order;
  }

  /** The newest card and a reply in the thread of a card say the order's state. */
  #isShown(order: KeptOrder): boolean {
    const messages = this.#messagesOf(order.name);
    const says = (message: Message | undefined) =>
      message !== undefined && orderOf(message)?.state === order.state;
    const cards = messages.filter(({ thread_ts, ts }) => thread_ts === undefined || thread_ts === ts);
    const replies = messages.filter((message) => !cards.includes(message));
    return says(cards.findLast(() => true)) && replies.some(says);
  }

  /** Holds the money to the promise: no request twice, and the order says no more and no less than what happened. */
  audit(order: KeptOrder, context: string): void {
    const { requests, state } = this.s.service;
    const sent = requests.filter(({ ctid }) => ctid === order.id || ctid?.startsWith(`${order.id}.`));
    const charged = state.charges.filter((charge) => charge.name === order.name);
    expect(sent.length, `${context}: requests of order ${order.id} for ${order.name}`).toBeLessThan(2);
    expect(charged.length, `${context}: charges for ${order.name}`).toBeLessThan(2);
    if (order.state === 'SUCCEEDED')
      expect(charged, `${context}: ${order.name} is said to be done`).toHaveLength(1);
    if (order.state === 'FAILED')
      expect(charged, `${context}: ${order.name} is said to have failed`).toHaveLength(0);
  }

  /** Lets the bot kill itself at a crash point of one order, starts another one and looks at everything. */
  async diesAt(point: (typeof CRASH_POINTS)[number], label: string): Promise<KeptOrder> {
    const name = this.name(label);
    await this.crashAt(point);
    let isOver = false;
    const { child } = this.bot;
    const people = this.renewal(name, () => isOver);
    expect(await child.ended, `${point}: ${child.output()}`).toBe('SIGKILL');
    isOver = true;
    await people;
    await this.restart();
    const order = await this.settles(name, point);
    this.audit(order, point);
    expect(order.state, `the order whose process died at: ${point}`).toBe(
      UNKNOWN_AFTER.includes(point) ? 'UNKNOWN' : 'SUCCEEDED',
    );
    return order;
  }

  /** Kills the bot at a moment after people began to work, starts another one and looks at everything. */
  async killedAfter(ms: number, label: string, orders: number): Promise<readonly KeptOrder[]> {
    let isOver = false;
    const names = Array.from({ length: orders }, (_, n) => this.name(`${label}-${n}`));
    const people = Promise.all(names.map((name) => this.renewal(name, () => isOver)));
    await sleep(ms);
    await this.bot.child.kill('SIGKILL');
    isOver = true;
    await people;
    await this.restart();
    const settled = await Promise.all(names.map((name) => this.settles(name, label)));
    for (const order of settled) this.audit(order, label);
    return settled;
  }
}

/** Numbers from 0 to below 1 that a seed gives again (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
