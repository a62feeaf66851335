import { z } from 'zod';
import { keyEvents } from '../approvals/signing/key-events.ts';
import { moneyEvents } from '../money/money-events.ts';
import { nameEvents } from '../names/name-events.ts';
import type { Order } from '../orders/order.ts';
import type { OrderLogEntry } from '../orders/order-events.ts';
import { policyEvents } from '../policy/policy-events.ts';
import { LEDGER_DIFFERENCES } from './difference.ts';
import { changedValues, event } from './event.ts';

/** The audit log. The schemas of its events are declared beside their subjects; the store parses rows with them. */

const ledgerDifference = z.object({
  code: z.enum(LEDGER_DIFFERENCES),
  count: z.int(),
  first: z.int().exactOptional(),
});

/** An event that isn't about an order. */
export const teamEvent = z.discriminatedUnion('kind', [
  ...nameEvents,
  ...moneyEvents,
  ...policyEvents,
  ...keyEvents,
  event('preset', ['preset_changed'], changedValues),
  event('account', ['team_account_linked', 'team_account_unlinked'], { application: z.string() }),
  /** Findings about the ledger itself, and deletions from the log. */
  event('ledger', ['ledger_differs'], { differences: z.array(ledgerDifference).readonly() }),
  event('ledger', ['sealing_stalled'], {}),
  /** A backup was restored: later events reuse numbers that the ledger had already given. */
  event('ledger', ['database_restored'], { takenAt: z.iso.datetime(), seal: z.int() }),
  event('ledger', ['events_forgotten'], {
    reason: z.enum(['age', 'person']),
    count: z.int(),
    /** In the ledger, from the first to the last. */
    seqs: z.array(z.tuple([z.int(), z.int()])).readonly(),
    /** In hex, of those not sealed yet. */
    leaves: z.array(z.string()).readonly(),
  }),
]);

/** Kinds of events that notify people: each such event is a subject of notifications. */
export const NOTIFIED_KINDS: readonly TeamEvent['kind'][] = [
  'name_snoozed',
  'name_renewed',
  'lapse_confirmed',
  'notices_rerouted',
  'name_handed_over',
  'stand_in_changed',
  'charter_status',
  'ledger_differs',
  'sealing_stalled',
  'database_restored',
];

export type TeamEvent = Readonly<z.output<typeof teamEvent>>;
export type TeamEventOf<Kind> = TeamEvent extends infer Event
  ? Event extends { readonly kind: infer Kinds }
    ? Kind extends Kinds
      ? Event
      : never
    : never
  : never;

export type WatchDecision = Omit<TeamEventOf<'name_watched'>, 'subject'>;
export type IncidentDecision = Pick<TeamEventOf<'incident_ours'>, 'kind' | 'actor' | 'reason'>;

/** An event of an order, with the order as it is now and its events of {@link DECISION_KINDS}, oldest first. */
export interface AuditedEvent {
  readonly order: Order;
  readonly entry: OrderLogEntry;
  readonly decisions: readonly OrderLogEntry[];
}

/** The log. Implemented by the store. */
export interface EventLog {
  /** Every event from `from` until before `to`, oldest first. Drafts are left out until they are confirmed. */
  read(from: Date, to: Date): AsyncIterable<AuditedEvent | { readonly event: TeamEvent }>;
  /** An event that isn't about an order. @param seq its number in the log */
  find(seq: string): Promise<TeamEvent | undefined>;
}
