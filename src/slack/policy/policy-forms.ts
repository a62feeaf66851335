import { z } from 'zod';
import { ORDER_TASK_NAMES } from '../../orders/order.ts';
import { getOrderTask } from '../../orders/tasks.ts';
import type { PolicyRule } from '../../policy/policy.ts';
import { type PolicyIssue, parseRules, serializeRule } from '../../policy/rule-text.ts';
import {
  fillStartingPoint,
  getStartingPoint,
  ROLES,
  type Role,
  STARTING_POINT_NAMES,
  type StartingPoint,
} from '../../policy/starting-points.ts';
import { formatPolicyYaml, parsePolicyYaml } from '../../policy/yaml.ts';
import { createTextFields, readTextInput } from '../attached-text.ts';
import type { FormFeature, Interaction, SubmissionCall, SubmissionResult } from '../feature.ts';
import { context as contextBlock, LIMITS, section, truncate } from '../kit/blocks.ts';
import { createListForm } from '../kit/edited-list.ts';
import {
  choiceField,
  type FieldErrors,
  type Form,
  type FormOrigin,
  type FormValues,
  field,
  hashFormContent,
  joinErrors,
  parseForm,
  textField,
  toFields,
  unvalidatedTextSchema,
} from '../kit/form.ts';
import {
  addGroupOptions,
  itemsSchema,
  removeGroupMenus,
  replacePickersWithText,
  splitPeopleAndGroups,
} from '../settings/people-fields.ts';
import { DRAFT_TEXTS, NOTES, ROLE_LABELS, savedNote, startingPointIntro } from './policy.view.ts';
import { formIssueText, locatedPolicyIssueText, policyIssueText } from './policy-issue.view.ts';
import { PEOPLE_FIELDS, ruleSentence } from './policy-rule.view.ts';
import { buildPolicyMessage, editDraft, getPageOffset, loadDraftBase } from './policy-shown.ts';

/* Forms for the policy: a rule, a YAML file, and a starting point. They change only the draft. */

/** `parseRules` validates the values, like those of YAML files. */
const ruleSchema = z.object({
  rule_name: textField('Rule name', { placeholder: 'Transfers of the brand', isRequired: true }),
  tasks: choiceField(
    'Tasks',
    {
      ...{ all: 'Everything', charge: 'Paid tasks', risk: 'Tasks that can lose a name or take it down' },
      ...Object.fromEntries(
        ORDER_TASK_NAMES.map((name) => [name, `${name}: ${getOrderTask(name).words.title}`]),
      ),
    },
    itemsSchema,
    { kind: 'multi_select', isRequired: true },
  ),
  names: textField(
    'Names',
    {
      kind: 'lines',
      placeholder: '*.rest',
      hint: 'One per line: cafe.rest, tag:brand, *.rest for all names in .rest, or * for every name.',
      isRequired: true,
    },
    itemsSchema,
  ),
  by: field({ label: 'Only if requested by', kind: 'people', hint: 'Leave empty for anyone.' }, itemsSchema),
  by_groups: field({ label: 'Or by members of', kind: 'groups' }, itemsSchema),
  over: textField('Only over this amount', {
    placeholder: '100.00',
    hint: 'The price of the whole order. An unknown price counts as higher.',
  }),
  decision: choiceField(
    'Decision',
    { free: 'No approval needed', approve: 'Approval needed', refuse: 'Refused' },
    unvalidatedTextSchema,
    { isRequired: true },
  ),
  approvers: field({ label: 'Approvers', kind: 'people' }, itemsSchema),
  approver_groups: field({ label: 'Approver groups', kind: 'groups' }, itemsSchema),
  silent: field(
    { label: 'Silent approvers', kind: 'people', hint: 'Can approve, but are never notified.' },
    itemsSchema,
  ),
  silent_groups: field({ label: 'Silent approver groups', kind: 'groups' }, itemsSchema),
  needed: textField('Approvals needed', {
    kind: 'number',
    range: { min: 1, max: 20 },
    hint: 'Leave empty for 1.',
  }),
  ttl: textField('An order expires after', {
    placeholder: '48h',
    hint: 'A number with s, m, h or d. Leave empty to use the setting.',
  }),
  remind_after: textField('Approvers are reminded after', { placeholder: '4h' }),
  escalate_after: textField('Escalate after', { placeholder: '12h' }),
  escalate_to: field({ label: 'Escalate to', kind: 'people' }, itemsSchema),
  escalate_groups: field({ label: 'Escalate to groups', kind: 'groups' }, itemsSchema),
  break_glass: choiceField(
    'Break glass',
    { false: 'Not allowed', true: 'One admin may approve alone' },
    unvalidatedTextSchema,
    {
      hint: 'The admin gives a reason, all approvers are notified, and another admin signs off on it later.',
    },
  ),
  signed: choiceField(
    'Signed approvals',
    { false: 'Approve with a click', true: 'Approve with a passkey' },
    unvalidatedTextSchema,
    { hint: 'Approvers need valid passkeys, see /domain key.' },
  ),
});

