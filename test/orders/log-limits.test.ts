import { describe, expect, test } from 'vitest';
import type { OrderLogEntry } from '../../src/events.ts';
import { itemInLog, limitOf } from '../../src/orders/log-limits.ts';
import type { OrderEvent, OrderItem } from '../../src/orders/order.ts';
import { transition } from '../../src/orders/state-machine.ts';
import { newOrder } from './sample.ts';

const NOW = new Date('2026-03-01T09:00:00Z');
const DONE = { summary: { code: 'done' } } as const;
const SENDING: OrderEvent = { type: 'sending', workerId: 'w', n: 1 };
const BUSY: OrderEvent = { type: 'retry_scheduled', workerId: 'w', n: 1, notBefore: NOW, why: 'busy' };
const ANSWERED: OrderEvent = { type: 'answered', n: 1, outcome: 'SUCCEEDED', result: DONE };
const LEFT: OrderEvent = { type: 'stopped', summary: { code: 'requester_left' } };
const STOPPED: OrderEvent = { type: 'stopped', summary: { code: 'stopped' }, by: 'U0BOB' };

/** What the log of two claimed names says of the first one after some events. */
function logged(...events: readonly OrderEvent[]): {
  readonly item: OrderItem;
  readonly log: OrderLogEntry[];
} {
  let order = newOrder(['a.rest', 'b.rest'], { state: 'EXECUTING', claim: { workerId: 'w' } });
  const log: OrderLogEntry[] = [];
  for (const event of events) {
    const result = transition(order, event, NOW);
    if (!result.ok) throw new Error(`${event.type}: ${result.refusal.code}`);
    order = result.order;
    log.push(...result.log);
  }
  const [item] = order.items;
  if (item === undefined) throw new Error('no item');
  return { item, log };
}

describe('an item in the log', () => {
  test.each<[what: string, state: string, done: string | undefined, ...events: OrderEvent[]]>([
    ['nothing was sent', 'unsent', undefined],
    ['its request left', 'sent', 'UNKNOWN', SENDING],
    ['the service refused it for load', 'unsent', undefined, SENDING, BUSY],
    ['it was sent again', 'sent', 'UNKNOWN', SENDING, BUSY, SENDING],
    ['its session ended', 'sent', 'UNKNOWN', SENDING, { ...SENDING, again: 'session_ended' }],
    ['it was answered', 'ended', 'SUCCEEDED', SENDING, ANSWERED],
    ['the requester left', 'ended', undefined, LEFT],
    ['the requester left while it was under way', 'sent', 'UNKNOWN', SENDING, LEFT],
    ['a person stopped it', 'ended', undefined, STOPPED],
    ['a person stopped it while it was under way', 'stopping', 'UNKNOWN', SENDING, STOPPED],
    ['it was refused for load after that', 'ended', undefined, SENDING, STOPPED, BUSY],
    ['its worker died', 'ended', 'UNKNOWN', SENDING, { type: 'released' }],
    [
      'the database had lost commits',
      'ended',
      undefined,
      { type: 'invalidated', summary: { code: 'database_restored' } },
    ],
    [
      'a person settled it as done',
      'ended',
      'SUCCEEDED',
      SENDING,
      { type: 'answered', n: 1, outcome: 'UNKNOWN', result: DONE },
      { type: 'resolved', by: 'U0BOB', outcome: 'SUCCEEDED', reason: undefined },
    ],
  ])('%s', (_what, state, done, ...events) => {
    const { item, log } = logged(...events);
    expect(itemInLog(log, item)).toEqual({ state, done });
  });

  test('limits what its row says, and lets the row of the product pass', () => {
    const waiting = logged().item;
    expect(limitOf(logged(SENDING, BUSY).log, waiting)).toBeUndefined();
    expect(limitOf(logged(SENDING).log, waiting)).toBe('sent');
    expect(limitOf(logged(SENDING, ANSWERED).log, waiting)).toBe('ended');
    expect(limitOf([], logged(SENDING).item)).toBe('missing');
    expect(limitOf(logged(SENDING, STOPPED).log, logged(SENDING).item)).toBe('ended');
  });
});
