import type { InputValue, StateValues, View } from '../src/protocol.ts';
import { isObject, type Json, type JsonObject, objectsOf, textOf, wordsOf } from './json.ts';

/*
 * What the inputs of views and messages hold.
 */

/** An interactive element with the ids of where it stands. */
export interface Placed {
  block: JsonObject;
  blockId: string;
  element: JsonObject;
  actionId: string;
}

/** The element with its ids, or undefined when it has none and so cannot be acted on. */
export function placed(block: JsonObject, element: JsonObject | undefined): Placed | undefined {
  const blockId = textOf(block, 'block_id');
  const actionId = textOf(element, 'action_id');
  return element === undefined || blockId === undefined || actionId === undefined
    ? undefined
    : { block, blockId, element, actionId };
}

/** Names an element of a view; the same as long as a person's input in it is kept. */
export function inputKey({ blockId, actionId, element }: Placed): string {
  return [blockId, actionId, textOf(element, 'type')].join(' ');
}

/** All inputs of a form, in their order. */
export function inputsOf(view: View): Placed[] {
  return view.blocks.flatMap((block) => {
    const found =
      textOf(block, 'type') === 'input'
        ? placed(block, isObject(block['element']) ? block['element'] : undefined)
        : undefined;
    return found === undefined ? [] : [found];
  });
}

const VALUE_FIELDS = [
  'value',
  'selected_date',
  'selected_time',
  'selected_user',
  'selected_channel',
  'selected_conversation',
  'selected_users',
  'selected_channels',
  'selected_conversations',
];

/** What an element holds by the state that Slack keeps: a text, an option's value, several, or nothing. */
export function stateValue(values: StateValues, { blockId, actionId }: Placed): InputValue {
  const state = values[blockId]?.[actionId];
  if (state === undefined) return null;
  const option = state['selected_option'];
  if (isObject(option)) return textOf(option, 'value') ?? null;
  if (Array.isArray(state['selected_options'])) return valuesOf(objectsOf(state, 'selected_options'));
  const moment = state['selected_date_time'];
  if (typeof moment === 'number') return String(moment);
  for (const field of VALUE_FIELDS) {
    const value: Json | undefined = state[field];
    if (typeof value === 'string') return value;
    if (Array.isArray(value)) return value.filter((item) => typeof item === 'string');
  }
  return null;
}

const INITIAL_FIELDS = [
  'initial_value',
  'initial_date',
  'initial_time',
  'initial_user',
  'initial_channel',
  'initial_conversation',
];

/** What an element of a message starts with; a message's state is not kept for the page. */
export function initialValue(element: JsonObject): InputValue {
  const option = element['initial_option'];
  if (isObject(option)) return textOf(option, 'value') ?? null;
  const options = objectsOf(element, 'initial_options');
  if (options.length > 0) return valuesOf(options);
  for (const field of INITIAL_FIELDS) {
    const value = textOf(element, field);
    if (value !== undefined) return value;
  }
  return null;
}

function valuesOf(options: readonly JsonObject[]): string[] {
  return options.map((option) => textOf(option, 'value') ?? '');
}

export interface Option {
  value: string;
  text: string;
  description: string;
}

/** The options of an element, grouped; without groups there is one that has no label. */
export function optionGroups(element: JsonObject): { label: string; options: Option[] }[] {
  const groups = objectsOf(element, 'option_groups');
  const read = (owner: JsonObject): Option[] =>
    objectsOf(owner, 'options').map((option) => ({
      value: textOf(option, 'value') ?? '',
      text: wordsOf(option, 'text'),
      description: wordsOf(option, 'description'),
    }));
  return groups.length > 0
    ? groups.map((group) => ({ label: wordsOf(group, 'label'), options: read(group) }))
    : [{ label: '', options: read(element) }];
}

/** When a text input tells the app: on Enter unless the app asks for each character. */
export function dispatchesOn(element: JsonObject): 'enter' | 'character' {
  const config = element['dispatch_action_config'];
  const triggers = isObject(config) ? config['trigger_actions_on'] : undefined;
  return Array.isArray(triggers) && triggers.includes('on_character_entered') ? 'character' : 'enter';
}
