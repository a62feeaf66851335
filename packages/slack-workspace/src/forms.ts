import { elementsOf } from './blocks.ts';
import { getObjects, getString } from './problems.ts';
import type { InputValue, Json, JsonObject, StateValues } from './protocol.ts';

export interface PlacedElement {
  block: JsonObject;
  blockId: string;
  element: JsonObject;
  actionId: string;
}

export function findPlacedElements(blocks: JsonObject[]): PlacedElement[] {
  return blocks.flatMap((block) =>
    elementsOf(block).flatMap((element) => {
      const blockId = getString(block, 'block_id');
      const actionId = getString(element, 'action_id');
      return blockId === undefined || actionId === undefined ? [] : [{ block, blockId, element, actionId }];
    }),
  );
}

interface StateRule {
  shape: 'text' | 'option' | 'options' | 'id' | 'ids' | 'files';
  /** The field of the state that has the value. */
  stateField: string;
  /** The field of the element that has the initial value. */
  initialField: string;
}

const TEXT_RULE: StateRule = { shape: 'text', stateField: 'value', initialField: 'initial_value' };
const OPTION_RULE: StateRule = {
  shape: 'option',
  stateField: 'selected_option',
  initialField: 'initial_option',
};
const OPTIONS_RULE: StateRule = {
  shape: 'options',
  stateField: 'selected_options',
  initialField: 'initial_options',
};

/** How a view's state represents the value of an element, by type (docs.slack.dev, view interaction payloads). */
const STATE_RULES: Readonly<Record<string, StateRule>> = {
  plain_text_input: TEXT_RULE,
  number_input: TEXT_RULE,
  email_text_input: TEXT_RULE,
  static_select: OPTION_RULE,
  overflow: OPTION_RULE,
  checkboxes: OPTIONS_RULE,
  multi_static_select: OPTIONS_RULE,
  multi_users_select: { shape: 'ids', stateField: 'selected_users', initialField: 'initial_users' },
  file_input: { shape: 'files', stateField: 'files', initialField: '' },
  users_select: { shape: 'id', stateField: 'selected_user', initialField: 'initial_user' },
  conversations_select: {
    shape: 'id',
    stateField: 'selected_conversation',
    initialField: 'initial_conversation',
  },
};

function hasSeveralValues({ shape }: StateRule): boolean {
  return shape === 'options' || shape === 'ids' || shape === 'files';
}

function findStateRule(element: JsonObject): StateRule | undefined {
  const type = getString(element, 'type') ?? '';
  return Object.hasOwn(STATE_RULES, type) ? STATE_RULES[type] : undefined;
}

export function getInitialValues(blocks: JsonObject[]): StateValues {
  const values: StateValues = {};
  for (const { blockId, element, actionId } of findPlacedElements(blocks)) {
    const rule = findStateRule(element);
    // Slack doesn't keep the choice in an overflow menu.
    if (!rule || element['type'] === 'overflow') continue;
    const initialValue = element[rule.initialField] ?? (hasSeveralValues(rule) ? [] : null);
    values[blockId] = {
      ...values[blockId],
      [actionId]: { type: getString(element, 'type') ?? '', [rule.stateField]: initialValue },
    };
  }
  return values;
}

/** Keeps a person's input if its block id, action id and element type haven't changed. */
export function keepEnteredValues(newValues: StateValues, previousValues: StateValues): StateValues {
  const values: StateValues = {};
  for (const [blockId, actions] of Object.entries(newValues)) {
    values[blockId] = {};
    for (const [actionId, value] of Object.entries(actions)) {
      const previousValue = previousValues[blockId]?.[actionId];
      values[blockId][actionId] =
        previousValue && previousValue['type'] === value['type'] ? previousValue : value;
    }
  }
  return values;
}

/**
 * The state after a person has filled in an element.
 * @throws Error if the element doesn't offer the value
 */
export function buildElementState(
  placedElement: PlacedElement,
  input: InputValue,
  toFilePayload: (id: string) => JsonObject = (id) => ({ id }),
): JsonObject {
  const { element, actionId } = placedElement;
  const rule = findStateRule(element);
  const type = getString(element, 'type') ?? '';
  if (!rule) throw new Error(`the element ${actionId} (${type}) takes no value`);
  const inputs = input === null ? [] : Array.isArray(input) ? input : [input];
  const toStateValue = (value: string): Json => {
    if (rule.shape === 'files') return toFilePayload(value);
    if (rule.shape !== 'option' && rule.shape !== 'options') return value;
    const options = getObjects(element, 'options');
    const option = options.find((candidate) => getString(candidate, 'value') === value);
    if (option) return option;
    const offeredValues = options.map((candidate) => getString(candidate, 'value'));
    throw new Error(
      `${actionId} has no option ${JSON.stringify(value)}; it offers ${offeredValues.join(', ')}`,
    );
  };
  if (hasSeveralValues(rule)) return { type, [rule.stateField]: inputs.map(toStateValue) };
  const [firstInput] = inputs;
  // An empty text input counts as not filled in.
  return {
    type,
    [rule.stateField]: firstInput === undefined || firstInput === '' ? null : toStateValue(firstInput),
  };
}

/**
 * Errors that Slack itself shows instead of sending the submission, by block id: empty required inputs, invalid
 * numbers and invalid email addresses.
 */
export function findInputErrors(blocks: JsonObject[], values: StateValues): Record<string, string> {
  const errors: Record<string, string> = {};
  for (const { block, blockId, element, actionId } of findPlacedElements(blocks)) {
    if (block['type'] !== 'input') continue;
    const rule = findStateRule(element);
    const value = rule && values[blockId]?.[actionId]?.[rule.stateField];
    const isEmpty = value === undefined || value === null || (Array.isArray(value) && value.length === 0);
    const requiredError = block['optional'] === true ? undefined : 'Please complete this required field.';
    const error = isEmpty
      ? requiredError
      : typeof value === 'string'
        ? findTextError(element, value)
        : undefined;
    if (error !== undefined) errors[blockId] = error;
  }
  return errors;
}

function findTextError(element: JsonObject, value: string): string | undefined {
  switch (element['type']) {
    case 'number_input':
      return findNumberError(element, value);
    case 'email_text_input':
      return /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(value) ? undefined : 'Please enter a valid email address.';
    default:
      return undefined;
  }
}

function findNumberError(element: JsonObject, value: string): string | undefined {
  if (!/^-?\d+$/.test(value)) return 'Please enter a whole number.';
  const min = getString(element, 'min_value');
  const max = getString(element, 'max_value');
  if (min !== undefined && Number(value) < Number(min)) {
    return `Please enter a number that is ${min} or more.`;
  }
  return max !== undefined && Number(value) > Number(max)
    ? `Please enter a number that is ${max} or less.`
    : undefined;
}

/** An entry of `actions` in a `block_actions` payload. */
export function buildActionEntry(
  placedElement: PlacedElement,
  elementState: JsonObject | undefined,
  actionTs: string,
): JsonObject {
  const { element, blockId, actionId } = placedElement;
  const entry: JsonObject = {
    type: element['type'] ?? '',
    action_id: actionId,
    block_id: blockId,
    action_ts: actionTs,
  };
  for (const field of ['text', 'value', 'style', 'placeholder']) {
    const fieldValue = element[field];
    if (fieldValue !== undefined && fieldValue !== null) entry[field] = fieldValue;
  }
  return { ...entry, ...elementState };
}
