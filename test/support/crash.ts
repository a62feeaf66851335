import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Actor, Message } from '@domain-steward/slack-workspace';
import pg from 'pg';
import { expect } from 'vitest';
import { z } from 'zod';
import { isFinal, ORDER_STATES } from '../../src/orders/order.ts';
import type { CrashPoint } from './crash-points.ts';
import { buttonsOf, DOMAINS, link, textOf, until } from './demo.ts';
import { type BotEnvironment, type RunningBot, startBotEnvironment } from './harness.ts';
import { orderOf } from './orders.ts';

/** Every crash point of an order: those at the store's boundary, and the request to the service. */
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

/** Points between the commits of `sentAt` and the response. A crash there leaves the outcome unknown. */
const UNKNOWN_OUTCOME_POINTS: readonly string[] = ['sentAt committed', 'request written', 'answer read'];

/** Points at which the outcome of one name is saved while other names of the order may be running. */
const POINTS_WITH_OTHERS_RUNNING: readonly string[] = ['outcome committed', 'reply posted, not recorded'];

const CRASHING_BOT = new URL('./children/crashing-bot.ts', import.meta.url);
/** Within this time after the crash an order is final or UNKNOWN, and Slack shows it. */
const SETTLE_TIMEOUT_MS = 60_000;

/** How long people wait before they try again. */
const RETRY_AFTER_MS = 2_000;

/** The longest life of a randomly killed bot, counted from when it is ready. */
const MAX_LIFE_MS = 700;
/** The approximate start time of a bot. */
const BOT_START_MS = 900;
/** The most orders requested in one life. */
const MAX_ORDERS_PER_LIFE = 3;
const MAX_LATENCY_MS = 300;
const BULK_ORDER_SHARE = 0.2;
const SHARE_KILLED_AT_START = 0.15;

const savedOrders = z.array(
  z.object({
    id: z.string(),
    state: z.enum(ORDER_STATES),
    items: z.array(z.object({ name: z.string(), ctid: z.string(), state: z.string() })),
  }),
);
/** An order in the database. */
type SavedOrder = z.output<typeof savedOrders>[number];

/** The names of one order: one, or several separated by commas. */
type Names = string;

/** A bot that dies repeatedly, its users, and the checks afterwards. */
export class CrashSite {
  readonly environment: BotEnvironment;
  readonly alice: Actor;
  readonly bob: Actor;
  readonly #db: pg.Pool;
  readonly #settings: Readonly<Record<string, string>>;
  /** Cards that a killed bot posted but didn't record, by `ts`. */
  readonly strayCards = new Set<string>();
  /** How often each renewal was requested. */
  readonly #requestCounts = new Map<Names, number>();
  #bot: RunningBot | undefined;

  private constructor(s: BotEnvironment, db: pg.Pool, settings: Readonly<Record<string, string>>) {
    this.#settings = settings;
    this.environment = s;
    this.#db = db;
    this.alice = s.workspace.as('U0ALICE');
    this.bob = s.workspace.as('U0BOB');
  }

  /** @param settings the bots' settings, which override those of the environment */
  static async open(
    settings: (s: BotEnvironment) => Readonly<Record<string, string>> = () => ({}),
  ): Promise<CrashSite> {
    const s = await startBotEnvironment();
    const db = new pg.Pool({ connectionString: s.databaseUrl, max: 2 });
    // The database is dropped while the last connections are still closing.
    db.on('connect', (client) => client.on('error', () => undefined));
    db.on('error', () => undefined);
    const site = new CrashSite(s, db, settings(s));
    await site.restart();
    await link(s.workspace, site.alice);
    return site;
  }

  async close(): Promise<void> {
    await this.#db.end();
    await this.environment.stop();
  }

