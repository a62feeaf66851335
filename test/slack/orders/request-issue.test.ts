import { expect, test } from 'vitest';
import type { RequestIssue } from '../../../src/service/request-issue.ts';
import { requestIssueText } from '../../../src/slack/orders/request-issue.view.ts';

/* The texts for requesters if a request can't be sent. */

test.each<[RequestIssue, string]>([
  [
    { code: 'xml_address_missing' },
    'This needs the XML interface, and its address isn’t set. Ask your operator to set SERVICE_XML_URL.',
  ],
  [{ code: 'fields_invalid', fields: ['name', 'period'] }, 'name, period can’t be sent. Check your input.'],
  [{ code: 'fields_invalid', fields: [] }, 'This can’t be sent. Check your input.'],
  [
    { code: 'field_not_documented', field: 'order', interface: 'json' },
    'The JSON interface has no field “order”. Leave it out.',
  ],
  [
    { code: 'value_not_documented', field: 'mode', interface: 'xml', documented: ['frame', 'single'] },
    'The XML interface doesn’t document this value of “mode”. Use frame or single.',
  ],
  [{ code: 'not_unicode', field: 'name' }, '“name” contains an incomplete character. Enter it again.'],
  [
    { code: 'not_xml_character', field: 'user' },
    '“user” contains a character that XML doesn’t allow. Enter it again.',
  ],
  [{ code: 'not_in_address', text: '..' }, '“..” can’t be part of an address. Enter another one.'],
])('the text of %j says what to do', (issue, words) => {
  expect(requestIssueText(issue)).toBe(words);
});
