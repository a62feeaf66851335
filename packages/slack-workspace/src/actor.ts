import { storePrivateFile, toFilePayload } from './api/files.ts';
import { pushView, updateView } from './api/views.ts';
import type { Core } from './core.ts';
import type { DeliveryAnswer } from './deliver.ts';
import { SlackError } from './errors.ts';
import {
  buildActionEntry,
  buildElementState,
  findInputErrors,
  type PlacedElement,
  placedElements,
} from './forms.ts';
import { mentionsIn } from './mentions.ts';
import { notifyPerson } from './messages.ts';
import {
  commandPayload,
  eventPayload,
  globalShortcutPayload,
  homeOpenedEvent,
  messageActionsPayload,
  messageShortcutPayload,
  submissionPayload,
  viewActionsPayload,
} from './payloads.ts';
import { isObject, objectsOf, textOf } from './problems.ts';
import type {
  ActResult,
  Channel,
  InputValue,
  Json,
  JsonObject,
  Message,
  SubmitResult,
  User,
  View,
} from './protocol.ts';
import { respond } from './response-urls.ts';
import { readSubmissionAnswer } from './submission.ts';

export interface CommandResult extends ActResult {
  /** The app's response in the acknowledgement. */
  response?: Json;
}

/** Selects one of several elements with the same action id. */
export interface ElementSelector {
  /** The value of a button, or of the option chosen in a menu. */
  value?: string;
  blockId?: string;
}

/** A person who uses the workspace. Each action resolves when the app has acknowledged it. */
export class Actor {
  readonly user: User;
  readonly #core: Core;

  constructor(core: Core, user: User) {
    this.#core = core;
    this.user = user;
  }

  /** @param text with the slash: `/domain renew cafe.rest` */
  async command(channelId: string, text: string): Promise<CommandResult> {
    const core = this.#core;
    const channel = this.#channel(channelId);
    const [command = ''] = text.trim().split(/\s+/, 1);
    if (!command.startsWith('/')) throw new Error(`a command must start with a slash: ${command}`);
    const commandText = text.trim().slice(command.length);
    const triggerId = core.triggers.issue({ userId: this.user.id });
    const payload = commandPayload(core, this.user, channel, command, commandText, triggerId);
    const answer = await core.deliverer.deliver('slash_commands', payload);
    if (!answer.acked) {
      const message = `${command} failed with the error "${answer.error ?? 'dispatch_failed'}"`;
      notifyPerson(core, channel.id, this.user.id, message);
    } else if (answer.body !== undefined && answer.body !== '') {
      const place = { channel: channel.id, userId: this.user.id };
      const content = isObject(answer.body) ? answer.body : { text: String(answer.body) };
      try {
        respond(core, place, content);
      } catch (error) {
        if (!(error instanceof SlackError)) throw error;
        notifyPerson(core, channel.id, this.user.id, `${command} failed with the error "${error.code}"`);
      }
    }
    return { ...toActResult(answer, triggerId), ...(answer.body !== undefined && { response: answer.body }) };
  }

  /** Posts an ordinary message. Apps without the scope to read channels get no event. */
  say(channelId: string, text: string, threadTs?: string): Message {
    const channel = this.#channel(channelId);
    const message: Message = {
      type: 'message',
      channel: channel.id,
      ts: this.#core.state.nextTs(),
      user: this.user.id,
      text,
      blocks: [],
      ...(threadTs !== undefined && { thread_ts: threadTs }),
      notifies: mentionsIn(text, []),
    };
    this.#core.state.post(message);
    return message;
  }

  /**
   * Clicks a button in a message or view, or chooses it in an overflow menu whose options are called
   * `<button>:<value>`.
   * @throws Error if this person sees no such button; lists the visible ones
   */
  click(
    target: Message | View | string,
    actionId: string,
    selector: ElementSelector = {},
  ): Promise<ActResult> {
    if (typeof target !== 'string' && 'ts' in target) return this.#clickInMessage(target, actionId, selector);
    return this.#clickInView(typeof target === 'string' ? target : target.id, actionId, selector);
  }

