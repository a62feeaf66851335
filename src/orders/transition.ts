import {
  answered,
  answeredLate,
  heldBack,
  hinted,
  invalidated,
  released,
  sending,
  settled,
  shown,
  stopped,
} from './item-events.ts';
import type { Order, OrderEvent } from './order.ts';
import { change, closed, refuse, type Transition } from './steps.ts';

/**
 * What an event makes of an order. Pure; the store commits the result by compare-and-swap on `version`.
 * @param now the moment of the event
 */
export function transition(order: Order, event: OrderEvent, now: Date): Transition {
  switch (event.type) {
    case 'confirmed':
      if (order.state !== 'DRAFT') return refuse(order, 'confirmed');
      return change(
        order,
        now,
        { kind: event.type, actor: order.requesterId },
        {
          state: event.needsApproval ? 'PENDING' : 'APPROVED',
          expiresAt: event.needsApproval ? event.expiresAt : undefined,
          nudgeAt: event.needsApproval ? event.nudgeAt : undefined,
        },
      );
    case 'approved':
      return approve(order, event, now);
    case 'denied':
      if (order.state !== 'PENDING') return refuse(order, 'denied');
      return change(
        order,
        now,
        { kind: event.type, actor: event.by, detail: { reason: event.reason ?? null } },
        closed('DENIED', now),
      );
    case 'cancelled':
      if (order.state !== 'PENDING' && order.state !== 'DRAFT') return refuse(order, 'cancelled');
      return change(order, now, { kind: event.type, actor: event.by }, closed('CANCELLED', now));
    case 'ran_out':
      if (order.state !== 'PENDING' || order.expiresAt === undefined || order.expiresAt > now) {
        return refuse(order, 'expired');
      }
      return change(order, now, { kind: event.type }, closed('EXPIRED', now));
    case 'nudged':
      if (order.state !== 'PENDING' || order.nudgeAt === undefined || order.nudgeAt > now) {
        return refuse(order, 'nudged');
      }
      return change(order, now, { kind: event.type }, { nudgeAt: undefined });
    case 'claimed':
      if (order.state !== 'APPROVED') return refuse(order, 'carried out');
      return change(
        order,
        now,
        { kind: event.type, detail: { worker: event.workerId } },
        {
          state: 'EXECUTING',
          claim: { workerId: event.workerId },
        },
      );
    case 'sending':
      return sending(order, event, now);
    case 'held_back':
      return heldBack(order, event, now);
    case 'answered':
      return answered(order, event, now);
    case 'answered_late':
      return answeredLate(order, event, now);
    case 'shown':
      return shown(order, event, now);
    case 'stopped':
      return stopped(order, event, now);
    case 'hinted':
      return hinted(order, event, now);
    case 'doubted':
      return invalidated(order, event, now);
    case 'released':
      return released(order, now);
    case 'settled':
      return settled(order, event, now);
  }
}

function approve(order: Order, event: OrderEvent & { type: 'approved' }, now: Date): Transition {
  if (order.state !== 'PENDING') return refuse(order, 'approved');
  if (order.expiresAt !== undefined && order.expiresAt <= now) {
    return {
      ok: false,
      refusal: 'Its time is over, so it cannot be approved. Ask again if it is still wanted.',
    };
  }
  // Who approved before may press again: somebody whose approval had lapsed may be an approver once more.
  const isRepeated = order.approvals.some((approval) => approval.userId === event.by);
  const approvals = isRepeated ? order.approvals : [...order.approvals, { userId: event.by, at: now }];
  const lapsed = approvals.map(({ userId }) => userId).filter((userId) => !event.standing.includes(userId));
  const standing = approvals.length - lapsed.length;
  const enough = standing >= order.approvalsRequired;
  if (isRepeated && !enough) {
    return { ok: false, refusal: 'You have approved this already. It needs somebody else’s approval too.' };
  }
  const { unreadableGroups = [] } = event;
  const detail = {
    standing,
    lapsed,
    required: order.approvalsRequired,
    ...(lapsed.length === 0 || unreadableGroups.length === 0 ? {} : { unreadableGroups }),
  };
  return change(
    order,
    now,
    { kind: event.type, actor: event.by, detail },
    enough ? { approvals, state: 'APPROVED', expiresAt: undefined, nudgeAt: undefined } : { approvals },
  );
}
