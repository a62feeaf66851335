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
  findPendingStatus,
  isUrgent,
  type LookupPlanner,
  type ScheduledName,
  scheduleNextLookup,
} from './lookup-planner.ts';
import type { DnsObserver } from './observe.ts';
import { NO_DELEGATION } from './observe-delegation.ts';
import { hasNewDelegation } from './parent-delegation.ts';
import type { LookupResult, NameObservation, NameRecord, NameRecordStore } from './ports.ts';
import { assessPosture, CERTIFICATES, type JudgedName, judgeName, listFindingCodes } from './posture.ts';
import { getRegistry } from './registry-of.ts';
import { isUnanswered, type RegistryLookup, readRegistryAnswer } from './registry-record.ts';
import { createTimeLimit } from './time-limit.ts';
import { explainChanges } from './unexplained-changes.ts';

/** Results of one lookup, and the time of the registry lookup if it was postponed. */
export interface LookupResults {
  readonly dns: Observation | undefined;
  /** From the parent zone, which is asked more often. */
  readonly parent: Observation | undefined;
  readonly registry: RegistryLookup | undefined;
  /** Asked only if the registry has no date. */
  readonly whois: WhoisAnswer | undefined;
  readonly registryAt: Date | undefined;
}

const NO_RESULTS: LookupResults = {
  ...{ dns: undefined, parent: undefined, registry: undefined, whois: undefined, registryAt: undefined },
};

/** Includes waiting until the server may be asked. */
const WHOIS_LIMIT_MS = 20 * SECOND_MS;

/**
 * Runs when a lookup is due. All names of a registry share its budget; if none is left, a later time is reserved.
 * @throws the signal's reason and the store's errors; the name is due again when its claim ends
 */
export async function lookUpName(context: NamesContext, name: string, signal: AbortSignal): Promise<void> {
  const known = await context.records.find(name);
  if (known === undefined) return;
  const now = context.now();
  const registryAt = reserveRegistryLookup(context.planner, known, now);
  const [dns, registry] = await Promise.all([
    known.nextDnsAt <= now ? lookUpDns(context, known, now, signal) : undefined,
    registryAt <= now ? lookUpRegistryAndWhois(context, known, signal) : undefined,
  ]);
  await saveLookups(context, known, { ...NO_RESULTS, dns, ...registry, registryAt });
}

/** Looks up the DNS facts, and once a day the health of the delegation. */
async function lookUpDns(
  { observer, observeDelegation }: NamesContext,
  { name, history }: NameRecord,
  now: Date,
  signal: AbortSignal,
): Promise<Observation> {
  const observation = await observer.observe(name, signal, isDailyLookupDue(CERTIFICATES, history, now));
  const hosts = getFactValue(observation.facts.parent_nameservers);
  // Without the delegation, there is no server to ask, so the health facts become stale.
  if (hosts === undefined || !isHealthLookupDue(history, now)) return observation;
  const health = hosts.length === 0 ? NO_DELEGATION : await observeDelegation(name, hosts, signal);
  return { ...observation, facts: { ...observation.facts, ...health } };
}

/** @returns whether the lookup confirmed a change */
export async function saveParentLookup(context: NamesContext, parent: Observation): Promise<boolean> {
  const known = await context.records.find(parent.name);
  if (known === undefined) return false;
  const saved = await saveLookups(context, known, { ...NO_RESULTS, parent });
  return saved !== undefined && hasNewDelegation(known.history, saved.after.history);
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
  const known = await context.records.find(name);
  if (known === undefined) return fetchRegistryLookup(context, context.observer, name, signal);
  const results = await lookUpRegistryAndWhois(context, known, signal);
  await saveLookups(context, known, { ...NO_RESULTS, ...results });
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
  const known = await context.records.find(name);
  if (known === undefined || known.history.a !== undefined) return;
  const dns = await lookUpDns(context, known, context.now(), signal);
  await saveLookups(context, known, { ...NO_RESULTS, dns });
}

async function lookUpRegistryAndWhois(
  context: NamesContext,
  known: NameRecord,
  signal: AbortSignal,
): Promise<Pick<LookupResults, 'whois'> & { readonly registry: RegistryLookup }> {
  const registry = await fetchRegistryLookup(context, context.observer, known.name, signal);
  if (!isWhoisDue(known, registry)) return { registry, whois: undefined };
  // The registry's answer is kept even if WHOIS fails.
  const whois = await context.whois
    ?.fetchRecord(known.name, createTimeLimit(signal, WHOIS_LIMIT_MS))
    .catch((): WhoisAnswer => ({ kind: 'waiting' }));
  signal.throwIfAborted();
  return { registry, whois };
}

