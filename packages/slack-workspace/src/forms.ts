import { elementsOf } from './blocks.ts';
import { optionsOf } from './elements.ts';
import { isObject, objectsOf, textOf } from './problems.ts';
import type { InputValue, Json, JsonObject, StateValues } from './protocol.ts';

/** An interactive element with the block that holds it. */
export interface Placed {
  block: JsonObject;
  blockId: string;
  element: JsonObject;
  actionId: string;
}

/** All interactive elements of a list of blocks whose ids are filled in. */
export function placedElements(blocks: JsonObject[]): Placed[] {
  return blocks.flatMap((block) =>
    elementsOf(block).flatMap((element) => {
      const blockId = textOf(block, 'block_id');
      const actionId = textOf(element, 'action_id');
      return blockId === undefined || actionId === undefined ? [] : [{ block, blockId, element, actionId }];
    }),
  );
}

type Shape = 'text' | 'option' | 'options' | 'plain' | 'plains' | 'number' | 'none';

interface StateRule {
  shape: Shape;
  /** Field of the state that carries the value. */
  field: string;
  /** Field of the element that carries the value it starts with. */
  initial: string;
}

const TEXT: StateRule = { shape: 'text', field: 'value', initial: 'initial_value' };
const OPTION: StateRule = { shape: 'option', field: 'selected_option', initial: 'initial_option' };
const OPTIONS: StateRule = { shape: 'options', field: 'selected_options', initial: 'initial_options' };

/** How the state of each stateful element looks (docs.slack.dev, view interaction payloads). */
const STATE: Record<string, StateRule> = {
  plain_text_input: TEXT,
  number_input: TEXT,
  email_text_input: TEXT,
  url_text_input: TEXT,
  static_select: OPTION,
  external_select: OPTION,
  radio_buttons: OPTION,
  checkboxes: OPTIONS,
  multi_static_select: OPTIONS,
  multi_external_select: OPTIONS,
  datepicker: { shape: 'plain', field: 'selected_date', initial: 'initial_date' },
  timepicker: { shape: 'plain', field: 'selected_time', initial: 'initial_time' },
  datetimepicker: { shape: 'number', field: 'selected_date_time', initial: 'initial_date_time' },
  users_select: { shape: 'plain', field: 'selected_user', initial: 'initial_user' },
  channels_select: { shape: 'plain', field: 'selected_channel', initial: 'initial_channel' },
  conversations_select: { shape: 'plain', field: 'selected_conversation', initial: 'initial_conversation' },
  multi_users_select: { shape: 'plains', field: 'selected_users', initial: 'initial_users' },
  multi_channels_select: { shape: 'plains', field: 'selected_channels', initial: 'initial_channels' },
  multi_conversations_select: {
    shape: 'plains',
    field: 'selected_conversations',
    initial: 'initial_conversations',
  },
};

function ruleOf(element: JsonObject): StateRule | undefined {
  const type = textOf(element, 'type') ?? '';
  return Object.hasOwn(STATE, type) ? STATE[type] : undefined;
}

const isList = (shape: Shape): boolean => shape === 'options' || shape === 'plains';

/** The state a form starts with: what each stateful element is given as its initial value. */
export function initialValues(blocks: JsonObject[]): StateValues {
  const values: StateValues = {};
  for (const { blockId, element, actionId } of placedElements(blocks)) {
    const rule = ruleOf(element);
    if (!rule) continue;
    const start = element[rule.initial] ?? (isList(rule.shape) ? [] : null);
    values[blockId] = {
      ...values[blockId],
      [actionId]: { type: textOf(element, 'type') ?? '', [rule.field]: start },
    };
  }
  return values;
}

/** Takes over what a person had filled in, where block, action and type of element stayed the same. */
export function keepValues(fresh: StateValues, before: StateValues): StateValues {
  const kept: StateValues = {};
  for (const [blockId, actions] of Object.entries(fresh)) {
    kept[blockId] = {};
    for (const [actionId, value] of Object.entries(actions)) {
      const old = before[blockId]?.[actionId];
      kept[blockId][actionId] = old && old['type'] === value['type'] ? old : value;
    }
  }
  return kept;
}

/**
 * The state after a person has put something into an element.
 *
 * @throws Error when the element does not offer it, naming what it offers.
 */
