import { z } from 'zod';
import type { Account } from '../../accounts/account.ts';
import type { PresetKind } from '../../names/presets.ts';
import type { OrderTaskName, Ownership } from '../../orders/order.ts';
import { isSchedulable } from '../../orders/schedule.ts';
import { getOrderTask } from '../../orders/tasks.ts';
import type { AvailableInterfaces } from '../../service/interfaces.ts';
import { Secret } from '../../service/secret.ts';
import type { FormFeature, Interaction, SubmissionCall, SubmissionResult } from '../feature.ts';
import { context as contextBlock } from '../kit/blocks.ts';
import {
  choiceField,
  type Field,
  type FieldErrors,
  type FormContent,
  type FormOrigin,
  type FormValues,
  formView,
  parseForm,
  reasonField,
  sendAtField,
  splitLines,
  toFields,
  unvalidatedTextSchema,
} from '../kit/form.ts';
import { noteField, ownerField } from '../names/owner-fields.ts';
import { findOwnerIssue } from '../names/owners.ts';
import { ownersIssueText } from '../names/portfolio.view.ts';
import { accountChangedText, retryMessage } from './asking.view.ts';
import { type FieldError, issueText, notOfferedText, toFieldErrors } from './input-issue.view.ts';
import { formatXmlReason, interfaceNote } from './interface.view.ts';
import { buildOutcomeReply, findTimeErrors } from './order-reply.ts';
import { checkAccount, checkPolicy, requestOrderFromForm } from './ordering.ts';

/*
 * The form for ordering a task. It is prefilled from the command and the person's last order. Errors are shown next to
 * the fields after submission.
 */

const BOTH_INTERFACES: AvailableInterfaces = { json: true, xml: true };

interface OrderFormOptions {
  readonly task: OrderTaskName;
  /**
   * The form fields, given the interfaces that the account supports; `reason` and `send_at` are added. They accept any
   * input, because the task validates it.
   */
  readonly fields: z.ZodObject | ((available: AvailableInterfaces) => z.ZodObject);
  readonly interfaces?: {
    /** Features that only XML supports, as the beginning of a sentence. */
    readonly xmlFeatures?: string;
    /** Hint for choosing an interface if no other field determines it. */
    readonly choiceHint?: string;
  };
  /** Converts the entered values to the task's input, if they differ. */
  readonly toInput?: (enteredValues: Readonly<Record<string, unknown>>) => unknown;
  /** Defaults for fields that the command doesn't set. */
  readonly defaults?: (account: Account | undefined) => FormValues;
  /** Values to carry over from the person's last order for the task. */
  readonly reuseValues?: (lastValues: FormValues, values: FormValues) => FormValues;
  readonly reuseFromTasks?: readonly OrderTaskName[];
  readonly secretField?: SecretField;
  readonly presetKinds?: readonly PresetKind[];
  /** Asks who owns the name and why the team has it. */
  readonly hasOwnerFields?: true;
}

type ParsedSecret = { readonly secret: Secret | undefined } | { readonly error: string };

export interface SecretField {
  readonly name: string;
  /** Parses the input, which may be empty. Keeps surrounding spaces, because they may be part of a password. */
  readonly parse: (text: string) => ParsedSecret;
}

const MAX_SECRET_LENGTH = 1_000;

/** Accepts a single line, which may be empty. */
export function parseSecret(text: string): ParsedSecret {
  if (text === '') return { secret: undefined };
  if (text.length > MAX_SECRET_LENGTH)
    return { error: issueText({ field: '', code: 'text_too_long', max: MAX_SECRET_LENGTH }) };
  if (/[\p{Cc}\p{Cs}]/u.test(text)) return { error: issueText({ field: '', code: 'invisible_character' }) };
  return { secret: new Secret(text) };
}

/** Stored with the order, but never sent to the service. */
export const ownershipSchema = z.object({
  owner: ownerField({
    label: 'Owner on your team',
    hint: 'Before the name expires, I ask this person whether you still need it.',
  }),
  note: noteField({ label: 'Purpose', hint: 'Stored here, not sent to the service.' }),
});