/** If the registry has no record, the parent zone is asked. */
export async function fetchRegistryLookup(
  { rdap, now }: NamesContext,
  observer: DnsObserver,
  name: string,
  signal: AbortSignal,
): Promise<RegistryLookup> {
  const answer = await rdap.fetchRecord(name, signal);
  const at = now();
  if (answer.kind !== 'not_found') return readRegistryAnswer(answer, name, at);
  return readRegistryAnswer(answer, name, at, await observer.observeParent(name, signal));
}

/** Trusts the registrar in the next record. */
export async function confirmTransfer({ records, now }: NamesContext, name: string): Promise<void> {
  const at = now();
  await updateRecord(records, name, await records.find(name), async (known) => ({
    after: { ...known, ...updateDatesAfterTransfer(known, at), nextRegistryAt: at },
    observations: [{ origin: 'person', at, expiresAt: undefined }],
    incident: undefined,
  }));
}

async function saveLookups(
  context: NamesContext,
  found: NameRecord,
  results: LookupResults,
): Promise<LookupResult | undefined> {
  const saved = await updateRecord(context.records, found.name, found, async (known) =>
    keepNewRequests(
      found,
      known,
      mergeLookups(known, results, await context.loadActivity(known), getLookupContext(context)),
    ),
  );
  const { after, added = [] } = saved?.incident ?? {};
  for (const { kind, fact } of added) {
    context.log.warn(
      { name: found.name, kind, fact, incidentId: after?.id },
      'a name changed, and no order explains it',
    );
  }
  return saved;
}

function getLookupContext({ now, random = Math.random, certificateDays }: NamesContext) {
  return { now: now(), random, certificateDays };
}

async function updateRecord(
  records: NameRecordStore,
  name: string,
  found: NameRecord | undefined,
  change: (known: NameRecord) => Promise<LookupResult>,
): Promise<LookupResult | undefined> {
  const { kept } = await compareAndSwap(
    `saving what was seen of ${name}`,
    async (tries) => (tries === 0 ? found : records.find(name)),
    async (known) => {
      if (known === undefined) return { kept: undefined };
      const result = await change(known);
      return (await records.save(known, result)) ? { kept: result } : undefined;
    },
  );
  return kept;
}

export function mergeLookups(
  known: NameRecord,
  results: LookupResults,
  activity: NameActivity,
  { now, random, certificateDays }: ReturnType<typeof getLookupContext>,
): LookupResult {
  const { dns, parent, registry, registryAt } = results;
  const { name } = known;
  let { history } = known;
  const observations: NameObservation[] = [];
  // Stored so that another process asks the registry if this one dies now.
  let needsRegistryLookup = false;
  const changes = (
    [
      ['dns', dns],
      ['dns', parent],
      ['registry', registry],
    ] as const
  ).flatMap(([origin, observation]) => {
    if (observation === undefined) return [];
    const seen = findNewValues(history, observation);
    if (Object.keys(seen).length > 0) observations.push({ origin, at: observation.at, seen });
    const merged = (observation === parent ? mergeMajority : mergeObservation)(history, observation);
    ({ history } = merged);
    needsRegistryLookup ||= observation === parent && merged.changes.length > 0;
    return merged.changes;
  });
  const explained = explainChanges({
    changes,
    history,
    orders: activity.orders,
    knownChanges: known.knownChanges,
  });
  const { found, knownChanges } = findDangers(history, explained.knownChanges);
  const unexplained = [...explained.unexplained, ...found];
  const incident = updateIncidents(activity.incidents, { name, unexplained, history, at: now });
  const dates = updateDates(known, results);
  const posture = assessPosture({ name, history, at: now, certificateDays }, known.posture);
  const record = { ...known, ...dates, history, knownChanges, posture };
  const findings = listFindingCodes(
    judgeName(toJudgedName(record, [incident?.after, ...activity.incidents]), now),
  );
  const opened = findings.filter((code) => !known.findings.includes(code));
  const closed = known.findings.filter((code) => !findings.includes(code));
  if (opened.length + closed.length > 0) observations.push({ origin: 'finding', at: now, opened, closed });
  const scheduled = toScheduledName(record, activity, incident?.after ?? activity.incidents[0], now);
  const next = (kind: 'dns' | 'registry') => scheduleNextLookup(kind, scheduled, now, random());
  const isDeferred = registry === undefined && registryAt !== undefined && registryAt > known.nextRegistryAt;
  const after = {
    ...record,
    findings,
    nextDnsAt: dns === undefined ? pickEarlier(known.nextDnsAt, next('dns')) : next('dns'),
    nextRegistryAt:
      registry !== undefined
        ? scheduleAfterRegistry(registry, next('registry'), now)
        : needsRegistryLookup
          ? now
          : isDeferred
            ? registryAt
            : pickEarlier(known.nextRegistryAt, next('registry')),
    isRegistryReserved: isDeferred,
    isUrgent: isUrgent(scheduled, now),
  };
  return { after, observations, incident };
}

