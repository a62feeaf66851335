import pg from 'pg';
import { z } from 'zod';
import { type HttpRequest, serve } from '../../bench/http.ts';
import { buildClick, type Delivery, SlackLoad } from '../../bench/slack-load.ts';
import { formatCanonicalJson } from '../../src/lib/canonical-json.ts';
import type { Statement } from '../../src/orders/statement-shape.ts';
import { link, until } from './demo.ts';
import { type BotEnvironment, type RunningBot, startBotEnvironment } from './harness.ts';
import { STALE_ORDER_MESSAGES_SQL } from './notifier.ts';
import { requestByCommand } from './orders.ts';

/** A bot without a limit on a person's commands per minute. */
const UNLIMITED_BOT = new URL('./children/crashing-bot.ts', import.meta.url);
const IDLE_TIMEOUT_MS = 120_000;
/** Longer than Slack's rate limits in these tests. */
const ANSWER_TIMEOUT_MS = 40_000;
/** Messages about a click that is still running, or was applied. */
const NOT_REFUSED = /takes longer than usual|^Approved: |^Your approval counts/;
const MAX_CONNECTIONS_PER_BOT = 250;

const pendingOrderRows = z.array(z.object({ id: z.string(), channelId: z.string(), ts: z.string() }));
const approvalRows = z.array(z.object({ order_id: z.string(), user_id: z.string() }));
const answerBody = z.object({ text: z.string() });

/** A pending order, and its card. */
export type PendingOrder = z.output<typeof pendingOrderRows>[number];

/** A click on Approve. */
export interface Click {
  readonly order: PendingOrder;
  readonly userId: string;
  /** Whether Slack sent a response URL for the person. */
  readonly hasResponseUrl: boolean;
}

export interface BurstOutcome {
  readonly approved: number;
  /** How many clicks changed nothing and got an answer, by the answer. */
  readonly answerCounts: ReadonlyMap<string, number>;
  /** Clicks that changed nothing and got no answer. */
  readonly unanswered: readonly string[];
}

export interface BurstOptions {
  readonly bots?: number;
  readonly settings?: Readonly<Record<string, string>>;
  /** The bot to run; by default, one without limits. */
  readonly entry?: URL;
}

/** Copies an order for other names, with its card and all other rows. */
const COPY_ORDER = `
  WITH fresh AS (
    SELECT name, substr(md5(random()::text || name), 1, 12) AS id FROM unnest($2::text[]) AS names (name)
  ), kept AS (
    INSERT INTO orders SELECT (jsonb_populate_record(o, jsonb_build_object(
      'id', f.id, 'names', ARRAY[f.name], 'delivery_id', 'like:' || f.id,
      'statement_hash', encode(sha256(convert_to(replace(replace($3, o.id, f.id), o.names[1], f.name), 'UTF8')), 'hex'),
      'input', o.input || jsonb_build_object('names', ARRAY[f.name])))).*
    FROM orders o, fresh f WHERE o.id = $1
  ), items AS (
    INSERT INTO order_items SELECT (jsonb_populate_record(i, jsonb_build_object(
      'order_id', f.id, 'name', f.name, 'client_tid', f.id, 'open_key', 'renew:' || f.name))).*
    FROM order_items i, fresh f WHERE i.order_id = $1
  ), events AS (
    INSERT INTO events (team_id, subject_kind, subject_id, kind, actor, at, data)
    SELECT e.team_id, e.subject_kind, f.id, e.kind, e.actor, e.at, e.data
    FROM events e, fresh f WHERE e.subject_kind = 'order' AND e.subject_id = $1 ORDER BY e.seq
  )
  , notified AS (
    INSERT INTO notifications SELECT (jsonb_populate_record(m, jsonb_build_object('subject_id', f.id))).*
    FROM notifications m, fresh f WHERE m.subject_kind = 'order' AND m.subject_id = $1
    RETURNING subject_id AS id, purpose, channel_id AS "channelId", ts
  )
  SELECT id, "channelId", ts FROM notified WHERE purpose = 'card'`;

