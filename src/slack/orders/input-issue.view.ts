import type { InputIssue, PlainIssueCode } from '../../orders/input-issue.ts';
import { capitalized } from '../kit/mrkdwn.ts';
import { zoneIssueText } from '../names/zone-issue.view.ts';
import { TIES } from './interface.view.ts';

/* What is wrong with an input, in a sentence that says what to give. */

/** An error at a field of a form. */
export interface FieldProblem {
  readonly field: string;
  readonly problem: string;
}

const PLAIN: Readonly<Record<PlainIssueCode, string>> = {
  address_line_empty: 'Leave no line empty.',
  country_code_malformed: 'Give the country’s two-letter code, such as DE.',
  email_missing: 'Give an e-mail address, such as anna@example.com.',
  interface_unknown: 'Choose JSON or XML.',
  language_code_malformed: 'Give the language’s two-letter code, such as en.',
  no_contact_id: 'Give the contact’s id, a whole number above 0.',
  no_ssl_contact_id: 'Give the SSL contact’s id.',
  no_context_number: 'Give the context’s number, such as 4.',
  no_domain_name: 'Give a domain name, such as cafe.rest.',
  no_field_to_change: 'Fill in at least one field to change.',
  no_names: 'Give at least one name.',
  no_number_from_0: 'Give a whole number from 0.',
  no_redirect_source: 'Give the redirect’s source, such as www.cafe.rest.',
  no_redirect_target: 'Give the target, such as https://www.example.com/menu.',
  no_superior_user: 'Give the superior user’s name.',
  no_user_name: 'Give the user’s name.',
  no_whole_years: 'Give the period in whole years, such as 2.',
  number_too_large: 'That number is too large.',
  number_too_large_for_contact: 'That number is too large for a contact’s id.',
  number_too_large_for_context: 'That number is too large for a context.',
  phone_number_malformed: 'Give the number in international format, such as +49-30-5550100.',
  redirect_mode_unknown: 'Choose a mode.',
  redirect_source_malformed:
    'Give a host name such as www.cafe.rest, with its path if it has one, or an e-mail address. Leave out blanks, ports, queries and percent signs.',
  redirect_type_unknown: 'Choose a type.',
  target_no_email: 'An e-mail redirect leads to an e-mail address, such as anna@example.com.',
  target_no_web_address: 'Give a web address, such as https://www.example.com/menu.',
  unreadable: 'This is missing or cannot be read. Fill it in again.',
  unseen_character: 'It contains a character that cannot be seen. Type it again.',
  user_name_with_colon: 'A user name cannot hold a colon: it could not sign in.',
};

const OUT_OF_REACH = {
  json: 'goes over the JSON interface alone, which takes no two-factor accounts.',
  xml: 'goes over the service’s XML interface alone, whose address is not set here. Ask whoever runs me to set SERVICE_XML_URL.',
};

/** What is wrong and what to give, as a sentence in plain text: errors at fields have no markup. */
export function issueText(issue: InputIssue): string {
  switch (issue.code) {
    case 'zone_issue':
      return zoneIssueText(issue.issue);
    case 'text_too_long':
      return `Use at most ${issue.max} characters.`;
    case 'too_many_lines':
      return `Give at most ${issue.max} lines.`;
    case 'too_many_names':
      return `Give at most ${issue.max} names in one order, so that its approver can read it.`;
    case 'interfaces_conflict':
      return `${capitalized(TIES[issue.overJson])} goes over the JSON interface alone, and ${TIES[issue.overXml]} over the XML interface alone. Leave one of them out.`;
    case 'interface_out_of_reach':
      return `${capitalized(TIES[issue.because])} ${OUT_OF_REACH[issue.needs]}`;
    default:
      return PLAIN[issue.code];
  }
}

/** The sentences of several issues, each with its field. */
export function fieldProblems(issues: readonly InputIssue[]): FieldProblem[] {
  return issues.map((issue) => ({ field: issue.field, problem: issueText(issue) }));
}

const ORDINALS = new Intl.PluralRules('en', { type: 'ordinal' });
const SUFFIXES: Readonly<Partial<Record<Intl.LDMLPluralRule, string>>> = { one: 'st', two: 'nd', few: 'rd' };

function ordinal(place: number): string {
  return `${place}${SUFFIXES[ORDINALS.select(place)] ?? 'th'}`;
}

/** Said of the words of a line that a form has no field for, by their places. */
export function unusedWords(first: number, last: number): string {
  const places =
    first === last
      ? `${ordinal(first)} word`
      : `${ordinal(first)} ${last === first + 1 ? 'and' : 'to'} ${ordinal(last)} words`;
  return `I did not use the ${places} of your line. Check the fields below.`;
}

/** Said at a field whose value its menu does not offer. */
export function notOfferedText(offered: readonly { readonly text: string }[]): string {
  return `Choose one of these: ${offered.map(({ text }) => text).join(', ')}.`;
}

export const NO_AUTH_CODE = 'Give the auth code: the losing registrar has it.';
