import type { Actor, InputValue, Message, View, Workspace } from '@domain-steward/slack-workspace';

/* What people do in the workspace: they type, press and fill in forms, and wait for what the bot makes of it. */

export const DOMAINS = 'C0DOMAINS';
/** The machine may be busy. */
export const MAX_WAIT_MS = 20_000;

/** Does something and waits for the view that it opens for a person. */
export async function openedAfter(
  workspace: Workspace,
  person: Actor,
  act: () => Promise<unknown>,
  what = `a view that opens for ${person.user.real_name}`,
): Promise<View> {
  const before = new Set(person.openedViews().map(({ id }) => id));
  await act();
  return workspace.waitFor(() => person.openedViews().find(({ id }) => !before.has(id)), {
    what,
    timeoutMs: MAX_WAIT_MS,
  });
}

/** Does something and waits for the ephemeral message that a person gets after it. */
export async function answeredAfter(
  workspace: Workspace,
  person: Actor,
  act: () => Promise<unknown>,
): Promise<Message> {
  const before = person.ephemerals().length;
  await act();
  // The answer to something done before may come only now, while its card takes long.
  const isLate = ({ text }: Message) => text?.endsWith('Its card follows.') === true;
  return workspace.waitFor(
    () =>
      person
        .ephemerals()
        .slice(before)
        .find((message) => !isLate(message)),
    {
      what: `${person.user.real_name} to be told something`,
      timeoutMs: MAX_WAIT_MS,
    },
  );
}

type Values = Record<string, InputValue>;

/** What one person does, one thing after the other. */
export class Doing {
  readonly #workspace: Workspace;
  readonly #actor: Actor;
  readonly #channel: string;

  constructor(workspace: Workspace, userId: string, channel = DOMAINS) {
    this.#workspace = workspace;
    this.#actor = workspace.as(userId);
    this.#channel = channel;
  }

  /** Types a command, and gets the answer that only they see. */
  answerTo(command: string): Promise<Message> {
    return this.answered(() => this.command(command));
  }

  /** Presses a button, and gets the answer that only they see. */
  pressed(message: Message, action: string): Promise<Message> {
    return this.answered(() => this.click(message, action));
  }

  /** Does something, and gets the answer that only they see. */
  answered(act: () => Promise<unknown>): Promise<Message> {
    return answeredAfter(this.#workspace, this.#actor, act);
  }

  command(text: string): Promise<unknown> {
    return this.#actor.command(this.#channel, text);
  }

  click(message: Message, action: string): Promise<unknown> {
    return this.#actor.click(message, action);
  }

  /**
   * Fills in the form that a command opens, or a button of a message.
   * @param later what the form says where the bot takes longer than Slack waits
   */
  async fillIn(
    opens: string | { message: Message; action: string },
    values: Values,
    later?: string,
  ): Promise<void> {
    const actor = this.#actor;
    const view = await openedAfter(this.#workspace, actor, () =>
      typeof opens === 'string' ? this.command(opens) : this.click(opens.message, opens.action),
    );
    const { outcome, ...rest } = await actor.submit(view, values);
    if (outcome === 'closed') return;
    if (outcome !== 'updated' || later === undefined)
      throw new Error(`the form ${view.callback_id}: ${JSON.stringify(rest)}`);
    const isSaid = () =>
      actor.openedViews().find(({ id, blocks }) => id === view.id && JSON.stringify(blocks).includes(later));
    actor.close(await this.#workspace.waitFor(isSaid, { what: later, timeoutMs: MAX_WAIT_MS }));
  }

  /**
   * Does something that asks for an order.
   * @param names of the order
   * @returns gives its card as it is at that moment
   */
  async asks(names: readonly string[], act: () => Promise<unknown>): Promise<() => Message> {
    const cards = () =>
      this.#workspace
        .messages(this.#channel)
        .filter(
          ({ metadata, thread_ts }) =>
            thread_ts === undefined && metadata?.event_payload['names'] === names.join(','),
        );
    const before = new Set(cards().map(({ ts }) => ts));
    await act();
    const { ts } = await this.#workspace.waitFor(() => cards().find((card) => !before.has(card.ts)), {
      what: `the card of an order for ${names.join(', ')}`,
      timeoutMs: MAX_WAIT_MS,
    });
    return () => {
      const card = cards().find((each) => each.ts === ts);
      if (card === undefined) throw new Error(`the card of an order for ${names.join(', ')} is gone`);
      return card;
    };
  }
}
