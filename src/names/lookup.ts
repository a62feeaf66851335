import { dropMissing } from '../lib/collections.ts';
import { compareAndSwap } from '../lib/compare-and-swap.ts';
import { DAY_MS, HOUR_MS, SECOND_MS } from '../lib/duration.ts';
import type { WhoisAnswer } from '../registry/whois/client.ts';
import type { NameActivity, NamesContext } from './context.ts';
import {
  datesAfterLookup,
  datesAfterTransferConfirmed,
  datesAfterWhois,
  isWhoisDue,
  lacksDate,
  type NameDates,
} from './dates.ts';
import { findDangers, isDailyLookupDue, isHealthLookupDue } from './delegation-health.ts';
import { factValue, type Observation } from './facts.ts';
import { findNewValues, mergeMajority, mergeObservation } from './history.ts';
import { afterLookup, type Incident, isOpen } from './incident.ts';
import {
  findPendingStatus,
  isUrgent,
  type LookupPlanner,
  nextLookup,
  type ScheduledName,
} from './lookup-planner.ts';
import type { DnsObserver } from './observe.ts';
import { NO_DELEGATION } from './observe-delegation.ts';
import { isChanged } from './parent-delegation.ts';
import type { LookupResult, NameObservation, NameRecord, NameRecordStore } from './ports.ts';
import { assessPosture, CERTIFICATES, findingCodes, type JudgedName, judge } from './posture.ts';
import { registryOf } from './registry-of.ts';
import { isUnanswered, type RegistryLookup, readRegistryAnswer } from './registry-record.ts';
import { timeLimit } from './time-limit.ts';
import { explainChanges } from './unexplained-changes.ts';

/** Simultaneous results, and when the registry may be asked if it wasn't. */
interface LookupResults {
  readonly dns: Observation | undefined;
  /** From the parent zone, which is asked more often. */
  readonly parent: Observation | undefined;
  readonly registry: RegistryLookup | undefined;
  /** Asked if the registry has no date. */
  readonly whois: WhoisAnswer | undefined;
  readonly registryTurn: Date | undefined;
}

const NO_RESULTS: LookupResults = {
  ...{ dns: undefined, parent: undefined, registry: undefined, whois: undefined, registryTurn: undefined },
};

/** Includes the wait for the server's turn. */
const WHOIS_LIMIT_MS = 20 * SECOND_MS;

/**
 * Runs when a lookup is due. Names of one registry share its budget; without budget, a time is reserved.
 * @throws the signal's reason and the store's errors; the name is due again when its claim ends
 */
export async function lookUpName(context: NamesContext, name: string, signal: AbortSignal): Promise<void> {
  const known = await context.records.find(name);
  if (known === undefined) return;
  const now = context.now();
  const registryTurn = reserveRegistry(context.planner, known, now);
  const [dns, registry] = await Promise.all([
    known.nextDnsAt <= now ? lookUpDns(context, known, now, signal) : undefined,
    registryTurn <= now ? askRegistry(context, known, signal) : undefined,
  ]);
  await saveLookups(context, known, { ...NO_RESULTS, dns, ...registry, registryTurn });
}

/** DNS facts, and once a day the health of the delegation. */
async function lookUpDns(
  { observer, observeDelegation }: NamesContext,
  { name, history }: NameRecord,
  now: Date,
  signal: AbortSignal,
): Promise<Observation> {
  const observation = await observer.observe(name, signal, isDailyLookupDue(CERTIFICATES, history, now));
  const hosts = factValue(observation.facts.parent_nameservers);
  // Without the delegation there is no server to ask, so its health becomes stale.
  if (hosts === undefined || !isHealthLookupDue(history, now)) return observation;
  const health = hosts.length === 0 ? NO_DELEGATION : await observeDelegation(name, hosts, signal);
  return { ...observation, facts: { ...observation.facts, ...health } };
}

