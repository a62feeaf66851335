import { elementsOf } from './blocks.ts';
import { objectsOf, textOf } from './problems.ts';
import type { InputValue, Json, JsonObject, StateValues } from './protocol.ts';

/** An interactive element and its block. */
export interface PlacedElement {
  block: JsonObject;
  blockId: string;
  element: JsonObject;
  actionId: string;
}

/** All interactive elements with ids. */
export function placedElements(blocks: JsonObject[]): PlacedElement[] {
  return blocks.flatMap((block) =>
    elementsOf(block).flatMap((element) => {
      const blockId = textOf(block, 'block_id');
      const actionId = textOf(element, 'action_id');
      return blockId === undefined || actionId === undefined ? [] : [{ block, blockId, element, actionId }];
    }),
  );
}

interface StateRule {
  /** A text, one or several options, one or several ids of something in the workspace, or files. */
  shape: 'text' | 'option' | 'options' | 'id' | 'ids' | 'files';
  /** The field of the state that has the value. */
  field: string;
  /** The field of the element that has the initial value. */
  initial: string;
}

const TEXT: StateRule = { shape: 'text', field: 'value', initial: 'initial_value' };
const OPTION: StateRule = { shape: 'option', field: 'selected_option', initial: 'initial_option' };
const OPTIONS: StateRule = { shape: 'options', field: 'selected_options', initial: 'initial_options' };

/** The state of each element that has one (docs.slack.dev, view interaction payloads). */
const STATE: Readonly<Record<string, StateRule>> = {
  plain_text_input: TEXT,
  number_input: TEXT,
  email_text_input: TEXT,
  static_select: OPTION,
  overflow: OPTION,
  checkboxes: OPTIONS,
  multi_static_select: OPTIONS,
  multi_users_select: { shape: 'ids', field: 'selected_users', initial: 'initial_users' },
  file_input: { shape: 'files', field: 'files', initial: '' },
  users_select: { shape: 'id', field: 'selected_user', initial: 'initial_user' },
  conversations_select: { shape: 'id', field: 'selected_conversation', initial: 'initial_conversation' },
};

function takesSeveral({ shape }: StateRule): boolean {
  return shape === 'options' || shape === 'ids' || shape === 'files';
}

function ruleOf(element: JsonObject): StateRule | undefined {
  const type = textOf(element, 'type') ?? '';
  return Object.hasOwn(STATE, type) ? STATE[type] : undefined;
}

/** The initial state of a form, from the initial values of its elements. */
export function initialValues(blocks: JsonObject[]): StateValues {
  const values: StateValues = {};
  for (const { blockId, element, actionId } of placedElements(blocks)) {
    const rule = ruleOf(element);
    // An overflow menu doesn't keep the choice.
    if (!rule || element['type'] === 'overflow') continue;
    const start = element[rule.initial] ?? (takesSeveral(rule) ? [] : null);
    values[blockId] = {
      ...values[blockId],
      [actionId]: { type: textOf(element, 'type') ?? '', [rule.field]: start },
    };
  }
  return values;
}

/** Keeps a person's input if block, action and element type are still the same. */
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
 * The state after a person has filled in an element.
 * @throws Error if the element doesn't offer the value; lists the values it offers
 */
export function filled(
  placed: PlacedElement,
  input: InputValue,
  fileOf: (id: string) => JsonObject = (id) => ({ id }),
): JsonObject {
  const { element, actionId } = placed;
  const rule = ruleOf(element);
  const type = textOf(element, 'type') ?? '';
  if (!rule) throw new Error(`the element ${actionId} (${type}) takes no value`);
  const list = input === null ? [] : Array.isArray(input) ? input : [input];
  const pick = (value: string): Json => {
    if (rule.shape === 'files') return fileOf(value);
    if (rule.shape !== 'option' && rule.shape !== 'options') return value;
    const options = objectsOf(element, 'options');
    const option = options.find((candidate) => textOf(candidate, 'value') === value);
    if (option) return option;
    const offered = options.map((candidate) => textOf(candidate, 'value'));
    throw new Error(`${actionId} has no option ${JSON.stringify(value)}; it offers ${offered.join(', ')}`);
  };
  if (takesSeveral(rule)) return { type, [rule.field]: list.map(pick) };
  const [single] = list;
  // An empty text input counts as not filled in.
  return { type, [rule.field]: single === undefined || single === '' ? null : pick(single) };
}

/**
 * Errors that Slack itself shows before it asks the app, by block id: empty required inputs, invalid numbers and
 * invalid URLs.
 */
export function inputErrors(blocks: JsonObject[], values: StateValues): Record<string, string> {
  const errors: Record<string, string> = {};
  for (const { block, blockId, element, actionId } of placedElements(blocks)) {
    if (block['type'] !== 'input') continue;
    const rule = ruleOf(element);
    const value = rule && values[blockId]?.[actionId]?.[rule.field];
    const empty = value === undefined || value === null || (Array.isArray(value) && value.length === 0);
    const required = block['optional'] === true ? undefined : 'Please complete this required field.';
    const error = empty ? required : typeof value === 'string' ? textError(element, value) : undefined;
    if (error !== undefined) errors[blockId] = error;
  }
  return errors;
}

function textError(element: JsonObject, value: string): string | undefined {
  switch (element['type']) {
    case 'number_input':
      return numberError(element, value);
    case 'email_text_input':
      return /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(value) ? undefined : 'Please enter a valid email address.';
    default:
      return undefined;
  }
}

function numberError(element: JsonObject, value: string): string | undefined {
  if (!/^-?\d+$/.test(value)) return 'Please enter a whole number.';
  const least = textOf(element, 'min_value');
  const most = textOf(element, 'max_value');
  if (least !== undefined && Number(value) < Number(least)) {
    return `Please enter a number that is ${least} or more.`;
  }
  return most !== undefined && Number(value) > Number(most)
    ? `Please enter a number that is ${most} or less.`
    : undefined;
}

/** The entry in `actions` of a `block_actions` payload. */
export function actionEntry(placed: PlacedElement, value: JsonObject | undefined, at: string): JsonObject {
  const { element, blockId, actionId } = placed;
  const entry: JsonObject = {
    type: element['type'] ?? '',
    action_id: actionId,
    block_id: blockId,
    action_ts: at,
  };
  for (const field of ['text', 'value', 'style', 'placeholder']) {
    const own = element[field];
    if (own !== undefined && own !== null) entry[field] = own;
  }
  return { ...entry, ...value };
}
