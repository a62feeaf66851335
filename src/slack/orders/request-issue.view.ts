import type { PlainRequestIssue, RequestIssue } from '../../service/request-issue.ts';

/* Says why a request can't be sent, and what to do. Plain text. */

const PLAIN_ISSUE_TEXTS: Readonly<Record<PlainRequestIssue, string>> = {
  credential_with_control_characters:
    'The user name or password contains a control character. Enter both again.',
  credential_not_unicode: 'The user name or password contains an incomplete character. Enter both again.',
  other_interface_needed: 'This isn’t documented for the chosen interface. Use the other one.',
  json_takes_no_two_factor:
    'This is possible only over the JSON interface, which doesn’t support two-factor sign-in. Link an account that signs in with only a password, or a trusted application.',
  not_sendable: 'The service’s interface doesn’t accept this. Tell your operator.',
  shared_secret_empty: 'The shared secret is empty. Link the account again with its shared secret.',
  shared_secret_not_base32: 'The shared secret isn’t base32 (letters A–Z, digits 2–7). Copy it again.',
  token_malformed: 'A token has six digits. Enter the one on your device.',
  two_factor_needs_xml:
    'Two-factor accounts need the XML interface, and its address isn’t set. Ask your operator to set SERVICE_XML_URL.',
  user_name_with_colon: 'A user name with a colon can’t sign in over the JSON interface. Use another user.',
  xml_address_missing:
    'This needs the XML interface, and its address isn’t set. Ask your operator to set SERVICE_XML_URL.',
};

const INTERFACE_NAMES = { json: 'JSON', xml: 'XML' } as const;

export function requestIssueText(issue: RequestIssue): string {
  switch (issue.code) {
    case 'fields_invalid':
      return issue.fields.length === 0
        ? 'This can’t be sent. Check your input.'
        : `${issue.fields.join(', ')} can’t be sent. Check your input.`;
    case 'field_not_documented':
      return `The ${INTERFACE_NAMES[issue.interface]} interface has no field “${issue.field}”. Leave it out.`;
    case 'value_not_documented':
      return `The ${INTERFACE_NAMES[issue.interface]} interface doesn’t document this value of “${issue.field}”. Use ${issue.documented.join(' or ')}.`;
    case 'not_unicode':
      return `“${issue.field}” contains an incomplete character. Enter it again.`;
    case 'not_xml_character':
      return `“${issue.field}” contains a character that XML doesn’t allow. Enter it again.`;
    case 'not_in_address':
      return `“${issue.text}” can’t be part of an address. Enter another one.`;
    default:
      return PLAIN_ISSUE_TEXTS[issue.code];
  }
}
