import { storePrivateFile, toFilePayload } from './api/files.ts';
import { pushView, updateView } from './api/views.ts';
import type { Core } from './core.ts';
import type { DeliveryAnswer } from './deliver.ts';
import { SlackError } from './errors.ts';
import {
  buildActionEntry,
  buildElementState,
  findInputErrors,
  findPlacedElements,
  type PlacedElement,
} from './forms.ts';
import { findMentions } from './mentions.ts';
import { notifyPerson } from './messages.ts';
import {
  buildCommandPayload,
  buildEventPayload,
  buildGlobalShortcutPayload,
  buildHomeOpenedEvent,
  buildMessageActionsPayload,
  buildMessageShortcutPayload,
  buildSubmissionPayload,
  buildViewActionsPayload,
} from './payloads.ts';
import { getObjects, getString, isObject } from './problems.ts';
import type {
  ActionResult,
  Channel,
  InputValue,
  Json,
  JsonObject,
  Message,
  SubmitResult,
  User,
  View,
} from './protocol.ts';
import { handleResponse } from './response-urls.ts';
import { parseSubmissionResponse } from './submission.ts';

export interface CommandResult extends ActionResult {
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
    const payload = buildCommandPayload(core, this.user, channel, command, commandText, triggerId);
    const answer = await core.deliverer.deliver('slash_commands', payload);
    if (!answer.acked) {
      const message = `${command} failed with the error "${answer.error ?? 'dispatch_failed'}"`;
      notifyPerson(core, channel.id, this.user.id, message);
    } else if (answer.body !== undefined && answer.body !== '') {
      const destination = { channel: channel.id, userId: this.user.id };
      const content = isObject(answer.body) ? answer.body : { text: String(answer.body) };
      try {
        handleResponse(core, destination, content);
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
      notifies: findMentions(text, []),
    };
    this.#core.state.addMessage(message);
    return message;
  }

  /**
   * Clicks a button in a message or view, or chooses the option `<actionId>:<value>` of an overflow menu.
   * @throws Error that lists the visible elements if this person can't see that button
   */
  click(
    target: Message | View | string,
    actionId: string,
    selector: ElementSelector = {},
  ): Promise<ActionResult> {
    if (typeof target !== 'string' && 'ts' in target) return this.#clickInMessage(target, actionId, selector);
    return this.#clickInView(typeof target === 'string' ? target : target.id, actionId, selector);
  }

