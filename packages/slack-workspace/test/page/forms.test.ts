import { expect, test } from 'vitest';
import { stateValue } from '../../page/forms.ts';
import type { JsonObject } from '../../page/json.ts';

const place = { block: {}, blockId: 'b', element: {}, actionId: 'a' };
const shown = (state: JsonObject) => stateValue({ b: { a: state } }, place);

test('an input shows its value, for each kind of element', () => {
  expect(shown({ type: 'plain_text_input', value: 'cafe.rest' })).toBe('cafe.rest');
  expect(shown({ type: 'static_select', selected_option: { value: 'JSON' } })).toBe('JSON');
  expect(shown({ type: 'users_select', selected_user: 'U1' })).toBe('U1');
  expect(shown({ type: 'conversations_select', selected_conversation: 'C1' })).toBe('C1');
  expect(shown({ type: 'multi_users_select', selected_users: ['U1', 'U2'] })).toEqual(['U1', 'U2']);
  expect(shown({ type: 'users_select', selected_user: null })).toBeNull();
});
