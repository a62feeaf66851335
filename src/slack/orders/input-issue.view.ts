import type { InputIssue, PlainIssueCode } from '../../orders/input-issue.ts';
import { capitalize } from '../kit/mrkdwn.ts';
import { formatZoneIssue } from '../names/zone-issue.view.ts';
import { CONSTRAINT_TEXTS } from './interface.view.ts';

/* Messages for invalid input, which say what to enter. */

export interface FieldError {
  readonly field: string;
  readonly text: string;
}

const PLAIN_ISSUE_TEXTS: Readonly<Record<PlainIssueCode, string>> = {
  address_line_empty: 'Remove the empty lines.',
  country_code_malformed: 'Enter the two-letter country code, such as DE.',
  email_missing: 'Enter an email address, such as anna@example.com.',
  interface_unknown: 'Choose JSON or XML.',
  invisible_character: 'It contains an invisible character. Enter it again.',
  language_code_malformed: 'Enter the two-letter language code, such as en.',
  no_contact_id: 'Enter the contact’s ID, a whole number above 0.',
  no_ssl_contact_id: 'Enter the SSL contact’s ID.',
  no_context_number: 'Enter the context number, such as 4.',
  no_domain_name: 'Enter a domain name, such as cafe.rest.',
  no_field_to_change: 'Fill in at least one field to change.',
  no_names: 'Enter at least one name.',
  no_number_from_0: 'Enter a whole number, 0 or more.',
  no_redirect_source: 'Enter the redirect’s source, such as www.cafe.rest.',
  no_redirect_target: 'Enter the target, such as https://www.example.com/menu.',
  no_superior_user: 'Enter the parent user’s name.',
  no_user_name: 'Enter the user’s name.',
  no_whole_years: 'Enter the period in whole years, such as 2.',
  number_too_large: 'That number is too large.',
  number_too_large_for_contact: 'That number is too large for a contact ID.',
  number_too_large_for_context: 'That number is too large for a context.',
  phone_number_malformed: 'Enter the number in international format, such as +49-30-5550100.',
  redirect_mode_unknown: 'Choose a mode.',
  redirect_source_malformed:
    'Enter a host name such as www.cafe.rest, with a path if needed, or an email address. Leave out spaces, ports, queries and percent signs.',
  redirect_type_unknown: 'Choose a type.',
  target_no_email: 'An email redirect needs an email address, such as anna@example.com.',
  target_no_web_address: 'Enter a web address, such as https://www.example.com/menu.',
  unreadable: 'This is missing or can’t be read. Enter it again.',
  user_name_with_colon: 'A user name can’t contain a colon: it couldn’t sign in.',
};

const UNAVAILABLE_INTERFACE_TEXTS = {
  json: 'needs the JSON interface, which doesn’t accept two-factor accounts.',
  xml: 'needs the service’s XML interface, and its address isn’t set. Ask your operator to set SERVICE_XML_URL.',
};

/** Plain text, because field errors have no markup. */
export function issueText(issue: InputIssue): string {
  switch (issue.code) {
    case 'zone_issue':
      return formatZoneIssue(issue.issue);
    case 'text_too_long':
      return `Use at most ${issue.max} characters.`;
    case 'too_many_lines':
      return `Enter at most ${issue.max} lines.`;
    case 'too_many_names':
      return `Enter at most ${issue.max} names per order, so approvers can review them.`;
    case 'interfaces_conflict':
      return `${capitalize(CONSTRAINT_TEXTS[issue.jsonConstraint])} needs the JSON interface, and ${CONSTRAINT_TEXTS[issue.xmlConstraint]} needs XML. Leave one of them out.`;
    case 'interface_out_of_reach':
      return `${capitalize(CONSTRAINT_TEXTS[issue.constraint])} ${UNAVAILABLE_INTERFACE_TEXTS[issue.needs]}`;
    default:
      return PLAIN_ISSUE_TEXTS[issue.code];
  }
}

export function toFieldErrors(issues: readonly InputIssue[]): FieldError[] {
  return issues.map((issue) => ({ field: issue.field, text: issueText(issue) }));
}

const ORDINAL_RULES = new Intl.PluralRules('en', { type: 'ordinal' });
const ORDINAL_SUFFIXES: Readonly<Partial<Record<Intl.LDMLPluralRule, string>>> = {
  one: 'st',
  two: 'nd',
  few: 'rd',
};

function formatOrdinal(position: number): string {
  return `${position}${ORDINAL_SUFFIXES[ORDINAL_RULES.select(position)] ?? 'th'}`;
}

/** Refers to the unused words of a command only by their positions. */
export function unusedWordsText(firstPosition: number, lastPosition: number): string {
  const wordsText =
    firstPosition === lastPosition
      ? `${formatOrdinal(firstPosition)} word`
      : `${formatOrdinal(firstPosition)} ${lastPosition === firstPosition + 1 ? 'and' : 'to'} ${formatOrdinal(lastPosition)} words`;
  return `I ignored the ${wordsText} of your command. Check the fields below.`;
}

/** For a value that the menu doesn't offer. */
export function notOfferedText(options: readonly { readonly text: string }[]): string {
  return `Choose one of: ${options.map(({ text }) => text).join(', ')}.`;
}

export const NO_AUTH_CODE = 'Enter the auth code. The current registrar has it.';
