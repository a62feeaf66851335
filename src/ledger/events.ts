import { z } from 'zod';
import { keyEvents } from '../approvals/signing/key-events.ts';
import { moneyEvents } from '../money/money-events.ts';
import { nameEvents } from '../names/name-events.ts';
import type { Order } from '../orders/order.ts';
import type { OrderLogEntry } from '../orders/order-events.ts';
import { policyEvents } from '../policy/policy-events.ts';
import { LEDGER_DIFFERENCES } from './difference.ts';
import { buildEventSchema, changedValuesShape } from './event.ts';

const ledgerDifferenceSchema = z.object({
  code: z.enum(LEDGER_DIFFERENCES),
  count: z.int(),
  first: z.int().exactOptional(),
});

export const teamEventSchema = z.discriminatedUnion('kind', [
  ...nameEvents,
  ...moneyEvents,
  ...policyEvents,
  ...keyEvents,
  buildEventSchema('preset', ['preset_changed'], changedValuesShape),
  buildEventSchema('account', ['team_account_linked', 'team_account_unlinked'], { application: z.string() }),
  buildEventSchema('ledger', ['ledger_differs'], { differences: z.array(ledgerDifferenceSchema).readonly() }),
  buildEventSchema('ledger', ['sealing_stalled'], {}),
  /** After a backup is restored, new events reuse sequence numbers of lost ones. */
  buildEventSchema('ledger', ['database_restored'], { takenAt: z.iso.datetime(), seal: z.int() }),
  buildEventSchema('ledger', ['events_forgotten'], {
    reason: z.enum(['age', 'person']),
    count: z.int(),
    /** Ranges of sequence numbers in the ledger, inclusive. */
    seqs: z.array(z.tuple([z.int(), z.int()])).readonly(),
    /** Leaf hashes (hex) of deleted events that weren't sealed yet. */
    leaves: z.array(z.string()).readonly(),
  }),
]);

export const NOTIFIED_EVENT_KINDS: readonly TeamEvent['kind'][] = [
  'name_snoozed',
  'name_renewed',
  'lapse_confirmed',
  'notices_rerouted',
  'stand_in_changed',
  'charter_status',
  'ledger_differs',
  'sealing_stalled',
  'database_restored',
];

export type TeamEvent = Readonly<z.output<typeof teamEventSchema>>;
export type TeamEventOf<Kind> = TeamEvent extends infer Event
  ? Event extends { readonly kind: infer Kinds }
    ? Kind extends Kinds
      ? Event
      : never
    : never
  : never;

export type WatchDecision = Omit<TeamEventOf<'name_watched'>, 'subject'>;
export type IncidentDecision = Pick<TeamEventOf<'incident_ours'>, 'kind' | 'actor' | 'reason'>;

/** An order's event, with the order as it is now and its events of {@link DECISION_KINDS}, oldest first. */
export interface AuditedEvent {
  readonly order: Order;
  readonly entry: OrderLogEntry;
  readonly decisions: readonly OrderLogEntry[];
}

export interface EventLog {
  /** Reads events from `from` (inclusive) to `to` (exclusive), oldest first, except those of drafts. */
  read(from: Date, to: Date): AsyncIterable<AuditedEvent | { readonly event: TeamEvent }>;
  /** Finds an event that isn't about an order. @param seq its sequence number in the log */
  find(seq: string): Promise<TeamEvent | undefined>;
}
