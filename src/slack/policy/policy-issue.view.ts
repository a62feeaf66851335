import type { PolicyIssue, PolicyIssueCode } from '../../policy/rule-text.ts';
import type { YamlIssue, YamlIssueCode } from '../../policy/yaml.ts';

/* Policy issues, with what to write instead. They quote input verbatim; the caller escapes it. */

interface Parts {
  readonly given: string;
  readonly field: string;
  readonly first: string;
  /** All valid alternatives, as a list. */
  readonly all: string;
}

const AMOUNT = ({ given, first }: Parts) =>
  `“${given}” isn’t an amount. Write it like ${first}: a point before the decimals, no thousands separators.`;

const SENTENCES: Readonly<Record<PolicyIssueCode | YamlIssueCode, (parts: Parts) => string>> = {
  not_a_list_of_rules: () => 'A policy is a list of rules. Start each rule with “- rule_name:”.',
  too_many_rules: ({ given, first }) => `There are ${given} rules. Use at most ${first}.`,
  not_a_rule: () => 'This isn’t a rule. Start it with “- rule_name:” and add its fields below.',
  not_text: ({ field }) => `“${field}” must be a text or a list of texts.`,
  unknown_field: ({ given, all }) => `Unknown field “${given}”. Fields: “${all.replaceAll(', ', '”, “')}”.`,
  missing: ({ field, first }) => `“${field}” is missing. Add it, for example: ${first}`,
  one_value_only: ({ field, first }) => `“${field}” takes one value. Write one, for example: ${first}`,
  too_many_items: ({ given, first }) => `There are ${given} items. Use at most ${first}.`,
  name_too_long: ({ given, first }) => `The name has ${given} characters. Use at most ${first}.`,
  name_taken: ({ given }) => `Another rule is called “${given}” too. Give each rule its own name.`,
  unreadable_name: () => 'The name contains an invisible character. Type it again.',
  unknown_task: ({ given, all }) => `Unknown task “${given}”. Tasks: ${all}.`,
  unreadable_pattern: ({ given, all }) => `“${given}” isn’t a name pattern. Use one of these: ${all}.`,
  not_an_id: ({ given }) =>
    `“${given}” isn’t a person or group id. Use an id such as U0CFO for a person or S0LEGAL for a group.`,
  unknown_currency: ({ given }) => `“${given}” has no currency. Add its code, for example: 100.00 EUR`,
  not_an_amount: AMOUNT,
  too_precise: ({ given, first }) =>
    `“${given}” has more decimals than its currency. Write it like ${first}.`,
  too_large: ({ given }) => `“${given}” is too high. Use a smaller amount.`,
  unknown_decision: ({ given, all }) => `“${given}” isn’t a decision. Use one of these: ${all}.`,
  not_for_this_decision: ({ field, given }) =>
    `“${field}” is only for rules that need approval, and this one says “${given}”. Remove it, or write “decision: approve”.`,
  not_a_count: ({ given, all }) => `“${given}” isn’t a number of people. Use a whole number: ${all}.`,
  more_than_people: ({ given, first }) =>
    `It needs ${given} people and names ${first}. Name more approvers, or write “needed: ${first}”.`,
  not_a_duration: ({ given, all }) => `“${given}” isn’t a duration. Write it like these: ${all}.`,
  after_the_end: ({ given, first }) =>
    `${given} isn’t before the order expires, after ${first}. Use a shorter time.`,
  not_true_or_false: ({ given }) => `“${given}” must be true or false.`,
  not_with_signed: () =>
    'Nothing replaces a signature, so a rule with signed approvals can’t allow break glass. Remove one of them.',
  file_too_large: () => 'The file is too large for a policy. Use another file.',
  nested_too_deep: () => 'This is nested too deep. Write fields and lists as in the downloaded file.',
  alias: ({ given }) =>
    `“${given}” is a YAML anchor or alias. Write out its value, or quote a text that starts like this, such as "*.rest".`,
  tag: ({ given }) => `“${given}” is a YAML tag. Remove it, or quote the text.`,
  directive: ({ given }) => `“${given}” is a YAML directive. Remove the line.`,
  several_documents: () => 'A second document starts here. Put all rules in one.',
  duplicate_field: ({ given }) => `“${given}” is here twice. Remove one.`,
  unreadable_key: () => 'The text before the colon isn’t a field. Use one such as “tasks:”.',
  not_yaml: () => 'The YAML can’t be read from here on. Check the indentation, quotes and brackets.',
};

/** For places that name the rule, such as form fields. */
export function policyIssueText(issue: PolicyIssue | YamlIssue): string {
  const instead = 'instead' in issue ? issue.instead : [];
  return SENTENCES[issue.code]({
    given: issue.given ?? '',
    field: ('field' in issue ? issue.field : undefined) ?? '',
    first: instead[0] ?? '',
    all: instead.join(', '),
  });
}

/** Includes the place. */
export function policyIssueSentence(issue: PolicyIssue | YamlIssue): string {
  const sentence = policyIssueText(issue);
  const places = [
    ...('line' in issue ? [`line ${issue.line}`] : []),
    ...('ruleName' in issue && issue.ruleName !== undefined ? [`rule “${issue.ruleName}”`] : []),
    ...('field' in issue && issue.field !== undefined ? [`field “${issue.field}”`] : []),
  ];
  const where = places.join(', ');
  return where === '' ? sentence : `${where.charAt(0).toUpperCase()}${where.slice(1)}: ${sentence}`;
}

/** In the form's words if the file's don't fit. */
export function formIssueText(issue: PolicyIssue): string {
  switch (issue.code) {
    case 'missing':
      return issue.field === 'approvers'
        ? 'Choose people here, or groups below, who may approve.'
        : `Fill this in, for example: ${issue.instead[0]}`;
    case 'not_for_this_decision':
      return 'Only for rules that need approval. Leave it empty, or choose that decision.';
    case 'more_than_people':
      return `It needs ${issue.given} people and names ${issue.instead[0]}. Choose more approvers, or enter ${issue.instead[0]}.`;
    default:
      return policyIssueText(issue);
  }
}
