import { expect, test } from 'vitest';
import { goOnHoliday } from '../../demo/page/paths/holiday.ts';
import { progressOf } from '../../demo/page/paths/path.ts';
import { cardOf, messageAt, situationOf } from '../support/guide.ts';

/* The path of a mandate: its next step, derived from the orders. */

const DAY = messageAt('20.0', {
  channel: 'C0EXPIRY',
  text: '2 names will be renewed by mandate from tomorrow, first garden.rest.',
  blocks: ['o1', 'o2'].map((value) => ({
    type: 'section',
    accessory: { type: 'button', action_id: 'order_stop', value },
  })),
});

function orderOf(id: string, state: string) {
  const card = cardOf(state, `${id}.0`, { channel: 'C0EXPIRY', thread_ts: '20.0' });
  const event_payload = { ...card.metadata?.event_payload, order_id: id, state, mandate: 'm1' };
  return { ...card, metadata: { event_type: 'domain_order', event_payload } };
}

const there = { place: { channel: 'C0EXPIRY' } };

test('begins with Carol, who opens the mandate in force', () => {
  const { current, target } = progressOf(goOnHoliday, situationOf('U0CAROL'));
  expect([current?.title, target]).toEqual([
    'See the mandate',
    { kind: 'composer', text: '/domain mandates' },
  ]);
  const list = messageAt('1.0', {
    blocks: [{ type: 'actions', elements: [{ type: 'button', action_id: 'mandate_end' }] }],
  });
  const noted = goOnHoliday.seenNow(situationOf('U0CAROL', [list]));
  expect(noted).toContain('mandates');
  const seen = progressOf(goOnHoliday, situationOf('U0CAROL', [], { seen: ['mandates'] }));
  expect([seen.current?.title, seen.current?.deed?.route]).toEqual(['Let time pass', '/local/days']);
});

test('highlights the button that stops one of the orders', () => {
  const waiting = [DAY, orderOf('o1', 'APPROVED'), orderOf('o2', 'APPROVED')];
  const { current, target } = progressOf(goOnHoliday, situationOf('U0CAROL', waiting, there));
  const button = { kind: 'action', ts: '20.0', actionId: 'order_stop', value: 'o1' };
  expect([current?.title, target]).toEqual(['Stop one', button]);
});

test('continues until two are renewed, and ends in their thread', () => {
  const stopped = [DAY, orderOf('o1', 'CANCELLED'), orderOf('o2', 'SUCCEEDED')];
  expect(progressOf(goOnHoliday, situationOf('U0CAROL', stopped, there)).current?.title).toBe(
    'Let them be renewed',
  );
  const done = situationOf('U0CAROL', [...stopped, orderOf('o3', 'SUCCEEDED')], there);
  expect(progressOf(goOnHoliday, done).target).toEqual({ kind: 'thread', ts: '20.0' });
  const reading = { ...done, place: { channel: 'C0EXPIRY', thread: '20.0' } };
  expect(goOnHoliday.seenNow(reading)).toContain('20.0');
  expect(progressOf(goOnHoliday, { ...reading, seen: ['20.0'] }).current).toBeUndefined();
});
