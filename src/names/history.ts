import { isDeepStrictEqual } from 'node:util';
import { dropMissing } from '../lib/collections.ts';
import { DAY_MS, MINUTE_MS } from '../lib/duration.ts';
import {
  createFact,
  FACT_NAMES,
  type FactName,
  type Facts,
  type FactValue,
  getFactValue,
  INCIDENT_FACTS,
  isSameValue,
  mergeSameValue,
  type Observation,
  type UnknownDetails,
} from './facts.ts';

/**
 * The state of a name, merged from many lookups. Registries and resolvers sometimes return stale data, so a
 * value is accepted after two consecutive lookups.
 */

export interface KnownValue {
  /** Empty if the fact was absent. */
  readonly value: FactValue;
  readonly firstSeen: Date;
  readonly lastSeen: Date;
}

/** A different value that isn't confirmed yet. */
export interface Candidate extends KnownValue {
  readonly sightings: number;
}

export interface FactHistory {
  readonly current: KnownValue | undefined;
  readonly candidate: Candidate | undefined;
  /** Previous values, latest first. */
  readonly past: readonly KnownValue[];
  /** Set if the latest lookup couldn't determine the fact. */
  readonly unseen: (UnknownDetails & { readonly since: Date }) | undefined;
}

/** Values found in one lookup. An empty value means that the fact was absent. */
export type SeenValues = { readonly [Name in FactName]?: FactValue };

export type NameHistory = { readonly [Name in FactName]?: FactHistory };

/** A change confirmed by two lookups. */
export interface FactChange {
  readonly fact: FactName;
  readonly before: FactValue;
  readonly after: FactValue;
  /** The change happened between this time and the first sighting of the new value. */
  readonly beforeLastSeenAt: Date;
  readonly afterFirstSeenAt: Date;
}

export interface MergeResult {
  readonly history: NameHistory;
  readonly changes: readonly FactChange[];
}

const MAX_PAST_VALUES = 20;
const MIN_SIGHTINGS = 2;
const MAX_SIGHTINGS = 16;
/** Lookups that are closer together may come from the same cache. */
const MIN_SIGHTING_INTERVAL_MS = MINUTE_MS;
/** A value that returns within this time is flapping. */
const FLAP_WINDOW_MS = 7 * DAY_MS;

const EMPTY_FACT_HISTORY: FactHistory = {
  current: undefined,
  candidate: undefined,
  past: [],
  unseen: undefined,
};

/**
 * The first value is accepted immediately. A different value is accepted after two consecutive lookups, or
 * after more if the fact had that value recently. Lookups that arrive late or repeatedly change nothing.
 */
export function mergeObservation(history: NameHistory, observation: Observation): MergeResult {
  return mergeFacts(history, observation, computeRequiredSightings);
}

/** The majority of several servers doesn't flap, so two lookups are always enough. */
export function mergeMajority(history: NameHistory, observation: Observation): MergeResult {
  return mergeFacts(history, observation, () => MIN_SIGHTINGS);
}

function mergeFacts(
  history: NameHistory,
  observation: Observation,
  computeSightings: typeof computeRequiredSightings,
): MergeResult {
  const mergedHistory: { -readonly [Name in FactName]?: FactHistory } = { ...history };
  const changes: FactChange[] = [];
  for (const [fact, observedFact] of listFactEntries(observation.facts)) {
    const before = mergedHistory[fact] ?? EMPTY_FACT_HISTORY;
    if (observation.at.getTime() < getLastLookupTime(before)) continue;
    if (observedFact.state === 'unseen') {
      const { state: _, ...unseen } = observedFact;
      const since = before.unseen?.reason === unseen.reason ? before.unseen.since : observation.at;
      mergedHistory[fact] = { ...before, unseen: { ...unseen, since } };
      continue;
    }
    const value = observedFact.state === 'seen' ? observedFact.value : [];
    const { after, change } = mergeValue(fact, before, value, observation.at, computeSightings);
    mergedHistory[fact] = after;
    if (change !== undefined) changes.push(change);
  }
  return { history: mergedHistory, changes };
}

/** Finds values that differ from the previous lookup, except signatures, which change daily. */
export function findNewValues(history: NameHistory, { facts }: Observation): SeenValues {
  return Object.fromEntries(
    listFactEntries(facts).flatMap(([fact, observedFact]) => {
      const value = getFactValue(observedFact);
      const last = (history[fact]?.candidate ?? history[fact]?.current)?.value;
      const isKnown =
        fact === 'signatures' ||
        value === undefined ||
        (last && isDeepStrictEqual(mergeSameValue(fact, last, value), last));
      return isKnown ? [] : [[fact, value]];
    }),
  );
}

