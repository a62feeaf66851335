import pg from 'pg';
import { z } from 'zod';
import { type HttpRequest, serve } from '../../bench/http.ts';
import { command, press, SlackLoad } from '../../bench/slack-load.ts';
import { DOMAINS, link, until } from './demo.ts';
import { type RunningBot, type Surroundings, startSurroundings } from './harness.ts';

/** Has no limit that a burst would meet. */
const UNLIMITED = new URL('./children/crashing-bot.ts', import.meta.url);
const ASKING_LANES = 8;
const ASKED_WITHIN_MS = 120_000;
/** Longer than a limit of Slack’s lasts in these tests. */
const ANSWERED_WITHIN_MS = 40_000;
/** What is said on the way is no answer. */
const SLOW = /takes longer than usual/;

const waitingRows = z.array(z.object({ id: z.string(), channelId: z.string(), ts: z.string() }));
const approvalRows = z.array(z.object({ order_id: z.string(), user_id: z.string() }));
const said = z.object({ text: z.string() });

/** An order that waits for its clicks. */
export type WaitingOrder = z.output<typeof waitingRows>[number];

/** A click on Approve. */
export interface Click {
  readonly order: WaitingOrder;
  readonly userId: string;
  /** Whether Slack gave an address with it at which the person can be answered. */
  readonly hasResponseUrl: boolean;
}

/** What came of the clicks of a burst. */
export interface BurstOutcome {
  readonly approved: number;
  /** Clicks that changed nothing, whose person was told something, by what was said first. */
  readonly told: ReadonlyMap<string, number>;
  /** Clicks that changed nothing and of which nobody heard anything. */
  readonly silent: readonly string[];
}

export interface BurstOptions {
  readonly bots?: number;
  readonly settings?: Readonly<Record<string, string>>;
  /** Another program than the one without limits. */
  readonly entry?: URL;
}

/** Bots on one database, and many clicks that reach them at one moment, signed and over HTTP. */
export class Bursts {
  readonly s: Surroundings;
  readonly #bots: readonly RunningBot[];
  readonly #db: pg.Pool;
  readonly #load: SlackLoad;
  readonly #recorder: Awaited<ReturnType<typeof serve>>;
  readonly #answers: Map<string, string[]>;
  #names = 0;

  private constructor(
    s: Surroundings,
    bots: readonly RunningBot[],
    recorder: Awaited<ReturnType<typeof serve>>,
    answers: Map<string, string[]>,
  ) {
    this.s = s;
    this.#bots = bots;
    this.#recorder = recorder;
    this.#answers = answers;
    this.#load = new SlackLoad(s.workspace.signingSecret);
    this.#db = new pg.Pool({ connectionString: s.databaseUrl, max: 2 });
    this.#db.on('error', () => undefined);
  }

