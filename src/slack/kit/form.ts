import { createHash } from 'node:crypto';
import type { InputBlock, KnownBlock, ModalView } from '@slack/types';
import { z } from 'zod';
import { cleanText } from '../../lib/entered-text.ts';
import {
  context,
  escapeText,
  LIMITS,
  type MenuOption,
  type Message,
  menuOptions,
  plainText,
  section,
  truncate,
} from './blocks.ts';
import { cleanReason } from './parse.ts';

/**
 * A form field, declared once for display, parsing and errors. Its name is the input's `block_id` and
 * `action_id`.
 */
export interface Field {
  /** The field's JSON name in the service API, if it has one. */
  readonly name: string;
  readonly label: string;
  readonly kind:
    | 'text'
    | 'lines'
    | 'number'
    | 'email'
    | 'choice'
    | 'checkboxes'
    | 'multi_select'
    | 'groups'
    | 'person'
    | 'people'
    | 'channel'
    | 'file'
    | 'secret';
  readonly hint?: string;
  readonly optional?: boolean;
  readonly placeholder?: string;
  /** For `choice`, `checkboxes` and `multi_select`. Those of `groups` are loaded when the form opens. */
  readonly options?: readonly MenuOption[];
  /** For `file`: accepted extensions. */
  readonly fileTypes?: readonly string[];
  /** For `number`. Slack checks it. */
  readonly range?: { readonly min: number; readonly max: number };
  /** Changing the field updates the form. */
  readonly refreshesForm?: boolean;
}

/** How a field is shown. Its schema determines whether it is optional. */
export interface FieldDisplay extends Omit<Field, 'name' | 'optional'> {
  /** The field is required although its schema accepts an empty value. */
  readonly isRequired?: boolean;
}

const DISPLAYS = new WeakMap<z.core.$ZodType, FieldDisplay>();

/**
 * Attaches a field's display to its schema. The schema receives the trimmed text, the list of choices or
 * lines, or undefined if the field is empty. Its issues are shown next to the field.
 */
export function field<Schema extends z.ZodType>(display: FieldDisplay, schema: Schema): Schema {
  // Fields with different displays may share a schema.
  const copy = schema.clone();
  DISPLAYS.set(copy, display);
  return copy;
}

/** For text that is validated after parsing, together with files or other fields. */
export const unvalidatedTextSchema = z.string().optional();
export const textOrEmptySchema = z.string().default('');
/** For lines that are validated after parsing. */
export const unvalidatedLinesSchema = z.array(z.string()).optional();
export const choicesSchema = z.array(z.string()).default([]);

/** A text field. Without a schema, its text is validated after parsing. */
export function textField(label: string, display?: Partial<FieldDisplay>): typeof unvalidatedTextSchema;
export function textField<Schema extends z.ZodType>(
  label: string,
  display: Partial<FieldDisplay>,
  schema: Schema,
): Schema;
export function textField(
  label: string,
  display: Partial<FieldDisplay> = {},
  schema: z.ZodType = unvalidatedTextSchema,
) {
  return field({ label, kind: 'text', ...display }, schema);
}

type ChoiceOptions = Readonly<Record<string, string>> | readonly string[];

export function toOptions(options: ChoiceOptions): readonly MenuOption[] {
  return Object.entries(options).map(([value, text]) => ({
    value: Array.isArray(options) ? text : value,
    text,
  }));
}

/** A menu, unless the display has another kind, such as checkboxes. */
export function choiceField<Schema extends z.ZodType>(
  label: string,
  options: ChoiceOptions,
  schema: Schema,
  display: Partial<FieldDisplay> = {},
): Schema {
  return field({ label, kind: 'choice', options: toOptions(options), ...display }, schema);
}

export const requiredTextSchema = z.string('Fill this in.');

const REASON_DISPLAY: FieldDisplay = { label: 'Reason', kind: 'text' };
const reasonSchema = z.string().transform(cleanReason).optional();
const requiredReasonSchema = z
  .string('Enter a reason.')
  .transform((text) => cleanReason(text) ?? '')
  .refine((text) => text !== '', 'Enter a reason.');

export function reasonField(hint: string, label = REASON_DISPLAY.label) {
  return field({ ...REASON_DISPLAY, label, hint }, reasonSchema);
}

/** The time is parsed in the requester's time zone when the order is requested. */
export const sendAtField = textField('Send at', {
  placeholder: '2026-12-06 02:00',
  hint: 'Day and time in your time zone, up to 90 days ahead. Leave empty to send it as soon as it’s approved.',
});

export function requiredReasonField(hint: string, label = REASON_DISPLAY.label) {
  return field({ ...REASON_DISPLAY, label, hint }, requiredReasonSchema);
}

export function toFields(formSchema: z.ZodObject): Field[] {
  return Object.entries(formSchema.shape).map(([name, schema]) => {
    const fieldDisplay = DISPLAYS.get(schema);
    if (fieldDisplay === undefined) throw new Error(`the field ${name} has no display`);
    const { isRequired = false, ...display } = fieldDisplay;
    const isOptional = !isRequired && z.safeParse(schema, undefined).success;
    return { name, ...display, ...(isOptional ? { optional: true } : {}) };
  });
}