/**
 * Collects facts for warnings. Includes unconfirmed values, because they may be correct.
 * @param maxAgeMs older values count as unknown
 */
export function collectRecentFacts(history: NameHistory, now: Date, maxAgeMs: number): Facts {
  return Object.fromEntries(
    listFactEntries(history).map(([fact, { current, candidate, unseen }]) => {
      const recentValues = dropMissing([current, candidate]).filter(
        ({ lastSeen }) => now.getTime() - lastSeen.getTime() <= maxAgeMs,
      );
      const { since: _, ...unknownDetails } = unseen ?? { reason: 'stale' as const, since: now };
      const texts = recentValues.flatMap(({ value }) => value);
      return [fact, recentValues.length === 0 ? { state: 'unseen', ...unknownDetails } : createFact(texts)];
    }),
  );
}

export function wasLookedUp(history: NameHistory, facts: readonly FactName[]): boolean {
  return facts.some((fact) => history[fact] !== undefined);
}

/** Lists the current and past values, latest first. */
export function listValues(history: NameHistory, fact: FactName): readonly KnownValue[] {
  const { current, past = [] } = history[fact] ?? {};
  return current === undefined ? past : [current, ...past];
}

/** Whether another lookup must confirm a possible incident. */
export function hasUnconfirmedChange(history: NameHistory): boolean {
  return INCIDENT_FACTS.some((fact) => history[fact]?.candidate !== undefined);
}

function mergeValue(
  fact: FactName,
  before: FactHistory,
  value: FactValue,
  at: Date,
  computeSightings: typeof computeRequiredSightings,
): { readonly after: FactHistory; readonly change?: FactChange } {
  const { current, past } = before;
  if (current === undefined) {
    return { after: { ...EMPTY_FACT_HISTORY, current: { value, firstSeen: at, lastSeen: at } } };
  }
  if (isSameValue(fact, current.value, value)) {
    const refreshedValue = { ...current, value: mergeSameValue(fact, current.value, value), lastSeen: at };
    return { after: { current: refreshedValue, candidate: undefined, past, unseen: undefined } };
  }
  const candidate = addSighting(fact, before.candidate, value, at);
  if (candidate.sightings < computeSightings(fact, past, value, at)) {
    return { after: { current, candidate, past, unseen: undefined } };
  }
  const { sightings: _, ...confirmedValue } = candidate;
  return {
    after: {
      current: confirmedValue,
      candidate: undefined,
      past: [current, ...past].slice(0, MAX_PAST_VALUES),
      unseen: undefined,
    },
    change: {
      fact,
      before: current.value,
      after: confirmedValue.value,
      beforeLastSeenAt: current.lastSeen,
      afterFirstSeenAt: confirmedValue.firstSeen,
    },
  };
}

function addSighting(
  fact: FactName,
  candidate: Candidate | undefined,
  value: FactValue,
  at: Date,
): Candidate {
  if (candidate === undefined || !isSameValue(fact, candidate.value, value)) {
    return { value, firstSeen: at, lastSeen: at, sightings: 1 };
  }
  if (at.getTime() - candidate.lastSeen.getTime() < MIN_SIGHTING_INTERVAL_MS) return candidate;
  return {
    ...candidate,
    value: mergeSameValue(fact, candidate.value, value),
    lastSeen: at,
    sightings: candidate.sightings + 1,
  };
}

function computeRequiredSightings(
  fact: FactName,
  past: readonly KnownValue[],
  value: FactValue,
  at: Date,
): number {
  const flaps = past.filter(
    (former) =>
      isSameValue(fact, former.value, value) && at.getTime() - former.lastSeen.getTime() < FLAP_WINDOW_MS,
  );
  return Math.min(MIN_SIGHTINGS * 2 ** flaps.length, MAX_SIGHTINGS);
}

function getLastLookupTime({ current, candidate }: FactHistory): number {
  return Math.max(current?.lastSeen.getTime() ?? 0, candidate?.lastSeen.getTime() ?? 0);
}

function listFactEntries<Value>(record: { readonly [Name in FactName]?: Value }): [FactName, Value][] {
  return FACT_NAMES.flatMap((fact) => {
    const value = record[fact];
    return value === undefined ? [] : [[fact, value]];
  });
}
