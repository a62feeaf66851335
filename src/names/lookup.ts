import { dropMissing } from '../lib/collections.ts';
import { compareAndSwap } from '../lib/compare-and-swap.ts';
import { DAY_MS, HOUR_MS, SECOND_MS } from '../lib/duration.ts';
import type { WhoisAnswer } from '../registry/whois/client.ts';
import type { NameActivity, NamesContext } from './context.ts';
import {
  isWhoisDue,
  lacksDate,
  type NameDates,
  updateDatesAfterLookup,
  updateDatesAfterTransfer,
  updateDatesAfterWhois,
} from './dates.ts';
import { findDangers, isDailyLookupDue, isHealthLookupDue } from './delegation-health.ts';
import { getFactValue, type Observation } from './facts.ts';
import { findNewValues, mergeMajority, mergeObservation } from './history.ts';
import { type Incident, isOpen, updateIncidents } from './incident.ts';
import {
  detectPendingChanges,
  isUrgent,
  type LookupPlanner,
  type ScheduledName,
  scheduleNextLookup,
} from './lookup-planner.ts';
import type { DnsObserver } from './observe.ts';
import { NO_FAULTS } from './observe-delegation.ts';
import { hasNewDelegation } from './parent-delegation.ts';
import type { NameObservation, NameRecord, NameRecordStore, RecordUpdate } from './ports.ts';
import {
  type AssessedName,
  assessName,
  CERTIFICATE_FACTS,
  createPosture,
  listFindingCodes,
} from './posture.ts';
import { getLookupBudgetKey } from './registry-of.ts';
import { isRetryableProblem, parseRegistryAnswer, type RegistryLookup } from './registry-record.ts';
import { createTimeoutSignal } from './time-limit.ts';
import { explainChanges } from './unexplained-changes.ts';

export interface LookupResults {
  readonly dns: Observation | undefined;
  /** From the parent zone, which is queried more often. */
  readonly parent: Observation | undefined;
  readonly registry: RegistryLookup | undefined;
  /** WHOIS is queried only if the registry shows no expiry date. */
  readonly whois: WhoisAnswer | undefined;
  /** When the registry lookup is due, which may be later than now. */
  readonly registryDueAt: Date | undefined;
}

const NO_RESULTS: LookupResults = {
  dns: undefined,
  parent: undefined,
  registry: undefined,
  whois: undefined,
  registryDueAt: undefined,
};

/** Includes the wait for the server's rate limit. */
const WHOIS_TIMEOUT_MS = 20 * SECOND_MS;

/**
 * Runs the lookups that are due. Names at the same registry share a budget. If it is used up, the registry
 * lookup is scheduled for later.
 * @throws the signal's reason and the store's errors; the name is due again when its claim ends
 */
export async function lookUpName(context: NamesContext, name: string, signal: AbortSignal): Promise<void> {
  const record = await context.records.find(name);
  if (record === undefined) return;
  const now = context.now();
  const registryDueAt = reserveRegistryLookup(context.planner, record, now);
  const [dns, registry] = await Promise.all([
    record.nextDnsLookupAt <= now ? lookUpDns(context, record, now, signal) : undefined,
    registryDueAt <= now ? lookUpRegistryAndWhois(context, record, signal) : undefined,
  ]);
  await saveLookups(context, record, { ...NO_RESULTS, dns, ...registry, registryDueAt });
}

/** Looks up the DNS facts and, once a day, the health of the delegation. */
async function lookUpDns(
  { observer, observeDelegation }: NamesContext,
  { name, history }: NameRecord,
  now: Date,
  signal: AbortSignal,
): Promise<Observation> {
  const observation = await observer.observe(name, signal, isDailyLookupDue(CERTIFICATE_FACTS, history, now));
  const hosts = getFactValue(observation.facts.parent_nameservers);
  // If the delegation is unknown, there is no server to query, and the health facts become stale.
  if (hosts === undefined || !isHealthLookupDue(history, now)) return observation;
  const health = hosts.length === 0 ? NO_FAULTS : await observeDelegation(name, hosts, signal);
  return { ...observation, facts: { ...observation.facts, ...health } };
}