export type FieldErrors = Readonly<Record<string, string>>;

/** @returns the parsed values, or all errors */
export function parseForm<FormSchema extends z.ZodObject>(
  formSchema: FormSchema,
  values: FormValues,
): { readonly value: z.output<FormSchema> } | { readonly errors: FieldErrors } {
  const inputs = Object.entries(formSchema.shape).map(([name, schema]) => [
    name,
    normalizeInput(DISPLAYS.get(schema)?.kind, values[name]),
  ]);
  const result = formSchema.safeParse(Object.fromEntries(inputs));
  return result.success
    ? { value: result.data }
    : { errors: joinErrors(result.error.issues.map(({ path, message }) => [String(path[0]), message])) };
}

const LIST_KINDS: ReadonlySet<Field['kind'] | undefined> = new Set([
  'lines',
  'multi_select',
  'checkboxes',
  'groups',
  'people',
]);

function normalizeInput(kind: Field['kind'] | undefined, value: string | readonly string[] | undefined) {
  if (LIST_KINDS.has(kind)) {
    const items = splitLines(typeof value === 'string' ? cleanText(value) : value?.map(cleanText));
    return items.length === 0 ? undefined : items;
  }
  // Spaces may be part of a password.
  const text = kind === 'secret' ? joinLines(value) : cleanText(joinLines(value) ?? '').trim();
  return text === '' ? undefined : text;
}

/** Returns the trimmed lines or choices, without blank ones. */
export function splitLines(value: string | readonly string[] | undefined): string[] {
  const lines = typeof value === 'string' ? value.split(/[\r\n]+/) : (value ?? []);
  return lines.map((line) => line.trim()).filter((line) => line !== '');
}

export function buildFieldErrors<Issue>(
  issues: Readonly<Partial<Record<string, Issue>>>,
  formatIssue: (issue: Issue) => string,
): FieldErrors {
  return Object.fromEntries(
    Object.entries(issues).flatMap(([field, issue]) =>
      issue === undefined ? [] : [[field, formatIssue(issue)]],
    ),
  );
}

export function joinErrors(
  errors: Iterable<readonly [field: string, error: string]>,
): Record<string, string> {
  const joinedErrors: Record<string, string> = {};
  for (const [field, error] of errors)
    joinedErrors[field] = joinedErrors[field] === undefined ? error : `${joinedErrors[field]} ${error}`;
  return joinedErrors;
}

export interface Form<Name extends string = string> {
  /** `callback_id` of the form. */
  readonly name: Name;
  readonly title: string;
  readonly submit: string;
  readonly fields: readonly Field[];
}

/** Values by field name. Lists have one string per item. */
export type FormValues = Readonly<Record<string, string | readonly string[]>>;

/** Stored in the view's `private_metadata`. Contains no secrets or input. */
export interface FormOrigin {
  readonly channelId: string;
  readonly threadTs?: string | undefined;
  /** The id of the order, or the name, that the form is about. */
  readonly subject?: string | undefined;
  readonly retryOf?: string | undefined;
  /** The account that was active when the form was opened. The input applies to this account. */
  readonly accountId?: string | undefined;
  /** Page of a paged view, starting at 1. */
  readonly page?: number | undefined;
}

export interface FormContent {
  readonly form: Form;
  readonly origin: FormOrigin;
  readonly values?: FormValues;
  /** Shown above the fields. */
  readonly intro?: readonly KnownBlock[];
  /** Shown above the fields, as mrkdwn, if the view can no longer show field errors. */
  readonly warnings?: readonly string[];
  /** Issues of initial values, by field. Slack shows field errors only after a submission. */
  readonly fieldWarnings?: Readonly<Record<string, string>>;
}

export function formView(content: FormContent): ModalView {
  const { form, origin, values = {}, intro = [], warnings = [], fieldWarnings = {} } = content;
  return {
    type: 'modal',
    callback_id: form.name,
    title: plainText(form.title, LIMITS.modalTitle),
    submit: plainText(form.submit, LIMITS.modalButton),
    close: plainText('Close', LIMITS.modalButton),
    private_metadata: JSON.stringify(origin),
    blocks: [
      ...(warnings.length === 0 ? [] : [section(`:warning: ${warnings.join('\n')}`)]),
      ...intro,
      ...form.fields.flatMap((field): KnownBlock[] => {
        const warning = fieldWarnings[field.name];
        return [
          ...(warning === undefined ? [] : [context(`:warning: *${field.label}*: ${escapeText(warning)}`)]),
          buildInput(field, values[field.name]),
        ];
      }),
    ],
  };
}

/** Returns only the sections, because modals don't support all blocks of messages. */
export function toSections({ blocks }: Message) {
  return blocks.filter((block) => block.type === 'section');
}