/** @returns whether it confirmed a change */
export async function saveParentLookup(context: NamesContext, parent: Observation): Promise<boolean> {
  const known = await context.records.find(parent.name);
  if (known === undefined) return false;
  const kept = await saveLookups(context, known, { ...NO_RESULTS, parent });
  return kept !== undefined && isChanged(known.history, kept.after.history);
}

/** Stored if the name is watched. @throws as {@link lookUpName} */
export async function lookUpAtRegistry(
  context: NamesContext,
  name: string,
  signal: AbortSignal,
): Promise<RegistryLookup> {
  const known = await context.records.find(name);
  if (known === undefined) return fetchRegistryLookup(context, context.observer, name, signal);
  const results = await askRegistry(context, known, signal);
  await saveLookups(context, known, { ...NO_RESULTS, ...results });
  return results.registry;
}

/** Only if nothing is known of its DNS yet. Stored if the name is watched. @throws as {@link lookUpName} */
export async function lookUpDnsFirst(
  context: NamesContext,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const known = await context.records.find(name);
  if (known === undefined || known.history.a !== undefined) return;
  const dns = await lookUpDns(context, known, context.now(), signal);
  await saveLookups(context, known, { ...NO_RESULTS, dns });
}

async function askRegistry(
  context: NamesContext,
  known: NameRecord,
  signal: AbortSignal,
): Promise<Pick<LookupResults, 'whois'> & { readonly registry: RegistryLookup }> {
  const registry = await fetchRegistryLookup(context, context.observer, known.name, signal);
  if (!isWhoisDue(known, registry)) return { registry, whois: undefined };
  // The registry's answer is kept, regardless of WHOIS.
  const whois = await context.whois
    ?.fetchRecord(known.name, timeLimit(signal, WHOIS_LIMIT_MS))
    .catch((): WhoisAnswer => ({ kind: 'waiting' }));
  signal.throwIfAborted();
  return { registry, whois };
}

/** The parent zone is asked when the registry has no record. */
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

/** The registrar in the next record is trusted. */
export async function confirmTransfer({ records, now }: NamesContext, name: string): Promise<void> {
  const at = now();
  await changeRecord(records, name, await records.find(name), async (known) => ({
    after: { ...known, ...datesAfterTransferConfirmed(known, at), nextRegistryAt: at },
    observations: [{ origin: 'person', at, expiresAt: undefined }],
    incident: undefined,
  }));
}

async function saveLookups(
  context: NamesContext,
  found: NameRecord,
  results: LookupResults,
): Promise<LookupResult | undefined> {
  const kept = await changeRecord(context.records, found.name, found, async (known) =>
    withNewRequests(
      found,
      known,
      afterLookups(known, results, await context.loadActivity(known), lookupMoment(context)),
    ),
  );
  const { after, added = [] } = kept?.incident ?? {};
  for (const { kind, fact } of added) {
    context.log.warn(
      { name: found.name, kind, fact, incidentId: after?.id },
      'a name changed, and no order explains it',
    );
  }
  return kept;
}

function lookupMoment({ now, random = Math.random, certificateDays }: NamesContext) {
  return { now: now(), random, certificateDays };
}

