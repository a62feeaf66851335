import { LIMITS } from './limits.ts';
import { type Checker, isObject, objectsOf, textOf } from './problems.ts';
import type { JsonObject } from './protocol.ts';

/** Where an element stands; decides which types Slack allows there. */
export type Place = 'actions' | 'accessory' | 'input' | 'card';

const CHOICES = ['checkboxes', 'radio_buttons', 'datepicker', 'timepicker'];
const SINGLE_SELECTS = [
  'static_select',
  'external_select',
  'users_select',
  'conversations_select',
  'channels_select',
];
const SELECTS = [...SINGLE_SELECTS, ...SINGLE_SELECTS.map((type) => `multi_${type}`)];

const ALLOWED: Record<Place, readonly string[]> = {
  actions: [
    'button',
    'overflow',
    'datetimepicker',
    'workflow_button',
    'rich_text_input',
    ...CHOICES,
    ...SELECTS,
  ],
  accessory: ['button', 'overflow', 'image', 'workflow_button', ...CHOICES, ...SELECTS],
  input: [
    'plain_text_input',
    'number_input',
    'email_text_input',
    'url_text_input',
    'rich_text_input',
    'file_input',
    'datetimepicker',
    ...CHOICES,
    ...SELECTS,
  ],
  card: ['button'],
};

const COMMON = ['type', 'action_id'];
const PICKER = [...COMMON, 'confirm', 'focus_on_load'];
const TYPED = [...COMMON, 'placeholder', 'initial_value', 'focus_on_load', 'dispatch_action_config'];
const SELECT = [...PICKER, 'placeholder'];

/** Fields by type; a type that is not here is checked by what all elements share. */
const FIELDS: Record<string, readonly string[]> = {
  button: [...COMMON, 'text', 'url', 'value', 'style', 'confirm', 'accessibility_label'],
  overflow: [...COMMON, 'options', 'confirm'],
  checkboxes: [...PICKER, 'options', 'initial_options'],
  radio_buttons: [...PICKER, 'options', 'initial_option'],
  datepicker: [...SELECT, 'initial_date'],
  timepicker: [...SELECT, 'initial_time', 'timezone'],
  datetimepicker: [...PICKER, 'initial_date_time'],
  plain_text_input: [...TYPED, 'multiline', 'min_length', 'max_length'],
  number_input: [...TYPED, 'is_decimal_allowed', 'min_value', 'max_value'],
  email_text_input: TYPED,
  url_text_input: TYPED,
  static_select: [...SELECT, 'options', 'option_groups', 'initial_option'],
  multi_static_select: [...SELECT, 'options', 'option_groups', 'initial_options', 'max_selected_items'],
  users_select: [...SELECT, 'initial_user'],
  multi_users_select: [...SELECT, 'initial_users', 'max_selected_items'],
  channels_select: [...SELECT, 'initial_channel', 'response_url_enabled'],
  multi_channels_select: [...SELECT, 'initial_channels', 'max_selected_items'],
  conversations_select: [
    ...SELECT,
    'initial_conversation',
    'default_to_current_conversation',
    'response_url_enabled',
    'filter',
  ],
  multi_conversations_select: [
    ...SELECT,
    'initial_conversations',
    'default_to_current_conversation',
    'max_selected_items',
    'filter',
  ],
  external_select: [...SELECT, 'initial_option', 'min_query_length'],
  multi_external_select: [...SELECT, 'initial_options', 'min_query_length', 'max_selected_items'],
  image: ['type', 'alt_text', 'image_url', 'slack_file'],
};

/** Checks one block element against the reference of block elements. */
export function checkElement(check: Checker, element: JsonObject, pointer: string, place: Place): void {
  const type = textOf(element, 'type');
  if (type === undefined || !ALLOWED[place].includes(type)) {
    check.add(`unsupported type: ${type ?? '(none)'}`, `${pointer}/type`);
    return;
  }
  if (type === 'image') {
    checkImage(check, element, pointer);
    return;
  }
  const fields = FIELDS[type];
  if (fields) check.onlyFields(element, fields, pointer);
  check.string(element, 'action_id', pointer, { min: 1, max: LIMITS.element.actionId });
  check.text(element, 'placeholder', pointer, { max: LIMITS.element.placeholder, plain: true });
  check.boolean(element, 'focus_on_load', pointer);
  const confirm = check.child(element, 'confirm', pointer);
  if (confirm) checkConfirm(check, confirm, `${pointer}/confirm`);
  if (type === 'button') checkButton(check, element, pointer);
  else if (type.endsWith('static_select')) checkStaticSelect(check, element, pointer);
  else if (type === 'checkboxes' || type === 'radio_buttons') {
    checkOptions(check, element, 'options', pointer, LIMITS.choices.options, {
      required: true,
      plain: false,
    });
    checkInitial(check, element, pointer);
  } else if (type === 'overflow') {
    checkOptions(check, element, 'options', pointer, LIMITS.overflow.options, {
      required: true,
      plain: true,
    });
  } else if (type === 'plain_text_input' || type === 'email_text_input' || type === 'url_text_input') {
    checkTextInput(check, element, pointer);
  } else if (type === 'number_input') {
    if (typeof element['is_decimal_allowed'] !== 'boolean') {
      check.add('missing required field: is_decimal_allowed', pointer);
    }
    for (const field of ['initial_value', 'min_value', 'max_value'])
      check.string(element, field, pointer, {});
  } else if (type === 'datepicker') {
    const date = check.string(element, 'initial_date', pointer, {});
    if (date !== undefined && !/^\d{4}-\d{2}-\d{2}$/.test(date)) {
      check.add('must be a date of the form YYYY-MM-DD', `${pointer}/initial_date`);
    }
  }
}

