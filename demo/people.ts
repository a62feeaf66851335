import type { Actor, InputValue, Message, View, Workspace } from '@domain-steward/slack-workspace';
import { OPENED_TOO_LATE } from '#src/slack/inbound/access.view.ts';

export const DOMAINS_CHANNEL = 'C0DOMAINS';
/** Long, because the machine may be busy. */
export const MAX_WAIT_MS = 20_000;

/** Performs an action and waits for the view that it opens. Retries, as people would, if the view opened too late. */
export async function performAndWaitForView(
  workspace: Workspace,
  person: Actor,
  action: () => Promise<unknown>,
  what = `a view that opens for ${person.user.real_name}`,
): Promise<View> {
  const openedBefore = new Set(person.openedViews().map(({ id }) => id));
  for (let attempt = 1; ; attempt += 1) {
    const earlierCount = person.ephemerals().length;
    await action();
    const findOpened = () => person.openedViews().find(({ id }) => !openedBefore.has(id));
    const isTooLate = () =>
      person
        .ephemerals()
        .slice(earlierCount)
        .some(({ text }) => text === OPENED_TOO_LATE);
    const view = await workspace.waitFor(() => findOpened() ?? (isTooLate() ? 'too late' : undefined), {
      what,
      timeoutMs: MAX_WAIT_MS,
    });
    if (view !== 'too late') return view;
    if (attempt === 3) throw new Error(`${what} took too long three times`);
  }
}

/** Performs an action and waits for the ephemeral response to it. */
export async function performAndWaitForReply(
  workspace: Workspace,
  person: Actor,
  action: () => Promise<unknown>,
): Promise<Message> {
  const countBefore = person.ephemerals().length;
  await action();
  // The response to an earlier action may arrive only now, if posting its card took long.
  const isResponseToEarlier = ({ text }: Message) =>
    /I’m posting the card\.$|Looking up \d+ names?\.|^This takes longer than usual\./.test(text ?? '');
  return workspace.waitFor(
    () =>
      person
        .ephemerals()
        .slice(countBefore)
        .find((message) => !isResponseToEarlier(message)),
    {
      what: `an answer to ${person.user.real_name}`,
      timeoutMs: MAX_WAIT_MS,
    },
  );
}

type FormValues = Record<string, InputValue>;

/** One person's actions, in order. */
export class PersonActions {
  readonly #workspace: Workspace;
  readonly #actor: Actor;
  readonly #channel: string;

  constructor(workspace: Workspace, userId: string, channel = DOMAINS_CHANNEL) {
    this.#workspace = workspace;
    this.#actor = workspace.as(userId);
    this.#channel = channel;
  }

  typeCommand(command: string): Promise<Message> {
    return this.actAndWait(() => this.command(command));
  }

  clickAndWait(message: Message, action: string): Promise<Message> {
    return this.actAndWait(() => this.click(message, action));
  }

  actAndWait(action: () => Promise<unknown>): Promise<Message> {
    return performAndWaitForReply(this.#workspace, this.#actor, action);
  }

  command(text: string): Promise<unknown> {
    return this.#actor.command(this.#channel, text);
  }

  click(message: Message, action: string): Promise<unknown> {
    return this.#actor.click(message, action);
  }

  /**
   * Fills in the form that a command or a message's button opens.
   * @param later what the form shows after the submission, if the bot needs longer than Slack waits
   */
  async fillIn(
    opener: string | { message: Message; action: string },
    values: FormValues,
    later?: string,
  ): Promise<void> {
    const actor = this.#actor;
    const view = await performAndWaitForView(this.#workspace, actor, () =>
      typeof opener === 'string' ? this.command(opener) : this.click(opener.message, opener.action),
    );
    const { outcome, ...rest } = await actor.submit(view, values);
    if (outcome === 'closed') return;
    if (outcome !== 'updated' || later === undefined)
      throw new Error(`the form ${view.callback_id}: ${JSON.stringify(rest)}`);
    const findUpdatedView = () =>
      actor.openedViews().find(({ id, blocks }) => id === view.id && JSON.stringify(blocks).includes(later));
    actor.close(await this.#workspace.waitFor(findUpdatedView, { what: later, timeoutMs: MAX_WAIT_MS }));
  }

  /**
   * @param action requests an order for these names
   * @returns a function that finds the order's current card
   */
  async requestOrder(names: readonly string[], action: () => Promise<unknown>): Promise<() => Message> {
    const findCards = () =>
      this.#workspace
        .messages(this.#channel)
        .filter(
          ({ metadata, thread_ts }) =>
            thread_ts === undefined && metadata?.event_payload['names'] === names.join(','),
        );
    const tsBefore = new Set(findCards().map(({ ts }) => ts));
    await action();
    const { ts } = await this.#workspace.waitFor(() => findCards().find((card) => !tsBefore.has(card.ts)), {
      what: `the card of an order for ${names.join(', ')}`,
      timeoutMs: MAX_WAIT_MS,
    });
    return () => {
      const card = findCards().find((candidate) => candidate.ts === ts);
      if (card === undefined) throw new Error(`the card of an order for ${names.join(', ')} is gone`);
      return card;
    };
  }
}
