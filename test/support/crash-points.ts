import type { OrderLogEntry } from '../../src/orders/order-events.ts';
import type { OrderStore } from '../../src/orders/ports.ts';
import type { NotificationStore } from '../../src/outbox/notifications.ts';

/** Points at which tests kill the bot: while it handles an order, and while it asks an owner. */
export type CrashPoint =
  | 'question not posted'
  | 'question posted, not recorded'
  | 'order committed'
  | 'card not posted'
  | 'card posted, not recorded'
  | 'approval committed'
  | 'claimed'
  | 'sentAt committed'
  | 'answer read'
  | 'outcome committed'
  | 'reply posted, not recorded';

/** Crash points that are reached when an event of the kind is committed. */
const POINT_AFTER_EVENT: Partial<Record<OrderLogEntry['kind'], CrashPoint>> = {
  approved: 'approval committed',
  claimed: 'claimed',
  sending: 'sentAt committed',
  answered: 'outcome committed',
};

/**
 * A store that reports when a crash point is reached. All points are at its boundary, because only the database
 * survives a crash.
 * @param onReached called before anything else happens
 */
export function addCrashPoints<Store extends OrderStore>(
  store: Store,
  onReached: (point: CrashPoint) => void,
): Store {
  const overrides: Pick<OrderStore, 'create' | 'commit'> = {
    async create(creation) {
      const conflict = await store.create(creation);
      if (conflict === undefined) onReached('order committed');
      return conflict;
    },
    async commit(change) {
      const kind = change.log[0]?.kind;
      if (kind === 'answered') onReached('answer read');
      const outcome = await store.commit(change);
      const point = kind === undefined ? undefined : POINT_AFTER_EVENT[kind];
      if (outcome.ok && point !== undefined) onReached(point);
      return outcome;
    },
  };
  return { ...store, ...overrides };
}

/** The same for the outbox: messages about orders, and questions to owners. */
export function addNotificationCrashPoints(
  store: NotificationStore,
  onReached: (point: CrashPoint) => void,
): NotificationStore {
  return {
    ...store,
    async claim(subject, now, leaseMs) {
      const claimed = await store.claim(subject, now, leaseMs);
      if (subject.kind === 'order' && claimed?.notifications.length === 0) onReached('card not posted');
      return claimed;
    },
    // Owner questions are claimed together with other due subjects, then loaded.
    async loadSubject(subject) {
      const claimed = await store.loadSubject(subject);
      if (subject.kind === 'owner_question' && claimed?.notifications.length === 0)
        onReached('question not posted');
      return claimed;
    },
    async recordPosted(subject, notification) {
      if (subject.kind === 'order')
        onReached(
          notification.purpose === 'card' ? 'card posted, not recorded' : 'reply posted, not recorded',
        );
      if (subject.kind === 'owner_question') onReached('question posted, not recorded');
      return store.recordPosted(subject, notification);
    },
  };
}
