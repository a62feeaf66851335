import type { PolicyIssue, PolicyIssueCode } from '../../policy/rule-text.ts';
import type { YamlIssue, YamlIssueCode } from '../../policy/yaml.ts';

/*
 * The sentence for an issue of a policy, which says what to write instead. What was written is quoted as it is:
 * whoever shows the sentence escapes it.
 */

interface Parts {
  readonly given: string;
  readonly field: string;
  readonly first: string;
  /** All that can be written instead, as a list. */
  readonly all: string;
}

const AMOUNT = ({ given, first }: Parts) =>
  `“${given}” is no amount. Write it like ${first}: a point before the decimals, nothing between the thousands.`;

const SENTENCES: Readonly<Record<PolicyIssueCode | YamlIssueCode, (parts: Parts) => string>> = {
  not_a_list_of_rules: () => 'A policy is a list of rules. Start each rule with “- rule_name:”.',
  too_many_rules: ({ given, first }) => `These are ${given} rules. Use at most ${first}.`,
  not_a_rule: () => 'This is no rule. Start it with “- rule_name:” and give its fields below.',
  not_text: ({ field }) => `“${field}” holds neither a text nor a list of texts. Write one of them.`,
  unknown_field: ({ given, all }) =>
    `A rule has no field “${given}”. Use these: “${all.replaceAll(', ', '”, “')}”.`,
  missing: ({ field, first }) => `“${field}” is missing. Add it, for example: ${first}`,
  one_value_only: ({ field, first }) => `“${field}” takes one value. Write one, for example: ${first}`,
  too_many_items: ({ given, first }) => `These are ${given} items. Use at most ${first}.`,
  name_too_long: ({ given, first }) => `The name has ${given} characters. Use at most ${first}.`,
  name_taken: ({ given }) => `Another rule is called “${given}” too. Give each rule a name of its own.`,
  unreadable_name: () => 'The name contains a character that cannot be seen. Type the name again.',
  unknown_task: ({ given, all }) => `There is no task “${given}”. Use these: ${all}.`,
  unreadable_pattern: ({ given, all }) => `“${given}” cannot be read as names. Write one of these: ${all}.`,
  not_an_id: ({ given }) =>
    `“${given}” is no id of a person or group. Write an id such as U0CFO for a person or S0LEGAL for a group.`,
  unknown_currency: ({ given }) => `“${given}” names no currency. Write its code, for example: 100.00 EUR`,
  not_an_amount: AMOUNT,
  too_precise: ({ given, first }) =>
    `“${given}” has more decimals than the currency. Write it like ${first}.`,
  too_large: ({ given }) => `“${given}” is more than any order costs. Write a smaller amount.`,
  unknown_decision: ({ given, all }) => `“${given}” is no decision. Write one of these: ${all}.`,
  not_for_this_decision: ({ field, given }) =>
    `“${field}” belongs to rules that ask for approval, and this one says “${given}”. Leave it out, or write “decision: approve”.`,
  not_a_count: ({ given, all }) => `“${given}” is no number of people. Write a whole number: ${all}.`,
  more_than_people: ({ given, first }) =>
    `It needs ${given} people and names ${first}. Name more approvers, or write “needed: ${first}”.`,
  not_a_duration: ({ given, all }) => `“${given}” is no length of time. Write it like these: ${all}.`,
  after_the_end: ({ given, first }) =>
    `${given} is not before the end of the order, which comes after ${first}. Write a shorter time.`,
  not_true_or_false: ({ given }) => `“${given}” is neither true nor false. Write true or false.`,
  not_with_signed: () =>
    'Nothing takes the place of a signature, so a rule that asks for signed approvals cannot let an admin act alone. Leave one of the two out.',
  file_too_large: () => 'The file is larger than any policy. Give the file of a policy.',
  nested_too_deep: () =>
    'This is nested deeper than a rule is. Write fields and lists as the downloaded file has them.',
  alias: ({ given }) =>
    `“${given}” is an anchor or alias. Write out what it stands for; a text that starts so goes into quotes, such as "*.rest".`,
  tag: ({ given }) => `“${given}” is a tag of YAML. Leave it out, or put the text into quotes.`,
  directive: ({ given }) => `“${given}” is a directive of YAML. Leave the line out.`,
  several_documents: () => 'A second document starts here. Put all rules into one.',
  duplicate_field: ({ given }) => `“${given}” stands here twice. Leave one of them.`,
  unreadable_key: () => 'What stands before the colon is no name of a field. Write one such as “tasks:”.',
  not_yaml: () => 'YAML cannot be read from here on. Check the indentation, the quotes and the brackets.',
};

/**
 * Says what is wrong and what to write instead, for a place that names the rule already, such as a field of a form.
 */
export function policyIssueText(issue: PolicyIssue | YamlIssue): string {
  const instead = 'instead' in issue ? issue.instead : [];
  return SENTENCES[issue.code]({
    given: issue.given ?? '',
    field: ('field' in issue ? issue.field : undefined) ?? '',
    first: instead[0] ?? '',
    all: instead.join(', '),
  });
}

/** Says where something is wrong, what, and what to write instead. */
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

/** What is wrong, in the words of the form where those of a file do not fit. */
export function formIssueText(issue: PolicyIssue): string {
  switch (issue.code) {
    case 'missing':
      return issue.field === 'approvers'
        ? 'Choose who may approve: people here, or groups below.'
        : `Fill this in, for example: ${issue.instead[0]}`;
    case 'not_for_this_decision':
      return 'Only a rule that needs approval has this. Leave it empty, or choose that decision.';
    case 'more_than_people':
      return `It needs ${issue.given} people and names ${issue.instead[0]}. Choose more approvers, or enter ${issue.instead[0]}.`;
    default:
      return policyIssueText(issue);
  }
}
