import type { Actor, InputValue, Message, View, Workspace } from '@domain-steward/slack-workspace';
import { OPENED_TOO_LATE } from '#src/slack/inbound/access.view.ts';

/* People's actions in the workspace: they type, click and fill in forms, and wait for the bot's response. */

export const DOMAINS = 'C0DOMAINS';
/** The machine may be busy. */
export const MAX_WAIT_MS = 20_000;

/** Does something and waits for the view that it opens for a person. Repeats it, as people would, if that took too long. */
export async function openedAfter(
  workspace: Workspace,
  person: Actor,
  act: () => Promise<unknown>,
  what = `a view that opens for ${person.user.real_name}`,
): Promise<View> {
  const before = new Set(person.openedViews().map(({ id }) => id));
  for (let attempt = 1; ; attempt += 1) {
    const earlier = person.ephemerals().length;
    await act();
    const opened = () => person.openedViews().find(({ id }) => !before.has(id));
    const isTooLate = () =>
      person
        .ephemerals()
        .slice(earlier)
        .some(({ text }) => text === OPENED_TOO_LATE);
    const view = await workspace.waitFor(() => opened() ?? (isTooLate() ? 'too late' : undefined), {
      what,
      timeoutMs: MAX_WAIT_MS,
    });
    if (view !== 'too late') return view;
    if (attempt === 3) throw new Error(`${what} took too long three times`);
  }
}

/** Does something and waits for a person's ephemeral message about it. */
export async function answeredAfter(
  workspace: Workspace,
  person: Actor,
  act: () => Promise<unknown>,
): Promise<Message> {
  const before = person.ephemerals().length;
  await act();
  // The response to an earlier action may come only now, if its card takes long.
  const isLate = ({ text }: Message) =>
    /I’m posting the card\.$|Looking up \d+ names?\.|^This takes longer than usual\./.test(text ?? '');
  return workspace.waitFor(
    () =>
      person
        .ephemerals()
        .slice(before)
        .find((message) => !isLate(message)),
    {
      what: `an answer to ${person.user.real_name}`,
      timeoutMs: MAX_WAIT_MS,
    },
  );
}

type Values = Record<string, InputValue>;

/** One person's actions, in order. */
export class Doing {
  readonly #workspace: Workspace;
  readonly #actor: Actor;
  readonly #channel: string;

  constructor(workspace: Workspace, userId: string, channel = DOMAINS) {
    this.#workspace = workspace;
    this.#actor = workspace.as(userId);
    this.#channel = channel;
  }

  /** Types a command, and returns the ephemeral response. */
  answerTo(command: string): Promise<Message> {
    return this.answered(() => this.command(command));
  }

  /** Clicks a button, and returns the ephemeral response. */
  pressed(message: Message, action: string): Promise<Message> {
    return this.answered(() => this.click(message, action));
  }

  /** Does something, and returns the ephemeral response. */
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
   * Fills in the form of a command, or of a message's button.
   * @param later the form's text if the bot takes longer than Slack waits
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
   * Does something that requests an order.
   * @param names of the order
   * @returns reads its current card
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