/** @returns whether the lookup confirmed a change */
export async function saveParentLookup(context: NamesContext, parent: Observation): Promise<boolean> {
  const record = await context.records.find(parent.name);
  if (record === undefined) return false;
  const saved = await saveLookups(context, record, { ...NO_RESULTS, parent });
  return saved !== undefined && hasNewDelegation(record.history, saved.updatedRecord.history);
}

/**
 * The result is stored if the name is watched.
 * @throws as {@link lookUpName}
 */
export async function lookUpAtRegistry(
  context: NamesContext,
  name: string,
  signal: AbortSignal,
): Promise<RegistryLookup> {
  const record = await context.records.find(name);
  if (record === undefined) return fetchRegistryLookup(context, context.observer, name, signal);
  const results = await lookUpRegistryAndWhois(context, record, signal);
  await saveLookups(context, record, { ...NO_RESULTS, ...results });
  return results.registry;
}

/**
 * Looks up DNS if nothing is known about it yet. The result is stored if the name is watched.
 * @throws as {@link lookUpName}
 */
export async function lookUpMissingDns(
  context: NamesContext,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const record = await context.records.find(name);
  if (record === undefined || record.history.a !== undefined) return;
  const dns = await lookUpDns(context, record, context.now(), signal);
  await saveLookups(context, record, { ...NO_RESULTS, dns });
}

async function lookUpRegistryAndWhois(
  context: NamesContext,
  record: NameRecord,
  signal: AbortSignal,
): Promise<Pick<LookupResults, 'whois'> & { readonly registry: RegistryLookup }> {
  const registry = await fetchRegistryLookup(context, context.observer, record.name, signal);
  if (!isWhoisDue(record, registry)) return { registry, whois: undefined };
  // The registry's answer is kept even if WHOIS fails.
  const whois = await context.whois
    ?.fetchRecord(record.name, createTimeoutSignal(signal, WHOIS_TIMEOUT_MS))
    .catch((): WhoisAnswer => ({ kind: 'waiting' }));
  signal.throwIfAborted();
  return { registry, whois };
}

/** If the registry has no record, the parent zone is queried too. */
export async function fetchRegistryLookup(
  { rdap, now }: NamesContext,
  observer: DnsObserver,
  name: string,
  signal: AbortSignal,
): Promise<RegistryLookup> {
  const answer = await rdap.fetchRecord(name, signal);
  const at = now();
  if (answer.kind !== 'not_found') return parseRegistryAnswer(answer, name, at);
  return parseRegistryAnswer(answer, name, at, await observer.observeParent(name, signal));
}

/** Makes the next registry lookup trust the registrar that it finds. */
export async function confirmTransfer({ records, now }: NamesContext, name: string): Promise<void> {
  const at = now();
  await updateRecord(records, name, await records.find(name), async (record) => ({
    updatedRecord: { ...record, ...updateDatesAfterTransfer(record, at), nextRegistryLookupAt: at },
    observations: [{ origin: 'person', at, expiresAt: undefined }],
    incident: undefined,
  }));
}

async function saveLookups(
  context: NamesContext,
  original: NameRecord,
  results: LookupResults,
): Promise<RecordUpdate | undefined> {
  const saved = await updateRecord(context.records, original.name, original, async (latest) =>
    keepNewRequests(
      original,
      latest,
      mergeLookups(latest, results, await context.loadActivity(latest), getLookupContext(context)),
    ),
  );
  const { after, addedChanges = [] } = saved?.incident ?? {};
  for (const { kind, fact } of addedChanges) {
    context.log.warn(
      { name: original.name, kind, fact, incidentId: after?.id },
      'a name changed, and no order explains it',
    );
  }
  return saved;
}

