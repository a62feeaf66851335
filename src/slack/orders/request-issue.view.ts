import type { PlainRequestIssue, RequestIssue } from '../../service/request-issue.ts';

/*
 * Why a request cannot be sent as it is, in a sentence that says what to do. Plain text.
 */

const PLAIN: Readonly<Record<PlainRequestIssue, string>> = {
  credential_with_control_characters:
    'The user name or the password has a control character, which cannot be sent. Type both again.',
  credential_not_unicode: 'The user name or the password has half a character. Type both again.',
  other_interface_needed: 'This is not documented for the interface that was asked for. Use the other one.',
  json_takes_no_two_factor:
    'This is documented for the JSON interface alone, which has no two-factor sign-in. Link an account with a password or a trusted application.',
  not_sendable: 'The service’s interface does not take it. Tell whoever runs me.',
  shared_secret_empty: 'The shared secret is empty. Link the account again with its shared secret.',
  shared_secret_not_base32:
    'The shared secret is not base32, which has the letters A–Z and the digits 2–7. Copy it again.',
  token_malformed: 'A token has six digits. Type the one that your device shows.',
  two_factor_needs_xml:
    'Two-factor accounts need the XML interface, whose address is not set here. Ask whoever runs me to set SERVICE_XML_URL.',
  user_name_with_colon: 'A user name with a colon cannot sign in over the JSON interface. Use another user.',
  xml_address_missing:
    'This needs the XML interface, whose address is not set here. Ask whoever runs me to set SERVICE_XML_URL.',
};

const INTERFACES = { json: 'JSON', xml: 'XML' } as const;

/** One issue as a sentence. */
export function requestIssueText(issue: RequestIssue): string {
  switch (issue.code) {
    case 'fields_invalid':
      return issue.fields.length === 0
        ? 'It cannot be sent as it is. Check what you gave.'
        : `What stands in ${issue.fields.join(', ')} cannot be sent as it is. Check it.`;
    case 'field_not_documented':
      return `The ${INTERFACES[issue.interface]} interface has no field “${issue.field}”. Leave it out.`;
    case 'value_not_documented':
      return `The ${INTERFACES[issue.interface]} interface does not document this value of “${issue.field}”. Use ${issue.documented.join(' or ')}.`;
    case 'not_unicode':
      return `“${issue.field}” has half a character. Type it again.`;
    case 'not_xml_character':
      return `“${issue.field}” has a character that XML cannot carry. Type it again.`;
    case 'not_in_address':
      return `“${issue.text}” cannot stand in an address. Give another one.`;
    default:
      return PLAIN[issue.code];
  }
}
