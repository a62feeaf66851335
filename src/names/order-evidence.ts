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
 * Evidence about an order whose answer was lost. A record proves that the order succeeded only if the record
 * was fetched over https and shows the requested state, an earlier record showed a different state, and
 * nothing else that is known can have caused the change. Everything else is a hint.
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

const MAX_CLOCK_SKEW_MS = 5 * MINUTE_MS;
/** If the last sighting before the request is older, something else may have changed the name since. */
const MAX_GAP_MS = 9 * DAY_MS;
const TRANSFER_WINDOW_MS = 21 * DAY_MS;

const NOTHING: Evidence = { kind: 'nothing' };

export function findProofOrHint(lostAnswer: LostAnswer, { result }: RegistryLookup): Evidence {
  if (result.kind === 'failed') return NOTHING;
  const { server } = result;
  if (result.kind === 'not_registered')
    return { kind: 'hint', source: server, seen: { code: 'not_registered' } };
  const { registration } = result;
  const proof =
    registration.usedHttps && registration.hasExactDates ? findProof(lostAnswer, registration) : undefined;
  if (proof !== undefined) return { kind: 'done', seen: { code: proof } };
  const assessment = assessRecord(registration, lostAnswer);
  if (assessment === undefined) return NOTHING;
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
  if (task === 'restore') return isDeleted(statuses) ? 'not_shown' : 'shown';
  if (transferredAt !== undefined && transferredAt.getTime() > sentAt.getTime() - HOUR_MS) return 'shown';
  return transferredAt !== undefined || statuses.includes('pending transfer') ? 'not_shown' : 'unknown';
}

/** @returns undefined if the registry's record can't show the effect of the order */
export function getLiveSendTime(
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
  const hasOtherCause = ({ lastSeen }: KnownValue) =>
    orders.some((other) => other.id !== order.id && other.state !== 'refused' && other.sentAt >= lastSeen);
  switch (order.task) {
    case 'nameservers': {
      const old = findOldValue('registry_nameservers');
      const wantedServers = getRequestedNameServers(order) ?? [];
      if (old === undefined || wantedServers.length === 0 || hasOtherCause(old)) return undefined;
      return !isSameSet(old.value, wantedServers) && isSameSet(record.nameServers, wantedServers)
        ? 'nameservers_set'
        : undefined;
    }
    case 'transfer':
      return isOwnTransfer(order, sentAt, record, findOldValue('registrar')) ? 'transferred' : undefined;
    case 'delete': {
      const old = findOldValue('statuses');
      const deletedAt = record.deletedAt?.getTime() ?? Number.NaN;
      const isInWindow =
        deletedAt >= sentAt.getTime() - MAX_CLOCK_SKEW_MS && deletedAt <= sentAt.getTime() + HOUR_MS;
      // A name past its expiry is deleted automatically.
      const isBeforeExpiry = (record.expiresAt?.getTime() ?? Number.NaN) > sentAt.getTime() + HOUR_MS;
      if (old === undefined || isDeleted(old.value) || hasOtherCause(old)) return undefined;
      return isInWindow && isBeforeExpiry && isDeleted(record.statuses) ? 'deleted' : undefined;
    }
    case 'restore': {
      const old = findOldValue('statuses');
      const registrar = findOldValue('registrar')?.value;
      if (old === undefined || !isDeleted(old.value) || hasOtherCause(old)) return undefined;
      // A name that was released and registered again isn't deleted either.
      const isSameRegistration =
        record.registeredAt !== undefined &&
        record.registeredAt < old.firstSeen &&
        isSameOrUnknownRegistrar(registrar, record);
      return isSameRegistration && record.statuses !== undefined && !isDeleted(record.statuses)
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
  const transferredAt = record.transferredAt?.getTime() ?? Number.NaN;
  const isInWindow =
    transferredAt >= sentAt.getTime() - MAX_CLOCK_SKEW_MS &&
    transferredAt <= sentAt.getTime() + TRANSFER_WINDOW_MS;
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
  const latest = listValues(history, fact).find(({ firstSeen }) => firstSeen < moment);
  if (latest === undefined) return undefined;
  // While a newer value isn't confirmed, the current one may have been seen after `moment`.
  const lastSeen = latest.lastSeen < moment ? latest.lastSeen : moment;
  return moment.getTime() - lastSeen.getTime() <= MAX_GAP_MS ? { ...latest, lastSeen } : undefined;
}

/** Also true if the name of either registrar is unknown. */
function isSameOrUnknownRegistrar(registrar: FactValue | undefined, record: Registration): boolean {
  return mayBeSameRegistrar(registrar && getRegistrarName(registrar), record.registrar);
}

type RecordAssessment = { readonly proof: EvidenceProof } | { readonly hint: EvidenceHint } | undefined;

function assessRecord(record: Registration, lostAnswer: LostAnswer): RecordAssessment {
  switch (lostAnswer.order.task) {
    case 'create':
      return assessCreation(record, lostAnswer);
    case 'renew':
      return assessRenewal(record, lostAnswer);
    case 'transfer':
      return assessTransfer(record, lostAnswer);
    case 'nameservers':
      return { hint: { code: 'nameservers_seen', ...compareNameServers(record, lostAnswer.order) } };
    case 'restore':
    case 'delete':
      return { hint: { code: 'statuses_seen', statuses: record.statuses ?? [] } };
    default:
      return undefined;
  }
}

/** Someone else may have registered the name first. The nameservers show whether it was the team. */
function assessCreation(record: Registration, { order, sentAt }: LostAnswer): RecordAssessment {
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
 * An expiry can also change automatically once it has passed, through a transfer, or through someone else's
 * renewal. So a later expiry is proof only if it is later by exactly the requested years, was seen before the
 * old expiry passed, and the registrar is the same.
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
  if (isSameDay(record.expiresAt, oldExpiry)) return { hint: { code: 'expiry_unchanged', expiresAt } };
  const dates = { expiresAt, before };
  const hint = { code: 'expiry_changed', ...dates } as const;
  const isPeriodAdded = years !== undefined && isSameDay(record.expiresAt, addYears(oldExpiry, years));
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