  static async start({ bots = 1, settings = {}, entry = UNLIMITED }: BurstOptions = {}): Promise<Bursts> {
    const s = await startSurroundings();
    const more = { ...settings, CRASH_FILE: `${s.folder}/crash-at` };
    const running = await Promise.all(Array.from({ length: bots }, () => s.start(entry, more)));
    const answers = new Map<string, string[]>();
    const recorder = await serve(({ target, body }: HttpRequest) => {
      const { text } = said.parse(JSON.parse(Buffer.from(body, 'latin1').toString()));
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

  /** Has Alice ask for so many renewals. @returns the orders, when each of them shows its card */
  async asked(count: number): Promise<readonly WaitingOrder[]> {
    for (;;) {
      const missing = count - (await this.#waiting()).length;
      if (missing <= 0) break;
      const names = Array.from({ length: missing }, () => `burst-${this.#names++}.rest`);
      for (const name of names) this.s.service.state.addDomain({ name, context: 4 });
      const commands = names.map((name) =>
        command(`renew ${name} 2`, 'U0ALICE', this.#url(`/asked/${name}`), DOMAINS),
      );
      await this.#spread(commands, ASKING_LANES);
      // Whom a busy machine keeps waiting is told so, and asks again.
      const isToldOf = (name: string) =>
        (this.#answers.get(`/asked/${name}`) ?? []).some((text) => !SLOW.test(text));
      await until(
        'every order is kept, or its person is told why not',
        async () => (await this.#waiting()).length + names.filter(isToldOf).length >= count,
        ASKED_WITHIN_MS,
      );
    }
    return (await this.#waiting()).slice(0, count);
  }

  async #waiting(): Promise<readonly WaitingOrder[]> {
    const { rows } = await this.#db.query(
      `SELECT o.id, o.channel_id AS "channelId", m.ts FROM orders o
       JOIN message_refs m ON m.order_id = o.id AND m.purpose = 'card'
       WHERE o.state = 'PENDING' AND o.shown_version = o.version
         AND NOT EXISTS (SELECT FROM approvals a WHERE a.order_id = o.id) ORDER BY o.id`,
    );
    return waitingRows.parse(rows);
  }

  /** Delivers to all bots in turn, so many under way at once. */
  async #spread(deliveries: Parameters<SlackLoad['inTurn']>[1], atOnce: number): Promise<void> {
    const ports = this.#ports();
    await Promise.all(
      ports.map((port, bot) => {
        const part = deliveries.filter((_, n) => n % ports.length === bot);
        return this.#load.inTurn(port, part, Math.min(atOnce, part.length));
      }),
    );
  }

  /** Delivers all clicks at once; each has to be answered with 200. Waits until each has come to something. */
  async click(clicks: readonly Click[]): Promise<BurstOutcome> {
    const people = [...new Set(clicks.map(({ userId }) => userId))];
    const before = new Map(people.map((userId) => [userId, this.#directly(userId).length]));
    const path = ({ order, userId }: Click) => `/clicked/${order.id}/${userId}`;
    const deliveries = clicks.map((click) =>
      press(
        'order_approve',
        click.order,
        click.userId,
        click.hasResponseUrl ? this.#url(path(click)) : undefined,
      ),
    );
    await this.#spread(deliveries, clicks.length);
    const look = async (): Promise<BurstOutcome> => {
      const approvals = await this.#approvals(clicks);
      const left = clicks.filter(({ order, userId }) => !approvals.has(`${order.id} ${userId}`));
      const told = new Map<string, number>();
      const note = (text: string) => told.set(text, (told.get(text) ?? 0) + 1);
      const silent: string[] = [];
      // What is said in the channel does not name its order: there are as many answers as clicks without an address.
      const answers = new Map(
        people.map((userId) => [userId, this.#directly(userId).slice(before.get(userId))]),
      );
      for (const click of left) {
        const [text] = (this.#answers.get(path(click)) ?? []).filter((each) => !SLOW.test(each));
        const answer = text ?? answers.get(click.userId)?.shift();
        if (answer === undefined) silent.push(`${click.order.id} by ${click.userId}`);
        else note(answer.replace(/Reference `\w+`/, 'Reference').replace(/\d+ seconds?/, 'N seconds'));
      }
      return { approved: clicks.length - left.length, told, silent };
    };
    let outcome = await look();
    await until(
      'every click has come to something',
      async () => {
        outcome = await look();
        return outcome.silent.length === 0;
      },
      ANSWERED_WITHIN_MS,
    ).catch(() => undefined);
    return outcome;
  }

  async #approvals(clicks: readonly Click[]): Promise<ReadonlySet<string>> {
    const ids = clicks.map(({ order }) => order.id);
    const { rows } = await this.#db.query(
      'SELECT order_id, user_id FROM approvals WHERE order_id = ANY($1)',
      [ids],
    );
    return new Set(approvalRows.parse(rows).map(({ order_id, user_id }) => `${order_id} ${user_id}`));
  }

  /** What a person was told in the channel, for them alone, and in their direct message with the bot. */
  #directly(userId: string): string[] {
    const { workspace } = this.s;
    return [...workspace.as(userId).ephemerals(), ...workspace.messages(`D${userId.slice(1)}`)]
      .map(({ text }) => text)
      .filter((text) => !SLOW.test(text));
  }

  /** Waits until nothing is carried out any more, and Slack shows it. */
  async quiet(): Promise<void> {
    await until(
      'nothing is under way',
      async () => {
        const { rows } = await this.#db.query(
          "SELECT 1 FROM orders WHERE state IN ('APPROVED', 'EXECUTING') OR shown_version < version LIMIT 1",
        );
        return rows.length === 0;
      },
      ASKED_WITHIN_MS,
    );
  }

  /** What the bots logged of what went wrong. */
  complaints(): string {
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
    await this.s.stop();
  }
}
