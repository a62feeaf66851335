import { LIMITS } from './limits.ts';
import { type Checker, isObject, objectsOf, textOf } from './problems.ts';
import type { JsonObject } from './protocol.ts';

/** Where an element is. Determines which types are allowed. */
export type Place = 'actions' | 'input' | 'section';

interface Kind {
  places: readonly Place[];
  fields: readonly string[];
  check(check: Checker, element: JsonObject, pointer: string): void;
}

const TEXT_INPUT_FIELDS = ['placeholder', 'initial_value'];

/** Block elements that this workspace supports (docs.slack.dev, reference of block elements). */
const KINDS: Readonly<Record<string, Kind>> = {
  button: {
    places: ['actions', 'section'],
    fields: ['text', 'value', 'style', 'accessibility_label'],
    check: (check, button, pointer) => {
      const { text, value, accessibilityLabel } = LIMITS.button;
      check.text(button, 'text', pointer, { max: text, plain: true, required: true });
      check.string(button, 'value', pointer, { min: 1, max: value });
      check.string(button, 'style', pointer, { oneOf: ['primary', 'danger'] });
      check.string(button, 'accessibility_label', pointer, { max: accessibilityLabel });
    },
  },
  overflow: {
    places: ['actions', 'section'],
    fields: ['options'],
    check: (check, menu, pointer) => checkOptions(check, menu, pointer, LIMITS.overflow.options),
  },
  plain_text_input: {
    places: ['input'],
    fields: [...TEXT_INPUT_FIELDS, 'multiline'],
    check: (check, input, pointer) => {
      check.string(input, 'initial_value', pointer, { max: LIMITS.textInput.text });
      check.boolean(input, 'multiline', pointer);
    },
  },
  number_input: {
    places: ['input'],
    fields: [...TEXT_INPUT_FIELDS, 'is_decimal_allowed', 'min_value', 'max_value'],
    check: (check, input, pointer) => {
      const decimal = input['is_decimal_allowed'];
      if (typeof decimal !== 'boolean') check.add('missing required field: is_decimal_allowed', pointer);
      if (decimal === true) check.addUnsupported('decimal numbers', `${pointer}/is_decimal_allowed`);
      check.string(input, 'initial_value', pointer, {});
      check.string(input, 'min_value', pointer, { min: 1 });
      check.string(input, 'max_value', pointer, { min: 1 });
      const [min, initial, max] = ['min_value', 'initial_value', 'max_value'].map((field) =>
        typeof input[field] === 'string' ? Number(input[field]) : undefined,
      );
      if (initial !== undefined && initial < (min ?? -Infinity)) {
        check.add('must not be below `min_value`', `${pointer}/initial_value`);
      }
      if (initial !== undefined && initial > (max ?? Infinity)) {
        check.add('must not be above `max_value`', `${pointer}/initial_value`);
      }
    },
  },
  email_text_input: {
    places: ['input'],
    fields: TEXT_INPUT_FIELDS,
    check: (check, input, pointer) => {
      check.string(input, 'initial_value', pointer, { max: LIMITS.textInput.text });
    },
  },
  static_select: {
    places: ['actions', 'input'],
    fields: ['placeholder', 'options', 'initial_option'],
    check: (check, select, pointer) => checkOptions(check, select, pointer, LIMITS.select.options),
  },
  multi_static_select: {
    places: ['input'],
    fields: ['placeholder', 'options', 'initial_options'],
    check: (check, select, pointer) => checkOptions(check, select, pointer, LIMITS.select.options),
  },
  multi_users_select: {
    places: ['input'],
    fields: ['placeholder', 'initial_users'],
    check: (check, select, pointer) => {
      const users = check.list(select, 'initial_users', pointer, { max: Number.MAX_SAFE_INTEGER });
      if (users.some((user) => typeof user !== 'string')) {
        check.add('must be ids of users', `${pointer}/initial_users`);
      }
    },
  },
  users_select: {
    places: ['input'],
    fields: ['placeholder', 'initial_user'],
    check: (check, select, pointer) => {
      check.string(select, 'initial_user', pointer, { min: 1 });
    },
  },
  conversations_select: {
    places: ['input'],
    fields: ['placeholder', 'initial_conversation', 'filter'],
    check: (check, select, pointer) => {
      check.string(select, 'initial_conversation', pointer, { min: 1 });
      const filter = check.child(select, 'filter', pointer);
      if (!filter) return;
      check.onlyFields(filter, ['include', 'exclude_bot_users'], `${pointer}/filter`);
      check.boolean(filter, 'exclude_bot_users', `${pointer}/filter`);
      const kinds = check.list(filter, 'include', `${pointer}/filter`, { min: 1, max: 4 });
      if (kinds.some((kind) => kind !== 'public' && kind !== 'private')) {
        check.addUnsupported('direct messages in a menu of conversations', `${pointer}/filter/include`);
      }
    },
  },
  file_input: {
    places: ['input'],
    fields: ['filetypes', 'max_files'],
    check: (check, input, pointer) => {
      check.integer(input, 'max_files', pointer, 1, 10);
      const types = check.list(input, 'filetypes', pointer, { max: Number.MAX_SAFE_INTEGER });
      if (types.some((type) => typeof type !== 'string'))
        check.add('must be file types', `${pointer}/filetypes`);
    },
  },
  checkboxes: {
    places: ['input'],
    fields: ['options', 'initial_options'],
    check: (check, boxes, pointer) => checkOptions(check, boxes, pointer, LIMITS.choices.options),
  },
};

