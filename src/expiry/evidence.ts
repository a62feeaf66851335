import { isDemoContext } from '../accounts/account.ts';
import type { RegistryLook } from '../orders/accepted.ts';
import type { Evidence } from '../orders/evidence.ts';
import { type Order, type OrderItem, periodOf } from '../orders/order.ts';
import type { RecordHint, RecordProof } from '../orders/record-finding.ts';
import type { RdapClient, RdapFound } from '../rdap/client.ts';
import { addYears } from './expiry-date.ts';
import type { RegistryRecord, WatchedDomain } from './ports.ts';

/** What {@link findEvidence} needs. */
export interface EvidenceDeps {
  readonly rdap: Pick<RdapClient, 'lookup'>;
  /** What the watch list knew of the name. */
  readonly find: (name: string) => Promise<WatchedDomain | undefined>;
  readonly now: () => Date;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** The registry's clock may be behind ours by this much. */
const SKEW_MS = 5 * MINUTE_MS;

const NOTHING: Evidence = { kind: 'nothing' };

/** An item whose request left, and what the watch list knew of its name. */
interface SentRequest {
  readonly order: Pick<Order, 'task' | 'input'>;
  readonly sentAt: Date;
  readonly known: WatchedDomain | undefined;
  readonly now: Date;
}

/**
 * Looks in public records for the outcome of an item whose answer was lost. Only what has no other possible cause is
 * proof, and only over https. Everything else is shown to a person as a hint.
 */
export async function findEvidence(
  deps: EvidenceDeps,
  order: Pick<Order, 'task' | 'input' | 'account'>,
  item: Pick<OrderItem, 'name' | 'sentAt'>,
  signal: AbortSignal,
): Promise<Evidence> {
  const { sentAt } = item;
  // The names of the demo system are not in the registries.
  if (sentAt === undefined || isDemoContext(order.account.context)) return NOTHING;
  const known = await deps.find(item.name);
  const record = await deps.rdap.lookup(item.name, signal);
  if (record.kind === 'not_found') {
    return { kind: 'hint', source: record.server, seen: { code: 'not_registered' } };
  }
  if (record.kind !== 'found') return NOTHING;
  const finding = findingOf(record, { order, sentAt, known, now: deps.now() });
  if (finding === undefined) return NOTHING;
  if ('done' in finding) return { kind: 'done', seen: finding.done };
  const seen = record.secure ? finding.hint : { ...finding.hint, overHttp: true };
  return { kind: 'hint', source: record.server, seen };
}

/** What a record shows: that it was done, or a hint for people. */
type Finding = { readonly done: RecordProof } | { readonly hint: RecordHint } | undefined;

function findingOf(record: RdapFound, sent: SentRequest): Finding {
  switch (sent.order.task) {
    case 'create':
      return creationFinding(record, sent);
    case 'renew':
      return renewalFinding(record, sent);
    case 'transfer':
      return transferFinding(record, sent);
    case 'nameservers':
      return { hint: { code: 'nameservers_seen', ...shownNameServers(record, sent.order.input) } };
    case 'restore':
    case 'delete':
      return { hint: { code: 'statuses_seen', statuses: record.statuses } };
    default:
      return undefined;
  }
}

/**
 * That a registration exists proves nothing, because somebody else may have been faster. Its nameservers show whose it
 * is.
 */
function creationFinding(record: RdapFound, { order, sentAt }: SentRequest): Finding {
  const { registeredAt } = record;
  const after = (registeredAt?.getTime() ?? Number.NaN) - sentAt.getTime();
  const isOfThen = after >= -SKEW_MS && after <= HOUR_MS;
  if (record.secure && isOfThen && hasNameServers(record, order.input)) {
    return { done: { code: 'registered' } };
  }
  return {
    hint: {
      code: 'registration_seen',
      ...(registeredAt === undefined ? {} : { registeredAt: registeredAt.toISOString() }),
      ...shownNameServers(record, order.input),
    },
  };
}

/**
 * A date also moves for other reasons: by itself after the old date, with a transfer, or when somebody else renews. It
 * counts as this renewal only when it moved by exactly the years that were asked for, in time, at the same registrar.
 */
function renewalFinding(record: RdapFound, { order, sentAt, known, now }: SentRequest): Finding {
  const years = periodOf(order.input);
  const before = recordBefore(known, sentAt);
  const expiresAt = record.expiresAt.toISOString();
  if (before === undefined) return { hint: { code: 'expiry_seen', expiresAt } };
  if (isSameDay(record.expiresAt, before.expiresAt)) return { hint: { code: 'expiry_unmoved', expiresAt } };
  const dates = { expiresAt, before: before.expiresAt.toISOString() };
  const moved = { code: 'expiry_moved', ...dates } as const;
  const isMovedByPeriod =
    years !== undefined && isSameDay(record.expiresAt, addYears(before.expiresAt, years));
  if (!isMovedByPeriod) return { hint: moved };
  // After that day registries move it by themselves.
  if (seenSince(known, record, now) >= before.expiresAt)
    return { hint: { ...moved, otherCause: 'expiry_passed' } };
  if (record.registrar !== before.registrar || (record.transferredAt ?? sentAt) > sentAt)
    return { hint: { ...moved, otherCause: 'transfer' } };
  if (!record.secure || !before.secure) return { hint: moved };
  return { done: { code: 'renewed', ...dates } };
}

/** The registry's record as it was seen before a moment. */
function recordBefore(known: WatchedDomain | undefined, moment: Date): RegistryRecord | undefined {
  return [known?.record, known?.recordBefore].find(
    (record) => record !== undefined && record.seenAt < moment,
  );
}

/** When a record was first seen in its present form. */
function seenSince(known: WatchedDomain | undefined, { expiresAt }: RdapFound, now: Date): Date {
  const { record } = known ?? {};
  return record?.expiresAt.getTime() === expiresAt.getTime() ? record.seenAt : now;
}

function transferFinding(record: RdapFound, { sentAt }: SentRequest): Finding {
  const { registrar, statuses, transferredAt } = record;
  return {
    hint: {
      code: 'registrar_seen',
      ...(registrar === undefined ? {} : { registrar }),
      statuses,
      ...(transferredAt === undefined || transferredAt < sentAt
        ? {}
        : { transferredAt: transferredAt.toISOString() }),
    },
  };
}

/** The nameservers that an order's input asks for, as records have them. */
function wantedNameServers(input: unknown): readonly string[] {
  const wanted =
    typeof input === 'object' && input !== null && 'nameServers' in input ? input.nameServers : [];
  return Array.isArray(wanted) ? wanted.map((server) => String(server).toLowerCase()) : [];
}

function hasNameServers({ nameServers }: RdapFound, input: unknown): boolean {
  const wanted = new Set(wantedNameServers(input));
  return (
    wanted.size > 0 && wanted.size === nameServers.length && nameServers.every((server) => wanted.has(server))
  );
}

function shownNameServers(record: RdapFound, input: unknown) {
  return { nameServers: record.nameServers, areAskedFor: hasNameServers(record, input) };
}

/** Whether two dates, read from records of one registry, mean the same moment. */
function isSameDay(one: Date, other: Date): boolean {
  return Math.abs(one.getTime() - other.getTime()) <= DAY_MS;
}

/**
 * Whether the registry's record shows that what the service accepted has happened: a name is no longer deleted, a transfer
 * was made since. Many registries tell of no transfers, and no public record shows an owner change.
 */
export async function lookAtRegistry(
  { rdap }: Pick<EvidenceDeps, 'rdap'>,
  order: Pick<Order, 'task'>,
  item: Pick<OrderItem, 'name' | 'sentAt' | 'answeredAt'>,
  signal: AbortSignal,
): Promise<RegistryLook> {
  const since = item.sentAt ?? item.answeredAt;
  if (since === undefined || (order.task !== 'restore' && order.task !== 'transfer')) return 'unknown';
  const record = await rdap.lookup(item.name, signal);
  if (record.kind !== 'found') return 'unknown';
  const { deletedAt, transferredAt, statuses } = record;
  if (order.task === 'restore') return deletedAt === undefined ? 'shown' : 'not_shown';
  if (transferredAt !== undefined && transferredAt.getTime() > since.getTime() - HOUR_MS) return 'shown';
  return transferredAt !== undefined || statuses.includes('pending transfer') ? 'not_shown' : 'unknown';
}
