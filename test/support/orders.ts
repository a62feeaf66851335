import type { SandboxService } from '@domain-steward/sandbox-service';
import type { Actor, Message, Workspace } from '@domain-steward/slack-workspace';
import { DOMAINS, until } from './demo.ts';

/** The order in a message's metadata, if there is one. */
export function orderOf(
  message: Message,
):
  | { readonly id: string; readonly task: string; readonly names: string; readonly state: string }
  | undefined {
  if (message.metadata?.event_type !== 'domain_order') return undefined;
  const payload = message.metadata.event_payload;
  return {
    id: String(payload['order_id']),
    task: String(payload['task']),
    names: String(payload['names']),
    state: String(payload['state']),
  };
}

/** An order as people see it: its card and the card's thread. */
export class VisibleOrder {
  readonly id: string;
  readonly channel: string;
  readonly #workspace: Workspace;

  constructor(workspace: Workspace, id: string, channel: string) {
    this.#workspace = workspace;
    this.id = id;
    this.channel = channel;
  }

  /** Every message about the order, card first. */
  messages(): Message[] {
    return this.#workspace.messages(this.channel).filter((message) => orderOf(message)?.id === this.id);
  }

  get card(): Message {
    const [card] = this.messages();
    if (card === undefined) throw new Error(`order ${this.id} has no card in ${this.channel}`);
    return card;
  }

  /** The card's state. */
  get state(): string {
    return orderOf(this.card)?.state ?? '';
  }

  replies(): Message[] {
    return this.messages().slice(1);
  }

  /** Waits until the card shows the state. */
  async waitForState(state: string, timeoutMs = 8_000): Promise<Message> {
    return this.#workspace.waitFor(() => (this.state === state ? this.card : undefined), {
      what: `the card of order ${this.id} (${this.state}) to show ${state}`,
      timeoutMs,
    });
  }

  /** Waits for the reply with the order's state. */
  async waitForReply(state: string, timeoutMs = 8_000): Promise<Message> {
    return this.#workspace.waitFor(() => this.replies().find((reply) => orderOf(reply)?.state === state), {
      what: `a reply of order ${this.id} with the state ${state}`,
      timeoutMs,
    });
  }

  /** Waits until both the card and the thread show the state. */
  async waitForResult(state: string, timeoutMs = 8_000): Promise<Message> {
    const reply = await this.waitForReply(state, timeoutMs);
    await this.waitForState(state, timeoutMs);
    return reply;
  }
}

/**
 * Performs an action that requests an order, and waits for its card.
 * @param names the order's names, needed if other orders are requested concurrently
 */
export async function waitForOrder(
  workspace: Workspace,
  action: () => Promise<unknown>,
  channel = DOMAINS,
  names?: string,
): Promise<VisibleOrder> {
  const before = new Set(workspace.messages(channel).map((message) => orderOf(message)?.id));
  await action();
  const id = await workspace.waitFor(
    () =>
      workspace
        .messages(channel)
        .map(orderOf)
        .find(
          (order) => order !== undefined && !before.has(order.id) && (names ?? order.names) === order.names,
        )?.id,
    { what: `the card of a new order in ${channel}` },
  );
  return new VisibleOrder(workspace, id, channel);
}

/** Requests an order with a command. */
export function requestByCommand(
  workspace: Workspace,
  person: Actor,
  text: string,
  channel = DOMAINS,
  names?: string,
): Promise<VisibleOrder> {
  return waitForOrder(workspace, () => person.command(channel, text), channel, names);
}

/** Approves an order as soon as it is requested. Doesn't wait for its outcome. */
export async function requestAndApprove(
  approver: Actor,
  requested: Promise<VisibleOrder>,
): Promise<VisibleOrder> {
  const order = await requested;
  await approver.click(order.card, 'order_approve');
  return order;
}

/** The requests that the service got for an order. */
export function requestsOf(service: SandboxService, order: VisibleOrder): SandboxService['requests'] {
  return service.requests.filter(({ ctid }) => ctid === order.id || ctid?.startsWith(`${order.id}.`));
}

/** How often the service charged for a name. */
export function countChargesFor(service: SandboxService, name: string): number {
  return service.state.charges.filter((charge) => charge.name === name).length;
}

/** Waits until the bot isn't working on an order, then resets its rows to approved and not sent. */
export async function resetToApproved(
  query: (sql: string) => Promise<{ readonly rowCount: number | null }>,
  { id }: VisibleOrder,
): Promise<void> {
  // A job that is still running would set `due_at` afterwards.
  await until(`order ${id} is idle`, async () => {
    const reset = await query(`
      WITH idle AS (
        UPDATE orders SET state = 'APPROVED', closed_at = NULL, due_at = now()
        WHERE id = '${id}' AND due_at IS NULL AND lease_until IS NULL AND worker_id IS NULL RETURNING id)
      UPDATE order_items SET state = 'WAITING', sent_at = NULL, answered_at = NULL, result = NULL, attempts = 0
      FROM idle WHERE order_id = idle.id`);
    return reset.rowCount !== 0;
  });
}
