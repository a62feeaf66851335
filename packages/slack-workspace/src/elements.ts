import { LIMITS } from './limits.ts';
import { type Checker, getObjects, getString, isObject } from './problems.ts';
import type { JsonObject } from './protocol.ts';

/** The type of the block that contains an element. */
export type ParentBlockType = 'actions' | 'input' | 'section';

interface ElementKind {
  blockTypes: readonly ParentBlockType[];
  fields: readonly string[];
  checkFields(check: Checker, element: JsonObject, pointer: string): void;
}

const TEXT_INPUT_FIELDS = ['placeholder', 'initial_value'];

/** Block elements that this workspace supports, by type (docs.slack.dev, block elements reference). */
const ELEMENT_KINDS: Readonly<Record<string, ElementKind>> = {
  button: {
    blockTypes: ['actions', 'section'],
    fields: ['text', 'value', 'style', 'accessibility_label'],
    checkFields: (check, button, pointer) => {
      const { text, value, accessibilityLabel } = LIMITS.button;
      check.text(button, 'text', pointer, { max: text, plain: true, required: true });
      check.string(button, 'value', pointer, { min: 1, max: value });
      check.string(button, 'style', pointer, { oneOf: ['primary', 'danger'] });
      check.string(button, 'accessibility_label', pointer, { max: accessibilityLabel });
    },
  },
  overflow: {
    blockTypes: ['actions', 'section'],
    fields: ['options'],
    checkFields: (check, menu, pointer) => checkOptions(check, menu, pointer, LIMITS.overflow.options),
  },
  plain_text_input: {
    blockTypes: ['input'],
    fields: [...TEXT_INPUT_FIELDS, 'multiline'],
    checkFields: (check, input, pointer) => {
      check.string(input, 'initial_value', pointer, { max: LIMITS.textInput.text });
      check.boolean(input, 'multiline', pointer);
    },
  },
  number_input: {
    blockTypes: ['input'],
    fields: [...TEXT_INPUT_FIELDS, 'is_decimal_allowed', 'min_value', 'max_value'],
    checkFields: (check, input, pointer) => {
      const isDecimalAllowed = input['is_decimal_allowed'];
      if (typeof isDecimalAllowed !== 'boolean')
        check.add('missing required field: is_decimal_allowed', pointer);
      if (isDecimalAllowed === true) check.addUnsupported('decimal numbers', `${pointer}/is_decimal_allowed`);
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
    blockTypes: ['input'],
    fields: TEXT_INPUT_FIELDS,
    checkFields: (check, input, pointer) => {
      check.string(input, 'initial_value', pointer, { max: LIMITS.textInput.text });
    },
  },
  static_select: {
    blockTypes: ['actions', 'input'],
    fields: ['placeholder', 'options', 'initial_option'],
    checkFields: (check, select, pointer) => checkOptions(check, select, pointer, LIMITS.select.options),
  },
  multi_static_select: {
    blockTypes: ['input'],
    fields: ['placeholder', 'options', 'initial_options'],
    checkFields: (check, select, pointer) => checkOptions(check, select, pointer, LIMITS.select.options),
  },
  multi_users_select: {
    blockTypes: ['input'],
    fields: ['placeholder', 'initial_users'],
    checkFields: (check, select, pointer) => {
      const users = check.list(select, 'initial_users', pointer, { max: Number.MAX_SAFE_INTEGER });
      if (users.some((user) => typeof user !== 'string')) {
        check.add('must be user ids', `${pointer}/initial_users`);
      }
    },
  },
  users_select: {
    blockTypes: ['input'],
    fields: ['placeholder', 'initial_user'],
    checkFields: (check, select, pointer) => {
      check.string(select, 'initial_user', pointer, { min: 1 });
    },
  },
  conversations_select: {
    blockTypes: ['input'],
    fields: ['placeholder', 'initial_conversation', 'filter'],
    checkFields: (check, select, pointer) => {
      check.string(select, 'initial_conversation', pointer, { min: 1 });
      const filter = check.child(select, 'filter', pointer);
      if (!filter) return;
      check.rejectUnknownFields(filter, ['include', 'exclude_bot_users'], `${pointer}/filter`);
      check.boolean(filter, 'exclude_bot_users', `${pointer}/filter`);
      const conversationTypes = check.list(filter, 'include', `${pointer}/filter`, { min: 1, max: 4 });
      if (
        conversationTypes.some(
          (conversationType) => conversationType !== 'public' && conversationType !== 'private',
        )
      ) {
        check.addUnsupported('direct messages in a conversations menu', `${pointer}/filter/include`);
      }
    },
  },
  file_input: {
    blockTypes: ['input'],
    fields: ['filetypes', 'max_files'],
    checkFields: (check, input, pointer) => {
      check.integer(input, 'max_files', pointer, 1, 10);
      const fileTypes = check.list(input, 'filetypes', pointer, { max: Number.MAX_SAFE_INTEGER });
      if (fileTypes.some((type) => typeof type !== 'string'))
        check.add('must be file types', `${pointer}/filetypes`);
    },
  },
  checkboxes: {
    blockTypes: ['input'],
    fields: ['options', 'initial_options'],
    checkFields: (check, boxes, pointer) => checkOptions(check, boxes, pointer, LIMITS.checkboxes.options),
  },
};

export function checkElement(
  check: Checker,
  element: JsonObject,
  pointer: string,
  blockType: ParentBlockType,
): void {
  const type = getString(element, 'type') ?? '';
  const kind = Object.hasOwn(ELEMENT_KINDS, type) ? ELEMENT_KINDS[type] : undefined;
  if (kind?.blockTypes.includes(blockType) !== true) {
    check.addUnsupported(
      `the element \`${type}\` in a block of the type \`${blockType}\``,
      `${pointer}/type`,
    );
    return;
  }
  check.rejectUnknownFields(element, ['type', 'action_id', ...kind.fields], pointer);
  check.string(element, 'action_id', pointer, { min: 1, max: LIMITS.element.actionId });
  check.text(element, 'placeholder', pointer, { max: LIMITS.element.placeholder, plain: true });
  kind.checkFields(check, element, pointer);
}

function checkOptions(check: Checker, element: JsonObject, pointer: string, max: number): void {
  const values = new Set<string>();
  for (const { item, pointer: itemPointer } of check.objects(element, 'options', pointer, {
    min: 1,
    max,
    required: true,
  })) {
    check.rejectUnknownFields(item, ['text', 'value'], itemPointer);
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
  checkInitialOptions(check, element, pointer);
}

/** An initial option must be exactly one of the options. */
function checkInitialOptions(check: Checker, element: JsonObject, pointer: string): void {
  const optionKeys = new Set(getObjects(element, 'options').map(toOptionKey));
  const checkInitialOption = (option: JsonObject, itemPointer: string): void => {
    if (!optionKeys.has(toOptionKey(option))) check.add('must exactly match one of the options', itemPointer);
  };
  const initialOption = check.child(element, 'initial_option', pointer);
  if (initialOption) checkInitialOption(initialOption, `${pointer}/initial_option`);
  for (const { item, pointer: itemPointer } of check.objects(element, 'initial_options', pointer, {
    min: 1,
    max: 100,
  }))
    checkInitialOption(item, itemPointer);
}

function toOptionKey(option: JsonObject): string {
  const text = isObject(option['text']) ? getString(option['text'], 'text') : undefined;
  return JSON.stringify([option['value'], text]);
}