export function checkElement(check: Checker, element: JsonObject, pointer: string, place: Place): void {
  const type = textOf(element, 'type') ?? '';
  const kind = Object.hasOwn(KINDS, type) ? KINDS[type] : undefined;
  if (kind?.places.includes(place) !== true) {
    check.addUnsupported(`the element \`${type}\` in a block of the type \`${place}\``, `${pointer}/type`);
    return;
  }
  check.onlyFields(element, ['type', 'action_id', ...kind.fields], pointer);
  check.string(element, 'action_id', pointer, { min: 1, max: LIMITS.element.actionId });
  check.text(element, 'placeholder', pointer, { max: LIMITS.element.placeholder, plain: true });
  kind.check(check, element, pointer);
}

function checkOptions(check: Checker, owner: JsonObject, pointer: string, max: number): void {
  const values = new Set<string>();
  for (const { item, pointer: itemPointer } of check.objects(owner, 'options', pointer, {
    min: 1,
    max,
    required: true,
  })) {
    check.onlyFields(item, ['text', 'value'], itemPointer);
    check.text(item, 'text', itemPointer, { max: LIMITS.option.text, plain: true, required: true });
    const value = check.string(item, 'value', itemPointer, {
      required: true,
      min: 1,
      max: LIMITS.option.value,
    });
    if (value !== undefined && values.has(value))
      check.add(`option values must be unique: ${value}`, itemPointer);
    if (value !== undefined) values.add(value);
  }
  checkInitialOptions(check, owner, pointer);
}

/** An initial option must be exactly one of the options. */
function checkInitialOptions(check: Checker, element: JsonObject, pointer: string): void {
  const options = new Set(objectsOf(element, 'options').map((option) => toComparable(option)));
  const requireOption = (option: JsonObject, itemPointer: string): void => {
    if (!options.has(toComparable(option))) check.add('must exactly match one of the options', itemPointer);
  };
  const initialOption = check.child(element, 'initial_option', pointer);
  if (initialOption) requireOption(initialOption, `${pointer}/initial_option`);
  for (const { item, pointer: itemPointer } of check.objects(element, 'initial_options', pointer, {
    min: 1,
    max: 100,
  }))
    requireOption(item, itemPointer);
}

function toComparable(option: JsonObject): string {
  const text = isObject(option['text']) ? textOf(option['text'], 'text') : undefined;
  return JSON.stringify([option['value'], text]);
}
