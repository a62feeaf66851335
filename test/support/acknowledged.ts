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
const MAX_REQUESTS = 20;

const RESPONSE_URL = 'http://127.0.0.1:9/none';

const rows = z.array(z.object({ id: z.string(), name: z.string() }));

/** A person's action, and its trace in the database. */
interface Action {
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
    const actions = await this.#prepare(kind, count);
    const { faults, signingSecret } = this.site.s.workspace;
    faults.set({ method: '*', kind: 'slow', delayMs: SLACK_MS });
    const { child, url } = this.site.bot;
    const acknowledged = new Set<Action>();
    let late = 0;
    await Promise.all(
      actions.map((action) => {
        const startedAt = performance.now();
        return deliver(Number(new URL(url).port), signingSecret, action.delivery, () => {
          // On a busy machine an acknowledgement can come after the deadline, which promises nothing.
          if (performance.now() - startedAt >= ACKNOWLEDGE_WITHIN_MS) late += 1;
          else acknowledged.add(action);
          if (acknowledged.size + late === killAfter) process.kill(child.pid, 'SIGKILL');
        });
      }),
    );
    await child.kill('SIGKILL');
    faults.clear();
    const saved = await this.#listSaved(kind, actions);
    await this.site.restart();
    const lost = [...acknowledged].filter(({ mark }) => !saved.has(mark)).map(({ mark }) => mark);
    return { acknowledged: acknowledged.size, late, lost };
  }

  #addName(): string {
    this.#names += 1;
    const name = `acknowledged-${this.#names}.rest`;
    this.site.s.service.state.addDomain({ name, context: 4 });
    return name;
  }

  async #prepare(kind: Kind, count: number): Promise<readonly Action[]> {
    const names = () => Array.from({ length: count }, () => this.#addName());
    switch (kind) {
      case 'command':
        return names().map((name) => ({ delivery: newCommand(`renew ${name} 1`), mark: name }));
      case 'watch':
        return names().map((name) => ({ delivery: newCommand(`watch ${name}`, 'U0BOB'), mark: name }));
      case 'approve':
        return (await this.#requestOrders('renew', names())).map(({ id }, n) => ({
          delivery: newClick('order_approve', id, n % 2 === 0 ? 'U0BOB' : 'U0CAROL'),
          mark: id,
        }));
      case 'cancel':
        return (await this.#requestOrders('renew', names())).map(({ id }) => ({
          delivery: newClick('order_cancel', id, 'U0ALICE'),
          mark: id,
        }));
      case 'deny':
        return (await this.#requestOrders('renew', names())).map(({ id }) => ({
          delivery: newForm('deny', 'U0BOB', { channelId: DOMAINS, subject: id }, { reason: 'no' }),
          mark: id,
        }));
      case 'confirm':
        return (await this.#requestOrders('delete', names())).map(({ id, name }) => ({
          delivery: newForm('confirm', 'U0ALICE', { channelId: DOMAINS, subject: id }, { name }),
          mark: id,
        }));
      case 'settings': {
        // Two concurrent ones would conflict.
        this.#names += 1;
        const ttl = `${48 + this.#names}h`;
        return [
          { delivery: newForm('settings', 'U0ADA', { channelId: DOMAINS }, newSettings(ttl)), mark: ttl },
        ];
      }
    }
  }

  /** Alice's orders for these names, not decided yet. */
  async #requestOrders(task: 'renew' | 'delete', names: readonly string[]): Promise<z.output<typeof rows>> {
    const port = Number(new URL(this.site.bot.url).port);
    const { signingSecret } = this.site.s.workspace;
    const loadOrders = async () => {
      const { rows: read } = await this.#db.query(
        `SELECT o.id, i.name FROM orders o JOIN order_items i ON i.order_id = o.id
         WHERE i.name = ANY($1) AND o.state IN ('DRAFT', 'PENDING')`,
        [names],
      );
      return rows.parse(read);
    };
    for (let tries = 1; tries <= MAX_REQUESTS; tries += 1) {
      const existing = new Set((await loadOrders()).map(({ name }) => name));
      // On a busy machine the bot may say that it took too long. Then the person tries again.
      for (const name of names.filter((each) => !existing.has(each)))
        await deliver(port, signingSecret, newCommand(`${task} ${name}`), () => undefined);
      const all = await loadOrders();
      if (all.length === names.length) return all;
    }
    throw new Error(`orders are missing after ${MAX_REQUESTS} requests`);
  }

  /** The marks of saved actions. */
  async #listSaved(kind: Kind, actions: readonly Action[]): Promise<ReadonlySet<string>> {
    const { rows: found } = await this.#db.query<{ mark: string }>(SAVED[kind], [
      actions.map(({ mark }) => mark),
    ]);
    return new Set(found.map(({ mark }) => mark));
  }
}

const SAVED_DECISIONS = "SELECT id AS mark FROM orders WHERE id = ANY($1) AND state <> 'PENDING'";
const SAVED: Readonly<Record<Kind, string>> = {
  command: 'SELECT name AS mark FROM order_items WHERE name = ANY($1)',
  watch: 'SELECT name AS mark FROM domains WHERE name = ANY($1)',
  approve: SAVED_DECISIONS,
  cancel: SAVED_DECISIONS,
  deny: SAVED_DECISIONS,
  confirm: "SELECT id AS mark FROM orders WHERE id = ANY($1) AND state <> 'DRAFT'",
  settings: "SELECT value #>> '{}' AS mark FROM settings WHERE value #>> '{}' = ANY($1)",
};

function newCommand(text: string, userId = 'U0ALICE'): Delivery {
  return buildCommand(text, userId, RESPONSE_URL, DOMAINS);
}

function newClick(actionId: string, orderId: string, userId: string): Delivery {
  return buildClick(
    actionId,
    { id: orderId, channelId: DOMAINS, ts: '1700000000.000100' },
    userId,
    RESPONSE_URL,
  );
}

/** A submitted form with text fields, as Slack sends it. */
function newForm(
  callbackId: string,
  userId: string,
  origin: { readonly channelId: string; readonly subject?: string },
  values: Readonly<Record<string, string>>,
): Delivery {
  const inputs = Object.entries(values).map(([name, value]) => [name, { type: 'plain_text_input', value }]);
  return buildSubmission(callbackId, Object.fromEntries(inputs), origin, userId);
}

function newSettings(ttl: string): Readonly<Record<string, string>> {
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
