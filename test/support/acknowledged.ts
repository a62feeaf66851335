import { connect } from 'node:net';
import pg from 'pg';
import { z } from 'zod';
import {
  buildClick,
  buildCommand,
  buildSignedRequest,
  buildSubmission,
  type Delivery,
} from '../../bench/slack-load.ts';
import { ACKNOWLEDGE_WITHIN_MS } from '../../src/slack/inbound/acknowledgement.ts';
import { CrashSite } from './crash.ts';
import { DOMAINS } from './demo.ts';

/** The latency of Slack's API. */
const SLACK_MS = 150;
const ASKED_AT_MOST = 20;

const RESPONSE_URL = 'http://127.0.0.1:9/none';

const rows = z.array(z.object({ id: z.string(), name: z.string() }));

/** A person's action, and its trace in the database. */
interface Deed {
  readonly delivery: Delivery;
  /** A name, an order's id or a text that the database contains once the action is saved. */
  readonly mark: string;
}

export const KINDS = ['command', 'watch', 'approve', 'cancel', 'deny', 'confirm', 'settings'] as const;
export type Kind = (typeof KINDS)[number];

/** A bot that is killed the moment it has acknowledged something, with Slack's API at its usual latency. */
export class AcknowledgedSite {
  readonly site: CrashSite;
  readonly #db: pg.Pool;
  #names = 0;

  private constructor(site: CrashSite) {
    this.site = site;
    this.#db = new pg.Pool({ connectionString: site.s.databaseUrl, max: 2 });
    this.#db.on('error', () => undefined);
  }

  static async open(): Promise<AcknowledgedSite> {
    return new AcknowledgedSite(await CrashSite.open());
  }

  async close(): Promise<void> {
    await this.#db.end();
    await this.site.close();
  }

  /**
   * Delivers a number of actions of one kind concurrently, kills the bot as soon as `killAfter` of them are
   * acknowledged, and starts another one.
   * @returns how many were acknowledged because they were saved, how many because of the deadline, and which of the
   * saved ones are lost
   */
  async killed(
    kind: Kind,
    count: number,
    killAfter: number,
  ): Promise<{ readonly acknowledged: number; readonly late: number; readonly lost: readonly string[] }> {
    const deeds = await this.#prepare(kind, count);
    const { faults, signingSecret } = this.site.s.workspace;
    faults.set({ method: '*', kind: 'slow', delayMs: SLACK_MS });
    const { child, url } = this.site.bot;
    const acknowledged = new Set<Deed>();
    let late = 0;
    await Promise.all(
      deeds.map((deed) => {
        const startedAt = performance.now();
        return deliver(Number(new URL(url).port), signingSecret, deed.delivery, () => {
          // On a busy machine an acknowledgement can come after the deadline, which promises nothing.
          if (performance.now() - startedAt >= ACKNOWLEDGE_WITHIN_MS) late += 1;
          else acknowledged.add(deed);
          if (acknowledged.size + late === killAfter) process.kill(child.pid, 'SIGKILL');
        });
      }),
    );
    await child.kill('SIGKILL');
    faults.clear();
    const kept = await this.#kept(kind, deeds);
    await this.site.restart();
    const lost = [...acknowledged].filter(({ mark }) => !kept.has(mark)).map(({ mark }) => mark);
    return { acknowledged: acknowledged.size, late, lost };
  }

