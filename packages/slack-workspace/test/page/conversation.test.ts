import { expect, test } from 'vitest';
import {
  buildReplies,
  channelName,
  continues,
  placeIn,
  threadSummaries,
  topLevel,
  unreadIn,
} from '../../page/conversation.ts';
import type { Channel, Message, User } from '../../src/protocol.ts';
import { defaultSeed } from '../../src/seed.ts';

const channel: Channel = {
  id: 'C1',
  name: 'domains',
  is_im: false,
  is_private: false,
  members: ['U1', 'U2'],
  topic: '',
};

function message(ts: string, user: string, more: Partial<Message> = {}): Message {
  return { type: 'message', channel: 'C1', ts, user, text: 'x', blocks: [], notifies: [], ...more };
}

const messages = [
  message('1.0', 'U1'),
  message('2.0', 'U2', { thread_ts: '1.0' }),
  message('3.0', 'U2', { thread_ts: '1.0' }),
  message('4.0', 'U1', { thread_ts: '1.0', notifies: ['U2'] }),
  message('5.0', 'U2', { thread_ts: '1.0', ephemeral_to: 'U1' }),
  message('6.0', 'U2', { thread_ts: '6.0' }),
];

test('opens the app at its Home tab, unless it has unread messages', () => {
  const direct: Channel = { ...channel, id: 'D1', is_im: true, members: ['U1', 'UBOT'] };
  expect(placeIn(direct, 'U1', 'UBOT', 0)).toEqual({ channel: 'D1', home: true });
  expect(placeIn(direct, 'U1', 'UBOT', 1)).toEqual({ channel: 'D1' });
  expect(placeIn({ ...direct, members: ['U1', 'U2'] }, 'U1', 'UBOT', 0)).toEqual({ channel: 'D1' });
  expect(placeIn(channel, 'U1', 'UBOT', 0)).toEqual({ channel: 'C1' });
});

test('keeps replies in their thread', () => {
  expect(topLevel(messages).map(({ ts }) => ts)).toEqual(['1.0', '6.0']);
  expect(buildReplies(messages, '1.0').map(({ ts }) => ts)).toEqual(['2.0', '3.0', '4.0', '5.0']);
  expect(threadSummaries(messages)).toEqual(
    new Map([['1.0', { count: 3, people: ['U2', 'U1'], last: '4.0' }]]),
  );
});

test('counts other people’s messages since the last read, and those for this person', () => {
  expect(unreadIn(channel, messages, 'U1', undefined)).toEqual({ count: 2, mentions: 1 });
  expect(unreadIn(channel, messages, 'U2', undefined)).toEqual({ count: 2, mentions: 1 });
  expect(unreadIn(channel, messages, 'U2', '1.0')).toEqual({ count: 1, mentions: 1 });
  expect(unreadIn(channel, messages, 'U2', '4.0')).toEqual({ count: 0, mentions: 0 });
  expect(unreadIn(channel, [message('9.0', 'U2', { notifies: ['here'] })], 'U1', '6.0')).toEqual({
    count: 1,
    mentions: 1,
  });
  expect(unreadIn({ ...channel, is_im: true }, [message('9.0', 'U2')], 'U1', '6.0').mentions).toBe(1);
});

test('names a direct message after the other person', () => {
  const users = new Map<string, User>(defaultSeed().users.map((user) => [user.id, user]));
  const direct = { ...channel, is_im: true, members: ['U0ALICE', 'U0BOB'] };
  expect(channelName(direct, 'U0ALICE', users)).toBe('Bob');
  expect(channelName(direct, 'U0BOB', users)).toBe('Alice');
  expect(channelName(channel, 'U0BOB', users)).toBe('domains');
});

test('names an author once for consecutive messages', () => {
  const first = message('100.0', 'U1');
  expect(continues(message('200.0', 'U1'), first)).toBe(true);
  expect(continues(message('500.0', 'U1'), first)).toBe(false);
  expect(continues(message('200.0', 'U2'), first)).toBe(false);
  expect(continues(message('200.0', 'U1', { ephemeral_to: 'U1' }), first)).toBe(false);
  expect(continues(message('200.0', 'U1', { blocks: [{ type: 'divider' }] }), first)).toBe(false);
  expect(continues(first, undefined)).toBe(false);
});
