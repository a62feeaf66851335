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
import { ACKNOWLEDGEMENT_TIMEOUT_MS } from '../../src/slack/inbound/acknowledgement.ts';
import { CrashSite } from './crash.ts';
import { DOMAINS } from './demo.ts';

const SLACK_LATENCY_MS = 150;
const MAX_REQUEST_ATTEMPTS = 20;

const UNREACHABLE_RESPONSE_URL = 'http://127.0.0.1:9/none';

const orderRows = z.array(z.object({ id: z.string(), name: z.string() }));

/** A person's action, and its trace in the database. */
interface Action {
  readonly delivery: Delivery;
  /** A name, an order's id or a text that the database contains once the action is saved. */
  readonly mark: string;
}

export const ACTION_KINDS = ['command', 'watch', 'approve', 'cancel', 'deny', 'confirm', 'settings'] as const;
export type ActionKind = (typeof ACTION_KINDS)[number];

/** A bot that is killed the moment it has acknowledged something, with Slack's API at its usual latency. */
export class AcknowledgementCrashSite {
  readonly site: CrashSite;
  readonly #db: pg.Pool;
  #nameCount = 0;

  private constructor(site: CrashSite) {
    this.site = site;
    this.#db = new pg.Pool({ connectionString: site.environment.databaseUrl, max: 2 });
    this.#db.on('error', () => undefined);
  }

  static async open(): Promise<AcknowledgementCrashSite> {
    return new AcknowledgementCrashSite(await CrashSite.open());
  }

  async close(): Promise<void> {
    await this.#db.end();
    await this.site.close();
  }

  /**
   * Delivers a number of actions of one kind concurrently, kills the bot as soon as `killAfter` of them are
   * acknowledged, and starts another one.
   * @returns how many were acknowledged before and after the deadline, and the marks of those that were acknowledged
   * before it but not saved
   */
  async deliverAndKill(
    kind: ActionKind,
    count: number,
    killAfter: number,
  ): Promise<{ readonly acknowledged: number; readonly late: number; readonly lost: readonly string[] }> {
    const actions = await this.#prepareActions(kind, count);
    const { faults, signingSecret } = this.site.environment.workspace;
    faults.set({ method: '*', kind: 'slow', delayMs: SLACK_LATENCY_MS });
    const { child, url } = this.site.bot;
    const acknowledged = new Set<Action>();
    let late = 0;
    await Promise.all(
      actions.map((action) => {
        const startedAt = performance.now();
        return deliver(Number(new URL(url).port), signingSecret, action.delivery, () => {
          // At the deadline the bot acknowledges actions that aren't saved yet.
          if (performance.now() - startedAt >= ACKNOWLEDGEMENT_TIMEOUT_MS) late += 1;
          else acknowledged.add(action);
          if (acknowledged.size + late === killAfter) process.kill(child.pid, 'SIGKILL');
        });
      }),
    );
    await child.kill('SIGKILL');
    faults.clear();
    const saved = await this.#listSavedMarks(kind, actions);
    await this.site.restart();
    const lost = [...acknowledged].filter(({ mark }) => !saved.has(mark)).map(({ mark }) => mark);
    return { acknowledged: acknowledged.size, late, lost };
  }

