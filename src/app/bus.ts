import { EventEmitter } from 'node:events';
import type { Order } from '../orders/order.ts';

/**
 * What has been committed, for parts that do not know each other. Nothing depends on being heard: what is due stands in
 * rows, and a listener only looks for it sooner.
 */
export interface BusEvents {
  /** An order has changed. */
  readonly orderChanged: [order: Order];
  /** There is something of which people have to be told. */
  readonly notificationsDue: [];
  /** Names were put on the watch list. */
  readonly namesAdded: [];
}

export type Bus = EventEmitter<BusEvents>;

export function createBus(): Bus {
  return new EventEmitter<BusEvents>();
}
