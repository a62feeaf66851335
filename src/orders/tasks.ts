import { z } from 'zod';
import { type MandateTerms, mandateTermsSchema, toStatementTerms } from '../mandates/terms.ts';
import { InvalidInputError } from '../service/codec/codec-errors.ts';
import type { Interface } from '../service/task.ts';
import {
  domainAuthInfo,
  domainCreate,
  domainDelete,
  domainOwnerChange,
  domainRenew,
  domainRestore,
  domainTransfer,
  domainUpdateNameservers,
} from '../service/tasks/domain.ts';
import { redirectUpdate } from '../service/tasks/redirect.ts';
import { sslContactUpdate } from '../service/tasks/ssl-contact.ts';
import { userCreate } from '../service/tasks/user.ts';
import { checkNameServers, checkPeriod } from '../zones/rules.ts';
import type { ZoneProfile } from '../zones/zone.ts';
import { buildContactsNote, buildDaysNote } from '../zones/zone-tasks.ts';
import {
  contactIdSchema,
  contextNumberSchema,
  countryCodeSchema,
  domainNameSchema,
  emailSchema,
  hostNameSchema,
  languageCodeSchema,
  optionalNumberSchema,
  optionalText,
  phoneNumberSchema,
  requiredText,
  sslContactIdSchema,
  yearsSchema,
} from './fields.ts';
import type { InputIssue, limitIssueCodeSchema, PlainIssueCode } from './input-issue.ts';
import type { InterfaceConstraint } from './interface-constraint.ts';
import {
  findWaitingItems,
  getItemInput,
  ORDER_TASK_NAMES,
  type Order,
  type OrderItem,
  type OrderTaskName,
} from './order.ts';
import { defineOrderTask, type OrderTask } from './order-task.ts';
import { isWebAddress, parseRedirectSource } from './redirect-address.ts';
import type { PlainSummary } from './summary.ts';

/** Maximum number of names per order, so that the card stays readable. */
export const MAX_NAMES = 50;
const TOO_MANY_NAMES: z.output<typeof limitIssueCodeSchema> = 'too_many_names';

const registrationFields = {
  name: domainNameSchema,
  ownerc: contactIdSchema,
  adminc: contactIdSchema,
  techc: contactIdSchema,
  nameServers: z.array(hostNameSchema),
};

const singleNameSchema = z.object({ name: domainNameSchema });

function findNameServerIssues(
  { nameServers }: { readonly nameServers?: readonly string[] | undefined },
  [zone]: readonly ZoneProfile[],
): InputIssue[] {
  if (zone === undefined || nameServers === undefined) return [];
  return checkNameServers(zone, nameServers).map((issue) => ({
    field: 'nameServers',
    code: 'zone_issue',
    issue,
  }));
}

function toRegistrationWire(input: z.infer<z.ZodObject<typeof registrationFields>>) {
  return {
    name: input.name,
    ownerc: { id: input.ownerc },
    adminc: { id: input.adminc },
    techc: { id: input.techc },
    nameServers: input.nameServers.map((name) => ({ name })),
  };
}

function requireSecret<T>(secret: T | undefined): T {
  if (secret === undefined) throw new InvalidInputError('the order’s secret is missing');
  return secret;
}

const createTask = defineOrderTask({
  name: 'create',
  service: domainCreate,
  nameKind: 'host',
  risk: 'none',
  words: {
    verb: 'Register',
    pastTense: 'Registered',
    plural: 'registrations',
    title: 'Register a domain',
    summary: 'Register a new domain',
    submitLabel: 'Request',
  },
  zoneTask: {
    profileKey: 'create',
    activityLabel: 'Registering names',
    transferLockLabel: 'registration',
    isAlwaysChargeable: true,
    hasPremiumPrices: true,
    buildNotes: (zone) => [buildContactsNote(zone), buildDaysNote('locks_transfers', zone.transfer.lockDays)],
  },
  input: z.object({ ...registrationFields, confirmOrder: z.boolean().default(true) }),
  findIssues: findNameServerIssues,
  taskNotes: [{ code: 'sent_as_confirmed' }],
  toWire: (input) => ({ ...toRegistrationWire(input), confirmOrder: input.confirmOrder }),
});