  #name(): string {
    this.#names += 1;
    const name = `acknowledged-${this.#names}.rest`;
    this.site.s.service.state.addDomain({ name, context: 4 });
    return name;
  }

  async #prepare(kind: Kind, count: number): Promise<readonly Deed[]> {
    const names = () => Array.from({ length: count }, () => this.#name());
    switch (kind) {
      case 'command':
        return names().map((name) => ({ delivery: asked(`renew ${name} 1`), mark: name }));
      case 'watch':
        return names().map((name) => ({ delivery: asked(`watch ${name}`, 'U0BOB'), mark: name }));
      case 'approve':
        return (await this.#orders('renew', names())).map(({ id }, n) => ({
          delivery: pressed('order_approve', id, n % 2 === 0 ? 'U0BOB' : 'U0CAROL'),
          mark: id,
        }));
      case 'cancel':
        return (await this.#orders('renew', names())).map(({ id }) => ({
          delivery: pressed('order_cancel', id, 'U0ALICE'),
          mark: id,
        }));
      case 'deny':
        return (await this.#orders('renew', names())).map(({ id }) => ({
          delivery: submitted('deny', 'U0BOB', { channelId: DOMAINS, subject: id }, { reason: 'no' }),
          mark: id,
        }));
      case 'confirm':
        return (await this.#orders('delete', names())).map(({ id, name }) => ({
          delivery: submitted('confirm', 'U0ALICE', { channelId: DOMAINS, subject: id }, { name }),
          mark: id,
        }));
      case 'settings': {
        // Two concurrent ones would conflict.
        this.#names += 1;
        const ttl = `${48 + this.#names}h`;
        return [
          { delivery: submitted('settings', 'U0ADA', { channelId: DOMAINS }, settings(ttl)), mark: ttl },
        ];
      }
    }
  }

  /** Alice's orders for these names, not decided yet. */
  async #orders(task: 'renew' | 'delete', names: readonly string[]): Promise<z.output<typeof rows>> {
    const { url } = this.site.bot;
    const { signingSecret } = this.site.s.workspace;
    const found = async () => {
      const { rows: read } = await this.#db.query(
        `SELECT o.id, i.name FROM orders o JOIN order_items i ON i.order_id = o.id
         WHERE i.name = ANY($1) AND o.state IN ('DRAFT', 'PENDING')`,
        [names],
      );
      return rows.parse(read);
    };
    for (let tries = 1; tries <= ASKED_AT_MOST; tries += 1) {
      const there = new Set((await found()).map(({ name }) => name));
      // On a busy machine the bot may say that it took too long. Then the person tries again.
      for (const name of names.filter((each) => !there.has(each)))
        await deliver(Number(new URL(url).port), signingSecret, asked(`${task} ${name}`), () => undefined);
      const all = await found();
      if (all.length === names.length) return all;
    }
    throw new Error(`requesting orders, ${ASKED_AT_MOST} times`);
  }

  /** The marks of saved actions. */
  async #kept(kind: Kind, deeds: readonly Deed[]): Promise<ReadonlySet<string>> {
    const { rows: found } = await this.#db.query<{ mark: string }>(KEPT[kind], [
      deeds.map(({ mark }) => mark),
    ]);
    return new Set(found.map(({ mark }) => mark));
  }
}

const DECIDED = "SELECT id AS mark FROM orders WHERE id = ANY($1) AND state <> 'PENDING'";
const KEPT: Readonly<Record<Kind, string>> = {
  command: 'SELECT name AS mark FROM order_items WHERE name = ANY($1)',
  watch: 'SELECT name AS mark FROM domains WHERE name = ANY($1)',
  approve: DECIDED,
  cancel: DECIDED,
  deny: DECIDED,
  confirm: "SELECT id AS mark FROM orders WHERE id = ANY($1) AND state <> 'DRAFT'",
  settings: "SELECT value #>> '{}' AS mark FROM settings WHERE value #>> '{}' = ANY($1)",
};

function asked(text: string, userId = 'U0ALICE'): Delivery {
  return buildCommand(text, userId, RESPONSE_URL, DOMAINS);
}

function pressed(actionId: string, orderId: string, userId: string): Delivery {
  return buildClick(
    actionId,
    { id: orderId, channelId: DOMAINS, ts: '1700000000.000100' },
    userId,
    RESPONSE_URL,
  );
}

/** A submitted form with text fields, as Slack sends it. */
function submitted(
  callbackId: string,
  userId: string,
  origin: { readonly channelId: string; readonly subject?: string },
  values: Readonly<Record<string, string>>,
): Delivery {
  const inputs = Object.entries(values).map(([name, value]) => [name, { type: 'plain_text_input', value }]);
  return buildSubmission(callbackId, Object.fromEntries(inputs), origin, userId);
}

function settings(ttl: string): Readonly<Record<string, string>> {
  return {
    approvers: 'U0BOB,S0APPROVERS',
    approvals_required: '1',
    approval_tasks: 'create,transfer,renew,restore',
    approval_ttl: ttl,
    approval_remind_after: '4h',
    allow_self_approval: 'false',
    approval_channel: '',
    approval_escalate_after: '24h',
    approval_escalate_to: '',
    alert_channel: '',
    report_channel: '',
    reminder_channel: '',
    reminder_days: '60,30,14,7,3,1',
    reminder_cron: '0 9 * * *',
    reminder_timezone: 'UTC',
  };
}

/**
 * Delivers over a separate connection.
 * @param acknowledged called as soon as the first bytes of a 200 have arrived
 * @returns when the response has arrived, or the connection is closed
 */
function deliver(
  port: number,
  signingSecret: string,
  delivery: Delivery,
  acknowledged: () => void,
): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true });
    socket.once('data', (bytes) => {
      if (bytes.toString('latin1').startsWith('HTTP/1.1 200 ')) acknowledged();
    });
    // The bot was killed.
    socket.on('error', () => undefined);
    socket.on('close', () => resolve());
    socket.write(buildSignedRequest(port, signingSecret, delivery, 'close'));
  });
}