/** Sends many signed clicks at once over HTTP, to bots that share a database. */
export class Bursts {
  readonly environment: BotEnvironment;
  readonly #bots: readonly RunningBot[];
  readonly #db: pg.Pool;
  readonly #load: SlackLoad;
  readonly #recorder: Awaited<ReturnType<typeof serve>>;
  readonly #answers: Map<string, string[]>;
  #nameCount = 0;
  /** The id of the order that is copied. */
  #sourceOrderId: string | undefined;

  private constructor(
    s: BotEnvironment,
    bots: readonly RunningBot[],
    recorder: Awaited<ReturnType<typeof serve>>,
    answers: Map<string, string[]>,
  ) {
    this.environment = s;
    this.#bots = bots;
    this.#recorder = recorder;
    this.#answers = answers;
    this.#load = new SlackLoad(s.workspace.signingSecret);
    this.#db = new pg.Pool({ connectionString: s.databaseUrl, max: 2 });
    this.#db.on('error', () => undefined);
  }

  static async start({ bots = 1, settings = {}, entry = UNLIMITED_BOT }: BurstOptions = {}): Promise<Bursts> {
    const s = await startBotEnvironment();
    const botSettings = { ...settings, CRASH_FILE: `${s.folder}/crash-at` };
    const running = await Promise.all(Array.from({ length: bots }, () => s.start(entry, botSettings)));
    const answers = new Map<string, string[]>();
    const recorder = await serve(({ target, body }: HttpRequest) => {
      const { text } = answerBody.parse(JSON.parse(Buffer.from(body, 'latin1').toString()));
      answers.set(target, [...(answers.get(target) ?? []), text]);
      return '{"ok":true}';
    });
    await link(s.workspace, s.workspace.as('U0ALICE'));
    return new Bursts(s, running, recorder, answers);
  }