const transferTask = defineOrderTask({
  name: 'transfer',
  service: domainTransfer,
  nameKind: 'host',
  risk: 'none',
  nextStep: 'transfer_period',
  words: {
    verb: 'Transfer',
    pastTense: 'Transferred',
    plural: 'transfers',
    title: 'Transfer a domain',
    summary: 'Transfer a domain from another registrar',
    submitLabel: 'Request',
  },
  zoneTask: {
    profileKey: 'transfer',
    activityLabel: 'Transfers',
    isAlwaysChargeable: true,
    buildNotes: (zone) => [
      buildContactsNote(zone),
      buildDaysNote('approved_automatically', zone.transfer.autoApproveDays),
      zone.transfer.includesRenewal === true ? { code: 'transfer_renews' } : undefined,
      zone.transfer.isAuthCodeRequired ? { code: 'auth_code_needed' } : undefined,
    ],
  },
  secretField: 'auth',
  input: z.object(registrationFields),
  findIssues: findNameServerIssues,
  toWire: (input, _name, secret) => ({ ...toRegistrationWire(input), auth: requireSecret(secret) }),
});

const renewTask = defineOrderTask({
  name: 'renew',
  service: domainRenew,
  nameKind: 'host',
  risk: 'none',
  words: {
    verb: 'Renew',
    pastTense: 'Renewed',
    plural: 'renewals',
    title: 'Renew domains',
    summary: 'Renew one or more domains, for 1 year or more',
    submitLabel: 'Request',
  },
  zoneTask: {
    profileKey: 'renew',
    activityLabel: 'Renewals',
    isAlwaysChargeable: true,
    hasPremiumPrices: true,
    buildNotes: () => [{ code: 'period_assumed_in_years' }],
  },
  nameField: 'names',
  input: z.object({
    names: z
      .array(domainNameSchema)
      .min(1, 'no_names' satisfies PlainIssueCode)
      .transform((names) => [...new Set(names)])
      .pipe(z.array(z.string()).max(MAX_NAMES, TOO_MANY_NAMES)),
    period: yearsSchema,
  }),
  findIssues: ({ period }, zones) =>
    period === undefined
      ? []
      : zones.flatMap((zone) =>
          checkPeriod(zone, period).map((issue) => ({ field: 'period', code: 'zone_issue', issue })),
        ),
  toWire: (input, name) => ({ name, period: input.period }),
  restrictInput: (input, names) => ({ ...input, names: [...names] }),
});

const restoreTask = defineOrderTask({
  name: 'restore',
  service: domainRestore,
  nameKind: 'host',
  risk: 'none',
  nextStep: 'manual_processing',
  words: {
    verb: 'Restore',
    pastTense: 'Restored',
    plural: 'restores',
    title: 'Restore a domain',
    summary: 'Restore a deleted domain in its redemption period',
    submitLabel: 'Request',
  },
  zoneTask: {
    profileKey: 'restore',
    activityLabel: 'Restoring deleted names',
    isAlwaysChargeable: true,
    buildNotes: ({ lifecycle }) => [buildDaysNote('restorable', lifecycle?.redemptionDays)],
  },
  input: singleNameSchema,
  toWire: (input) => input,
});

const deleteTask = defineOrderTask({
  name: 'delete',
  service: domainDelete,
  nameKind: 'host',
  risk: 'loses_name',
  words: {
    verb: 'Delete',
    pastTense: 'Deleted',
    plural: 'deletions',
    title: 'Delete a domain',
    summary: 'Delete a domain (asks for confirmation)',
    submitLabel: 'Continue',
    confirmLabel: 'Yes, delete it',
  },
  zoneTask: {
    profileKey: 'delete',
    activityLabel: 'Deleting names',
    buildNotes: ({ lifecycle }) => [
      { code: 'website_and_mail_stop' },
      lifecycle && {
        code: 'restorable_then_available',
        restorableDays: lifecycle.redemptionDays,
        pendingDeleteDays: lifecycle.pendingDeleteDays,
      },
    ],
  },
  needsConfirmation: true,
  input: singleNameSchema,
  toWire: (input) => input,
});

