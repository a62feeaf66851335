import { isDemoContext } from '../accounts/account.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../lib/duration.ts';
import { getPeriodYears, type Order } from '../orders/order.ts';
import type { RegistryLookup as Confirmation, Evidence } from '../orders/ports.ts';
import type { EvidenceHint, EvidenceProof, EvidenceProofCode } from '../orders/record-finding.ts';
import { mayBeSameRegistrar } from '../registry/rdap/registrar-name.ts';
import { isBeingDeleted } from '../registry/rdap/status.ts';
import { addYears } from './dates.ts';
import { type FactName, type FactValue, getRegistrarName, isSameSet } from './facts.ts';
import { type KnownValue, listValues, type NameHistory } from './history.ts';
import { getRequestedNameServers, type RequestedTask } from './name-orders.ts';
import type { RegistrySighting } from './ports.ts';
import type { Registration, RegistryLookup } from './registry-record.ts';
import type { NameOrder } from './unexplained-changes.ts';

/**
 * Evidence about an order whose answer was lost. A registry record proves that the order succeeded only if it
 * was fetched over https and shows the requested state, an earlier record showed a different state, and no
 * other known event can have caused the change. Everything else is a hint.
 */

/** An item whose request was sent but not answered, with the known facts about its name. */
export interface UnansweredRequest {
  readonly order: RequestedTask & { readonly id: string };
  readonly sentAt: Date;
  readonly history: NameHistory;
  /** Latest first. */
  readonly sightings: readonly RegistrySighting[];
  readonly orders: readonly NameOrder[];
  readonly now: Date;
}

const MAX_CLOCK_SKEW_MS = 5 * MINUTE_MS;
/** If the last sighting before the request is older, something else may have changed the name since. */
const MAX_SIGHTING_AGE_MS = 9 * DAY_MS;
const TRANSFER_WINDOW_MS = 21 * DAY_MS;

const NO_EVIDENCE: Evidence = { kind: 'nothing' };

export function findProofOrHint(unansweredRequest: UnansweredRequest, { result }: RegistryLookup): Evidence {
  if (result.kind === 'failed') return NO_EVIDENCE;
  const { server } = result;
  if (result.kind === 'not_registered')
    return { kind: 'hint', source: server, seen: { code: 'not_registered' } };
  const { registration } = result;
  const proof =
    registration.usedHttps && registration.hasExactDates
      ? findProof(unansweredRequest, registration)
      : undefined;
  if (proof !== undefined) return { kind: 'done', seen: { code: proof } };
  const assessment = assessRecord(registration, unansweredRequest);
  if (assessment === undefined) return NO_EVIDENCE;
  if ('proof' in assessment) return { kind: 'done', seen: assessment.proof };
  const seen = registration.usedHttps ? assessment.hint : { ...assessment.hint, overHttp: true };
  return { kind: 'hint', source: server, seen };
}

/**
 * Whether the registry shows that an accepted order was carried out. Many registries don't show transfers,
 * and none shows a change of owner.
 */
export function checkConfirmation(
  { task }: { readonly task: Order['task'] },
  sentAt: Date,
  { result }: RegistryLookup,
): Confirmation {
  if (result.kind !== 'registered') return 'unknown';
  const { transferredAt, statuses } = result.registration;
  if (statuses === undefined) return 'unknown';
  if (task === 'restore') return isBeingDeleted(statuses) ? 'not_shown' : 'shown';
  if (transferredAt !== undefined && transferredAt.getTime() > sentAt.getTime() - HOUR_MS) return 'shown';
  return transferredAt !== undefined || statuses.includes('pending transfer') ? 'not_shown' : 'unknown';
}

/** @returns undefined if the registry's record can't show the effect of the order */
export function getNonDemoSentTime(
  { account }: { readonly account: Order['account'] },
  { sentAt }: { readonly sentAt: Date | undefined },
): Date | undefined {
  // Demo names aren't in the registries.
  return isDemoContext(account.context) ? undefined : sentAt;
}

