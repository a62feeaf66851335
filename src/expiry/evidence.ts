import type { Order, OrderItem } from '../orders/order.ts';
import { zoneFor } from '../zones/rules.ts';
import { addYears, believeRegistry, periodOf } from './expiry-date.ts';
import type { WatchedDomain } from './ports.ts';
import type { RdapClient } from './rdap.ts';
import type { RdapRegistration } from './rdap-answer.ts';

/** Whether a request whose answer was lost was carried out, as far as the registry's record tells. */
export type Evidence = 'done' | 'not_done' | 'unclear';

/** What {@link findEvidence} works with. */
export interface EvidenceDeps {
  readonly rdap: Pick<RdapClient, 'lookup'>;
  /** What the watch list knew of the name. */
  readonly find: (name: string) => Promise<WatchedDomain | undefined>;
  readonly now: () => Date;
}

const HOUR_MS = 3_600_000;
/** Registries write their records within hours; only after this long is what is missing taken for not done. */
const SETTLED_AFTER_MS = 24 * HOUR_MS;
const SLACK_MS = 2 * 24 * HOUR_MS;

/**
 * Looks for proof of what became of an item of an order. Only the registry's own record counts, and only what cannot
 * have another cause.
 */
export async function findEvidence(
  deps: EvidenceDeps,
  order: Pick<Order, 'task' | 'input'>,
  item: Pick<OrderItem, 'name' | 'sentAt'>,
  signal: AbortSignal,
): Promise<Evidence> {
  const { sentAt } = item;
  if (sentAt === undefined) return 'unclear';
  if (order.task !== 'create' && order.task !== 'renew') return 'unclear';
  const known = await deps.find(item.name);
  const result = await deps.rdap.lookup(item.name, signal);
  const settled = deps.now().getTime() - sentAt.getTime() > SETTLED_AFTER_MS;
  if (result.kind === 'not_found') return order.task === 'create' && settled ? 'not_done' : 'unclear';
  if (result.kind !== 'found') return 'unclear';
  return order.task === 'create'
    ? evidenceOfCreation(result, sentAt)
    : evidenceOfRenewal(order, known, item.name, result, sentAt, settled, deps.now());
}

function evidenceOfCreation({ registeredAt }: RdapRegistration, sentAt: Date): Evidence {
  if (registeredAt === undefined) return 'unclear';
  // It was registered before: by whomever, this request did not do it.
  if (registeredAt.getTime() < sentAt.getTime() - HOUR_MS) return 'not_done';
  return registeredAt.getTime() < sentAt.getTime() + HOUR_MS ? 'done' : 'unclear';
}

function evidenceOfRenewal(
  order: Pick<Order, 'input'>,
  known: WatchedDomain | undefined,
  name: string,
  record: RdapRegistration,
  sentAt: Date,
  settled: boolean,
  now: Date,
): Evidence {
  const before = registryDateBefore(known, sentAt);
  if (before === undefined) return 'unclear';
  const period = periodOf(order.input);
  if (period === undefined) return 'unclear';
  const shown = believeRegistry(undefined, record, zoneFor(name), now).expiresAt.getTime();
  const renewed = addYears(before, period).getTime();
  if (Math.abs(shown - renewed) <= SLACK_MS) return 'done';
  return settled && Math.abs(shown - before.getTime()) <= SLACK_MS ? 'not_done' : 'unclear';
}

/** The registry's date as it was before the request went out. */
function registryDateBefore(known: WatchedDomain | undefined, sentAt: Date): Date | undefined {
  if (known?.moved !== undefined && known.moved.at >= sentAt) return known.moved.from;
  const unmoved = known?.expiry?.source === 'rdap' && (known.moved === undefined || known.moved.at < sentAt);
  return unmoved ? known.expiry?.at : undefined;
}

/**
 * Whether the registry's record shows that what the service accepted has happened: a deletion that is gone, a transfer
 * that was made since. Of an owner change no public record tells.
 */
export async function isShown(
  { rdap }: Pick<EvidenceDeps, 'rdap'>,
  order: Pick<Order, 'task'>,
  item: Pick<OrderItem, 'name' | 'sentAt' | 'answeredAt'>,
  signal: AbortSignal,
): Promise<boolean> {
  const since = item.sentAt ?? item.answeredAt;
  if (since === undefined || (order.task !== 'restore' && order.task !== 'transfer')) return false;
  const record = await rdap.lookup(item.name, signal);
  if (record.kind !== 'found') return false;
  if (order.task === 'restore') return record.deletedAt === undefined;
  const { transferredAt } = record;
  return transferredAt !== undefined && transferredAt.getTime() > since.getTime() - HOUR_MS;
}
