import type { RecordedRequest } from '@domain-steward/sandbox-service';
import { expect, test } from 'vitest';
import { firstVisit } from '../../demo/page/paths/first-visit.ts';
import { type NextTarget, progressOf, type Situation } from '../../demo/page/paths/path.ts';
import { cardOf, messageAt, situationOf } from '../support/guide.ts';

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

const DIGEST = messageAt('20.0', {
  channel: 'C0EXPIRY',
  metadata: { event_type: 'domain_digest', event_payload: {} },
  blocks: [
    {
      type: 'section',
      text: { type: 'mrkdwn', text: '*cafe.rest*' },
      accessory: { type: 'overflow', action_id: 'reminder_more' },
    },
  ],
});

function next(
  me: string,
  messages: Parameters<typeof situationOf>[1] = [],
  changes: Partial<Situation> = {},
): [step: string | undefined, target: NextTarget | undefined] {
  const { current, target } = progressOf(firstVisit, situationOf(me, messages, changes));
  return [current?.title, target];
}

test('begins with Alice, who types the command to link', () => {
  expect(next('U0ALICE')).toEqual(['Link an account', { kind: 'composer', text: '/domain link' }]);
  const elsewhere = { place: { channel: 'C0GENERAL' } };
  expect(next('U0ALICE', [], elsewhere)[1]).toEqual({ kind: 'channel', channel: 'C0DOMAINS' });
  expect(next('U0BOB')[1]).toEqual({ kind: 'person', user: 'U0ALICE' });
});

test('continues after a login that the service accepted, and not after a refused one', () => {
  expect(next('U0ALICE', [], { requests: [LOGIN] })[0]).toBe('Request a renewal');
  expect(next('U0ALICE', [], { requests: [{ ...LOGIN, status: 401 }] })[0]).toBe('Link an account');
  expect(next('U0ALICE', [], { requests: [{ ...LOGIN, carriedOut: false }] })[0]).toBe('Link an account');
});

test('highlights Bob’s approval on the card', () => {
  const asked = [cardOf('PENDING')];
  expect(next('U0ALICE', asked)).toEqual(['Approve it', { kind: 'person', user: 'U0BOB' }]);
  const button = { kind: 'action', ts: '10.0', actionId: 'order_approve' };
  expect(next('U0CAROL', asked)[1]).toEqual(button);
});

test('asks again after a denial, and follows the latest order of its name', () => {
  expect(next('U0ALICE', [cardOf('DENIED')], { requests: [LOGIN] })[0]).toBe('Request a renewal');
  expect(next('U0BOB', [cardOf('SUCCEEDED'), cardOf('PENDING', '11.0')])[0]).toBe('Approve it');
  expect(next('U0ALICE', [cardOf('PENDING', '12.0', { task: 'create' })])[0]).toBe('Link an account');
  expect(next('U0ALICE', [cardOf('PENDING', '12.0', { names: 'bar.rest' })])[0]).toBe('Link an account');
});

test('waits for the response, then highlights its thread', () => {
  expect(next('U0BOB', [cardOf('EXECUTING')])).toEqual(['Read the result', undefined]);
  const done = [cardOf('SUCCEEDED')];
  expect(next('U0BOB', done)).toEqual(['Read the result', { kind: 'thread', ts: '10.0' }]);
  expect(next('U0BOB', done, { seen: ['10.0'] })).toEqual(['See what expires', { kind: 'time' }]);
});

test('ends with the digest in its channel', () => {
  const messages = [cardOf('SUCCEEDED'), DIGEST];
  const read = situationOf('U0BOB', messages, { seen: ['10.0'] });
  expect(progressOf(firstVisit, read).target).toEqual({ kind: 'channel', channel: 'C0EXPIRY' });
  const there = { ...read, place: { channel: 'C0EXPIRY' } };
  expect(firstVisit.seenNow(there)).toContain('20.0');
  const { current, steps } = progressOf(firstVisit, { ...there, seen: ['10.0', '20.0'] });
  expect(current).toBeUndefined();
  expect(steps.every(({ done }) => done)).toBe(true);
});
