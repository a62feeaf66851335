import { expect, test } from 'vitest';
import type { RequestIssue } from '../../../src/service/request-issue.ts';
import { requestIssueText } from '../../../src/slack/orders/request-issue.view.ts';

/*
 * Why a request cannot be sent, for the person who asked.
 */

test.each<[RequestIssue, string]>([
  [
    { code: 'xml_address_missing' },
    'This needs the XML interface, whose address is not set here. Ask whoever runs me to set SERVICE_XML_URL.',
  ],
  [
    { code: 'fields_invalid', fields: ['name', 'period'] },
    'What stands in name, period cannot be sent as it is. Check it.',
  ],
  [{ code: 'fields_invalid', fields: [] }, 'It cannot be sent as it is. Check what you gave.'],
  [
    { code: 'field_not_documented', field: 'order', interface: 'json' },
    'The JSON interface has no field “order”. Leave it out.',
  ],
  [
    { code: 'value_not_documented', field: 'mode', interface: 'xml', documented: ['frame', 'single'] },
    'The XML interface does not document this value of “mode”. Use frame or single.',
  ],
  [{ code: 'not_unicode', field: 'name' }, '“name” has half a character. Type it again.'],
  [
    { code: 'not_xml_character', field: 'user' },
    '“user” has a character that XML cannot carry. Type it again.',
  ],
  [{ code: 'not_in_address', text: '..' }, '“..” cannot stand in an address. Give another one.'],
])('%j', (issue, words) => {
  expect(requestIssueText(issue)).toBe(words);
});