const ownerChangeTask = defineOrderTask({
  name: 'owner-change',
  service: domainOwnerChange,
  nameKind: 'host',
  risk: 'loses_name',
  nextStep: 'no_public_record',
  formNote: { code: 'new_owner_not_sent' },
  words: {
    verb: 'Start the owner change for',
    pastTense: 'Started the owner change for',
    plural: 'owner changes',
    title: 'Start an owner change',
    summary: 'Start a domain’s owner change (asks for confirmation)',
    submitLabel: 'Continue',
    confirmLabel: 'Yes, start it',
  },
  zoneTask: {
    profileKey: undefined,
    activityLabel: 'Changing the owner',
    transferLockLabel: 'owner change',
    buildNotes: ({ transfer }) => [
      { code: 'new_owner_not_sent' },
      { code: 'registrants_notified' },
      buildDaysNote('locks_transfers_unless_opted_out', transfer.lockDays),
    ],
  },
  needsConfirmation: true,
  input: singleNameSchema,
  toWire: (input) => input,
});

const authCodeTask = defineOrderTask({
  name: 'authcode',
  service: domainAuthInfo,
  nameKind: 'host',
  risk: 'loses_name',
  words: {
    verb: 'Get the auth code for',
    pastTense: 'Got the auth code for',
    plural: 'auth codes',
    title: 'Get the auth code',
    summary: 'Get a domain’s auth code, shown only to you',
    submitLabel: 'Get it',
  },
  zoneTask: {
    profileKey: undefined,
    activityLabel: 'Getting auth codes',
    buildNotes: () => [{ code: 'auth_code_allows_transfer' }],
  },
  input: singleNameSchema,
  toWire: (input) => input,
  extractSecret: (output) => output.auth ?? output.answer,
});

const nameserversTask = defineOrderTask({
  name: 'nameservers',
  service: domainUpdateNameservers,
  nameKind: 'host',
  needsConfirmation: true,
  risk: 'takes_down',
  words: {
    verb: 'Change the nameservers of',
    pastTense: 'Changed the nameservers of',
    plural: 'nameserver changes',
    title: 'Change nameservers',
    summary: 'Replace the nameservers of a domain',
    submitLabel: 'Change',
    confirmLabel: 'Yes, change them',
  },
  zoneTask: {
    profileKey: 'update',
    activityLabel: 'Changing nameservers',
    buildNotes: () => [{ code: 'replaces_nameservers' }],
  },
  input: z.object({ name: domainNameSchema, nameServers: z.array(hostNameSchema) }),
  findIssues: findNameServerIssues,
  toWire: (input) => ({ name: input.name, nameServers: input.nameServers.map((name) => ({ name })) }),
});

/** The target of an email redirect must be an email address. Any other target must be a web address. */
function findTargetIssues(
  field: 'target' | 'backup',
  target: string | undefined,
  type: string | undefined,
): InputIssue[] {
  if (target === undefined || type === undefined) return [];
  const isValid = type === 'email' ? emailSchema.safeParse(target).success : isWebAddress(target);
  return isValid ? [] : [{ field, code: type === 'email' ? 'target_no_email' : 'target_no_web_address' }];
}

function buildConstraintsIfSet(
  value: unknown,
  field: string,
  kind: InterfaceConstraint['kind'],
): InterfaceConstraint[] {
  return value === undefined || value === '' ? [] : [{ field, kind }];
}

/** The interface that a person chose, for tasks where no field decides the interface. */
const interfaceSchema = z.enum(['json', 'xml'], 'interface_unknown' satisfies PlainIssueCode).optional();

function buildChoiceConstraints(
  chosenInterface: unknown,
  expectedInterface: Interface,
): InterfaceConstraint[] {
  return chosenInterface === expectedInterface
    ? [{ field: 'interface', kind: `choice_${expectedInterface}` }]
    : [];
}