function getLookupContext({ now, random = Math.random, certificateWarningDays }: NamesContext) {
  return { now: now(), random, certificateDays: certificateWarningDays };
}

async function updateRecord(
  records: NameRecordStore,
  name: string,
  record: NameRecord | undefined,
  buildUpdate: (latest: NameRecord) => Promise<RecordUpdate>,
): Promise<RecordUpdate | undefined> {
  const { update } = await compareAndSwap(
    `updating the record of ${name}`,
    async (tries) => (tries === 0 ? record : records.find(name)),
    async (latest) => {
      if (latest === undefined) return { update: undefined };
      const update = await buildUpdate(latest);
      return (await records.save(latest, update)) ? { update } : undefined;
    },
  );
  return update;
}

export function mergeLookups(
  record: NameRecord,
  results: LookupResults,
  activity: NameActivity,
  { now, random, certificateDays }: ReturnType<typeof getLookupContext>,
): RecordUpdate {
  const { dns, parent, registry, registryDueAt } = results;
  const { name } = record;
  let { history } = record;
  const observations: NameObservation[] = [];
  // The request is saved with the record, so the lookup happens even if this process stops.
  let needsRegistryLookup = false;
  const changes = (
    [
      ['dns', dns],
      ['dns', parent],
      ['registry', registry],
    ] as const
  ).flatMap(([origin, observation]) => {
    if (observation === undefined) return [];
    const newValues = findNewValues(history, observation);
    if (Object.keys(newValues).length > 0) observations.push({ origin, at: observation.at, seen: newValues });
    const merged = (observation === parent ? mergeMajority : mergeObservation)(history, observation);
    ({ history } = merged);
    needsRegistryLookup ||= observation === parent && merged.changes.length > 0;
    return merged.changes;
  });
  const explanation = explainChanges({
    changes,
    history,
    orders: activity.orders,
    knownChanges: record.knownChanges,
  });
  const { newDangers, knownChanges } = findDangers(history, explanation.knownChanges);
  const unexplainedChanges = [...explanation.unexplainedChanges, ...newDangers];
  const incident = updateIncidents(activity.incidents, { name, unexplainedChanges, history, at: now });
  const dates = updateDates(record, results);
  const posture = createPosture({ name, history, at: now, certificateDays }, record.posture);
  const updatedRecord = { ...record, ...dates, history, knownChanges, posture };
  const findings = listFindingCodes(
    assessName(toAssessedName(updatedRecord, [incident?.after, ...activity.incidents]), now),
  );
  const openedFindings = findings.filter((code) => !record.findings.includes(code));
  const closedFindings = record.findings.filter((code) => !findings.includes(code));
  if (openedFindings.length + closedFindings.length > 0)
    observations.push({ origin: 'finding', at: now, opened: openedFindings, closed: closedFindings });
  const scheduledName = toScheduledName(
    updatedRecord,
    activity,
    incident?.after ?? activity.incidents[0],
    now,
  );
  const scheduleNext = (kind: 'dns' | 'registry') => scheduleNextLookup(kind, scheduledName, now, random());
  const isDeferred =
    registry === undefined && registryDueAt !== undefined && registryDueAt > record.nextRegistryLookupAt;
  const after = {
    ...updatedRecord,
    findings,
    nextDnsLookupAt:
      dns === undefined ? pickEarlier(record.nextDnsLookupAt, scheduleNext('dns')) : scheduleNext('dns'),
    nextRegistryLookupAt:
      registry !== undefined
        ? scheduleAfterRegistryLookup(registry, scheduleNext('registry'), now)
        : needsRegistryLookup
          ? now
          : isDeferred
            ? registryDueAt
            : pickEarlier(record.nextRegistryLookupAt, scheduleNext('registry')),
    isRegistryReserved: isDeferred,
    isUrgent: isUrgent(scheduledName, now),
  };
  return { updatedRecord: after, observations, incident };
}

