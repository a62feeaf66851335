import type { PolicyIssue, PolicyIssueCode } from '../../policy/rule-text.ts';
import type { YamlIssue, YamlIssueCode } from '../../policy/yaml.ts';
import { formatCount } from '../kit/blocks.ts';
import { capitalize } from '../kit/mrkdwn.ts';

/* Issues of a policy, with what to write instead. The caller must escape quoted input. */

interface IssueParts {
  readonly given: string;
  readonly field: string;
  /** The first suggestion, such as an example or a limit. */
  readonly firstSuggestion: string;
  /** All suggestions, separated by commas. */
  readonly allSuggestions: string;
}

const ISSUE_SENTENCES: Readonly<Record<PolicyIssueCode | YamlIssueCode, (parts: IssueParts) => string>> = {
  not_a_list_of_rules: () => 'A policy is a list of rules. Start each rule with “- rule_name:”.',
  too_many_rules: ({ given, firstSuggestion }) => `There are ${given} rules. Use at most ${firstSuggestion}.`,
  not_a_rule: () => 'This isn’t a rule. Start it with “- rule_name:” and add its fields below.',
  not_text: ({ field }) => `“${field}” must be text or a list of texts.`,
  unknown_field: ({ given, allSuggestions }) =>
    `Unknown field “${given}”. Fields: “${allSuggestions.replaceAll(', ', '”, “')}”.`,
  missing: ({ field, firstSuggestion }) => `“${field}” is missing. Add it, for example: ${firstSuggestion}`,
  multiple_values: ({ field, firstSuggestion }) =>
    `“${field}” can have only one value, for example: ${firstSuggestion}`,
  too_many_items: ({ given, firstSuggestion }) => `There are ${given} items. Use at most ${firstSuggestion}.`,
  name_too_long: ({ given, firstSuggestion }) =>
    `The name has ${given} characters. Use at most ${firstSuggestion}.`,
  name_taken: ({ given }) => `Another rule is also called “${given}”. Give each rule a unique name.`,
  invalid_name: () => 'The name contains an invisible character. Type it again.',
  unknown_task: ({ given, allSuggestions }) => `Unknown task “${given}”. Tasks: ${allSuggestions}.`,
  unreadable_pattern: ({ given, allSuggestions }) =>
    `“${given}” isn’t a name pattern. Use one of these: ${allSuggestions}.`,
  not_an_id: ({ given }) =>
    `“${given}” isn’t the ID of a person or group. Use an ID such as U0CFO for a person or S0LEGAL for a group.`,
  unknown_currency: ({ given }) => `“${given}” has no currency. Add its code, for example: 100.00 EUR`,
  not_an_amount: ({ given, firstSuggestion }) =>
    `“${given}” isn’t an amount. Write it like ${firstSuggestion}, with a point before the decimals and no thousands separators.`,
  too_precise: ({ given, firstSuggestion }) =>
    `“${given}” has more decimals than its currency. Write it like ${firstSuggestion}.`,
  too_large: ({ given }) => `“${given}” is too high. Use a smaller amount.`,
  unknown_decision: ({ given, allSuggestions }) =>
    `“${given}” isn’t a decision. Use one of these: ${allSuggestions}.`,
  not_for_this_decision: ({ field, given }) =>
    `“${field}” is only for rules with “decision: approve”, but this rule has “${given}”. Remove the field or change the decision.`,
  invalid_count: ({ given, allSuggestions }) =>
    `“${given}” isn’t a number of people. Use a whole number: ${allSuggestions}.`,
  more_than_approvers: ({ given, firstSuggestion }) =>
    `The rule needs ${given} approvals but has only ${formatCount(Number(firstSuggestion), 'approver')}. Add approvers, or write “needed: ${firstSuggestion}”.`,
  not_a_duration: ({ given, allSuggestions }) =>
    `“${given}” isn’t a duration. Write it like these: ${allSuggestions}.`,
  not_before_ttl: ({ given, firstSuggestion }) =>
    `${given} is too long, because the order expires after ${firstSuggestion}. Use a shorter time.`,
  not_true_or_false: ({ given }) => `“${given}” must be true or false.`,
  conflicts_with_signed: () => 'A rule with signed approvals can’t allow break glass. Remove one of them.',
  file_too_large: () => 'The file is too large for a policy. Use another file.',
  nested_too_deep: () => 'This is nested too deep. Write fields and lists as in the downloaded file.',
  alias: ({ given }) =>
    `“${given}” is a YAML anchor or alias. Write its value instead. Put text that starts with * or & in quotes, such as "*.rest".`,
  tag: ({ given }) => `“${given}” is a YAML tag. Remove it, or put the text in quotes.`,
  directive: ({ given }) => `“${given}” is a YAML directive. Remove the line.`,
  multiple_documents: () => 'A second document starts here. Put all rules in one document.',
  duplicate_field: ({ given }) => `“${given}” appears twice. Remove one.`,
  invalid_key: () => 'The text before the colon isn’t a field. Use one such as “tasks:”.',
  invalid_yaml: () => 'The YAML can’t be read from here on. Check the indentation, quotes and brackets.',
};

/** Omits the rule and field, for places that already show them. */
export function policyIssueText(issue: PolicyIssue | YamlIssue): string {
  const suggestions = 'suggestions' in issue ? issue.suggestions : [];
  return ISSUE_SENTENCES[issue.code]({
    given: issue.given ?? '',
    field: ('field' in issue ? issue.field : undefined) ?? '',
    firstSuggestion: suggestions[0] ?? '',
    allSuggestions: suggestions.join(', '),
  });
}

/** Starts with the line, rule and field. */
export function locatedPolicyIssueText(issue: PolicyIssue | YamlIssue): string {
  const sentence = policyIssueText(issue);
  const places = [
    ...('line' in issue ? [`line ${issue.line}`] : []),
    ...('ruleName' in issue && issue.ruleName !== undefined ? [`rule “${issue.ruleName}”`] : []),
    ...('field' in issue && issue.field !== undefined ? [`field “${issue.field}”`] : []),
  ];
  return places.length === 0 ? sentence : `${capitalize(places.join(', '))}: ${sentence}`;
}

/** Uses the labels of the form if they differ from the names in the file. */
export function formIssueText(issue: PolicyIssue): string {
  switch (issue.code) {
    case 'missing':
      return issue.field === 'approvers'
        ? 'Choose approvers here, or groups below.'
        : `Enter a value, for example: ${issue.suggestions[0]}`;
    case 'not_for_this_decision':
      return 'This is only for rules that need approval. Leave it empty, or change the decision.';
    case 'more_than_approvers':
      return `The rule needs ${issue.given} approvals but has only ${formatCount(Number(issue.suggestions[0]), 'approver')}. Choose more approvers, or enter ${issue.suggestions[0]}.`;
    default:
      return policyIssueText(issue);
  }
}
