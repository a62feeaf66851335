import type { OrderLogEntry } from '../../src/orders/order-events.ts';
import type { OrderStore } from '../../src/orders/ports.ts';
import type { NotificationStore } from '../../src/outbox/notifications.ts';

/** Points at which tests kill the process: in an order's life, and while an owner is asked. */
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

/** Reached as soon as an event of this kind is in the database. */
const AFTER: Partial<Record<OrderLogEntry['kind'], CrashPoint>> = {
  approved: 'approval committed',
  claimed: 'claimed',
  sending: 'sentAt committed',
  answered: 'outcome committed',
};

/**
 * A store that reports when a crash point is reached. All points are at its boundary, because only the database
 * survives a crash.
 * @param reached called before anything else happens
 */
export function withCrashPoints<Store extends OrderStore>(
  store: Store,
  reached: (point: CrashPoint) => void,
): Store {
  const watched: Pick<OrderStore, 'create' | 'commit'> = {
    async create(creation) {
      const conflict = await store.create(creation);
      if (conflict === undefined) reached('order committed');
      return conflict;
    },
    async commit(change) {
      const kind = change.log[0]?.kind;
      if (kind === 'answered') reached('answer read');
      const outcome = await store.commit(change);
      const point = kind === undefined ? undefined : AFTER[kind];
      if (outcome.ok && point !== undefined) reached(point);
      return outcome;
    },
  };
  return { ...store, ...watched };
}

/** The same for the outbox, for messages of orders and questions to owners. */
export function withNotificationCrashPoints(
  store: NotificationStore,
  reached: (point: CrashPoint) => void,
): NotificationStore {
  return {
    ...store,
    async claim(subject, now, leaseMs) {
      const claimed = await store.claim(subject, now, leaseMs);
      if (subject.kind === 'order' && claimed?.notifications.length === 0) reached('card not posted');
      return claimed;
    },
    // Due subjects are claimed together, then read.
    async read(subject) {
      const claimed = await store.read(subject);
      if (subject.kind === 'owner_question' && claimed?.notifications.length === 0)
        reached('question not posted');
      return claimed;
    },
    async recordPosted(subject, notification) {
      if (subject.kind === 'order')
        reached(notification.purpose === 'card' ? 'card posted, not recorded' : 'reply posted, not recorded');
      if (subject.kind === 'owner_question') reached('question posted, not recorded');
      return store.recordPosted(subject, notification);
    },
  };
}