const redirectTask = defineOrderTask({
  name: 'redirect',
  service: redirectUpdate,
  nameKind: 'host',
  risk: 'none',
  words: {
    verb: 'Change the redirect for',
    pastTense: 'Changed the redirect for',
    plural: 'redirects',
    title: 'Change a redirect',
    summary: 'Change a redirect’s target',
    submitLabel: 'Change',
  },
  findConstraints: ({ type, mode, title, backup }) => ({
    json: mode === 'HTTP' ? [{ field: 'mode', kind: 'mode_HTTP' }] : [],
    xml: [
      ...(type === 'email' ? [{ field: 'type', kind: 'email_redirect' } as const] : []),
      ...(mode === 'frame' || mode === 'single' ? [{ field: 'mode', kind: `mode_${mode}` } as const] : []),
      ...buildConstraintsIfSet(title, 'title', 'title'),
      ...buildConstraintsIfSet(backup, 'backup', 'backup'),
    ],
  }),
  input: z.object({
    source: requiredText('no_redirect_source').transform((text, context) => {
      const source = parseRedirectSource(text);
      if (source !== undefined) return source;
      context.addIssue({
        code: 'custom',
        message: 'redirect_source_malformed' satisfies PlainIssueCode,
      });
      return z.NEVER;
    }),
    target: requiredText('no_redirect_target', 2_000),
    type: z.enum(['DOMAIN', 'domain', 'email'], 'redirect_type_unknown' satisfies PlainIssueCode),
    mode: z.enum(['HTTP', 'frame', 'single'], 'redirect_mode_unknown' satisfies PlainIssueCode),
    title: optionalText(),
    backup: optionalText(2_000),
  }),
  nameField: 'source',
  findIssues: ({ target, backup, type }) => [
    ...findTargetIssues('target', target, type),
    ...findTargetIssues('backup', backup, type),
  ],
  toWire: (input) => input,
});

const sslContactTask = defineOrderTask({
  name: 'ssl-contact',
  service: sslContactUpdate,
  nameKind: 'id',
  risk: 'none',
  words: {
    verb: 'Change SSL contact',
    pastTense: 'Changed SSL contact',
    plural: 'SSL contacts',
    title: 'Change an SSL contact',
    summary: 'Change a contact of SSL certificates',
    submitLabel: 'Change',
  },
  findConstraints: ({ fname, lname, interface: chosenInterface }) => ({
    json: [
      ...buildConstraintsIfSet(fname, 'fname', 'first_name'),
      ...buildConstraintsIfSet(lname, 'lname', 'last_name'),
      ...buildChoiceConstraints(chosenInterface, 'json'),
    ],
    xml: buildChoiceConstraints(chosenInterface, 'xml'),
  }),
  input: z.object({
    interface: interfaceSchema,
    id: sslContactIdSchema,
    fname: optionalText(),
    lname: optionalText(),
    title: optionalText(),
    organization: optionalText(),
    address: z
      .array(requiredText('address_line_empty'))
      .max(10, 'too_many_lines' satisfies z.output<typeof limitIssueCodeSchema>)
      .optional(),
    pcode: optionalText(32),
    city: optionalText(),
    country: countryCodeSchema,
    state: optionalText(),
    phone: phoneNumberSchema,
    fax: optionalText(),
    email: z.union([emailSchema, z.literal('').transform(() => undefined)]).optional(),
  }),
  findNames: (input) => [input.id],
  findIssues: ({ id: _id, interface: _interface, ...fields }, _zones, isComplete) =>
    isComplete && Object.values(fields).every((value) => value === undefined)
      ? [{ field: 'organization', code: 'no_field_to_change' }]
      : [],
  toWire: ({ interface: _interface, ...input }) => input,
});

const userTask = defineOrderTask({
  name: 'user',
  service: userCreate,
  nameKind: 'id',
  risk: 'none',
  words: {
    verb: 'Create user',
    pastTense: 'Created user',
    plural: 'users',
    title: 'Create a user',
    summary: 'Create a user or a sub-user',
    submitLabel: 'Create',
  },
  secretField: 'password',
  findConstraints: ({ parent, user_mail_key: mailKey, interface: chosenInterface }) => {
    const parentFields: Readonly<Record<string, unknown>> =
      typeof parent === 'object' && parent !== null ? { ...parent } : {};
    return {
      json: [
        ...buildConstraintsIfSet(parentFields['defaultEmail'], 'parent_defaultEmail', 'superior_email'),
        ...buildConstraintsIfSet(parentFields['status'], 'parent_status', 'superior_status'),
        ...buildConstraintsIfSet(parentFields['substatus'], 'parent_substatus', 'superior_substatus'),
        ...buildChoiceConstraints(chosenInterface, 'json'),
      ],
      xml: [
        ...buildConstraintsIfSet(mailKey, 'user_mail_key', 'mail_key'),
        ...buildChoiceConstraints(chosenInterface, 'xml'),
      ],
    };
  },
  input: z.object({
    user: requiredText('no_user_name').refine(
      (name) => !name.includes(':'),
      'user_name_with_colon' satisfies PlainIssueCode,
    ),
    context: contextNumberSchema,
    defaultEmail: emailSchema,
    language: languageCodeSchema,
    status: optionalNumberSchema,
    substatus: optionalNumberSchema,
    parent: z
      .object({
        user: requiredText('no_superior_user'),
        context: contextNumberSchema,
        defaultEmail: emailSchema.optional(),
        status: optionalNumberSchema,
        substatus: optionalNumberSchema,
      })
      .optional(),
    user_mail_key: optionalText(),
    interface: interfaceSchema,
  }),
  findNames: (input) => [input.user],
  toWire: ({ user_mail_key: userMailKey, interface: _interface, ...input }, _name, password) => ({
    ...input,
    password,
    userMailKey,
  }),
  extractSecret: (output) => output.password,
});

