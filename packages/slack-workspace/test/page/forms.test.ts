import { expect, test } from 'vitest';
import { readStateValue } from '../../page/forms.ts';
import type { JsonObject } from '../../page/json.ts';

const placedElement = { block: {}, blockId: 'b', element: {}, actionId: 'a' };
const getValue = (state: JsonObject) => readStateValue({ b: { a: state } }, placedElement);

test('reads the value of each kind of element from the state', () => {
  expect(getValue({ type: 'plain_text_input', value: 'cafe.rest' })).toBe('cafe.rest');
  expect(getValue({ type: 'static_select', selected_option: { value: 'JSON' } })).toBe('JSON');
  expect(getValue({ type: 'users_select', selected_user: 'U1' })).toBe('U1');
  expect(getValue({ type: 'conversations_select', selected_conversation: 'C1' })).toBe('C1');
  expect(getValue({ type: 'multi_users_select', selected_users: ['U1', 'U2'] })).toEqual(['U1', 'U2']);
  expect(getValue({ type: 'users_select', selected_user: null })).toBeNull();
});
