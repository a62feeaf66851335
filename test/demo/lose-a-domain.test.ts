import { expect, test } from 'vitest';
import { loseADomain } from '../../demo/page/paths/lose-a-domain.ts';
import { progressOf, type Situation } from '../../demo/page/paths/path.ts';
import { messageAt, situationOf } from '../support/guide.ts';

/* The second path of the guide: its next step, derived from the workspace. */

const DRAFT = messageAt('10.0', {
  text: 'Delete cafe.rest?',
  blocks: [{ type: 'actions', elements: [{ type: 'button', action_id: 'order_confirm', value: 'o1' }] }],
});
const INCIDENT = messageAt('20.0', {
  channel: 'C0EXPIRY',
  metadata: { event_type: 'domain_incident', event_payload: { name: 'cafe.rest' } },
});

const currentOf = (situation: Situation) => progressOf(loseADomain, situation).current?.title;
const targetOf = (situation: Situation) => progressOf(loseADomain, situation).target;

test('begins with Alice, who requests the deletion of a name in use', () => {
  expect(targetOf(situationOf('U0BOB'))).toEqual({ kind: 'person', user: 'U0ALICE' });
  const begun = situationOf('U0ALICE');
  expect(currentOf(begun)).toBe('Delete a name in use');
  expect(targetOf(begun)).toEqual({ kind: 'composer', text: '/domain delete cafe.rest' });
});

test('highlights the confirmation, and opening it is enough', () => {
  const asked = situationOf('U0ALICE', [DRAFT]);
  expect(currentOf(asked)).toBe('See what stops you');
  expect(targetOf(asked)).toEqual({ kind: 'action', ts: '10.0', actionId: 'order_confirm' });
  const read = progressOf(loseADomain, { ...asked, seen: ['confirm'] });
  expect([read.current?.title, read.target]).toEqual(['Let it be stolen', undefined]);
  expect(read.current?.deed?.route).toBe('/local/theft');
});

test('continues to the thread of its incident, and ends with the webhooks', () => {
  const told = situationOf('U0ALICE', [DRAFT, INCIDENT]);
  expect(targetOf(told)).toEqual({ kind: 'channel', channel: 'C0EXPIRY' });
  const there = { ...told, place: { channel: 'C0EXPIRY' } };
  expect(targetOf(there)).toEqual({ kind: 'thread', ts: '20.0' });
  expect(loseADomain.seenNow(there)).not.toContain('20.0');
  const reading = { ...told, place: { channel: 'C0EXPIRY', thread: '20.0' } };
  expect(loseADomain.seenNow(reading)).toContain('20.0');
  const read = { ...reading, seen: ['20.0'] };
  expect(targetOf(read)).toEqual({ kind: 'panel', panel: 'webhooks' });
  expect(loseADomain.seenNow({ ...read, panel: 'webhooks' })).toContain('webhooks');
  expect(currentOf({ ...read, seen: ['20.0', 'webhooks'] })).toBeUndefined();
});

test('ignores incidents of other names', () => {
  const metadata = { event_type: 'domain_incident', event_payload: { name: 'olive.rest' } };
  expect(currentOf(situationOf('U0ALICE', [{ ...INCIDENT, metadata }]))).toBe('Delete a name in use');
});