/** Not part of the task's input. */
const reasonFormSchema = z.object({ reason: reasonField('Shown to the approvers.') });
const schedulableFormSchema = reasonFormSchema.extend({ send_at: sendAtField });

const getExtraFieldsSchema = (task: OrderTaskName) =>
  isSchedulable(task) ? schedulableFormSchema : reasonFormSchema;

/** Shown if the account supports both interfaces and no other field determines which one is used. */
function buildInterfaceField(hint: string) {
  return choiceField('Interface', { json: 'JSON', xml: 'XML' }, unvalidatedTextSchema, {
    hint,
    refreshesForm: true,
  });
}

/** The team's presets, if there are any. Choosing one fills in fields. The choice isn't part of the order. */
async function buildPresetFields({ context }: Interaction, kinds: readonly PresetKind[]): Promise<Field[]> {
  if (kinds.length === 0) return [];
  const presets = (await context.presets.list()).filter(({ kind }) => kinds.includes(kind));
  if (presets.length === 0) return [];
  return [
    {
      name: 'preset',
      label: 'Preset',
      kind: 'choice',
      optional: true,
      options: presets.map(({ id, name }) => ({ value: id, text: name })),
      hint: 'Fills the fields below. You can still edit them.',
      refreshesForm: true,
    },
  ];
}

/** The chosen interface, or all interfaces that the account supports. */
function selectInterfaces(
  available: AvailableInterfaces,
  { interface: chosenInterface }: FormValues,
): AvailableInterfaces {
  if (!available.json || !available.xml || (chosenInterface !== 'json' && chosenInterface !== 'xml'))
    return available;
  return { json: chosenInterface === 'json', xml: chosenInterface === 'xml' };
}

export function createOrderForm<const Task extends OrderTaskName>(
  options: OrderFormOptions & { readonly task: Task },
): FormFeature<Task> {
  const { words } = getOrderTask(options.task);
  const fields = buildFields(options, BOTH_INTERFACES, {});
  return {
    form: { name: options.task, title: words.title, submit: words.submitLabel, fields },
    checkAccess: async (interaction, values = {}) =>
      (await checkAccount(interaction, options.task)) ??
      (await checkPolicy(interaction, options.task, readTaskInput(options, values))),
    render: (interaction, origin, values) => render(options, interaction, origin, values),
    findFieldErrors: (values) => findPrefillErrors(options, values),
    submit: (call) => submit(options, call),
  };
}

function buildFieldsSchema(options: OrderFormOptions, available: AvailableInterfaces, values: FormValues) {
  const { fields, interfaces } = options;
  const schema = typeof fields === 'function' ? fields(selectInterfaces(available, values)) : fields;
  return interfaces?.choiceHint === undefined || !available.json || !available.xml
    ? schema
    : schema.extend({ interface: buildInterfaceField(interfaces.choiceHint) });
}

function buildFields(
  options: OrderFormOptions,
  available: AvailableInterfaces,
  values: FormValues,
): readonly Field[] {
  return [
    ...toFields(buildFieldsSchema(options, available, values)),
    ...(options.hasOwnerFields ? toFields(ownershipSchema) : []),
    ...toFields(getExtraFieldsSchema(options.task)),
  ];
}

/** The requester owns the name unless they choose another person. */
function buildDefaultValues(
  options: OrderFormOptions,
  { person }: Interaction,
  account: Account | undefined,
): FormValues {
  return { ...options.defaults?.(account), ...(options.hasOwnerFields && { owner: person.id }) };
}

function readTaskInput(options: OrderFormOptions, values: FormValues): unknown {
  const parsed = parseForm(buildFieldsSchema(options, BOTH_INTERFACES, {}), values);
  const parsedValues = 'errors' in parsed ? {} : parsed.value;
  const input = Object.fromEntries(
    Object.entries(parsedValues).filter(
      ([name, value]) => value !== undefined && name !== options.secretField?.name,
    ),
  );
  return options.toInput?.(input) ?? input;
}

function findAvailableInterfaces(
  { task }: OrderFormOptions,
  { context }: Interaction,
  account: Account | undefined,
): AvailableInterfaces {
  return account === undefined
    ? BOTH_INTERFACES
    : getOrderTask(task).getSupportedInterfaces(context.orders.listInterfaces(account));
}

