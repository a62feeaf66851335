import type { TeamSettings } from '../config.ts';
import { type ChangeOutcome, changeOrder } from './change.ts';
import type { OrderStore } from './ports.ts';

export interface EscalateDeps {
  readonly store: OrderStore;
  readonly settings: () => Promise<TeamSettings>;
  readonly now: () => Date;
}

/**
 * Others are to be called about an order that still waits, once. Harmless when it is not time, or they were. A private
 * order is no business of theirs, so admins are called.
 */
export async function escalateOrder(deps: EscalateDeps, orderId: string): Promise<ChangeOutcome> {
  const { approvalEscalateTo } = await deps.settings();
  return changeOrder(deps, orderId, ({ isPrivate }) => ({
    event: { type: 'escalated', to: isPrivate ? [] : approvalEscalateTo },
  }));
}
