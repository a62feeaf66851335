import type { InputValue, Snapshot, StateValues, View } from '../src/protocol.ts';
import { isObject, type JsonObject, objectsOf, textOf, wordsOf } from './json.ts';

/** An interactive element with the ids of its place. */
export interface PlacedElement {
  block: JsonObject;
  blockId: string;
  element: JsonObject;
  actionId: string;
}

/** Undefined when the element has no ids and can't be used. */
export function locateElement(block: JsonObject, element: JsonObject | undefined): PlacedElement | undefined {
  const blockId = textOf(block, 'block_id');
  const actionId = textOf(element, 'action_id');
  return element === undefined || blockId === undefined || actionId === undefined
    ? undefined
    : { block, blockId, element, actionId };
}

/** Identifies an element of a view as long as its input is kept. */
export function inputKey({ blockId, actionId, element }: PlacedElement): string {
  return [blockId, actionId, textOf(element, 'type')].join(' ');
}

export function inputsOf(view: View): PlacedElement[] {
  return view.blocks.flatMap((block) => {
    const found =
      textOf(block, 'type') === 'input'
        ? locateElement(block, isObject(block['element']) ? block['element'] : undefined)
        : undefined;
    return found === undefined ? [] : [found];
  });
}

/** The value of an element in Slack's state: a text, an option's value, several values, or none. */
export function stateValue(values: StateValues, { blockId, actionId }: PlacedElement): InputValue {
  const state = values[blockId]?.[actionId];
  if (state === undefined) return null;
  const option = state['selected_option'];
  if (isObject(option)) return textOf(option, 'value') ?? null;
  if (Array.isArray(state['selected_options'])) return valuesOf(objectsOf(state, 'selected_options'));
  if (Array.isArray(state['selected_users'])) {
    return state['selected_users'].filter((id) => typeof id === 'string');
  }
  if (Array.isArray(state['files'])) return objectsOf(state, 'files').map((file) => textOf(file, 'id') ?? '');
  return (
    textOf(state, 'selected_conversation') ?? textOf(state, 'selected_user') ?? textOf(state, 'value') ?? null
  );
}

function valuesOf(options: readonly JsonObject[]): string[] {
  return options.map((option) => textOf(option, 'value') ?? '');
}

export type Workspace = Pick<Snapshot, 'users' | 'channels'>;

export interface Option {
  value: string;
  text: string;
}

/** The element's own options. */
export function optionsOf(element: JsonObject): Option[] {
  return objectsOf(element, 'options').map((option) => ({
    value: textOf(option, 'value') ?? '',
    text: wordsOf(option, 'text'),
  }));
}

/** The options to choose from: the element's own, or those of the workspace. */
export function choicesOf(element: JsonObject, { users, channels }: Workspace): Option[] {
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
