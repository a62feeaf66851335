import { elementsOf } from './blocks.ts';
import { objectsOf, textOf } from './problems.ts';
import type { InputValue, Json, JsonObject, StateValues } from './protocol.ts';

export interface PlacedElement {
  block: JsonObject;
  blockId: string;
  element: JsonObject;
  actionId: string;
}

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
const STATE_RULES: Readonly<Record<string, StateRule>> = {
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

function hasSeveralValues({ shape }: StateRule): boolean {
  return shape === 'options' || shape === 'ids' || shape === 'files';
}

function findRule(element: JsonObject): StateRule | undefined {
  const type = textOf(element, 'type') ?? '';
  return Object.hasOwn(STATE_RULES, type) ? STATE_RULES[type] : undefined;
}

export function initialValues(blocks: JsonObject[]): StateValues {
  const values: StateValues = {};
  for (const { blockId, element, actionId } of placedElements(blocks)) {
    const rule = findRule(element);
    // Slack doesn't keep the choice in an overflow menu.
    if (!rule || element['type'] === 'overflow') continue;
    const initialValue = element[rule.initial] ?? (hasSeveralValues(rule) ? [] : null);
    values[blockId] = {
      ...values[blockId],
      [actionId]: { type: textOf(element, 'type') ?? '', [rule.field]: initialValue },
    };
  }
  return values;
}

/** Keeps a person's input if block, action and element type are still the same. */
export function keepValues(fresh: StateValues, previous: StateValues): StateValues {
  const values: StateValues = {};
  for (const [blockId, actions] of Object.entries(fresh)) {
    values[blockId] = {};
    for (const [actionId, value] of Object.entries(actions)) {
      const old = previous[blockId]?.[actionId];
      values[blockId][actionId] = old && old['type'] === value['type'] ? old : value;
    }
  }
  return values;
}

/**
 * The state after a person has filled in an element.
 * @throws Error if the element doesn't offer the value; lists the values it offers
 */
export function buildElementState(
  placed: PlacedElement,
  input: InputValue,
  fileOf: (id: string) => JsonObject = (id) => ({ id }),
): JsonObject {
  const { element, actionId } = placed;
  const rule = findRule(element);
  const type = textOf(element, 'type') ?? '';
  if (!rule) throw new Error(`the element ${actionId} (${type}) takes no value`);
  const inputs = input === null ? [] : Array.isArray(input) ? input : [input];
  const toStateValue = (value: string): Json => {
    if (rule.shape === 'files') return fileOf(value);
    if (rule.shape !== 'option' && rule.shape !== 'options') return value;
    const options = objectsOf(element, 'options');
    const option = options.find((candidate) => textOf(candidate, 'value') === value);
    if (option) return option;
    const offered = options.map((candidate) => textOf(candidate, 'value'));
    throw new Error(`${actionId} has no option ${JSON.stringify(value)}; it offers ${offered.join(', ')}`);
  };
  if (hasSeveralValues(rule)) return { type, [rule.field]: inputs.map(toStateValue) };
  const [first] = inputs;
  // An empty text input counts as not filled in.
  return { type, [rule.field]: first === undefined || first === '' ? null : toStateValue(first) };
}

/**
 * Errors that Slack itself shows before it asks the app, by block id: empty required inputs, invalid numbers and
 * invalid URLs.
 */
export function findInputErrors(blocks: JsonObject[], values: StateValues): Record<string, string> {
  const errors: Record<string, string> = {};
  for (const { block, blockId, element, actionId } of placedElements(blocks)) {
    if (block['type'] !== 'input') continue;
    const rule = findRule(element);
    const value = rule && values[blockId]?.[actionId]?.[rule.field];
    const isEmpty = value === undefined || value === null || (Array.isArray(value) && value.length === 0);
    const requiredError = block['optional'] === true ? undefined : 'Please complete this required field.';
    const error = isEmpty ? requiredError : typeof value === 'string' ? textError(element, value) : undefined;
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
  const min = textOf(element, 'min_value');
  const max = textOf(element, 'max_value');
  if (min !== undefined && Number(value) < Number(min)) {
    return `Please enter a number that is ${min} or more.`;
  }
  return max !== undefined && Number(value) > Number(max)
    ? `Please enter a number that is ${max} or less.`
    : undefined;
}

/** The entry in `actions` of a `block_actions` payload. */
export function buildActionEntry(
  placed: PlacedElement,
  value: JsonObject | undefined,
  at: string,
): JsonObject {
  const { element, blockId, actionId } = placed;
  const entry: JsonObject = {
    type: element['type'] ?? '',
    action_id: actionId,
    block_id: blockId,
    action_ts: at,
  };
  for (const field of ['text', 'value', 'style', 'placeholder']) {
    const fieldValue = element[field];
    if (fieldValue !== undefined && fieldValue !== null) entry[field] = fieldValue;
  }
  return { ...entry, ...value };
}