const RULE_FIELDS = toFields(ruleSchema);
const RULE_FORM: Form<'policy_rule'> = {
  name: 'policy_rule',
  title: 'Policy rule',
  submit: 'Save to draft',
  fields: removeGroupMenus(RULE_FIELDS),
};

/** Used if Slack refuses the pickers. */
export const plainRuleForm: Form = { ...RULE_FORM, fields: replacePickersWithText(RULE_FIELDS) };

function toSerializedRule(input: z.output<typeof ruleSchema>) {
  const { by_groups, approver_groups, silent_groups, escalate_groups, ...otherFields } = input;
  const by = [...otherFields.by, ...by_groups];
  const approvers = [...otherFields.approvers, ...approver_groups];
  const silent = [...otherFields.silent, ...silent_groups];
  const escalate_to = [...otherFields.escalate_to, ...escalate_groups];
  const fields = Object.entries({ ...otherFields, by, approvers, silent, escalate_to });
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined && value.length > 0));
}

function toRuleFormValues(rule: PolicyRule, currency: string): FormValues {
  return {
    ...serializeRule(rule, currency),
    ...splitPeopleAndGroups('by', 'by_groups', rule.by),
    ...splitPeopleAndGroups('approvers', 'approver_groups', rule.approvers),
    ...splitPeopleAndGroups('silent', 'silent_groups', rule.silent),
    ...splitPeopleAndGroups('escalate_to', 'escalate_groups', rule.escalateTo),
  };
}

/** Identifies the rule in the form's origin: a hash of its content, then its name. */
export function getRuleSubject(rule: PolicyRule): string {
  return `${hashFormContent(serializeRule(rule, ''))} ${rule.name}`;
}

function toFieldErrors(issues: readonly PolicyIssue[]): FieldErrors {
  return joinErrors(issues.map((issue) => [issue.field ?? 'rule_name', formIssueText(issue)]));
}

/** Parses the submitted rule together with the draft's other rules. */
function parseFormRule(
  input: z.output<typeof ruleSchema>,
  otherRules: readonly PolicyRule[],
  currency: string,
): { readonly rule: PolicyRule } | { readonly errors: FieldErrors } {
  const serializedRules = [
    ...otherRules.map((rule) => serializeRule(rule, currency)),
    toSerializedRule(input),
  ];
  const parsed = parseRules(serializedRules, { tasks: [...ORDER_TASK_NAMES], currency });
  const rule = parsed.ok ? parsed.rules.at(-1) : undefined;
  if (rule !== undefined) return { rule };
  const issues = parsed.ok ? [] : parsed.issues;
  const ownIssues = issues.filter(({ path }) => path.length === 0 || path[0] === otherRules.length);
  if (ownIssues.length > 0) return { errors: toFieldErrors(ownIssues) };
  const [otherIssue] = issues;
  return {
    errors: {
      rule_name: otherIssue === undefined ? DRAFT_TEXTS.unreadableRule : locatedPolicyIssueText(otherIssue),
    },
  };
}