async function render(
  options: OrderFormOptions,
  interaction: Interaction,
  origin: FormOrigin,
  values: FormValues,
): Promise<FormContent> {
  const { task, interfaces } = options;
  const { words, findConstraints } = getOrderTask(task);
  const account = await interaction.loadOrderAccount();
  const available = findAvailableInterfaces(options, interaction, account);
  const defaults = buildDefaultValues(options, interaction, account);
  const reusedValues = await loadReusedValues(interaction, account, options, values);
  const allValues = { ...defaults, ...reusedValues, ...values };
  const presetFields = await buildPresetFields(interaction, options.presetKinds ?? []);
  const [constraint] = findConstraints(readTaskInput(options, allValues)).xml;
  const xmlReason = constraint && formatXmlReason(constraint.kind);
  const fields = [...presetFields, ...buildFields(options, available, allValues)];
  return {
    form: { name: task, title: words.title, submit: words.submitLabel, fields },
    origin: account === undefined ? origin : { ...origin, accountId: account.id },
    values: allValues,
    ...(interfaces === undefined
      ? {}
      : { intro: [contextBlock(interfaceNote(account, available, xmlReason, interfaces.xmlFeatures))] }),
  };
}

/** Errors in the fields that are already filled in. */
function findPrefillErrors(options: OrderFormOptions, values: FormValues): Record<string, string> {
  const result = getOrderTask(options.task).check(readTaskInput(options, values));
  if (result.ok) return {};
  return joinErrorsByField(
    toFieldErrors(result.issues).filter(({ field }) => splitLines(values[field]).length > 0),
  );
}

async function submit(options: OrderFormOptions, call: SubmissionCall): Promise<SubmissionResult> {
  const account = await call.loadOrderAccount();
  const { accountId } = call.origin;
  if (account !== undefined && accountId !== undefined && account.id !== accountId) {
    // Values that were entered for one account must not be sent with another.
    const form = await render(options, call, call.origin, call.values);
    return { view: formView({ ...form, warnings: [accountChangedText(account)] }) };
  }
  const refusal = await checkAccount(call, options.task, account);
  if (refusal !== undefined) return { reply: refusal };
  const fields = buildFields(options, findAvailableInterfaces(options, call, account), call.values);
  // Fields that weren't submitted have their default values.
  const allValues = { ...buildDefaultValues(options, call, account), ...call.values };
  return submitValues(options, call, fields, pick(allValues, ...fields.map(({ name }) => name)));
}

async function submitValues(
  options: OrderFormOptions,
  call: SubmissionCall,
  fields: readonly Field[],
  values: FormValues,
): Promise<SubmissionResult> {
  const { secret, errors: secretErrors } = readSecretField(values, options.secretField);
  const errors = [...fields.flatMap((field) => findChoiceErrors(field, values)), ...secretErrors];
  if (errors.length > 0) {
    return { errors: joinErrorsByField([...errors, ...findRemainingErrors(options, values, errors)]) };
  }
  const extraFields = parseForm(schedulableFormSchema, values);
  if ('errors' in extraFields) return extraFields;
  const ownership = await readOwnership(options.hasOwnerFields === true, call, values);
  if ('errors' in ownership) return ownership;
  const outcome = await requestOrderFromForm(call, call.origin, {
    task: options.task,
    input: readTaskInput(options, values),
    reason: extraFields.value.reason,
    sendAt: extraFields.value.send_at,
    ...ownership,
    ...(secret === undefined ? {} : { secret }),
  });
  if (outcome.kind === 'invalid') return { errors: joinErrorsByField(toFieldErrors(outcome.issues)) };
  const timeErrors = findTimeErrors(outcome);
  if (timeErrors !== undefined) return timeErrors;
  const isRetry = call.origin.retryOf !== undefined && outcome.kind === 'accepted';
  return {
    reply: (await buildOutcomeReply(call, outcome)) ?? (isRetry ? retryMessage(outcome.order) : undefined),
  };
}

