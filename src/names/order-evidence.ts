import { isDemoContext } from '../accounts/account.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../lib/duration.ts';
import { type Order, readPeriod } from '../orders/order.ts';
import type { RegistryLookup as Confirmation, Evidence } from '../orders/ports.ts';
import type { EvidenceHint, EvidenceProof, EvidenceProofCode } from '../orders/record-finding.ts';
import { mayBeSameRegistrar } from '../registry/rdap/registrar-name.ts';
import { isDeleted } from '../registry/rdap/status.ts';
import { addYears } from './dates.ts';
import { type FactName, type FactValue, getRegistrarName, isSameSet } from './facts.ts';
import { type KnownValue, listValues, type NameHistory } from './history.ts';
import { getRequestedNameServers, type RequestedTask } from './name-orders.ts';
import type { RegistrySighting } from './ports.ts';
import type { Registration, RegistryLookup } from './registry-record.ts';
import type { NameOrder } from './unexplained-changes.ts';

/**
 * Evidence about an order whose answer was lost. It is proof only if there is no other possible cause: the registry
 * showed something else before, shows the requested state over https now, and no other known event can have caused it.
 * Everything else is a hint.
 */

/** A sent item, and the known facts about its name. */
export interface LostAnswer {
  readonly order: RequestedTask & { readonly id: string };
  readonly sentAt: Date;
  readonly history: NameHistory;
  /** Latest first. */
  readonly sightings: readonly RegistrySighting[];
  readonly orders: readonly NameOrder[];
  readonly now: Date;
}

/** Tolerated clock difference. */
const CLOCK_SKEW_MS = 5 * MINUTE_MS;
/** If the last sighting is older than this at the request, something else may have changed the name. */
const MAX_GAP_MS = 9 * DAY_MS;
const TRANSFER_WINDOW_MS = 21 * DAY_MS;

const NOTHING: Evidence = { kind: 'nothing' };

export function findProofOrHint(lost: LostAnswer, { result }: RegistryLookup): Evidence {
  if (result.kind === 'failed') return NOTHING;
  const { server } = result;
  if (result.kind === 'not_registered')
    return { kind: 'hint', source: server, seen: { code: 'not_registered' } };
  const { registration } = result;
  const proof =
    registration.isSecure && registration.hasExactDates ? findProof(lost, registration) : undefined;
  if (proof !== undefined) return { kind: 'done', seen: { code: proof } };
  const assessment = assessRecord(registration, lost);
  if (assessment === undefined) return NOTHING;
  if ('done' in assessment) return { kind: 'done', seen: assessment.done };
  const seen = registration.isSecure ? assessment.hint : { ...assessment.hint, overHttp: true };
  return { kind: 'hint', source: server, seen };
}

/**
 * Whether the registry shows that an accepted order was carried out. Many registries don't show transfers, and none
 * shows a change of owner.
 */
export function checkConfirmation(
  { task }: { readonly task: Order['task'] },
  since: Date,
  { result }: RegistryLookup,
): Confirmation {
  if (result.kind !== 'registered') return 'unknown';
  const { transferredAt, statuses } = result.registration;
  if (statuses === undefined) return 'unknown';
  if (task === 'restore') return isDeleted(statuses) ? 'not_shown' : 'shown';
  if (transferredAt !== undefined && transferredAt.getTime() > since.getTime() - HOUR_MS) return 'shown';
  return transferredAt !== undefined || statuses.includes('pending transfer') ? 'not_shown' : 'unknown';
}

/** @returns undefined if the registry's record can't show the effect of the order */
export function getRegistrySendTime(
  { account }: { readonly account: Order['account'] },
  { sentAt }: { readonly sentAt: Date | undefined },
): Date | undefined {
  // Demo names aren't in the registries.
  return isDemoContext(account.context) ? undefined : sentAt;
}