/** An image, as element or block: exactly one source. */
export function checkImage(check: Checker, image: JsonObject, pointer: string): void {
  check.string(image, 'alt_text', pointer, { required: true, min: 1, max: LIMITS.image.alt });
  const url = check.string(image, 'image_url', pointer, { max: LIMITS.image.url });
  const file = check.child(image, 'slack_file', pointer);
  if ((url === undefined) === (file === undefined)) {
    check.add('must define exactly one of `image_url` and `slack_file`', pointer);
  }
}

function checkButton(check: Checker, button: JsonObject, pointer: string): void {
  const { text, value, url, accessibilityLabel } = LIMITS.button;
  check.text(button, 'text', pointer, { max: text, plain: true, required: true });
  check.string(button, 'value', pointer, { min: 1, max: value });
  check.string(button, 'url', pointer, { max: url });
  check.string(button, 'style', pointer, { oneOf: ['primary', 'danger'] });
  check.string(button, 'accessibility_label', pointer, { max: accessibilityLabel });
}

function checkConfirm(check: Checker, confirm: JsonObject, pointer: string): void {
  const { title, text, button } = LIMITS.confirm;
  check.onlyFields(confirm, ['title', 'text', 'confirm', 'deny', 'style'], pointer);
  check.text(confirm, 'title', pointer, { max: title, plain: true });
  check.text(confirm, 'text', pointer, { max: text, required: true });
  check.text(confirm, 'confirm', pointer, { max: button, plain: true });
  check.text(confirm, 'deny', pointer, { max: button, plain: true });
  check.string(confirm, 'style', pointer, { oneOf: ['primary', 'danger'] });
}

function checkTextInput(check: Checker, input: JsonObject, pointer: string): void {
  const { text } = LIMITS.textInput;
  check.string(input, 'initial_value', pointer, { max: text });
  check.boolean(input, 'multiline', pointer);
  check.integer(input, 'min_length', pointer, 0, text);
  check.integer(input, 'max_length', pointer, 1, text);
  const dispatch = check.child(input, 'dispatch_action_config', pointer);
  if (dispatch) check.onlyFields(dispatch, ['trigger_actions_on'], `${pointer}/dispatch_action_config`);
}

function checkStaticSelect(check: Checker, select: JsonObject, pointer: string): void {
  const { options, groups, groupLabel } = LIMITS.select;
  if (select['options'] !== undefined && select['option_groups'] !== undefined) {
    check.add('must define only one of `options` and `option_groups`', pointer);
  }
  if (select['option_groups'] === undefined) {
    checkOptions(check, select, 'options', pointer, options, { required: true, plain: true });
  } else {
    for (const { item, at } of check.objects(select, 'option_groups', pointer, { min: 1, max: groups })) {
      check.text(item, 'label', at, { max: groupLabel, plain: true, required: true });
      checkOptions(check, item, 'options', at, options, { required: true, plain: true });
    }
  }
  check.integer(select, 'max_selected_items', pointer, 1, Number.MAX_SAFE_INTEGER);
  checkInitial(check, select, pointer);
}

function checkOptions(
  check: Checker,
  owner: JsonObject,
  field: string,
  pointer: string,
  max: number,
  rule: { required: boolean; plain: boolean },
): void {
  const values = new Set<string>();
  for (const { item, at } of check.objects(owner, field, pointer, { min: 1, max, required: rule.required })) {
    check.onlyFields(item, ['text', 'value', 'description', 'url'], at);
    check.text(item, 'text', at, { max: LIMITS.option.text, plain: rule.plain, required: true });
    check.text(item, 'description', at, { max: LIMITS.option.description, plain: rule.plain });
    const value = check.string(item, 'value', at, { required: true, min: 1, max: LIMITS.option.value });
    if (value !== undefined && values.has(value)) check.add(`option values must be unique: ${value}`, at);
    if (value !== undefined) values.add(value);
  }
}

/** An initial option must be one of the options, word for word. */
function checkInitial(check: Checker, element: JsonObject, pointer: string): void {
  const known = new Set(optionsOf(element).map((option) => canonical(option)));
  const match = (option: JsonObject, at: string): void => {
    if (!known.has(canonical(option))) check.add('must exactly match one of the options', at);
  };
  const single = check.child(element, 'initial_option', pointer);
  if (single) match(single, `${pointer}/initial_option`);
  for (const { item, at } of check.objects(element, 'initial_options', pointer, { min: 1, max: 100 }))
    match(item, at);
}

function canonical(option: JsonObject): string {
  const text = isObject(option['text']) ? textOf(option['text'], 'text') : undefined;
  return JSON.stringify([option['value'], text]);
}

/** All options of an element, those inside groups included. */
export function optionsOf(element: JsonObject): JsonObject[] {
  const groups = objectsOf(element, 'option_groups');
  return groups.length > 0
    ? groups.flatMap((group) => objectsOf(group, 'options'))
    : objectsOf(element, 'options');
}
