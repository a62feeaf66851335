import { describe, expect, it } from 'vitest';
import { parseOrigin, readFormValues, viewPayloadSchema } from '../../../src/slack/inbound/payload.ts';

function viewWith(values: unknown, metadata = '{"channelId":"C1"}') {
  const view = { id: 'V1', callback_id: 'renew', private_metadata: metadata, state: { values } };
  return viewPayloadSchema.parse({ user: { id: 'U1' }, view }).view;
}

describe('the values of a form', () => {
  it('are read from text inputs, menus, multiple choices and empty inputs', () => {
    const view = viewWith({
      name: { name: { type: 'plain_text_input', value: 'cafe.rest' } },
      empty: { empty: { type: 'plain_text_input', value: null } },
      method: { method: { type: 'static_select', selected_option: { value: 'password', text: {} } } },
      people: { people: { type: 'multi_users_select', selected_users: ['U0BOB'] } },
      channel: { channel: { type: 'conversations_select', selected_conversation: 'C0DOMAINS' } },
      no_channel: { no_channel: { type: 'conversations_select', selected_conversation: null } },
      none: { none: { type: 'static_select', selected_option: null } },
      keys: { keys: { type: 'checkboxes', selected_options: [{ value: 'a' }, { value: 'b' }] } },
    });
    expect(readFormValues(view)).toEqual({
      name: 'cafe.rest',
      empty: '',
      method: 'password',
      none: '',
      people: ['U0BOB'],
      channel: 'C0DOMAINS',
      no_channel: '',
      keys: ['a', 'b'],
    });
  });

  it('are rejected if they don’t have Slack’s shape', () => {
    expect(() => viewWith({ name: 'cafe.rest' })).toThrow();
  });
});

describe('the origin of a form', () => {
  it('is read from the bot’s own metadata', () => {
    const origin = { channelId: 'C1', threadTs: '1.2', subject: 'abc' };
    expect(parseOrigin(viewWith({}, JSON.stringify(origin)))).toEqual(origin);
  });

  it.each(['', 'no json', '{}', '[]', '{"channelId":5}'])('is unknown for %j', (metadata) => {
    expect(parseOrigin(viewWith({}, metadata))).toBeUndefined();
  });
});