export const ruleForm = createListForm({
  form: RULE_FORM,
  createSchema: () => ruleSchema,
  customizeFields: (fields, values, { context }) => addGroupOptions(context, fields, values),
  find: async (interaction: Interaction, subject: string) =>
    (await loadDraftBase(interaction)).rules.find((rule) => getRuleSubject(rule) === subject),
  buildValues: (existingRule, { context }) =>
    existingRule === undefined
      ? { break_glass: 'false', signed: 'false' }
      : toRuleFormValues(existingRule, context.currency),
  async intro(existing, { context, person }) {
    const currentSentence = existing && ruleSentence(existing, await context.directory.findLocale(person.id));
    return [
      ...(currentSentence === undefined ? [] : [section(currentSentence)]),
      contextBlock(DRAFT_TEXTS.ruleIntro(context.currency)),
    ];
  },
  notFoundErrors: { rule_name: DRAFT_TEXTS.ruleGone },

  async save(call: SubmissionCall, input, existingRule): Promise<SubmissionResult> {
    let index = 0;
    const errors = await editDraft<FieldErrors>(call, (rules) => {
      const draftRule = rules.find(
        (rule) => existingRule !== undefined && getRuleSubject(rule) === getRuleSubject(existingRule),
      );
      if (existingRule !== undefined && draftRule === undefined)
        return { problem: { rule_name: DRAFT_TEXTS.ruleGone } };
      const otherRules = rules.filter((rule) => rule !== draftRule);
      const parsed = parseFormRule(input, otherRules, call.context.currency);
      if ('errors' in parsed) return { problem: parsed.errors };
      index = draftRule === undefined ? rules.length : rules.indexOf(draftRule);
      return { rules: [...rules.slice(0, index), parsed.rule, ...rules.slice(index + 1)] };
    });
    return errors === undefined
      ? {
          reply: await buildPolicyMessage(call, { offset: getPageOffset(index), note: savedNote(index + 1) }),
        }
      : { errors };
  },
});

/** Builds the values of {@link plainRuleForm}. */
export function toPlainRuleValues(rule: PolicyRule | undefined, currency: string): FormValues {
  const values = rule === undefined ? {} : serializeRule(rule, currency);
  return Object.fromEntries(
    Object.entries(values).map(([field, value]) => [
      field,
      PEOPLE_FIELDS.has(field) && typeof value !== 'string' ? value.join(',') : value,
    ]),
  );
}

/** Slack's approximate limit for a field error. */
const MAX_FIELD_ERROR_LENGTH = 1_900;

async function replaceDraft(
  call: SubmissionCall,
  rules: readonly PolicyRule[],
  errorField: string,
): Promise<SubmissionResult> {
  const { context, person, origin } = call;
  const [, revision = ''] = /^\S* (.*)$/.exec(origin.subject ?? '') ?? [];
  const savedDraft = await context.policies.saveDraft(rules, revision, person.id, context.now());
  if (savedDraft === undefined) return { errors: { [errorField]: DRAFT_TEXTS.draftChanged } };
  context.log.info({ by: person.id, revision: savedDraft.revision }, 'policy draft replaced');
  return { reply: await buildPolicyMessage(call, { note: NOTES.replaced }) };
}

const yamlSchema = z.object(
  createTextFields(
    {
      label: 'YAML file',
      fileTypes: ['yaml', 'yml', 'txt'],
      hint: 'In the format of the download. The file replaces the text below.',
    },
    'rules',
    {
      label: 'Or paste the policy',
      placeholder:
        '- rule_name: redirects need no approval\n  tasks: [redirect]\n  names: ["*"]\n  decision: free',
      hint: 'All rules, in order. They replace the draft’s current rules.',
    },
  ),
);