/** Retries on conflicts. */
async function changeRecord(
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

function afterLookups(
  known: NameRecord,
  results: LookupResults,
  activity: NameActivity,
  { now, random, certificateDays }: ReturnType<typeof lookupMoment>,
): LookupResult {
  const { dns, parent, registry, registryTurn } = results;
  const { name } = known;
  let { history } = known;
  const observations: NameObservation[] = [];
  // If this process dies now, another one still asks the registry.
  let isRegistryWanted = false;
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
    isRegistryWanted ||= observation === parent && merged.changes.length > 0;
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
  const incident = afterLookup(activity.incidents, { name, unexplained, history, at: now });
  const dates = updateDates(known, results);
  const posture = assessPosture({ name, history, at: now, certificateDays }, known.posture);
  const record = { ...known, ...dates, history, knownChanges, posture };
  const findings = findingCodes(judge(judgeRecord(record, [incident?.after, ...activity.incidents]), now));
  const opened = findings.filter((code) => !known.findings.includes(code));
  const closed = known.findings.filter((code) => !findings.includes(code));
  if (opened.length + closed.length > 0) observations.push({ origin: 'finding', at: now, opened, closed });
  const scheduled = planLookups(record, activity, incident?.after ?? activity.incidents[0], now);
  const next = (kind: 'dns' | 'registry') => nextLookup(kind, scheduled, now, random());
  const isDeferred =
    registry === undefined && registryTurn !== undefined && registryTurn > known.nextRegistryAt;
  const after = {
    ...record,
    findings,
    nextDnsAt: dns === undefined ? earlier(known.nextDnsAt, next('dns')) : next('dns'),
    nextRegistryAt:
      registry !== undefined
        ? afterRegistry(registry, next('registry'), now)
        : isRegistryWanted
          ? now
          : isDeferred
            ? registryTurn
            : earlier(known.nextRegistryAt, next('registry')),
    isRegistryReserved: isDeferred,
    isUrgent: isUrgent(scheduled, now),
  };
  return { after, observations, incident };
}

function updateDates(known: NameRecord, { registry, whois }: LookupResults): NameDates {
  if (registry === undefined) return known;
  const dates = datesAfterLookup(known, registry);
  return lacksDate(registry.result) ? datesAfterWhois(known, dates, whois, registry.at) : dates;
}

/** @param incidents of the name; the first version of each is used */
function judgeRecord(record: NameRecord, incidents: readonly (Incident | undefined)[]): JudgedName {
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
 * Requests during a lookup aren't satisfied by it: it may have started before the change.
 * @param found the name when the lookup began
 */
function withNewRequests(found: NameRecord, known: NameRecord, result: LookupResult): LookupResult {
  const { after } = result;
  const isDnsAsked = known.nextDnsAt.getTime() !== found.nextDnsAt.getTime();
  const isRegistryAsked = known.nextRegistryAt.getTime() !== found.nextRegistryAt.getTime();
  return {
    ...result,
    after: {
      ...after,
      ...(isDnsAsked && { nextDnsAt: earlier(known.nextDnsAt, after.nextDnsAt) }),
      ...(isRegistryAsked &&
        known.nextRegistryAt < after.nextRegistryAt && {
          nextRegistryAt: known.nextRegistryAt,
          isRegistryReserved: known.isRegistryReserved,
        }),
    },
  };
}

function planLookups(
  record: NameRecord,
  { hasOpenOrder, isGuarded }: NameActivity,
  incident: Incident | undefined,
  now: Date,
): ScheduledName {
  const { isChanging, unsettled } = findPendingStatus(record.history);
  return {
    endsAt: record.expiry?.at,
    guarded: isGuarded,
    isChanging: isChanging || hasOpenOrder || mayContinue(incident, now) || record.renewed !== undefined,
    unsettled,
  };
}

/** A theft happens in steps, so more changes may follow an incident. */
const GOES_ON_MS = 30 * DAY_MS;

function mayContinue(incident: Incident | undefined, now: Date): boolean {
  if (incident === undefined || !isOpen(incident)) return false;
  return now.getTime() - incident.openedAt.getTime() < GOES_ON_MS;
}

/** In the future when not due, or when others go first. */
function reserveRegistry(planner: LookupPlanner, known: NameRecord, now: Date): Date {
  if (known.nextRegistryAt > now || known.isRegistryReserved) return known.nextRegistryAt;
  return planner.reserve(registryOf(known.name), known.isUrgent, now);
}

/** After an hour, or as the registry asks. */
function afterRegistry({ result }: RegistryLookup, next: Date, now: Date): Date {
  if (result.kind !== 'unread' || !isUnanswered(result.problem)) return next;
  return new Date(now.getTime() + Math.max(result.retryAfterMs ?? 0, HOUR_MS));
}

function earlier(one: Date, other: Date): Date {
  return one < other ? one : other;
}