export function noticeView(title: string, blocks: readonly KnownBlock[]): ModalView {
  return {
    type: 'modal',
    title: plainText(title, LIMITS.modalTitle),
    close: plainText('Close', LIMITS.modalButton),
    blocks: [...blocks],
  };
}

/** Shows text to copy, without markup or escaping. */
export function preformattedBlock(text: string): KnownBlock {
  const parts = text.match(/[\s\S]{1,3000}/gu)?.slice(0, 20) ?? [];
  return {
    type: 'rich_text',
    elements: parts.map((part) => ({
      type: 'rich_text_preformatted',
      elements: [{ type: 'text', text: part }],
    })),
  };
}

function buildInput(field: Field, value: string | readonly string[] | undefined): InputBlock {
  return {
    type: 'input',
    block_id: field.name,
    label: plainText(field.label, LIMITS.inputLabel),
    element: buildElement(field, value),
    ...(field.hint === undefined ? {} : { hint: plainText(field.hint, LIMITS.inputHint) }),
    ...(field.optional === true ? { optional: true } : {}),
    ...(field.refreshesForm === true ? { dispatch_action: true } : {}),
  };
}

function buildElement(field: Field, value: string | readonly string[] | undefined): InputBlock['element'] {
  const text = joinLines(value);
  const initialText =
    text === undefined || text === '' ? {} : { initial_value: truncate(text, LIMITS.inputValue) };
  const sharedProperties = buildSharedProperties(field);
  switch (field.kind) {
    case 'text':
      return { type: 'plain_text_input', ...sharedProperties, ...initialText };
    case 'secret':
      // Secrets are never prefilled, so that they aren't shown again.
      return { type: 'plain_text_input', ...sharedProperties };
    case 'file':
      return {
        type: 'file_input',
        action_id: field.name,
        max_files: 1,
        ...(field.fileTypes === undefined ? {} : { filetypes: [...field.fileTypes] }),
      };
    case 'lines':
      return { type: 'plain_text_input', multiline: true, ...sharedProperties, ...initialText };
    case 'number':
      return {
        type: 'number_input',
        is_decimal_allowed: false,
        ...(field.range === undefined
          ? {}
          : { min_value: String(field.range.min), max_value: String(field.range.max) }),
        ...sharedProperties,
        ...(text !== undefined && /^-?\d+$/.test(text) ? initialText : {}),
      };
    case 'email':
      return { type: 'email_text_input', ...sharedProperties, ...initialText };
    case 'choice':
    case 'checkboxes':
    case 'multi_select':
    case 'groups':
      return buildMenu(field, value);
    case 'person':
    case 'people':
    case 'channel':
      return buildPicker(field, value);
  }
}

function buildSharedProperties({ name, placeholder }: Field) {
  return {
    action_id: name,
    ...(placeholder === undefined ? {} : { placeholder: plainText(placeholder, LIMITS.placeholder) }),
  };
}

function joinLines(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : value?.join('\n');
}

function splitList(value: string | readonly string[] | undefined): readonly string[] {
  return typeof value === 'string' ? value.split(/[\s,]+/) : (value ?? []);
}

function buildMenu(field: Field, value: string | readonly string[] | undefined): InputBlock['element'] {
  const sharedProperties = buildSharedProperties(field);
  const options = menuOptions(field.options ?? []);
  const selectedValues = splitList(value);
  if (field.kind === 'choice') {
    const initialOption = options.find((option) => option.value === joinLines(value));
    return {
      type: 'static_select',
      ...sharedProperties,
      options,
      ...(initialOption === undefined ? {} : { initial_option: initialOption }),
    };
  }
  const selectedOptions = options.filter(({ value: optionValue = '' }) =>
    selectedValues.includes(optionValue),
  );
  const initialOptions = selectedOptions.length === 0 ? {} : { initial_options: selectedOptions };
  return field.kind === 'checkboxes'
    ? { type: 'checkboxes', action_id: field.name, options, ...initialOptions }
    : { type: 'multi_static_select', ...sharedProperties, options, ...initialOptions };
}

function buildPicker(field: Field, value: string | readonly string[] | undefined): InputBlock['element'] {
  const sharedProperties = buildSharedProperties(field);
  const text = joinLines(value);
  const ids = splitList(value).filter((id) => id !== '');
  switch (field.kind) {
    case 'people':
      return {
        type: 'multi_users_select',
        ...sharedProperties,
        ...(ids.length === 0 ? {} : { initial_users: ids }),
      };
    case 'channel':
      return {
        type: 'conversations_select',
        ...sharedProperties,
        filter: { include: ['public', 'private'], exclude_bot_users: true },
        ...(text === undefined || text === '' ? {} : { initial_conversation: text }),
      };
    default:
      return {
        type: 'users_select',
        ...sharedProperties,
        ...(text === undefined || text === '' ? {} : { initial_user: text }),
      };
  }
}

/** Hashes a form's content, to detect concurrent edits. */
export function hashFormContent(content: unknown): string {
  return createHash('sha256').update(JSON.stringify(content)).digest('base64url').slice(0, 16);
}
