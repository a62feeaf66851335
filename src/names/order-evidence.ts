import { isDemoContext } from '../accounts/account.ts';
import type { Evidence } from '../orders/evidence.ts';
import type { Order, OrderItem } from '../orders/order.ts';
import type { RecordProofCode } from '../orders/record-finding.ts';
import type { RdapClient, RdapFound } from '../rdap/client.ts';
import { isSameRegistrarName } from '../rdap/registrar-name.ts';
import { type FactName, type FactValue, isSameSet } from './facts.ts';
import { type KnownValue, type NameHistory, valuesOf } from './history.ts';
import { askedNameServers } from './name-orders.ts';
import type { NameOrder } from './unexplained-changes.ts';

/*
 * What the looks at a name prove about an order whose answer was lost. Only what has no other possible cause is proof:
 * the registry showed something else before the request left, it shows over https what was asked for now, and nothing
 * else that the bot knows of can have caused it.
 */

export interface ProofInput {
  readonly order: Pick<Order, 'id' | 'task' | 'input'>;
  readonly sentAt: Date;
  /** The registry’s record now. */
  readonly record: RdapFound;
  readonly history: NameHistory;
  /** What was done about the name, including this order. */
  readonly orders: readonly NameOrder[];
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** The registry's clock may be behind ours by this much. */
const SKEW_MS = 5 * MINUTE_MS;
/** If the last look is older than this before the request, something may have changed in between. */
const SEEN_BEFORE_MS = 9 * DAY_MS;
const TRANSFER_MS = 21 * DAY_MS;
const DELETED: readonly string[] = ['redemption period', 'pending delete'];

/** What the record and the looks before it prove; undefined when they prove nothing. */
export function proofOf({ order, sentAt, record, history, orders }: ProofInput): RecordProofCode | undefined {
  if (!record.secure) return undefined;
  const before = (fact: FactName) => seenBefore(history, fact, sentAt);
  const hasOtherCause = (since: Date) =>
    orders.some(({ id, state, sentAt: other }) => id !== order.id && state !== 'refused' && other >= since);
  switch (order.task) {
    case 'nameservers': {
      const was = before('registry_nameservers');
      const asked = askedNameServers(order) ?? [];
      if (was === undefined || asked.length === 0 || hasOtherCause(was.lastSeen)) return undefined;
      return !isSameSet(was.value, asked) && isSameSet(record.nameServers, asked)
        ? 'nameservers_set'
        : undefined;
    }
    case 'transfer':
      return isTransferred(order, sentAt, record, before('registrar')) ? 'transferred' : undefined;
    case 'delete': {
      const was = before('statuses');
      const at = record.deletedAt?.getTime() ?? Number.NaN;
      // A name that has reached its end is deleted by itself.
      const isOfThen = at >= sentAt.getTime() - SKEW_MS && at <= sentAt.getTime() + HOUR_MS;
      const isEarly = record.expiresAt.getTime() > sentAt.getTime() + HOUR_MS;
      if (was === undefined || isDeleted(was.value) || hasOtherCause(was.lastSeen)) return undefined;
      return isOfThen && isEarly && isDeleted(record.statuses) ? 'deleted' : undefined;
    }
    case 'restore': {
      const was = before('statuses');
      const registrar = before('registrar')?.value;
      if (was === undefined || !isDeleted(was.value) || hasOtherCause(was.lastSeen)) return undefined;
      // A name that was released and registered by somebody else does not count as deleted.
      const isSameName =
        record.registeredAt !== undefined && record.registeredAt < was.firstSeen && isOf(registrar, record);
      return isSameName && !isDeleted(record.statuses) ? 'restored' : undefined;
    }
    default:
      return undefined;
  }
}

/** A transfer by somebody else would not set the nameservers that were asked for. */
function isTransferred(
  order: Pick<Order, 'task' | 'input'>,
  sentAt: Date,
  record: RdapFound,
  registrar: KnownValue | undefined,
): boolean {
  const asked = askedNameServers(order) ?? [];
  const at = record.transferredAt?.getTime() ?? Number.NaN;
  const isOfThen = at >= sentAt.getTime() - SKEW_MS && at <= sentAt.getTime() + TRANSFER_MS;
  return (
    registrar !== undefined &&
    !isOf(registrar.value, record) &&
    isOfThen &&
    asked.length > 0 &&
    isSameSet(record.nameServers, asked)
  );
}

/** The value that was last seen before a moment, not too long before it. */
function seenBefore(history: NameHistory, fact: FactName, moment: Date): KnownValue | undefined {
  const found = valuesOf(history, fact).find(({ firstSeen }) => firstSeen < moment);
  if (found === undefined) return undefined;
  // A value that still counts, while its change waits for confirmation, was seen until this moment at the latest.
  const lastSeen = found.lastSeen < moment ? found.lastSeen : moment;
  return moment.getTime() - lastSeen.getTime() <= SEEN_BEFORE_MS ? { ...found, lastSeen } : undefined;
}

/**
 * Whether a record names the registrar of a fact. It also holds where either has no name, because nothing shows that
 * they differ.
 */
function isOf(registrar: FactValue | undefined, { registrar: now }: RdapFound): boolean {
  const was = registrar?.find((text) => text.startsWith('name:'))?.slice('name:'.length);
  return was === undefined || now === undefined || isSameRegistrarName(was, now);
}

function isDeleted(statuses: readonly string[]): boolean {
  return statuses.some((status) => DELETED.includes(status));
}

/** What {@link createEvidenceLook} needs. */
export interface EvidenceLookDeps {
  readonly rdap: Pick<RdapClient, 'lookup'>;
  readonly historyOf: (name: string) => Promise<NameHistory | undefined>;
  readonly ordersOf: (name: string) => Promise<readonly NameOrder[]>;
  /** Asks the watch list, where the looks prove nothing. */
  readonly otherwise: (order: Order, item: OrderItem) => Promise<Evidence>;
}

const LOOKUP_MS = 30_000;
const PROVABLE: ReadonlySet<Order['task']> = new Set(['nameservers', 'transfer', 'delete', 'restore']);

/** Looks for proof in what was seen of the name, then in other public records. */
export function createEvidenceLook(deps: EvidenceLookDeps) {
  return async (order: Order, item: OrderItem): Promise<Evidence> => {
    const { name, sentAt } = item;
    // The names of the demo system are not in the registries.
    if (sentAt !== undefined && PROVABLE.has(order.task) && !isDemoContext(order.account.context)) {
      const [history, orders, record] = await Promise.all([
        deps.historyOf(name),
        deps.ordersOf(name),
        deps.rdap.lookup(name, AbortSignal.timeout(LOOKUP_MS)),
      ]);
      if (history !== undefined && record.kind === 'found') {
        const proof = proofOf({ order, sentAt, record, history, orders });
        if (proof !== undefined) return { kind: 'done', seen: { code: proof } };
      }
    }
    return deps.otherwise(order, item);
  };
}