  /**
   * Fills in one input of an open dialog.
   * @returns the app's acknowledgement, or undefined unless the input has `dispatch_action`
   */
  async changeInput(
    target: View | string,
    actionId: string,
    value: InputValue,
    blockId?: string,
  ): Promise<ActionResult | undefined> {
    const view = this.#view(target);
    const selector = blockId === undefined ? {} : { blockId };
    const placedElement = findElement(view.blocks, actionId, selector, `view ${view.id}`);
    const state = buildElementState(placedElement, value, this.#fileOf);
    const changedView = setValue(view, placedElement, state);
    this.#core.state.showView(this.user.id, changedView);
    if (placedElement.block['dispatch_action'] !== true) return undefined;
    return this.#dispatchView(changedView, placedElement, state);
  }

  /**
   * Submits a dialog.
   * @param values by block id or action id; other inputs keep their values
   */
  async submit(target: View | string, values: Record<string, InputValue> = {}): Promise<SubmitResult> {
    const core = this.#core;
    let view = this.#view(target);
    for (const [name, value] of Object.entries(values)) {
      const placedElement = findPlacedElements(view.blocks).find(
        ({ blockId, actionId }) => blockId === name || actionId === name,
      );
      if (!placedElement)
        throw new Error(
          `view ${view.callback_id || view.id} has no input ${name}; ${listElements(view.blocks)}`,
        );
      view = setValue(view, placedElement, buildElementState(placedElement, value, this.#fileOf));
    }
    core.state.showView(this.user.id, view);
    const errors = findInputErrors(view.blocks, view.state.values);
    if (Object.keys(errors).length > 0) return { outcome: 'errors', errors, sent: false };
    const triggerId = core.triggers.issue({ userId: this.user.id, viewId: view.id });
    const payload = buildSubmissionPayload(this.user, view, triggerId);
    const answer = await core.deliverer.deliver('interactive', payload);
    return this.#afterSubmission(view, answer);
  }

  /**
   * Uploads a file for a file input.
   * @returns the file's id
   */
  upload(name: string, content: Uint8Array | string): string {
    return storePrivateFile(this.#core, name, Buffer.from(content));
  }

  readonly #fileOf = (id: string): JsonObject => toFilePayload(this.#core, id);

  close(target: View | string): void {
    this.#core.state.closeView(this.user.id, this.#view(target).id, false);
  }

  async shortcut(callbackId: string, message: Message): Promise<ActionResult> {
    const core = this.#core;
    const channel = this.#channel(message.channel);
    const triggerId = core.triggers.issue({ userId: this.user.id });
    const payload = buildMessageShortcutPayload(core, this.user, channel, message, callbackId, triggerId);
    return toActResult(await core.deliverer.deliver('interactive', payload), triggerId);
  }

  async globalShortcut(callbackId: string): Promise<ActionResult> {
    const core = this.#core;
    const triggerId = core.triggers.issue({ userId: this.user.id });
    const payload = buildGlobalShortcutPayload(core, this.user, callbackId, triggerId);
    return toActResult(await core.deliverer.deliver('interactive', payload), triggerId);
  }

  /** Opens the app's Home tab. Retries of the event run in the background. */
  async openHome(): Promise<ActionResult> {
    const event = buildEventPayload(this.#core, buildHomeOpenedEvent(this.#core, this.user));
    return toActResult(await this.#core.deliverer.deliverEvent(event), '');
  }

  /** The topmost view is last. */
  openedViews(): View[] {
    return [...this.#core.state.getModals(this.user.id)];
  }

  homeView(): View | undefined {
    return this.#core.state.homeViews.get(this.user.id);
  }

  /** Messages that only this person sees, oldest first. */
  ephemerals(channelId?: string): Message[] {
    return this.#core.state.ephemeralMessages.filter(
      (message) =>
        message.ephemeral_to === this.user.id && (channelId === undefined || message.channel === channelId),
    );
  }

  async #clickInMessage(target: Message, actionId: string, selector: ElementSelector): Promise<ActionResult> {
    const core = this.#core;
    const channel = this.#channel(target.channel);
    const message =
      target.ephemeral_to === undefined
        ? core.state.findMessage(target.channel, target.ts)
        : this.ephemerals(target.channel).find((candidate) => candidate.ts === target.ts);
    if (!message)
      throw new Error(`${this.user.real_name} does not see the message ${target.ts} in ${channel.name}`);
    const { placedElement, chosenState } = findClickedElement(
      message.blocks,
      actionId,
      selector,
      `message "${message.text.slice(0, 60)}"`,
    );
    const triggerId = core.triggers.issue({ userId: this.user.id });
    const action = buildActionEntry(placedElement, chosenState, core.state.nextTs());
    const payload = buildMessageActionsPayload(core, this.user, channel, message, action, triggerId);
    return toActResult(await core.deliverer.deliver('interactive', payload), triggerId);
  }

  async #clickInView(viewId: string, actionId: string, selector: ElementSelector): Promise<ActionResult> {
    const view = this.#view(viewId);
    const { placedElement, chosenState } = findClickedElement(
      view.blocks,
      actionId,
      selector,
      `view ${view.callback_id || view.id}`,
    );
    return this.#dispatchView(view, placedElement, chosenState);
  }

  async #dispatchView(
    view: View,
    placedElement: PlacedElement,
    elementState: JsonObject | undefined,
  ): Promise<ActionResult> {
    const core = this.#core;
    const triggerId = core.triggers.issue({ userId: this.user.id, viewId: view.id });
    const action = buildActionEntry(placedElement, elementState, core.state.nextTs());
    const payload = buildViewActionsPayload(this.user, view, action, triggerId);
    return toActResult(await core.deliverer.deliver('interactive', payload), triggerId);
  }

  #afterSubmission(view: View, answer: DeliveryAnswer): SubmitResult {
    const { state } = this.#core;
    if (!answer.acked) return { outcome: 'failed', error: answer.error ?? 'dispatch_failed' };
    const action = parseSubmissionResponse(view, answer.body);
    const currentView = state.getModals(this.user.id).find((candidate) => candidate.id === view.id) ?? view;
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

function toActResult(answer: DeliveryAnswer, triggerId: string): ActionResult {
  const { acked, ackMs, status, error } = answer;
  return { acked, ackMs, status, triggerId, ...(error !== undefined && { error }) };
}

function listElements(blocks: JsonObject[]): string {
  const ids = findPlacedElements(blocks).map(({ actionId, element }) => {
    const value = getString(element, 'value') ?? optionValues(element).join('|');
    return value === '' ? actionId : `${actionId}=${value}`;
  });
  return ids.length > 0 ? `it has ${ids.join(', ')}` : 'it has no interactive elements';
}

function findElement(
  blocks: JsonObject[],
  actionId: string,
  selector: ElementSelector,
  surfaceLabel: string,
): PlacedElement {
  const [placedElement, ...others] = findPlacedElements(blocks).filter(
    (candidate) =>
      candidate.actionId === actionId &&
      (selector.blockId === undefined || candidate.blockId === selector.blockId) &&
      (selector.value === undefined || offersValue(candidate.element, selector.value)),
  );
  const description = selector.value === undefined ? actionId : `${actionId}=${selector.value}`;
  if (!placedElement)
    throw new Error(`${surfaceLabel} has no element ${description}; ${listElements(blocks)}`);
  if (others.length > 0)
    throw new Error(`${surfaceLabel} has several elements ${description}: specify the value or block`);
  return placedElement;
}

function findClickedElement(
  blocks: JsonObject[],
  actionId: string,
  selector: ElementSelector,
  surfaceLabel: string,
): { placedElement: PlacedElement; chosenState: JsonObject | undefined } {
  const option = findOverflowOption(blocks, actionId, selector);
  if (option)
    return { placedElement: option.placed, chosenState: buildElementState(option.placed, option.value) };
  const placedElement = findElement(blocks, actionId, selector, surfaceLabel);
  return {
    placedElement,
    chosenState: isMenu(placedElement.element)
      ? buildElementState(placedElement, selector.value ?? null)
      : undefined,
  };
}

/** Undefined if the blocks have an element with the action id, or several matching options. */
function findOverflowOption(
  blocks: JsonObject[],
  actionId: string,
  { value, blockId }: ElementSelector,
): { placed: PlacedElement; value: string } | undefined {
  const elements = findPlacedElements(blocks);
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
  return getObjects(element, 'options').flatMap((option) => getString(option, 'value') ?? []);
}

function offersValue(element: JsonObject, value: string): boolean {
  return isMenu(element) ? optionValues(element).includes(value) : element['value'] === value;
}

function setValue(view: View, { blockId, actionId }: PlacedElement, value: JsonObject): View {
  const { values } = view.state;
  return { ...view, state: { values: { ...values, [blockId]: { ...values[blockId], [actionId]: value } } } };
}