function findProof(
  { order, sentAt, history, orders }: UnansweredRequest,
  record: Registration,
): EvidenceProofCode | undefined {
  const findOldValue = (fact: FactName) => findValueBefore(history, fact, sentAt);
  const hasOtherCause = ({ lastSeen }: KnownValue) =>
    orders.some((other) => other.id !== order.id && other.state !== 'refused' && other.sentAt >= lastSeen);
  switch (order.task) {
    case 'nameservers': {
      const oldServers = findOldValue('registry_nameservers');
      const requestedServers = getRequestedNameServers(order) ?? [];
      if (oldServers === undefined || requestedServers.length === 0 || hasOtherCause(oldServers))
        return undefined;
      return !isSameSet(oldServers.value, requestedServers) && isSameSet(record.nameServers, requestedServers)
        ? 'nameservers_set'
        : undefined;
    }
    case 'transfer':
      return isOwnTransfer(order, sentAt, record, findOldValue('registrar')) ? 'transferred' : undefined;
    case 'delete': {
      const oldStatuses = findOldValue('statuses');
      const deletedAt = record.deletedAt?.getTime() ?? Number.NaN;
      const isInWindow =
        deletedAt >= sentAt.getTime() - MAX_CLOCK_SKEW_MS && deletedAt <= sentAt.getTime() + HOUR_MS;
      // A name past its expiry is deleted automatically.
      const isBeforeExpiry = (record.expiresAt?.getTime() ?? Number.NaN) > sentAt.getTime() + HOUR_MS;
      if (oldStatuses === undefined || isBeingDeleted(oldStatuses.value) || hasOtherCause(oldStatuses))
        return undefined;
      return isInWindow && isBeforeExpiry && isBeingDeleted(record.statuses) ? 'deleted' : undefined;
    }
    case 'restore': {
      const oldStatuses = findOldValue('statuses');
      const registrar = findOldValue('registrar')?.value;
      if (oldStatuses === undefined || !isBeingDeleted(oldStatuses.value) || hasOtherCause(oldStatuses))
        return undefined;
      // A name that was released and registered again isn't deleted either.
      const isSameRegistration =
        record.registeredAt !== undefined &&
        record.registeredAt < oldStatuses.firstSeen &&
        isSameOrUnknownRegistrar(registrar, record);
      return isSameRegistration && record.statuses !== undefined && !isBeingDeleted(record.statuses)
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
  const requestedServers = getRequestedNameServers(order) ?? [];
  const transferredAt = record.transferredAt?.getTime() ?? Number.NaN;
  const isInWindow =
    transferredAt >= sentAt.getTime() - MAX_CLOCK_SKEW_MS &&
    transferredAt <= sentAt.getTime() + TRANSFER_WINDOW_MS;
  return (
    registrar !== undefined &&
    !isSameOrUnknownRegistrar(registrar.value, record) &&
    isInWindow &&
    requestedServers.length > 0 &&
    isSameSet(record.nameServers, requestedServers)
  );
}

/** @returns undefined if the value is too old */
function findValueBefore(history: NameHistory, fact: FactName, moment: Date): KnownValue | undefined {
  const latest = listValues(history, fact).find(({ firstSeen }) => firstSeen < moment);
  if (latest === undefined) return undefined;
  // `lastSeen` can be after `moment` if a newer value isn't confirmed yet.
  const lastSeen = latest.lastSeen < moment ? latest.lastSeen : moment;
  return moment.getTime() - lastSeen.getTime() <= MAX_SIGHTING_AGE_MS ? { ...latest, lastSeen } : undefined;
}

/** Also true if the name of either registrar is unknown. */
function isSameOrUnknownRegistrar(registrar: FactValue | undefined, record: Registration): boolean {
  return mayBeSameRegistrar(registrar && getRegistrarName(registrar), record.registrar);
}

type RecordAssessment = { readonly proof: EvidenceProof } | { readonly hint: EvidenceHint } | undefined;

function assessRecord(record: Registration, unansweredRequest: UnansweredRequest): RecordAssessment {
  switch (unansweredRequest.order.task) {
    case 'create':
      return assessCreation(record, unansweredRequest);
    case 'renew':
      return assessRenewal(record, unansweredRequest);
    case 'transfer':
      return assessTransfer(record, unansweredRequest);
    case 'nameservers':
      return { hint: { code: 'nameservers_seen', ...compareNameServers(record, unansweredRequest.order) } };
    case 'restore':
    case 'delete':
      return { hint: { code: 'statuses_seen', statuses: record.statuses ?? [] } };
    default:
      return undefined;
  }
}

/** Someone else may have registered the name first, but wouldn't have set the requested nameservers. */
function assessCreation(record: Registration, { order, sentAt }: UnansweredRequest): RecordAssessment {
  const { registeredAt } = record;
  const msAfterSent = (registeredAt?.getTime() ?? Number.NaN) - sentAt.getTime();
  const isInWindow = msAfterSent >= -MAX_CLOCK_SKEW_MS && msAfterSent <= HOUR_MS;
  const nameServers = compareNameServers(record, order);
  if (record.usedHttps && record.hasExactDates && isInWindow && nameServers.areRequested)
    return { proof: { code: 'registered' } };
  return {
    hint: {
      code: 'registration_seen',
      ...(registeredAt === undefined ? {} : { registeredAt: registeredAt.toISOString() }),
      ...nameServers,
    },
  };
}

/**
 * An expiry can also change through an automatic renewal once it has passed, a transfer, or someone else's
 * renewal. So a new expiry is proof only if it is later by exactly the requested number of years, was seen
 * before the old expiry passed, and the registrar is the same.
 */
function assessRenewal(
  record: Registration,
  { order, sentAt, sightings, now }: UnansweredRequest,
): RecordAssessment {
  if (record.expiresAt === undefined) return undefined;
  const years = getPeriodYears(order.input);
  const oldExpiresAt = findSightingBefore(sightings, 'expires_at', sentAt)?.[0];
  const expiresAt = record.expiresAt.toISOString();
  if (oldExpiresAt === undefined) return { hint: { code: 'expiry_seen', expiresAt } };
  const oldExpiry = new Date(oldExpiresAt);
  if (isWithinOneDay(record.expiresAt, oldExpiry)) return { hint: { code: 'expiry_unchanged', expiresAt } };
  const dates = { expiresAt, before: oldExpiresAt };
  const hint = { code: 'expiry_changed', ...dates } as const;
  const isPeriodAdded = years !== undefined && isWithinOneDay(record.expiresAt, addYears(oldExpiry, years));
  if (!isPeriodAdded) return { hint };
  // Registries renew names automatically when they expire.
  if (findExpiryFirstSeen(sightings, expiresAt, now) >= oldExpiry)
    return { hint: { ...hint, otherCause: 'expiry_passed' } };
  const registrar = getRegistrarName(findSightingBefore(sightings, 'registrar', sentAt) ?? []);
  if (record.registrar !== registrar || (record.transferredAt ?? sentAt) > sentAt)
    return { hint: { ...hint, otherCause: 'transfer' } };
  const isSecure =
    record.usedHttps &&
    record.hasExactDates &&
    (findSightingBefore(sightings, 'transport', sentAt) ?? []).includes('https');
  return isSecure ? { proof: { code: 'renewed', ...dates } } : { hint };
}

function findSightingBefore(
  sightings: readonly RegistrySighting[],
  fact: FactName,
  moment: Date,
): FactValue | undefined {
  return sightings
    .filter(({ at }) => at < moment)
    .map(({ seen }) => seen[fact])
    .find((value) => value !== undefined && value.length > 0);
}

function findExpiryFirstSeen(sightings: readonly RegistrySighting[], expiresAt: string, now: Date): Date {
  const latest = sightings.find(({ seen }) => (seen.expires_at?.length ?? 0) > 0);
  return latest?.seen.expires_at?.[0] === expiresAt ? latest.at : now;
}

function assessTransfer(record: Registration, { sentAt }: UnansweredRequest): RecordAssessment {
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
  const requestedServers = getRequestedNameServers(order) ?? [];
  return {
    nameServers,
    areRequested: requestedServers.length > 0 && isSameSet(nameServers, requestedServers),
  };
}

function isWithinOneDay(one: Date, other: Date): boolean {
  return Math.abs(one.getTime() - other.getTime()) <= DAY_MS;
}