export const yamlForm: FormFeature<'policy_import'> = {
  form: {
    name: 'policy_import',
    title: 'Import policy',
    submit: 'Use as draft',
    fields: toFields(yamlSchema),
  },

  async render(call, origin, values) {
    const { revision, rules } = await loadDraftBase(call);
    const text = rules.length === 0 ? '' : formatPolicyYaml(rules, call.context.currency);
    const isShort = text.length <= LIMITS.inputValue;
    return {
      origin: { ...origin, subject: origin.subject ?? `yaml ${revision}` },
      values: { ...(isShort ? { rules: text } : {}), ...values },
      intro: [contextBlock(isShort ? DRAFT_TEXTS.fileIntro : DRAFT_TEXTS.policyTooLong)],
    };
  },

  async submit(call) {
    const { currency } = call.context;
    const tasks = [...ORDER_TASK_NAMES];
    const input = await readTextInput(call, {
      field: 'rules',
      errorIfEmpty: 'Attach the YAML file, or paste its text here.',
      isPrefilled: true,
    });
    if ('errors' in input) return input;
    const parsed = parsePolicyYaml(input.text, { tasks, currency });
    if (parsed.ok) return replaceDraft(call, parsed.rules, input.field);
    const sentences = parsed.issues.map(locatedPolicyIssueText);
    return { errors: { [input.field]: truncate(sentences.join('\n'), MAX_FIELD_ERROR_LENGTH) } };
  },
};

const getGroupsFieldName = (role: string) => `${role}_groups`;

const createRolesSchema = (roles: readonly Role[]) =>
  z.object(
    Object.fromEntries(
      roles.flatMap((role) => [
        [role, field({ label: ROLE_LABELS[role], kind: 'people' }, itemsSchema)],
        [
          getGroupsFieldName(role),
          field({ label: `${ROLE_LABELS[role]} (groups)`, kind: 'groups' }, itemsSchema),
        ],
      ]),
    ),
  );

const START_FORM: Form<'policy_start'> = {
  name: 'policy_start',
  title: 'Start from a template',
  submit: 'Use as draft',
  fields: removeGroupMenus(toFields(createRolesSchema(ROLES))),
};

function findStartingPoint({ subject }: FormOrigin): StartingPoint {
  const [startingPointName] = (subject ?? '').split(' ');
  return getStartingPoint(STARTING_POINT_NAMES.find((name) => name === startingPointName) ?? 'small_team');
}

/** Returns the people and groups of each role, or errors for roles without any. */
function readRoles(roles: readonly Role[], values: FormValues) {
  const parsed = parseForm(createRolesSchema(roles), values);
  if ('errors' in parsed) return parsed;
  const people = Object.fromEntries(
    roles.map((role) => [role, [role, getGroupsFieldName(role)].flatMap((name) => parsed.value[name] ?? [])]),
  );
  const emptyRoles = roles.filter((role) => people[role]?.length === 0);
  return emptyRoles.length === 0
    ? { people }
    : { errors: joinErrors(emptyRoles.map((role) => [role, DRAFT_TEXTS.nobodyHasRole])) };
}

export const startForm: FormFeature<'policy_start'> = {
  form: START_FORM,

  async render(call, origin, values) {
    const startingPoint = findStartingPoint(origin);
    const [{ revision, rules }, fields] = await Promise.all([
      loadDraftBase(call),
      addGroupOptions(call.context, toFields(createRolesSchema(startingPoint.roles)), values),
    ]);
    return {
      form: { ...START_FORM, fields },
      origin: { ...origin, subject: `${startingPoint.name} ${revision}` },
      intro: startingPointIntro(startingPoint, rules.length > 0),
    };
  },

  async submit(call) {
    const startingPoint = findStartingPoint(call.origin);
    const roles = readRoles(startingPoint.roles, call.values);
    if ('errors' in roles) return roles;
    const rules = fillStartingPoint(startingPoint, roles.people, {
      canSign: call.context.orders.signing.trust !== undefined,
    });
    const parsed = parseRules(rules, { tasks: [...ORDER_TASK_NAMES], currency: call.context.currency });
    const [firstRole = 'managers'] = startingPoint.roles;
    if (parsed.ok) return replaceDraft(call, parsed.rules, firstRole);
    const errors: Record<string, string> = {};
    for (const issue of parsed.issues) {
      const rule = startingPoint.rules[Number(issue.path[0])];
      const [role = firstRole] = rule?.approvers ?? [];
      errors[role] = policyIssueText(issue);
    }
    return { errors };
  },
};