  /**
   * Fills in one input of an open dialog.
   * @returns the app's acknowledgement if the input dispatches, or undefined
   */
  async changeInput(
    target: View | string,
    actionId: string,
    value: InputValue,
    blockId?: string,
  ): Promise<ActResult | undefined> {
    const view = this.#view(target);
    const selector = blockId === undefined ? {} : { blockId };
    const placed = findElement(view.blocks, actionId, selector, `view ${view.id}`);
    const state = buildElementState(placed, value, this.#fileOf);
    const changed = setValue(view, placed, state);
    this.#core.state.show(this.user.id, changed);
    if (placed.block['dispatch_action'] !== true) return undefined;
    return this.#dispatchView(changed, placed, state);
  }

  /**
   * Submits a dialog.
   * @param values by block id or action id; an input without a value keeps its value in the form
   */
  async submit(target: View | string, values: Record<string, InputValue> = {}): Promise<SubmitResult> {
    const core = this.#core;
    let view = this.#view(target);
    for (const [name, value] of Object.entries(values)) {
      const placed = placedElements(view.blocks).find(
        ({ blockId, actionId }) => blockId === name || actionId === name,
      );
      if (!placed)
        throw new Error(
          `view ${view.callback_id || view.id} has no input ${name}; ${listElements(view.blocks)}`,
        );
      view = setValue(view, placed, buildElementState(placed, value, this.#fileOf));
    }
    core.state.show(this.user.id, view);
    const errors = findInputErrors(view.blocks, view.state.values);
    if (Object.keys(errors).length > 0) return { outcome: 'errors', errors, sent: false };
    const triggerId = core.triggers.issue({ userId: this.user.id, viewId: view.id });
    const payload = submissionPayload(this.user, view, triggerId);
    const answer = await core.deliverer.deliver('interactive', payload);
    return this.#afterSubmission(view, answer);
  }

  /**
   * Uploads a file for a file input.
   * @returns its id
   */
  upload(name: string, content: Uint8Array | string): string {
    return storePrivateFile(this.#core, name, Buffer.from(content));
  }

  readonly #fileOf = (id: string): JsonObject => toFilePayload(this.#core, id);

  close(target: View | string): void {
    this.#core.state.closeView(this.user.id, this.#view(target).id, false);
  }

  async shortcut(callbackId: string, message: Message): Promise<ActResult> {
    const core = this.#core;
    const channel = this.#channel(message.channel);
    const triggerId = core.triggers.issue({ userId: this.user.id });
    const payload = messageShortcutPayload(core, this.user, channel, message, callbackId, triggerId);
    return toActResult(await core.deliverer.deliver('interactive', payload), triggerId);
  }

  async globalShortcut(callbackId: string): Promise<ActResult> {
    const core = this.#core;
    const triggerId = core.triggers.issue({ userId: this.user.id });
    const payload = globalShortcutPayload(core, this.user, callbackId, triggerId);
    return toActResult(await core.deliverer.deliver('interactive', payload), triggerId);
  }

  /** Opens the app's Home tab. If the event is retried, that happens in the background. */
  async openHome(): Promise<ActResult> {
    const event = eventPayload(this.#core, homeOpenedEvent(this.#core, this.user));
    return toActResult(await this.#core.deliverer.deliverEvent(event), '');
  }

  /** The topmost view is last. */
  openedViews(): View[] {
    return [...this.#core.state.modalsOf(this.user.id)];
  }

  homeView(): View | undefined {
    return this.#core.state.homes.get(this.user.id);
  }

  /** Messages that only this person sees, oldest first. */
  ephemerals(channelId?: string): Message[] {
    return this.#core.state.ephemerals.filter(
      (message) =>
        message.ephemeral_to === this.user.id && (channelId === undefined || message.channel === channelId),
    );
  }

  async #clickInMessage(target: Message, actionId: string, selector: ElementSelector): Promise<ActResult> {
    const core = this.#core;
    const channel = this.#channel(target.channel);
    const message =
      target.ephemeral_to === undefined
        ? core.state.find(target.channel, target.ts)
        : this.ephemerals(target.channel).find((own) => own.ts === target.ts);
    if (!message)
      throw new Error(`${this.user.real_name} does not see the message ${target.ts} in ${channel.name}`);
    const { placed, chosen } = findClickedElement(
      message.blocks,
      actionId,
      selector,
      `message "${message.text.slice(0, 60)}"`,
    );
    const triggerId = core.triggers.issue({ userId: this.user.id });
    const action = buildActionEntry(placed, chosen, core.state.nextTs());
    const payload = messageActionsPayload(core, this.user, channel, message, action, triggerId);
    return toActResult(await core.deliverer.deliver('interactive', payload), triggerId);
  }

  async #clickInView(viewId: string, actionId: string, selector: ElementSelector): Promise<ActResult> {
    const view = this.#view(viewId);
    const { placed, chosen } = findClickedElement(
      view.blocks,
      actionId,
      selector,
      `view ${view.callback_id || view.id}`,
    );
    return this.#dispatchView(view, placed, chosen);
  }

  async #dispatchView(view: View, placed: PlacedElement, entry: JsonObject | undefined): Promise<ActResult> {
    const core = this.#core;
    const triggerId = core.triggers.issue({ userId: this.user.id, viewId: view.id });
    const action = buildActionEntry(placed, entry, core.state.nextTs());
    const payload = viewActionsPayload(this.user, view, action, triggerId);
    return toActResult(await core.deliverer.deliver('interactive', payload), triggerId);
  }

  #afterSubmission(view: View, answer: DeliveryAnswer): SubmitResult {
    const { state } = this.#core;
    if (!answer.acked) return { outcome: 'failed', error: answer.error ?? 'dispatch_failed' };
    const action = readSubmissionAnswer(view, answer.body);
    const currentView = state.modalsOf(this.user.id).find((candidate) => candidate.id === view.id) ?? view;
    try {
      switch (action.kind) {
        case 'errors':
          return { outcome: 'errors', errors: action.errors, sent: true };
        case 'update':
          return { outcome: 'updated', view: updateView(this.#core, action.view, this.user.id, currentView) };
        case 'push':
          return { outcome: 'pushed', view: pushView(this.#core, action.view, this.user.id, currentView) };
        case 'clear':
        case 'close':
          state.closeView(this.user.id, view.id, action.kind === 'clear');
          return { outcome: 'closed' };
        case 'refused':
          return { outcome: 'failed', error: action.error };
      }
    } catch (error) {
      if (!(error instanceof SlackError)) throw error;
      return { outcome: 'failed', error: [error.code, JSON.stringify(error.fields)].join(' ') };
    }
  }

  #channel(id: string): Channel {
    const channel = this.#core.state.channels.get(id);
    if (!channel) throw new Error(`there is no channel ${id}`);
    if (!channel.members.includes(this.user.id))
      throw new Error(`${this.user.real_name} is not in ${channel.name}`);
    return channel;
  }

  #view(target: View | string): View {
    const id = typeof target === 'string' ? target : target.id;
    const home = this.homeView();
    const view = home?.id === id ? home : this.openedViews().find((open) => open.id === id);
    if (!view) throw new Error(`${this.user.real_name} has no view ${id} open`);
    return view;
  }
}

function toActResult(answer: DeliveryAnswer, triggerId: string): ActResult {
  const { acked, ackMs, status, error } = answer;
  return { acked, ackMs, status, triggerId, ...(error !== undefined && { error }) };
}

function listElements(blocks: JsonObject[]): string {
  const ids = placedElements(blocks).map(({ actionId, element }) => {
    const value = textOf(element, 'value') ?? optionValues(element).join('|');
    return value === '' ? actionId : `${actionId}=${value}`;
  });
  return ids.length > 0 ? `it has ${ids.join(', ')}` : 'it has no elements to act on';
}

function findElement(
  blocks: JsonObject[],
  actionId: string,
  selector: ElementSelector,
  where: string,
): PlacedElement {
  const candidatesById = placedElements(blocks).filter(
    (placed) =>
      placed.actionId === actionId && (selector.blockId === undefined || placed.blockId === selector.blockId),
  );
  const withValue = candidatesById.filter(
    ({ element }) => selector.value !== undefined && offersValue(element, selector.value),
  );
  const candidates = selector.value === undefined ? candidatesById : withValue;
  const [placed, ...others] = candidates;
  const description = selector.value === undefined ? actionId : `${actionId}=${selector.value}`;
  if (!placed) throw new Error(`${where} has no element ${description}; ${listElements(blocks)}`);
  if (others.length > 0)
    throw new Error(`${where} has several elements ${description}: name the value or block`);
  return placed;
}

function findClickedElement(
  blocks: JsonObject[],
  actionId: string,
  selector: ElementSelector,
  where: string,
): { placed: PlacedElement; chosen: JsonObject | undefined } {
  const option = findOverflowOption(blocks, actionId, selector);
  if (option) return { placed: option.placed, chosen: buildElementState(option.placed, option.value) };
  const placed = findElement(blocks, actionId, selector, where);
  return {
    placed,
    chosen: isMenu(placed.element) ? buildElementState(placed, selector.value ?? null) : undefined,
  };
}

/** Finds a button in an overflow menu. Undefined if the button itself exists, or if several options match. */
function findOverflowOption(
  blocks: JsonObject[],
  actionId: string,
  { value, blockId }: ElementSelector,
): { placed: PlacedElement; value: string } | undefined {
  const elements = placedElements(blocks);
  if (elements.some((placed) => placed.actionId === actionId)) return undefined;
  const options = elements
    .filter((placed) => placed.element['type'] === 'overflow')
    .filter((placed) => blockId === undefined || placed.blockId === blockId)
    .flatMap((placed) => optionValues(placed.element).map((option) => ({ placed, value: option })))
    .filter((option) =>
      value === undefined ? option.value.startsWith(`${actionId}:`) : option.value === `${actionId}:${value}`,
    );
  return options.length === 1 ? options[0] : undefined;
}

function isMenu(element: JsonObject): boolean {
  return element['type'] === 'static_select' || element['type'] === 'overflow';
}

function optionValues(element: JsonObject): string[] {
  return objectsOf(element, 'options').flatMap((option) => textOf(option, 'value') ?? []);
}

function offersValue(element: JsonObject, value: string): boolean {
  return isMenu(element) ? optionValues(element).includes(value) : element['value'] === value;
}

function setValue(view: View, { blockId, actionId }: PlacedElement, value: JsonObject): View {
  const { values } = view.state;
  return { ...view, state: { values: { ...values, [blockId]: { ...values[blockId], [actionId]: value } } } };
}
