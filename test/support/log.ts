import type { TeamEvent } from '../../src/ledger/events.ts';
import type { Order, OrderState } from '../../src/orders/order.ts';
import { type OrderLogEntry, orderLogEntrySchema } from '../../src/orders/order-events.ts';
import type { Database } from '../../src/store/database.ts';
import { createEventLog } from '../../src/store/events.ts';

/** A team's events except for those of orders, oldest first. */
export async function readTeamEvents(
  database: Database,
  teamId: string,
  from = new Date(0),
  to = new Date('2100-01-01'),
): Promise<TeamEvent[]> {
  const found: TeamEvent[] = [];
  for await (const logged of createEventLog(database, teamId).read(from, to))
    if ('event' in logged) found.push(logged.event);
  return found;
}

/** Deletes all events except for those of orders, which only tests may do. */
export async function deleteTeamEvents({ prisma }: Pick<Database, 'prisma'>): Promise<void> {
  await prisma.$executeRaw`ALTER TABLE events DISABLE TRIGGER events_only_added`;
  await prisma.$executeRaw`DELETE FROM events WHERE subject_kind <> 'order'`;
  await prisma.$executeRaw`ALTER TABLE events ENABLE TRIGGER events_only_added`;
}

const item = { n: 1, name: 'cafe.rest' };
const approvals = { validCount: 1, lapsed: [], required: 1, statement: '' };
/** Default data of each kind of event. */
const DEFAULT_DATA: Readonly<Partial<Record<OrderLogEntry['kind'], object>>> = {
  requested: {
    ...{ task: 'renew', names: ['cafe.rest'], input: {}, statement: '', service: '', account: '' },
    ...{ reason: null, policyVersion: 0, decidedBy: [] },
  },
  approved: approvals,
  resumed: { ...approvals, waiting: 1 },
  emergency_approved: { statement: '', reason: '', approvers: [], unreadableGroups: [], policyVersion: 1 },
  signed_off: { emergencyApprovedBy: 'U0ADA' },
  denied: { reason: null },
  sending: { ...item, ctid: 'c-1' },
  retry_scheduled: { ...item, until: '2026-03-01T09:00:00Z' },
  answered: { ...item, ctid: 'c-1', outcome: 'FAILED' },
  hinted: { ...item, ctid: 'c-1', source: 'rdap.example' },
  stopped: { names: [] },
  resolved: { outcome: 'SUCCEEDED', reason: null, ctids: [] },
  finished: { endingEvent: 'answered' },
};

/** An order's event as in the log. @param data overrides the defaults of the kind */
export function newOrderEvent<Kind extends OrderLogEntry['kind']>(
  kind: Kind,
  state: OrderState,
  data: object = {},
): Extract<OrderLogEntry, { readonly kind: Kind }> {
  const common = { actor: 'system', version: 3, at: new Date('2026-03-01T09:00:00Z') };
  const json = JSON.stringify({ kind, state, ...common, ...DEFAULT_DATA[kind], ...data });
  const parsedEvent = orderLogEntrySchema.parse(JSON.parse(json));
  const isKind = (entry: OrderLogEntry): entry is Extract<OrderLogEntry, { readonly kind: Kind }> =>
    entry.kind === kind;
  if (!isKind(parsedEvent)) throw new Error(`the event is not of the kind ${kind}`);
  return parsedEvent;
}

/** An approval event in which these people's approvals count. */
export function createApprovalEvent(
  {
    requirements: orderRequirements,
    state,
    approvalsRequired,
  }: Pick<Order, 'requirements' | 'state' | 'approvalsRequired'>,
  userIds: readonly string[],
  lapsed: readonly string[] = [],
) {
  const requirements = orderRequirements.list.map((requirement) => ({
    ...requirement,
    needed: approvalsRequired,
    slots: userIds.map((userId) => ({ userId })),
  }));
  const progress = { requirements, isApproved: state !== 'PENDING', isStricter: false, policyVersion: 0 };
  return newOrderEvent('approved', state, { actor: userIds.at(-1) ?? 'system', lapsed, progress });
}