export function filled(placed: Placed, input: InputValue): JsonObject {
  const { element, actionId } = placed;
  const rule = ruleOf(element);
  const type = textOf(element, 'type') ?? '';
  if (!rule) throw new Error(`the element ${actionId} (${type}) takes no value`);
  const list = input === null ? [] : Array.isArray(input) ? input : [input];
  const pick = (value: string): Json => {
    if (rule.shape !== 'option' && rule.shape !== 'options')
      return rule.shape === 'number' ? Number(value) : value;
    const option = optionsOf(element).find((candidate) => textOf(candidate, 'value') === value);
    if (option) return option;
    const offered = optionsOf(element).map((candidate) => textOf(candidate, 'value'));
    throw new Error(`${actionId} has no option ${JSON.stringify(value)}; it offers ${offered.join(', ')}`);
  };
  if (isList(rule.shape)) return { type, [rule.field]: list.map(pick) };
  const [single] = list;
  // An empty text input counts as not filled in.
  return { type, [rule.field]: single === undefined || single === '' ? null : pick(single) };
}

/**
 * What Slack itself tells a person before it asks the app, by block id: required inputs that are empty, texts too
 * short or too long, numbers, addresses and links that are none.
 */
export function inputErrors(blocks: JsonObject[], values: StateValues): Record<string, string> {
  const errors: Record<string, string> = {};
  for (const { block, blockId, element, actionId } of placedElements(blocks)) {
    if (block['type'] !== 'input') continue;
    const rule = ruleOf(element);
    const value = rule && values[blockId]?.[actionId]?.[rule.field];
    const empty = value === undefined || value === null || (Array.isArray(value) && value.length === 0);
    const error = empty
      ? block['optional'] === true
        ? undefined
        : 'Please complete this required field.'
      : typeof value === 'string'
        ? textError(element, value)
        : listError(element, value);
    if (error !== undefined) errors[blockId] = error;
  }
  return errors;
}

function listError(element: JsonObject, value: Json): string | undefined {
  const max = element['max_selected_items'];
  if (!Array.isArray(value) || typeof max !== 'number' || value.length <= max) return undefined;
  return `Please select no more than ${max} items.`;
}

function textError(element: JsonObject, value: string): string | undefined {
  const { min_length: min, max_length: max } = element;
  if (typeof min === 'number' && value.length < min) return `Please enter at least ${min} characters.`;
  // Without `max_length` Slack takes texts far beyond the 3,000 characters that can be asked for as a limit.
  if (typeof max === 'number' && value.length > max) {
    return `Please enter no more than ${max} characters.`;
  }
  switch (element['type']) {
    case 'number_input':
      return numberError(element, value);
    case 'email_text_input':
      return /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(value) ? undefined : 'Please enter a valid email address.';
    case 'url_text_input':
      return URL.canParse(value) ? undefined : 'Please enter a valid URL.';
    default:
      return undefined;
  }
}

function numberError(element: JsonObject, value: string): string | undefined {
  const decimal = element['is_decimal_allowed'] === true;
  if (!(decimal ? /^-?\d+(\.\d+)?$/ : /^-?\d+$/).test(value)) {
    return decimal ? 'Please enter a number.' : 'Please enter a whole number.';
  }
  const min = textOf(element, 'min_value');
  const max = textOf(element, 'max_value');
  if (min !== undefined && Number(value) < Number(min)) return `Please enter a number of at least ${min}.`;
  if (max !== undefined && Number(value) > Number(max)) return `Please enter a number of at most ${max}.`;
  return undefined;
}

/** The entry of `actions` in a `block_actions` payload. */
export function actionEntry(placed: Placed, value: JsonObject | undefined, at: string): JsonObject {
  const { element, blockId, actionId } = placed;
  const entry: JsonObject = {
    type: element['type'] ?? '',
    action_id: actionId,
    block_id: blockId,
    action_ts: at,
  };
  for (const field of ['text', 'value', 'style', 'url', 'placeholder']) {
    const own = element[field];
    if (own !== undefined && own !== null) entry[field] = own;
  }
  return { ...entry, ...value };
}

/** The chosen entry of an overflow menu, which keeps no state. */
export function overflowChoice(placed: Placed, value: string): JsonObject {
  const option = objectsOf(placed.element, 'options').find(
    (candidate) => textOf(candidate, 'value') === value,
  );
  if (!option) throw new Error(`${placed.actionId} has no entry ${JSON.stringify(value)}`);
  return { selected_option: option };
}

/** Conversations chosen in menus that ask for a response URL, for `response_urls` of a submission. */
export function responseConversations(
  blocks: JsonObject[],
  values: StateValues,
): (Placed & { channel: string })[] {
  return placedElements(blocks).flatMap((placed) => {
    const value = values[placed.blockId]?.[placed.actionId];
    if (placed.element['response_url_enabled'] !== true || !isObject(value)) return [];
    const channel = textOf(value, 'selected_conversation') ?? textOf(value, 'selected_channel');
    return channel === undefined ? [] : [{ ...placed, channel }];
  });
}
