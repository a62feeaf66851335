import { APP, defaultSeed, type Message, type Snapshot, TEAM } from '@domain-steward/slack-workspace';
import { expect, test } from 'vitest';
import type { Situation } from '../../demo/page/guide-steps.ts';
import { loseProgressOf, loseSeen } from '../../demo/page/lose-steps.ts';

/* The second path of the guide: what comes next, told from what stands in the workspace. */

function message(ts: string, parts: Partial<Message>): Message {
  return {
    type: 'message',
    channel: 'C0DOMAINS',
    ts,
    user: APP.botUserId,
    text: 'Delete cafe.rest?',
    blocks: [],
    notifies: [],
    ...parts,
  };
}

const DRAFT = message('10.0', {
  blocks: [{ type: 'actions', elements: [{ type: 'button', action_id: 'order_confirm', value: 'o1' }] }],
});
const INCIDENT = message('20.0', {
  channel: 'C0EXPIRY',
  metadata: { event_type: 'domain_incident', event_payload: {} },
});

function situationOf(me: string, messages: readonly Message[], changes: Partial<Situation> = {}): Situation {
  const { users, channels, teamName, appName } = defaultSeed();
  const snapshot: Snapshot = {
    version: 1,
    now: 0,
    team: { ...TEAM, name: teamName },
    me,
    bot: { user_id: APP.botUserId, name: appName },
    commands: [],
    shortcuts: [],
    users,
    usergroups: [],
    channels,
    messages: Object.fromEntries(
      channels.map(({ id }) => [id, messages.filter(({ channel }) => channel === id)]),
    ),
    views: [],
    home: null,
  };
  return { snapshot, place: { channel: 'C0DOMAINS' }, requests: [], seen: [], ...changes };
}

test('begins with Alice, who asks to delete a name in use', () => {
  expect(loseProgressOf(situationOf('U0BOB', [])).target).toEqual({ kind: 'person', user: 'U0ALICE' });
  const { current, target } = loseProgressOf(situationOf('U0ALICE', []));
  expect([current, target]).toEqual(['delete', { kind: 'composer', text: '/domain delete cafe.rest' }]);
});

test('wants the confirmation opened, which is enough', () => {
  const asked = loseProgressOf(situationOf('U0ALICE', [DRAFT]));
  expect(asked.current).toBe('confirm');
  expect(asked.target).toEqual({ kind: 'action', ts: '10.0', actionId: 'order_confirm' });
  const read = loseProgressOf(situationOf('U0ALICE', [DRAFT], { seen: ['confirm'] }));
  expect([read.current, read.target]).toEqual(['theft', { kind: 'theft' }]);
});

test('ends with the thread of an incident', () => {
  const told = situationOf('U0ALICE', [DRAFT, INCIDENT]);
  expect(loseProgressOf(told).target).toEqual({ kind: 'channel', channel: 'C0EXPIRY' });
  const there = { ...told, place: { channel: 'C0EXPIRY' } };
  expect(loseProgressOf(there).target).toEqual({ kind: 'thread', ts: '20.0' });
  expect(loseSeen(there)).toBeUndefined();
  const reading = { ...told, place: { channel: 'C0EXPIRY', thread: '20.0' } };
  expect(loseSeen(reading)).toBe('20.0');
  expect(loseProgressOf({ ...reading, seen: ['20.0'] }).current).toBeUndefined();
});