function findProof(
  { order, sentAt, history, orders }: LostAnswer,
  record: Registration,
): EvidenceProofCode | undefined {
  const findOldValue = (fact: FactName) => findValueBefore(history, fact, sentAt);
  const hasOtherCause = (since: Date) =>
    orders.some(({ id, state, sentAt: other }) => id !== order.id && state !== 'refused' && other >= since);
  switch (order.task) {
    case 'nameservers': {
      const old = findOldValue('registry_nameservers');
      const wantedServers = getRequestedNameServers(order) ?? [];
      if (old === undefined || wantedServers.length === 0 || hasOtherCause(old.lastSeen)) return undefined;
      return !isSameSet(old.value, wantedServers) && isSameSet(record.nameServers, wantedServers)
        ? 'nameservers_set'
        : undefined;
    }
    case 'transfer':
      return isOwnTransfer(order, sentAt, record, findOldValue('registrar')) ? 'transferred' : undefined;
    case 'delete': {
      const old = findOldValue('statuses');
      const time = record.deletedAt?.getTime() ?? Number.NaN;
      // A name past its expiry is deleted automatically.
      const isInWindow = time >= sentAt.getTime() - CLOCK_SKEW_MS && time <= sentAt.getTime() + HOUR_MS;
      const isEarly = (record.expiresAt?.getTime() ?? Number.NaN) > sentAt.getTime() + HOUR_MS;
      if (old === undefined || isDeleted(old.value) || hasOtherCause(old.lastSeen)) return undefined;
      return isInWindow && isEarly && isDeleted(record.statuses) ? 'deleted' : undefined;
    }
    case 'restore': {
      const old = findOldValue('statuses');
      const registrar = findOldValue('registrar')?.value;
      if (old === undefined || !isDeleted(old.value) || hasOtherCause(old.lastSeen)) return undefined;
      // A name that was released and registered again isn't deleted.
      const isSameName =
        record.registeredAt !== undefined &&
        record.registeredAt < old.firstSeen &&
        isSameOrUnknownRegistrar(registrar, record);
      return isSameName && record.statuses !== undefined && !isDeleted(record.statuses)
        ? 'restored'
        : undefined;
    }
    default:
      return undefined;
  }
}

/** A transfer by someone else wouldn't set the requested nameservers. */
function isOwnTransfer(
  order: RequestedTask,
  sentAt: Date,
  record: Registration,
  registrar: KnownValue | undefined,
): boolean {
  const wantedServers = getRequestedNameServers(order) ?? [];
  const at = record.transferredAt?.getTime() ?? Number.NaN;
  const isInWindow = at >= sentAt.getTime() - CLOCK_SKEW_MS && at <= sentAt.getTime() + TRANSFER_WINDOW_MS;
  return (
    registrar !== undefined &&
    !isSameOrUnknownRegistrar(registrar.value, record) &&
    isInWindow &&
    wantedServers.length > 0 &&
    isSameSet(record.nameServers, wantedServers)
  );
}

/** @returns undefined if the value is too old */
function findValueBefore(history: NameHistory, fact: FactName, moment: Date): KnownValue | undefined {
  const found = listValues(history, fact).find(({ firstSeen }) => firstSeen < moment);
  if (found === undefined) return undefined;
  // If a change isn't confirmed yet, the current value counts as seen until this time.
  const lastSeen = found.lastSeen < moment ? found.lastSeen : moment;
  return moment.getTime() - lastSeen.getTime() <= MAX_GAP_MS ? { ...found, lastSeen } : undefined;
}

/** Also true if one has no name, because then nothing shows a difference. */
function isSameOrUnknownRegistrar(registrar: FactValue | undefined, record: Registration): boolean {
  return mayBeSameRegistrar(registrar && getRegistrarName(registrar), record.registrar);
}

type RecordAssessment = { readonly done: EvidenceProof } | { readonly hint: EvidenceHint } | undefined;

function assessRecord(record: Registration, lost: LostAnswer): RecordAssessment {
  switch (lost.order.task) {
    case 'create':
      return assessCreation(record, lost);
    case 'renew':
      return assessRenewal(record, lost);
    case 'transfer':
      return assessTransfer(record, lost);
    case 'nameservers':
      return { hint: { code: 'nameservers_seen', ...compareNameServers(record, lost.order) } };
    case 'restore':
    case 'delete':
      return { hint: { code: 'statuses_seen', statuses: record.statuses ?? [] } };
    default:
      return undefined;
  }
}