function updateDates(known: NameRecord, { registry, whois }: LookupResults): NameDates {
  if (registry === undefined) return known;
  const dates = updateDatesAfterLookup(known, registry);
  return lacksDate(registry.result) ? updateDatesAfterWhois(known, dates, whois, registry.at) : dates;
}

/** @param incidents of the name; only the first version of each counts */
function toJudgedName(record: NameRecord, incidents: readonly (Incident | undefined)[]): JudgedName {
  const latest = new Map(
    dropMissing(incidents)
      .toReversed()
      .map((each) => [each.id, each]),
  );
  const since = [...latest.values()].filter(isOpen).map(({ openedAt }) => openedAt.getTime());
  return {
    expiresAt: record.expiry?.at,
    deletedAt: record.deletedAt,
    isLapsing: record.lapse?.confirmed !== undefined,
    hasOwner: record.hasOwner,
    incidentSince: since.length === 0 ? undefined : new Date(Math.min(...since)),
    posture: record.posture,
  };
}

/**
 * A request made during a lookup stays open, because the lookup may have started before the change.
 * @param found the name when the lookup began
 */
function keepNewRequests(found: NameRecord, known: NameRecord, result: LookupResult): LookupResult {
  const { after } = result;
  const isDnsRequested = known.nextDnsAt.getTime() !== found.nextDnsAt.getTime();
  const isRegistryRequested = known.nextRegistryAt.getTime() !== found.nextRegistryAt.getTime();
  return {
    ...result,
    after: {
      ...after,
      ...(isDnsRequested && { nextDnsAt: pickEarlier(known.nextDnsAt, after.nextDnsAt) }),
      ...(isRegistryRequested &&
        known.nextRegistryAt < after.nextRegistryAt && {
          nextRegistryAt: known.nextRegistryAt,
          isRegistryReserved: known.isRegistryReserved,
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
  const { isChanging, hasUnconfirmedChange } = findPendingStatus(record.history);
  return {
    expiresAt: record.expiry?.at,
    isGuarded,
    isChanging: isChanging || hasOpenOrder || mayContinue(incident, now) || record.renewed !== undefined,
    hasUnconfirmedChange,
  };
}

/** A theft happens in steps, so more changes may follow an incident. */
const INCIDENT_FOLLOW_UP_MS = 30 * DAY_MS;

function mayContinue(incident: Incident | undefined, now: Date): boolean {
  if (incident === undefined || !isOpen(incident)) return false;
  return now.getTime() - incident.openedAt.getTime() < INCIDENT_FOLLOW_UP_MS;
}

/** @returns a future time if the name isn't due or others come first */
function reserveRegistryLookup(planner: LookupPlanner, known: NameRecord, now: Date): Date {
  if (known.nextRegistryAt > now || known.isRegistryReserved) return known.nextRegistryAt;
  return planner.reserve(getRegistry(known.name), known.isUrgent, now);
}

/** After an hour, or when the registry allows it. */
function scheduleAfterRegistry({ result }: RegistryLookup, next: Date, now: Date): Date {
  if (result.kind !== 'unread' || !isUnanswered(result.problem)) return next;
  return new Date(now.getTime() + Math.max(result.retryAfterMs ?? 0, HOUR_MS));
}

function pickEarlier(one: Date, other: Date): Date {
  return one < other ? one : other;
}