/** Reads the fields of {@link ownershipSchema}, if the task has them. */
export async function readOwnership(
  hasOwnerFields: boolean,
  { context }: Interaction,
  values: FormValues,
): Promise<{ readonly ownership?: Ownership } | { readonly errors: FieldErrors }> {
  if (!hasOwnerFields) return {};
  const parsed = parseForm(ownershipSchema, values);
  if ('errors' in parsed) return parsed;
  const { owner, note } = parsed.value;
  const issue = await findOwnerIssue(context, owner);
  return issue === undefined
    ? { ownership: { ...(owner && { owner }), ...(note && { note }) } }
    : { errors: { owner: ownersIssueText(issue) } };
}

/** Errors in the fields that have no known errors. */
function findRemainingErrors(
  options: OrderFormOptions,
  values: FormValues,
  knownErrors: readonly FieldError[],
): readonly FieldError[] {
  const result = getOrderTask(options.task).check(readTaskInput(options, values));
  const fieldsWithErrors = new Set(knownErrors.map(({ field }) => field));
  return result.ok ? [] : toFieldErrors(result.issues).filter(({ field }) => !fieldsWithErrors.has(field));
}

const MAX_ERRORS_PER_FIELD = 3;

/** Joins the first errors of each field into one text. */
export function joinErrorsByField(errors: readonly FieldError[]): Record<string, string> {
  const fields = [...new Set(errors.map(({ field }) => field))];
  return Object.fromEntries(
    fields.map((field) => {
      const texts = errors.filter((error) => error.field === field).map(({ text }) => text);
      const hiddenCount = texts.length - MAX_ERRORS_PER_FIELD;
      const endings = hiddenCount > 0 ? [`… and ${hiddenCount} more.`] : [];
      return [field, [...texts.slice(0, MAX_ERRORS_PER_FIELD), ...endings].join(' ')];
    }),
  );
}

/** Finds values that the menu doesn't offer for the account's interface. */
function findChoiceErrors(field: Field, values: FormValues): FieldError[] {
  if (field.kind !== 'choice') return [];
  const chosenValue = values[field.name];
  const isOffered = (field.options ?? []).some(({ value }) => value === chosenValue);
  const isEmpty = chosenValue === undefined || chosenValue === '';
  if (isOffered || (isEmpty && field.optional === true)) return [];
  return [{ field: field.name, text: notOfferedText(field.options ?? []) }];
}

function readSecretField(
  values: FormValues,
  field: SecretField | undefined,
): { readonly secret?: Secret | undefined; readonly errors: readonly FieldError[] } {
  if (field === undefined) return { errors: [] };
  const input = values[field.name];
  const parsed = field.parse(typeof input === 'string' ? input : '');
  return 'error' in parsed
    ? { errors: [{ field: field.name, text: parsed.error }] }
    : { secret: parsed.secret, errors: [] };
}

async function loadReusedValues(
  { context, person }: Interaction,
  account: Account | undefined,
  options: OrderFormOptions,
  values: FormValues,
): Promise<FormValues> {
  const { reuseValues } = options;
  if (reuseValues === undefined || account === undefined) return {};
  const tasks = options.reuseFromTasks ?? [options.task];
  const latestOrders = await Promise.all(
    tasks.map((task) => context.orders.store.findLatest(task, person.id, account.context)),
  );
  const [latestOrder] = latestOrders
    .filter((order) => order !== undefined)
    .sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime());
  return latestOrder === undefined ? {} : reuseValues(toFormValues(latestOrder.input), values);
}

/** Converts the input of an order to form values. Lists become lines; nested names are joined: `parent_user`. */
export function toFormValues(input: unknown): FormValues {
  if (typeof input !== 'object' || input === null) return {};
  const values: Record<string, string> = {};
  for (const [name, value] of Object.entries(input)) {
    if (Array.isArray(value)) values[name] = value.map(String).join('\n');
    else if (typeof value === 'string' || typeof value === 'number') values[name] = String(value);
    else {
      for (const [innerName, text] of Object.entries(toFormValues(value))) {
        if (typeof text === 'string') values[`${name}_${innerName}`] = text;
      }
    }
  }
  return values;
}

export function pick(values: FormValues, ...names: readonly string[]): FormValues {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = values[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