/** A registration alone proves nothing, because someone else may have been faster. Its nameservers show who made it. */
function assessCreation(record: Registration, { order, sentAt }: LostAnswer): RecordAssessment {
  const { registeredAt } = record;
  const after = (registeredAt?.getTime() ?? Number.NaN) - sentAt.getTime();
  const isInWindow = after >= -CLOCK_SKEW_MS && after <= HOUR_MS;
  const nameServers = compareNameServers(record, order);
  if (record.isSecure && record.hasExactDates && isInWindow && nameServers.areRequested)
    return { done: { code: 'registered' } };
  return {
    hint: {
      code: 'registration_seen',
      ...(registeredAt === undefined ? {} : { registeredAt: registeredAt.toISOString() }),
      ...nameServers,
    },
  };
}

/**
 * The date also changes automatically after the old date, with a transfer, or by someone else's renewal. Proof is an
 * increase by exactly the requested years, in time, at the same registrar.
 */
function assessRenewal(
  record: Registration,
  { order, sentAt, sightings, now }: LostAnswer,
): RecordAssessment {
  if (record.expiresAt === undefined) return undefined;
  const years = readPeriod(order.input);
  const before = findSightingBefore(sightings, 'expires_at', sentAt)?.[0];
  const expiresAt = record.expiresAt.toISOString();
  if (before === undefined) return { hint: { code: 'expiry_seen', expiresAt } };
  const oldExpiry = new Date(before);
  if (isSameDay(record.expiresAt, oldExpiry)) return { hint: { code: 'expiry_unmoved', expiresAt } };
  const dates = { expiresAt, before };
  const hint = { code: 'expiry_moved', ...dates } as const;
  const isPeriodAdded = years !== undefined && isSameDay(record.expiresAt, addYears(oldExpiry, years));
  if (!isPeriodAdded) return { hint };
  // Registries change the date automatically after that day.
  if (findFirstSeen(sightings, expiresAt, now) >= oldExpiry)
    return { hint: { ...hint, otherCause: 'expiry_passed' } };
  const registrar = getRegistrarName(findSightingBefore(sightings, 'registrar', sentAt) ?? []);
  if (record.registrar !== registrar || (record.transferredAt ?? sentAt) > sentAt)
    return { hint: { ...hint, otherCause: 'transfer' } };
  const isSecure =
    record.isSecure &&
    record.hasExactDates &&
    (findSightingBefore(sightings, 'transport', sentAt) ?? []).includes('https');
  return isSecure ? { done: { code: 'renewed', ...dates } } : { hint };
}

function findSightingBefore(
  seen: readonly RegistrySighting[],
  fact: FactName,
  moment: Date,
): FactValue | undefined {
  return seen
    .filter(({ at }) => at < moment)
    .map((sighting) => sighting.seen[fact])
    .find((value) => value !== undefined && value.length > 0);
}

/** When the current date was first seen. */
function findFirstSeen(seen: readonly RegistrySighting[], expiresAt: string, now: Date): Date {
  const latest = seen.find((sighting) => (sighting.seen.expires_at?.length ?? 0) > 0);
  return latest?.seen.expires_at?.[0] === expiresAt ? latest.at : now;
}

function assessTransfer(record: Registration, { sentAt }: LostAnswer): RecordAssessment {
  const { registrar, statuses = [], transferredAt } = record;
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

function compareNameServers({ nameServers }: Registration, order: RequestedTask) {
  const wantedServers = getRequestedNameServers(order) ?? [];
  return { nameServers, areRequested: wantedServers.length > 0 && isSameSet(nameServers, wantedServers) };
}

function isSameDay(one: Date, other: Date): boolean {
  return Math.abs(one.getTime() - other.getTime()) <= DAY_MS;
}