/** A mandate sends nothing. It allows renewals, and each renewal is a separate order. */
const mandateTask: OrderTask<'mandate'> = {
  name: 'mandate',
  words: {
    verb: 'Mandate to renew',
    pastTense: 'Mandate to renew',
    plural: 'mandates',
    title: 'Request a mandate',
    summary: 'Standing renewals: terms, activity and remaining amounts',
    submitLabel: 'Request',
  },
  effect: 'write',
  sendsRequests: false,
  risk: 'none',
  nameKind: 'host',
  idempotent: true,
  needsConfirmation: false,
  nameField: 'mandate_names',
  hasSecretResult: false,
  // Renewals under a mandate need the same interfaces as other renewals.
  findUnsupportedReason: (interfaces) => renewTask.findUnsupportedReason(interfaces),
  getSupportedInterfaces: (interfaces) => renewTask.getSupportedInterfaces(interfaces),
  findConstraints: (input) => renewTask.findConstraints(input),
  findInterfaceIssues: () => [],
  check(raw) {
    const parsed = mandateTermsSchema.safeParse(raw);
    return parsed.success
      ? { ok: true, input: parsed.data, names: parsed.data.mandate_names }
      : { ok: false, issues: [{ field: 'mandate_names', code: 'unreadable' }] };
  },
  findNames: (raw) => parseMandateTerms(raw)?.mandate_names ?? [],
  listNotes: () => [],
  findTransferLock: () => undefined,
  findCharge: () => 'no',
  restrictInput: (raw) => raw,
  describeRequest({ input }) {
    const terms = parseMandateTerms(input);
    if (terms === undefined) throw new InvalidInputError('the order’s input can’t be read');
    return { interface: 'none', terms: toStatementTerms(terms) };
  },
  beginCall() {
    throw new InvalidInputError('this task sends no request');
  },
};

/** @returns undefined if the input is from another task */
export function parseMandateTerms(input: unknown): MandateTerms | undefined {
  return mandateTermsSchema.safeParse(input).data;
}

/** All tasks that create orders, in display order. A new task also needs a declaration in `service/tasks`. */
export const ORDER_TASKS = {
  create: createTask,
  transfer: transferTask,
  renew: renewTask,
  restore: restoreTask,
  delete: deleteTask,
  nameservers: nameserversTask,
  'owner-change': ownerChangeTask,
  authcode: authCodeTask,
  redirect: redirectTask,
  'ssl-contact': sslContactTask,
  user: userTask,
  mandate: mandateTask,
} as const satisfies Record<OrderTaskName, unknown>;

/** The name of a task whose orders send requests. */
export type SendableTaskName = Exclude<OrderTaskName, 'mandate'>;

export const SENDABLE_TASK_NAMES: readonly SendableTaskName[] = ORDER_TASK_NAMES.filter(
  (name) => name !== 'mandate',
);

export function getOrderTask(name: OrderTaskName): OrderTask {
  return ORDER_TASKS[name];
}

/**
 * Checks an order's input against the current rules of the zones.
 * @param items for a bulk order, the items to check (by default, those that are waiting)
 * @returns undefined if the rules still allow the input
 */
export function findRuleChange(
  order: Order,
  items: readonly OrderItem[] = findWaitingItems(order),
): PlainSummary | undefined {
  const task = getOrderTask(order.task);
  const inputs = order.bulk === undefined ? [order.input] : items.map((item) => getItemInput(order, item));
  const failedCheck = inputs.map((input) => task.check(input)).find(({ ok }) => !ok);
  return failedCheck?.ok === false ? { code: 'rules_changed', issues: [...failedCheck.issues] } : undefined;
}
