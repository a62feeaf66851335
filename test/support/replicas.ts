import { createServer, request as forward, type Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { CrashSite } from './crash.ts';
import { until } from './demo.ts';
import type { RunningBot } from './harness.ts';

const CARD_TIMEOUT_MS = 30_000;
/** The longest time between two kills. */
const MAX_LIFE_MS = 2_000;
/** After this time the bot has responded to every request. */
const RESPONSE_TIMEOUT_MS = 15_000;
const MAX_REQUEST_ATTEMPTS = 10;

export interface ReplicaOptions {
  readonly socketMode?: boolean;
  /** Settings of every bot, which override those of the surroundings. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** Several bots on one database, with a load balancer for Slack's deliveries. */
export class Replicas {
  readonly site: CrashSite;
  readonly #bots: RunningBot[];
  readonly #balancer: Server;
  #turn = 0;
  #days = 0;
  /** How often a request was repeated after the bot refused it. */
  repeatedRequestCount = 0;

  private constructor(site: CrashSite, bots: RunningBot[], balancer: Server) {
    this.site = site;
    this.#bots = bots;
    this.#balancer = balancer;
  }

  /** @param options.socketMode instead of HTTP through a load balancer */
  static async start(
    count: number,
    { socketMode = false, settings = {} }: ReplicaOptions = {},
  ): Promise<Replicas> {
    const site = await CrashSite.open((s) => ({
      // On a busy machine, several bots are silent for seconds; with shorter leases they would take orders from each
      // other.
      TIMES_FASTER: '2',
      ...settings,
      ...(socketMode ? { SLACK_APP_TOKEN: s.workspace.appToken } : {}),
    }));
    const otherBots = await Promise.all(Array.from({ length: count - 1 }, () => site.startBot()));
    const replicas: Replicas = new Replicas(
      site,
      [site.bot, ...otherBots],
      createServer((incoming, outgoing) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('end', () => {
          const tryNext = (left: number) => {
            const bot = replicas.#pickNextBot();
            const forwardedRequest = forward(`${bot.url}/slack/events`, {
              method: 'POST',
              headers: incoming.headers,
            });
            forwardedRequest.on('response', (answer) => {
              outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
              answer.pipe(outgoing);
              answer.on('error', () => outgoing.destroy());
            });
            forwardedRequest.on('error', (error: NodeJS.ErrnoException) => {
              // Like a load balancer, sends only undelivered requests to the next bot.
              if (error.code === 'ECONNREFUSED' && left > 0) tryNext(left - 1);
              else outgoing.destroy();
            });
            forwardedRequest.end(Buffer.concat(chunks));
          };
          tryNext(count);
        });
      }),
    );
    await new Promise<void>((resolve) => replicas.#balancer.listen(0, '127.0.0.1', resolve));
    replicas.#routeDeliveries();
    return replicas;
  }

  #pickNextBot(): RunningBot {
    this.#turn += 1;
    const bot = this.#bots[this.#turn % this.#bots.length];
    if (bot === undefined) throw new Error('no bot is running');
    return bot;
  }

  #routeDeliveries(): void {
    const address = this.#balancer.address();
    if (typeof address !== 'object' || address === null) throw new Error('the balancer has no port');
    this.site.environment.workspace.setRequestUrl(`http://127.0.0.1:${address.port}/slack/events`);
  }

  /** Kills one bot and starts another one in its place. */
  async replaceBot(which: number): Promise<void> {
    const index = which % this.#bots.length;
    await this.#bots[index]?.child.kill('SIGKILL');
    this.#bots[index] = await this.site.startBot();
    this.#routeDeliveries();
  }

  /** Requests a number of renewals and waits for their cards. */
  async requestRenewals(count: number, label: string): Promise<readonly string[]> {
    const { site } = this;
    const names = Array.from({ length: count }, (_, n) => site.addNames(`${label}-${n}`));
    const queue = [...names];
    const requestInTurn = async () => {
      for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
        await this.#request(name);
      }
    };
    await Promise.all(Array.from({ length: 10 }, requestInTurn));
    return names;
  }

  /**
   * Requests a renewal. Like people, repeats it if Slack reports it as undelivered or the bot refuses it, but not if it
   * was acknowledged and got no answer.
   */
  async #request(name: string): Promise<void> {
    const { site } = this;
    const hasCard = () => site.findApprovableCard(name) !== undefined;
    for (let tries = 1; tries <= MAX_REQUEST_ATTEMPTS; tries += 1) {
      const refusals = this.#countRefusals();
      if (!(await site.requestRenewal(name))) continue;
      const isRefused = () => this.#countRefusals() > refusals;
      const waitForCard = (canStop: () => boolean, withinMs: number) =>
        until(`there is a card for ${name}`, () => hasCard() || canStop(), withinMs);
      await waitForCard(isRefused, CARD_TIMEOUT_MS).catch(async (cause: unknown) => {
        const saved = JSON.stringify(await site.loadOrder(name));
        throw new Error(`${String(cause)}; saved: ${saved}\n${this.listLoggedErrors()}`, { cause });
      });
      // The refusal may be about another order.
      await waitForCard(() => false, RESPONSE_TIMEOUT_MS).catch(() => undefined);
      if (hasCard()) return;
      this.repeatedRequestCount += 1;
      expect(
        this.repeatedRequestCount,
        `orders that were neither saved nor refused\n${this.listLoggedErrors()}`,
      ).toBeLessThanOrEqual(this.#countRefusals());
    }
    throw new Error(`no bot accepts /domain renew ${name}\n${this.listLoggedErrors()}`);
  }

  /** How often the requester was notified of a refusal. */
  #countRefusals(): number {
    return this.site.alice.ephemerals().filter(({ text }) => /not asked for twice/.test(text ?? '')).length;
  }

  /** The errors that the bots logged. */
  listLoggedErrors(): string {
    return this.#bots
      .flatMap(({ child }, n) =>
        child
          .output()
          .split('\n')
          .filter((line) => /"level":[456]0/.test(line))
          .slice(-20)
          .map((line) => `bot ${n}: ${line}`),
      )
      .join('\n');
  }

  /** Clicks Approve several times at once, on any of the bots. */
  async clickApprove(name: string, clicks: number): Promise<void> {
    const card = this.site.findApprovableCard(name);
    if (card !== undefined) await this.site.clickApprove(card, clicks);
  }

  /** The metrics of each bot. */
  fetchMetrics(): Promise<string[]> {
    return Promise.all(this.#bots.map(async ({ url }) => (await fetch(`${url}/metrics`)).text()));
  }

  /** Moves the clock of all bots by a day, and waits until each has checked for due work. */
  async nextDay(): Promise<void> {
    this.#days += 1;
    for (const { child } of this.#bots) process.kill(child.pid, 'SIGUSR2');
    await Promise.all(
      this.#bots.map(({ child }) => child.waitForLine(new RegExp(`^days gone by: ${this.#days}$`))),
    );
  }

  /**
   * Kills and replaces one bot after the other during the work.
   * @returns the number of kills
   */
  async killBotsDuring(random: () => number, work: () => Promise<unknown>): Promise<number> {
    const finished = new AbortController();
    const working = work().finally(() => finished.abort());
    let kills = 0;
    while (!finished.signal.aborted) {
      await sleep(random() * MAX_LIFE_MS, undefined, { signal: finished.signal }).catch(() => undefined);
      if (finished.signal.aborted) break;
      await this.replaceBot(Math.floor(random() * this.#bots.length));
      kills += 1;
    }
    await working;
    return kills;
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#balancer.close(() => resolve());
      this.#balancer.closeAllConnections();
    });
    await this.site.close();
  }
}