function updateDates(record: NameRecord, { registry, whois }: LookupResults): NameDates {
  if (registry === undefined) return record;
  const dates = updateDatesAfterLookup(record, registry);
  return lacksDate(registry.result) ? updateDatesAfterWhois(record, dates, whois, registry.at) : dates;
}

/** @param incidents the name's incidents; if an incident is listed twice, the first version counts */
function toAssessedName(record: NameRecord, incidents: readonly (Incident | undefined)[]): AssessedName {
  const incidentsById = new Map(
    dropMissing(incidents)
      .toReversed()
      .map((incident) => [incident.id, incident]),
  );
  const openTimes = [...incidentsById.values()].filter(isOpen).map(({ openedAt }) => openedAt.getTime());
  return {
    expiresAt: record.expiry?.at,
    deletedAt: record.deletedAt,
    isLapsing: record.lapse?.confirmed !== undefined,
    hasOwner: record.hasOwner,
    incidentSince: openTimes.length === 0 ? undefined : new Date(Math.min(...openTimes)),
    posture: record.posture,
  };
}

/**
 * Keeps requests for another lookup that were made during this one, because this one may have missed the
 * latest changes.
 * @param original the record when the lookup began
 */
function keepNewRequests(original: NameRecord, latest: NameRecord, update: RecordUpdate): RecordUpdate {
  const { updatedRecord } = update;
  const isDnsRequested = latest.nextDnsLookupAt.getTime() !== original.nextDnsLookupAt.getTime();
  const isRegistryRequested =
    latest.nextRegistryLookupAt.getTime() !== original.nextRegistryLookupAt.getTime();
  return {
    ...update,
    updatedRecord: {
      ...updatedRecord,
      ...(isDnsRequested && {
        nextDnsLookupAt: pickEarlier(latest.nextDnsLookupAt, updatedRecord.nextDnsLookupAt),
      }),
      ...(isRegistryRequested &&
        latest.nextRegistryLookupAt < updatedRecord.nextRegistryLookupAt && {
          nextRegistryLookupAt: latest.nextRegistryLookupAt,
          isRegistryReserved: latest.isRegistryReserved,
        }),
    },
  };
}

function toScheduledName(
  record: NameRecord,
  { hasOpenOrder, isGuarded }: NameActivity,
  incident: Incident | undefined,
  now: Date,
): ScheduledName {
  const { isChanging, hasUnconfirmedChange } = detectPendingChanges(record.history);
  return {
    expiresAt: record.expiry?.at,
    isGuarded,
    isChanging:
      isChanging ||
      hasOpenOrder ||
      mayHaveMoreChanges(incident, now) ||
      record.unpublishedRenewal !== undefined,
    hasUnconfirmedChange,
  };
}

/** A name is often stolen in several steps, so more changes may follow an incident. */
const INCIDENT_FOLLOW_UP_MS = 30 * DAY_MS;

function mayHaveMoreChanges(incident: Incident | undefined, now: Date): boolean {
  if (incident === undefined || !isOpen(incident)) return false;
  return now.getTime() - incident.openedAt.getTime() < INCIDENT_FOLLOW_UP_MS;
}

/** @returns a future time if the name isn't due or the registry's budget is used up */
function reserveRegistryLookup(planner: LookupPlanner, record: NameRecord, now: Date): Date {
  if (record.nextRegistryLookupAt > now || record.isRegistryReserved) return record.nextRegistryLookupAt;
  return planner.reserve(getLookupBudgetKey(record.name), record.isUrgent, now);
}

/** A failed lookup is retried after an hour, or later if the registry requests a longer delay. */
function scheduleAfterRegistryLookup({ result }: RegistryLookup, next: Date, now: Date): Date {
  if (result.kind !== 'failed' || !isRetryableProblem(result.problem)) return next;
  return new Date(now.getTime() + Math.max(result.retryAfterMs ?? 0, HOUR_MS));
}

function pickEarlier(one: Date, other: Date): Date {
  return one < other ? one : other;
}