  get #crashFile(): string {
    return join(this.environment.folder, 'crash-at');
  }

  async restart(): Promise<void> {
    this.#bot = await this.startBot();
  }

  get #botSettings() {
    return { ...this.#settings, CRASH_FILE: this.#crashFile };
  }

  /** Starts another bot on the same database. */
  startBot(): Promise<RunningBot> {
    return this.environment.start(CRASHING_BOT, this.#botSettings);
  }

  get bot(): RunningBot {
    if (this.#bot === undefined) throw new Error('no bot was started');
    return this.#bot;
  }

  /** Makes the bot suspend itself when it next reaches a point. */
  suspendAt(point: (typeof CRASH_POINTS)[number] | 'connected'): Promise<void> {
    return writeFile(this.#crashFile, `SIGSTOP ${point}`);
  }

  /** Makes the bot kill itself when it next reaches a point. */
  crashAt(point: CrashPoint | 'request written'): Promise<void> {
    return writeFile(this.#crashFile, point);
  }

  /** Restarts the bot, and waits until it kills itself at a point of its due work. */
  async restartUntilCrash(point: CrashPoint): Promise<void> {
    await this.bot.child.kill();
    await this.crashAt(point);
    const child = await this.environment.launch(CRASHING_BOT, this.#botSettings);
    expect(await child.ended, `${point}: ${child.output()}`).toBe('SIGKILL');
  }

  /** Adds names to the service that can be renewed. */
  addNames(label: string, count = 1): Names {
    const names = Array.from({ length: count }, (_, n) => `${label}${n === 0 ? '' : `-${n}`}.rest`);
    for (const name of names) this.environment.service.state.addDomain({ name, context: 4 });
    return names.join(',');
  }

  /**
   * Requests a renewal.
   * @returns whether Slack says that the bot acknowledged it
   */
  async requestRenewal(names: Names): Promise<boolean> {
    this.#requestCounts.set(names, (this.#requestCounts.get(names) ?? 0) + 1);
    return (await this.alice.command(DOMAINS, `/domain renew ${names.replaceAll(',', ' ')}`)).acked;
  }

  /** Requests a renewal, and approves it as soon as it has a card, unless the bot is killed first. */
  async requestAndApproveRenewal(names: Names, isBotKilled: () => boolean): Promise<void> {
    await this.requestRenewal(names);
    while (!isBotKilled() && this.findApprovableCard(names) === undefined) await sleep(10);
    const card = this.findApprovableCard(names);
    if (!isBotKilled() && card !== undefined) await this.bob.click(card, 'order_approve');
  }

  /** All renewal requests that the service got. */
  listRenewalRequests(): BotEnvironment['service']['requests'] {
    return this.environment.service.requests.filter(({ task }) => task === 'domain.renew');
  }

  /** Clicks Approve several times at once. */
  async clickApprove(card: Message, clicks: number): Promise<void> {
    await Promise.all(Array.from({ length: clicks }, () => this.bob.click(card, 'order_approve')));
  }

  #messagesOf(names: Names): Message[] {
    return this.environment.workspace
      .messages(DOMAINS)
      .filter((message) => orderOf(message)?.names === names);
  }

  /** The newest card of these names that can be approved. */
  findApprovableCard(names: Names): Message | undefined {
    return this.#messagesOf(names).findLast(
      (message) => orderOf(message)?.state === 'PENDING' && buttonsOf(message).includes('order_approve'),
    );
  }

  /** Loads the first order for these names. A repeated request can create a second one. */
  async loadOrder(names: Names): Promise<SavedOrder | undefined> {
    const { rows } = await this.#db.query(
      `SELECT o.id, o.state, (
         SELECT json_agg(json_build_object('name', i.name, 'ctid', i.client_tid, 'state', i.state) ORDER BY i.n)
         FROM order_items i WHERE i.order_id = o.id
       ) AS items FROM orders o
       WHERE o.id IN (SELECT order_id FROM order_items WHERE name = $1) ORDER BY o.created_at`,
      [names.split(',', 1)[0]],
    );
    const orders = savedOrders.parse(rows);
    expect(orders.length, `orders for ${names}, at most one per request`).toBeLessThanOrEqual(
      this.#requestCounts.get(names) ?? 0,
    );
    return orders[0];
  }

  async #loadOrderIds(): Promise<ReadonlySet<string>> {
    const { rows } = await this.#db.query<{ id: string }>('SELECT id FROM orders');
    return new Set(rows.map(({ id }) => id));
  }

  /**
   * Waits after a crash until the order has ended or its outcome is unknown, and Slack shows it. Repeats a click or
   * command that was lost with the bot, as people would.
   * @param options.clicks the number of concurrent clicks on Approve
   */
  async waitUntilSettled(
    names: Names,
    context: string,
    { clicks = 1, withinMs = SETTLE_TIMEOUT_MS } = {},
  ): Promise<SavedOrder> {
    let wasSaved = false;
    let order: SavedOrder | undefined;
    let lastTriedAt = 0;
    await until(
      `${context}: the order for ${names} is closed or unknown, and its card and thread show it`,
      async () => {
        order = await this.loadOrder(names);
        const canRetry = Date.now() - lastTriedAt > RETRY_AFTER_MS;
        if (order === undefined) {
          expect(wasSaved, `${context}: the order for ${names} is lost`).toBe(false);
          if (!canRetry) return false;
          lastTriedAt = Date.now();
          await this.requestRenewal(names);
          return false;
        }
        wasSaved = true;
        const card = this.findApprovableCard(names);
        if (order.state === 'PENDING' && card !== undefined && canRetry) {
          lastTriedAt = Date.now();
          await this.clickApprove(card, clicks);
        }
        if (!isFinal(order.state) && order.state !== 'UNKNOWN') return false;
        if (this.#isShown(names, order)) return true;
        const stray = canRetry ? await this.#findStrayCard(names, order) : undefined;
        if (stray !== undefined) {
          lastTriedAt = Date.now();
          this.strayCards.add(stray.ts);
          await this.clickApprove(stray, 1);
        }
        return false;
      },
      withinMs,
    ).catch((cause: unknown) => {
      const shown = this.#messagesOf(names).map(
        (message) => `${orderOf(message)?.state}: ${textOf(message).slice(0, 80)}`,
      );
      throw new Error(
        `${String(cause)}\nsaved: ${JSON.stringify(order)}\nshown: ${shown.join('\n')}\noutput: ${this.bot.child.output().slice(-2_000)}`,
        { cause },
      );
    });
    if (order === undefined) throw new Error(`no order for ${names}`);
    this.checkRequestsAndCharges(order, context);
    return order;
  }

  #cardsOf(names: Names, order: SavedOrder): Message[] {
    return this.#messagesOf(names).filter(
      (message) =>
        orderOf(message)?.id === order.id &&
        (message.thread_ts === undefined || message.thread_ts === message.ts),
    );
  }

  /** Finds a card that a killed bot posted but didn't record. The first click records it. */
  async #findStrayCard(names: Names, order: SavedOrder): Promise<Message | undefined> {
    const { rows } = await this.#db.query<{ ts: string }>(
      "SELECT ts FROM notifications WHERE subject_kind = 'order' AND subject_id = $1 AND ts IS NOT NULL",
      [order.id],
    );
    const known = rows.map(({ ts }) => ts);
    return this.#cardsOf(names, order).find(
      (card) => !known.includes(card.ts) && buttonsOf(card).includes('order_approve'),
    );
  }

  /** Whether every card and at least one reply show the order's state. */
  #isShown(names: Names, order: SavedOrder): boolean {
    const showsState = (message: Message) => orderOf(message)?.state === order.state;
    const cards = this.#cardsOf(names, order);
    const replies = this.#messagesOf(names).filter(
      (message) => orderOf(message)?.id === order.id && !cards.includes(message),
    );
    return cards.length > 0 && cards.every(showsState) && replies.some(showsState);
  }

  /** Checks that no request was sent twice, and that the order's outcome matches the charges. */
  checkRequestsAndCharges(order: SavedOrder, context: string): void {
    const { requests, state } = this.environment.service;
    for (const item of order.items) {
      const sent = requests.filter(({ ctid }) => ctid === item.ctid);
      const charged = state.charges.filter(({ name }) => name === item.name);
      expect(sent.length, `${context}: requests with the ctid ${item.ctid}`).toBeLessThan(2);
      expect(charged.length, `${context}: charges for ${item.name}`).toBeLessThan(2);
      if (item.state === 'SUCCEEDED')
        expect(charged, `${context}: charges for ${item.name}, which succeeded`).toHaveLength(1);
      if (item.state === 'FAILED')
        expect(charged, `${context}: charges for ${item.name}, which failed`).toHaveLength(0);
    }
  }

  /** Makes the bot kill itself at a crash point of one order, starts another bot, and checks the order. */
  async crashAndRecover(point: (typeof CRASH_POINTS)[number], count = 1): Promise<SavedOrder> {
    const names = this.addNames(`${point.replaceAll(/\W+/g, '-').toLowerCase()}-${count}`, count);
    await this.crashAt(point);
    let isBotKilled = false;
    const { child } = this.bot;
    const people = this.requestAndApproveRenewal(names, () => isBotKilled);
    expect(await child.ended, `${point}: ${child.output()}`).toBe('SIGKILL');
    isBotKilled = true;
    await people;
    await this.restart();
    const order = await this.waitUntilSettled(names, point);
    const isCertain = !POINTS_WITH_OTHERS_RUNNING.includes(point) || count === 1;
    const states = UNKNOWN_OUTCOME_POINTS.includes(point) ? ['UNKNOWN'] : ['SUCCEEDED'];
    expect(
      isCertain ? states : [...states, 'UNKNOWN'],
      `possible states after a crash at: ${point}`,
    ).toContain(order.state);
    return order;
  }

  /**
   * Kills one bot after the other at random times while people work, some before they are ready. The next bot takes
   * over. Then checks all orders.
   * @returns the orders
   */
  async killRandomly(kills: number, random: () => number, label: string): Promise<readonly SavedOrder[]> {
    const requested: Names[] = [];
    let savedIds: ReadonlySet<string> = new Set();
    for (let kill = 1; kill <= kills; kill += 1) {
      let isBotKilled = false;
      const added = Array.from({ length: Math.ceil(random() * MAX_ORDERS_PER_LIFE) }, (_, n) =>
        this.addNames(
          `${label.replaceAll(/\W+/g, '-').toLowerCase()}-${kill}-${n}`,
          random() < BULK_ORDER_SHARE ? 3 : 1,
        ),
      );
      for (const name of added.flatMap((names) => names.split(','))) {
        const delayMs = Math.floor(random() * MAX_LATENCY_MS);
        this.environment.service.faults.set({ kind: 'slow', delayMs, times: 1, match: { name } });
      }
      const people = Promise.all([
        ...added.map((names) => this.requestAndApproveRenewal(names, () => isBotKilled)),
        // Unapproved orders from before the last kill.
        ...requested.map(async (names) => {
          const card = this.findApprovableCard(names);
          if (card !== undefined) await this.bob.click(card, 'order_approve');
        }),
      ]);
      requested.push(...added);
      await sleep(random() * MAX_LIFE_MS);
      await this.bot.child.kill('SIGKILL');
      isBotKilled = true;
      await people;
      const currentIds = await this.#loadOrderIds();
      const lost = [...savedIds].filter((id) => !currentIds.has(id));
      expect(lost, `${label}: orders lost after kill ${kill}`).toEqual([]);
      savedIds = currentIds;
      for (; kill < kills && random() < SHARE_KILLED_AT_START; kill += 1) {
        const child = await this.environment.launch(CRASHING_BOT, this.#botSettings);
        await sleep(random() * BOT_START_MS);
        await child.kill('SIGKILL');
      }
      await this.restart();
    }
    const settled = await Promise.all(requested.map((names) => this.waitUntilSettled(names, label)));
    this.environment.service.faults.clear();
    return settled;
  }
}
