import type { InputValue, Snapshot, StateValues, View } from '../src/protocol.ts';
import { displayTextOf, isObject, type JsonObject, objectsOf, textOf } from './json.ts';

/** An interactive element and its block, with their ids. */
export interface PlacedElement {
  block: JsonObject;
  blockId: string;
  element: JsonObject;
  actionId: string;
}

/** Undefined if the element or one of the ids is missing. */
export function locateElement(block: JsonObject, element: JsonObject | undefined): PlacedElement | undefined {
  const blockId = textOf(block, 'block_id');
  const actionId = textOf(element, 'action_id');
  return element === undefined || blockId === undefined || actionId === undefined
    ? undefined
    : { block, blockId, element, actionId };
}

/** Stays the same across updates of a view that keep the element's input. */
export function getInputKey({ blockId, actionId, element }: PlacedElement): string {
  return [blockId, actionId, textOf(element, 'type')].join(' ');
}

export function findInputs(view: View): PlacedElement[] {
  return view.blocks.flatMap((block) => {
    const input =
      textOf(block, 'type') === 'input'
        ? locateElement(block, isObject(block['element']) ? block['element'] : undefined)
        : undefined;
    return input === undefined ? [] : [input];
  });
}

/** The value of an element in Slack's state: a text, an option's value, several values, or none. */
export function readStateValue(values: StateValues, { blockId, actionId }: PlacedElement): InputValue {
  const state = values[blockId]?.[actionId];
  if (state === undefined) return null;
  const option = state['selected_option'];
  if (isObject(option)) return textOf(option, 'value') ?? null;
  if (Array.isArray(state['selected_options'])) return getOptionValues(objectsOf(state, 'selected_options'));
  if (Array.isArray(state['selected_users'])) {
    return state['selected_users'].filter((id) => typeof id === 'string');
  }
  if (Array.isArray(state['files'])) return objectsOf(state, 'files').map((file) => textOf(file, 'id') ?? '');
  return (
    textOf(state, 'selected_conversation') ?? textOf(state, 'selected_user') ?? textOf(state, 'value') ?? null
  );
}

function getOptionValues(options: readonly JsonObject[]): string[] {
  return options.map((option) => textOf(option, 'value') ?? '');
}

export type Workspace = Pick<Snapshot, 'users' | 'channels'>;

export interface Option {
  value: string;
  text: string;
}

export function optionsOf(element: JsonObject): Option[] {
  return objectsOf(element, 'options').map((option) => ({
    value: textOf(option, 'value') ?? '',
    text: displayTextOf(option, 'text'),
  }));
}

/** The element's own options, or the workspace's people or channels. */
export function listChoices(element: JsonObject, { users, channels }: Workspace): Option[] {
  switch (textOf(element, 'type')) {
    case 'users_select':
    case 'multi_users_select':
      return users
        .filter((user) => !user.is_bot && !user.deleted)
        .map(({ id, real_name: text }) => ({ value: id, text }));
    case 'conversations_select':
      return channels
        .filter(({ is_im: isDirect }) => !isDirect)
        .map(({ id, name }) => ({ value: id, text: `#${name}` }));
    default:
      return optionsOf(element);
  }
}