  #addName(): string {
    this.#nameCount += 1;
    const name = `acknowledged-${this.#nameCount}.rest`;
    this.site.environment.service.state.addDomain({ name, context: 4 });
    return name;
  }

  async #prepareActions(kind: ActionKind, count: number): Promise<readonly Action[]> {
    const addNames = () => Array.from({ length: count }, () => this.#addName());
    switch (kind) {
      case 'command':
        return addNames().map((name) => ({ delivery: newCommand(`renew ${name} 1`), mark: name }));
      case 'watch':
        return addNames().map((name) => ({ delivery: newCommand(`watch ${name}`, 'U0BOB'), mark: name }));
      case 'approve':
        return (await this.#requestOrders('renew', addNames())).map(({ id }, n) => ({
          delivery: newClick('order_approve', id, n % 2 === 0 ? 'U0BOB' : 'U0CAROL'),
          mark: id,
        }));
      case 'cancel':
        return (await this.#requestOrders('renew', addNames())).map(({ id }) => ({
          delivery: newClick('order_cancel', id, 'U0ALICE'),
          mark: id,
        }));
      case 'deny':
        return (await this.#requestOrders('renew', addNames())).map(({ id }) => ({
          delivery: newSubmission('deny', 'U0BOB', { channelId: DOMAINS, subject: id }, { reason: 'no' }),
          mark: id,
        }));
      case 'confirm':
        return (await this.#requestOrders('delete', addNames())).map(({ id, name }) => ({
          delivery: newSubmission('confirm', 'U0ALICE', { channelId: DOMAINS, subject: id }, { name }),
          mark: id,
        }));
      case 'settings': {
        // Two concurrent changes of the settings would conflict.
        this.#nameCount += 1;
        const ttl = `${48 + this.#nameCount}h`;
        return [
          {
            delivery: newSubmission('settings', 'U0ADA', { channelId: DOMAINS }, newSettings(ttl)),
            mark: ttl,
          },
        ];
      }
    }
  }

  /** Requests an order for each name as Alice, and waits until all are saved. */
  async #requestOrders(
    task: 'renew' | 'delete',
    names: readonly string[],
  ): Promise<z.output<typeof orderRows>> {
    const port = Number(new URL(this.site.bot.url).port);
    const { signingSecret } = this.site.environment.workspace;
    const loadOrders = async () => {
      const { rows: rawRows } = await this.#db.query(
        `SELECT o.id, i.name FROM orders o JOIN order_items i ON i.order_id = o.id
         WHERE i.name = ANY($1) AND o.state IN ('DRAFT', 'PENDING')`,
        [names],
      );
      return orderRows.parse(rawRows);
    };
    for (let tries = 1; tries <= MAX_REQUEST_ATTEMPTS; tries += 1) {
      const existing = new Set((await loadOrders()).map(({ name }) => name));
      // On a busy machine the bot may say that it took too long. Then Alice tries again.
      for (const name of names.filter((each) => !existing.has(each)))
        await deliver(port, signingSecret, newCommand(`${task} ${name}`), () => undefined);
      const all = await loadOrders();
      if (all.length === names.length) return all;
    }
    throw new Error(`orders are missing after ${MAX_REQUEST_ATTEMPTS} requests`);
  }

  async #listSavedMarks(kind: ActionKind, actions: readonly Action[]): Promise<ReadonlySet<string>> {
    const { rows: found } = await this.#db.query<{ mark: string }>(SAVED_MARKS_SQL[kind], [
      actions.map(({ mark }) => mark),
    ]);
    return new Set(found.map(({ mark }) => mark));
  }
}

const DECIDED_ORDERS_SQL = "SELECT id AS mark FROM orders WHERE id = ANY($1) AND state <> 'PENDING'";
const SAVED_MARKS_SQL: Readonly<Record<ActionKind, string>> = {
  command: 'SELECT name AS mark FROM order_items WHERE name = ANY($1)',
  watch: 'SELECT name AS mark FROM domains WHERE name = ANY($1)',
  approve: DECIDED_ORDERS_SQL,
  cancel: DECIDED_ORDERS_SQL,
  deny: DECIDED_ORDERS_SQL,
  confirm: "SELECT id AS mark FROM orders WHERE id = ANY($1) AND state <> 'DRAFT'",
  settings: "SELECT value #>> '{}' AS mark FROM settings WHERE value #>> '{}' = ANY($1)",
};

function newCommand(text: string, userId = 'U0ALICE'): Delivery {
  return buildCommand(text, userId, UNREACHABLE_RESPONSE_URL, DOMAINS);
}

function newClick(actionId: string, orderId: string, userId: string): Delivery {
  return buildClick(
    actionId,
    { id: orderId, channelId: DOMAINS, ts: '1700000000.000100' },
    userId,
    UNREACHABLE_RESPONSE_URL,
  );
}

/** A submitted form with text fields, as Slack sends it. */
function newSubmission(
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
 * @param onAcknowledged called as soon as the first bytes of a 200 have arrived
 * @returns when the response has arrived, or the connection is closed
 */
function deliver(
  port: number,
  signingSecret: string,
  delivery: Delivery,
  onAcknowledged: () => void,
): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true });
    socket.once('data', (bytes) => {
      if (bytes.toString('latin1').startsWith('HTTP/1.1 200 ')) onAcknowledged();
    });
    // The bot may be killed before it responds.
    socket.on('error', () => undefined);
    socket.on('close', () => resolve());
    socket.write(buildSignedRequest(port, signingSecret, delivery, 'close'));
  });
}
