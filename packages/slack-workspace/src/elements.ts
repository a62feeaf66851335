import { LIMITS } from './limits.ts';
import { type Checker, isObject, objectsOf, textOf } from './problems.ts';
import type { JsonObject } from './protocol.ts';

/** Determines which types of elements are allowed. */
export type Place = 'actions' | 'input' | 'section';

interface Kind {
  places: readonly Place[];
  fields: readonly string[];
  check(check: Checker, element: JsonObject, pointer: string): void;
}

const TYPED = ['placeholder', 'initial_value'];

/** Block elements that this workspace supports (docs.slack.dev, reference of block elements). */
const KINDS: Readonly<Record<string, Kind>> = {
  button: {
    places: ['actions', 'section'],
    fields: ['text', 'value', 'style', 'accessibility_label'],
    check: (check, button, at) => {
      const { text, value, accessibilityLabel } = LIMITS.button;
      check.text(button, 'text', at, { max: text, plain: true, required: true });
      check.string(button, 'value', at, { min: 1, max: value });
      check.string(button, 'style', at, { oneOf: ['primary', 'danger'] });
      check.string(button, 'accessibility_label', at, { max: accessibilityLabel });
    },
  },
  overflow: {
    places: ['actions', 'section'],
    fields: ['options'],
    check: (check, menu, at) => checkOptions(check, menu, at, LIMITS.overflow.options),
  },
  plain_text_input: {
    places: ['input'],
    fields: [...TYPED, 'multiline'],
    check: (check, input, at) => {
      check.string(input, 'initial_value', at, { max: LIMITS.textInput.text });
      check.boolean(input, 'multiline', at);
    },
  },
  number_input: {
    places: ['input'],
    fields: [...TYPED, 'is_decimal_allowed', 'min_value', 'max_value'],
    check: (check, input, at) => {
      const decimal = input['is_decimal_allowed'];
      if (typeof decimal !== 'boolean') check.add('missing required field: is_decimal_allowed', at);
      if (decimal === true) check.unsupported('decimal numbers', `${at}/is_decimal_allowed`);
      check.string(input, 'initial_value', at, {});
      check.string(input, 'min_value', at, { min: 1 });
      check.string(input, 'max_value', at, { min: 1 });
      const [least, initial, most] = ['min_value', 'initial_value', 'max_value'].map((field) =>
        typeof input[field] === 'string' ? Number(input[field]) : undefined,
      );
      if (initial !== undefined && initial < (least ?? -Infinity)) {
        check.add('must not be below `min_value`', `${at}/initial_value`);
      }
      if (initial !== undefined && initial > (most ?? Infinity)) {
        check.add('must not be above `max_value`', `${at}/initial_value`);
      }
    },
  },
  email_text_input: {
    places: ['input'],
    fields: TYPED,
    check: (check, input, at) => {
      check.string(input, 'initial_value', at, { max: LIMITS.textInput.text });
    },
  },
  static_select: {
    places: ['actions', 'input'],
    fields: ['placeholder', 'options', 'initial_option'],
    check: (check, select, at) => checkOptions(check, select, at, LIMITS.select.options),
  },
  multi_static_select: {
    places: ['input'],
    fields: ['placeholder', 'options', 'initial_options'],
    check: (check, select, at) => checkOptions(check, select, at, LIMITS.select.options),
  },
  multi_users_select: {
    places: ['input'],
    fields: ['placeholder', 'initial_users'],
    check: (check, select, at) => {
      const users = check.list(select, 'initial_users', at, { max: Number.MAX_SAFE_INTEGER });
      if (users.some((user) => typeof user !== 'string')) {
        check.add('must be ids of users', `${at}/initial_users`);
      }
    },
  },
  users_select: {
    places: ['input'],
    fields: ['placeholder', 'initial_user'],
    check: (check, select, at) => {
      check.string(select, 'initial_user', at, { min: 1 });
    },
  },
  conversations_select: {
    places: ['input'],
    fields: ['placeholder', 'initial_conversation', 'filter'],
    check: (check, select, at) => {
      check.string(select, 'initial_conversation', at, { min: 1 });
      const filter = check.child(select, 'filter', at);
      if (!filter) return;
      check.onlyFields(filter, ['include', 'exclude_bot_users'], `${at}/filter`);
      check.boolean(filter, 'exclude_bot_users', `${at}/filter`);
      const kinds = check.list(filter, 'include', `${at}/filter`, { min: 1, max: 4 });
      if (kinds.some((kind) => kind !== 'public' && kind !== 'private')) {
        check.unsupported('direct messages in a menu of conversations', `${at}/filter/include`);
      }
    },
  },
  file_input: {
    places: ['input'],
    fields: ['filetypes', 'max_files'],
    check: (check, input, at) => {
      check.integer(input, 'max_files', at, 1, 10);
      const types = check.list(input, 'filetypes', at, { max: Number.MAX_SAFE_INTEGER });
      if (types.some((type) => typeof type !== 'string')) check.add('must be file types', `${at}/filetypes`);
    },
  },
  checkboxes: {
    places: ['input'],
    fields: ['options', 'initial_options'],
    check: (check, boxes, at) => checkOptions(check, boxes, at, LIMITS.choices.options),
  },
};

/** Checks a block element: whether this workspace supports it, and Slack's limits. */
export function checkElement(check: Checker, element: JsonObject, pointer: string, place: Place): void {
  const type = textOf(element, 'type') ?? '';
  const kind = Object.hasOwn(KINDS, type) ? KINDS[type] : undefined;
  if (kind?.places.includes(place) !== true) {
    check.unsupported(`the element \`${type}\` in a block of the type \`${place}\``, `${pointer}/type`);
    return;
  }
  check.onlyFields(element, ['type', 'action_id', ...kind.fields], pointer);
  check.string(element, 'action_id', pointer, { min: 1, max: LIMITS.element.actionId });
  check.text(element, 'placeholder', pointer, { max: LIMITS.element.placeholder, plain: true });
  kind.check(check, element, pointer);
}

function checkOptions(check: Checker, owner: JsonObject, pointer: string, max: number): void {
  const values = new Set<string>();
  for (const { item, at } of check.objects(owner, 'options', pointer, { min: 1, max, required: true })) {
    check.onlyFields(item, ['text', 'value'], at);
    check.text(item, 'text', at, { max: LIMITS.option.text, plain: true, required: true });
    const value = check.string(item, 'value', at, { required: true, min: 1, max: LIMITS.option.value });
    if (value !== undefined && values.has(value)) check.add(`option values must be unique: ${value}`, at);
    if (value !== undefined) values.add(value);
  }
  checkInitial(check, owner, pointer);
}

/** An initial option must be exactly one of the options. */
function checkInitial(check: Checker, element: JsonObject, pointer: string): void {
  const known = new Set(objectsOf(element, 'options').map((option) => canonical(option)));
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
