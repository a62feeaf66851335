import type { RecordedRequest } from '@domain-steward/sandbox-service';
import { APP, defaultSeed, type Message, type Snapshot, TEAM } from '@domain-steward/slack-workspace';
import { beforeEach, expect, test } from 'vitest';
import { type NextTarget, progressOf, type Situation } from '../../demo/page/guide-steps.ts';
import type { SeenRequest } from '../../demo/page/host.ts';

const LOGIN: RecordedRequest = {
  n: 1,
  at: 0,
  interface: 'json',
  method: 'POST',
  path: '/v1/login',
  query: {},
  ctid: null,
  way: null,
  user: null,
  context: null,
  headers: {},
  body: null,
  task: 'session.create',
  name: 'alice',
  carriedOut: true,
  fault: null,
  status: 200,
  answerCode: 'S1',
  durationMs: 3,
};

function snapshotFor(me: string, messages: readonly Message[] = []): Snapshot {
  const { users, channels, teamName, appName } = defaultSeed();
  return {
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
}

function card(state: string, ts = '10.0', task = 'renew'): Message {
  return {
    type: 'message',
    channel: 'C0DOMAINS',
    ts,
    user: APP.botUserId,
    text: 'card',
    blocks: [],
    notifies: [],
    metadata: {
      event_type: 'domain_order',
      event_payload: { order_id: ts, task, names: 'cafe.rest', state },
    },
  };
}

const DIGEST: Message = {
  ...card('', '20.0'),
  channel: 'C0EXPIRY',
  metadata: { event_type: 'domain_digest', event_payload: {} },
  blocks: [
    {
      type: 'section',
      text: { type: 'mrkdwn', text: '*cafe.rest*' },
      accessory: { type: 'overflow', action_id: 'reminder_more' },
    },
  ],
};

let situation: Situation;
beforeEach(() => {
  situation = { snapshot: snapshotFor('U0ALICE'), place: { channel: 'C0DOMAINS' }, requests: [], seen: [] };
});

function next(changes: Partial<Situation>): [step: string | undefined, target: NextTarget | undefined] {
  const { current, target } = progressOf({ ...situation, ...changes });
  return [current, target];
}

test('begins with Alice, who writes the command to link', () => {
  expect(next({})).toEqual(['link', { kind: 'composer', text: '/domain link' }]);
  expect(next({ place: { channel: 'C0GENERAL' } })[1]).toEqual({ kind: 'channel', channel: 'C0DOMAINS' });
  expect(next({ snapshot: snapshotFor('U0BOB') })[1]).toEqual({ kind: 'person', user: 'U0ALICE' });
});

test('goes on when the service took a login, and not when it refused', () => {
  const requests: SeenRequest[] = [LOGIN];
  expect(next({ requests })[0]).toBe('renew');
  expect(next({ requests: [{ ...LOGIN, status: 401 }] })[0]).toBe('link');
  expect(next({ requests: [{ ...LOGIN, carriedOut: false }] })[0]).toBe('link');
});

test('wants Bob for the approval, on the card', () => {
  expect(next({ snapshot: snapshotFor('U0ALICE', [card('PENDING')]) })).toEqual([
    'approve',
    { kind: 'person', user: 'U0BOB' },
  ]);
  expect(next({ snapshot: snapshotFor('U0CAROL', [card('PENDING')]) })[1]).toEqual({
    kind: 'action',
    ts: '10.0',
    actionId: 'order_approve',
  });
});

test('asks again after a denial, and goes by the latest order', () => {
  expect(next({ snapshot: snapshotFor('U0ALICE', [card('DENIED')]), requests: [LOGIN] })[0]).toBe('renew');
  const both = [card('SUCCEEDED'), card('PENDING', '11.0')];
  expect(next({ snapshot: snapshotFor('U0BOB', both) })[0]).toBe('approve');
  expect(next({ snapshot: snapshotFor('U0ALICE', [card('PENDING', '12.0', 'create')]) })[0]).toBe('link');
});

test('waits for the answer, then wants its thread read', () => {
  expect(next({ snapshot: snapshotFor('U0BOB', [card('EXECUTING')]) })).toEqual(['result', undefined]);
  const done = snapshotFor('U0BOB', [card('SUCCEEDED')]);
  expect(next({ snapshot: done })).toEqual(['result', { kind: 'thread', ts: '10.0' }]);
  expect(next({ snapshot: done, seen: ['10.0'] })).toEqual(['digest', { kind: 'time' }]);
});

test('ends with the digest in its channel', () => {
  const snapshot = snapshotFor('U0BOB', [card('SUCCEEDED'), DIGEST]);
  expect(next({ snapshot, seen: ['10.0'] })).toEqual(['digest', { kind: 'channel', channel: 'C0EXPIRY' }]);
  const { current, steps } = progressOf({ ...situation, snapshot, seen: ['10.0', '20.0'] });
  expect(current).toBeUndefined();
  expect(steps.every(({ done }) => done)).toBe(true);
});