  #ports(): readonly number[] {
    return this.#bots.map(({ url }) => Number(new URL(url).port));
  }

  #url(path: string): string {
    return `http://127.0.0.1:${this.#recorder.port}${path}`;
  }

  /** Creates pending orders of Alice: requests one, and copies it for other names. */
  async createPendingOrders(count: number): Promise<readonly PendingOrder[]> {
    this.#sourceOrderId ??= await this.#requestSource();
    const names = Array.from({ length: count }, (_, n) => `burst-${this.#nameCount + n}.rest`);
    this.#nameCount += count;
    for (const name of names) this.environment.service.state.addDomain({ name, context: 4 });
    const { rows } = await this.#db.query(COPY_ORDER, [
      this.#sourceOrderId,
      names,
      this.#statementOf(this.#sourceOrderId),
    ]);
    return pendingOrderRows.parse(rows);
  }

  /** The copied order's statement in canonical form. */
  #statementOf(orderId: string): string {
    const statement: Statement = {
      version: 1,
      order: orderId,
      task: 'renew',
      service: this.environment.service.jsonUrl,
      account: { method: 'password', login: 'alice', context: 4, team: false },
      items: [
        {
          n: 1,
          name: 'burst.rest',
          ctid: orderId,
          request: {
            interface: 'json',
            method: 'POST',
            path: '/domain/burst.rest/_renew',
            body: { period: 2 },
          },
        },
      ],
    };
    return formatCanonicalJson(statement);
  }

  async #requestSource(): Promise<string> {
    const { workspace, service } = this.environment;
    service.state.addDomain({ name: 'burst.rest', context: 4 });
    const order = await requestByCommand(workspace, workspace.as('U0ALICE'), '/domain renew burst.rest 2');
    await this.waitUntilIdle();
    return order.id;
  }

  /** Distributes deliveries evenly over all bots. */
  async #deliverToAllBots(deliveries: readonly Delivery[]): Promise<void> {
    const ports = this.#ports();
    await Promise.all(
      ports.map((port, bot) => {
        const part = deliveries.filter((_, n) => n % ports.length === bot);
        const queue = part.values();
        const deliverInTurn = async () => {
          for (const delivery of queue) await this.#deliverWithRetries(port, delivery);
        };
        return Promise.all(
          Array.from({ length: Math.min(MAX_CONNECTIONS_PER_BOT, part.length) }, deliverInTurn),
        );
      }),
    );
  }

  /**
   * Retries as Slack does: a delivery that wasn't acknowledged, because a busy machine took too long, is sent up to
   * three more times.
   */
  async #deliverWithRetries(port: number, delivery: Delivery, redeliveries = 3): Promise<void> {
    try {
      await this.#load.deliver(port, delivery);
    } catch (error) {
      if (redeliveries === 0) throw error;
      await this.#deliverWithRetries(port, delivery, redeliveries - 1);
    }
  }

  /** Sends all clicks at once; each must be answered with 200. Waits until each has a result. */
  async click(clicks: readonly Click[], withinMs = ANSWER_TIMEOUT_MS): Promise<BurstOutcome> {
    const people = [...new Set(clicks.map(({ userId }) => userId))];
    const before = new Map(people.map((userId) => [userId, this.#listMessages(userId).length]));
    const responsePath = ({ order, userId }: Click) => `/clicked/${order.id}/${userId}`;
    const deliveries = clicks.map((click) =>
      buildClick(
        'order_approve',
        click.order,
        click.userId,
        click.hasResponseUrl ? this.#url(responsePath(click)) : undefined,
      ),
    );
    await this.#deliverToAllBots(deliveries);
    const readOutcome = async (): Promise<BurstOutcome> => {
      const approvals = await this.#loadApprovals(clicks);
      const unapproved = clicks.filter(({ order, userId }) => !approvals.has(`${order.id} ${userId}`));
      const answerCounts = new Map<string, number>();
      const countAnswer = (text: string) => answerCounts.set(text, (answerCounts.get(text) ?? 0) + 1);
      const unanswered: string[] = [];
      // Messages in Slack don't name their order, so each click without an answer at its response URL takes the
      // person's next message.
      const answers = new Map(
        people.map((userId) => [userId, this.#listMessages(userId).slice(before.get(userId))]),
      );
      for (const click of unapproved) {
        const [text] = (this.#answers.get(responsePath(click)) ?? []).filter(
          (each) => !NOT_REFUSED.test(each),
        );
        const answer = text ?? answers.get(click.userId)?.shift();
        if (answer === undefined) unanswered.push(`${click.order.id} by ${click.userId}`);
        else countAnswer(answer.replace(/Reference .*/, 'Reference').replace(/\d+ seconds?/, 'N seconds'));
      }
      return { approved: clicks.length - unapproved.length, answerCounts, unanswered };
    };
    let outcome = await readOutcome();
    await until(
      'every click has a result',
      async () => {
        outcome = await readOutcome();
        return outcome.unanswered.length === 0;
      },
      withinMs,
    ).catch(() => undefined);
    return outcome;
  }

  async #loadApprovals(clicks: readonly Click[]): Promise<ReadonlySet<string>> {
    const ids = clicks.map(({ order }) => order.id);
    const { rows } = await this.#db.query(
      'SELECT order_id, user_id FROM approvals WHERE order_id = ANY($1)',
      [ids],
    );
    return new Set(approvalRows.parse(rows).map(({ order_id, user_id }) => `${order_id} ${user_id}`));
  }

  /** A person's ephemeral and direct messages that refuse a click. */
  #listMessages(userId: string): string[] {
    const { workspace } = this.environment;
    return [...workspace.as(userId).ephemerals(), ...workspace.messages(`D${userId.slice(1)}`)]
      .map(({ text }) => text)
      .filter((text) => !NOT_REFUSED.test(text));
  }

  /** Waits until no order is in progress, and Slack shows every result. */
  async waitUntilIdle(): Promise<void> {
    await until(
      'no order is in progress',
      async () => {
        const { rows } = await this.#db.query(
          `SELECT 1 FROM orders WHERE state IN ('APPROVED', 'EXECUTING') UNION ALL ${STALE_ORDER_MESSAGES_SQL} LIMIT 1`,
        );
        return rows.length === 0;
      },
      IDLE_TIMEOUT_MS,
    );
  }

  /** The errors that the bots logged. */
  listLoggedErrors(): string {
    return this.#bots
      .map(({ child }) => child.output())
      .join('\n')
      .split('\n')
      .filter((line) => /"level":[456]0/.test(line))
      .slice(-50)
      .join('\n');
  }

  async close(): Promise<void> {
    this.#recorder.server.close();
    await this.#load.close();
    await this.#db.end();
    await this.environment.stop();
  }
}
