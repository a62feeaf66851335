import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../lib/duration.ts';
import { isUnsettled, type NameHistory } from './history.ts';

/*
 * When a name is looked at next. Names that may be lost soon are looked at every few hours; the others daily by DNS and
 * weekly at their registry. No registry is asked more often than its budget allows, however many names there are.
 */

/** What the next look at a name depends on. */
export interface ScheduledName {
  /** When its registration ends, as far as it is known. */
  readonly endsAt: Date | undefined;
  /** Tagged `guarded`. */
  readonly guarded: boolean;
  /** It has an open order, or something about it is about to change. */
  readonly inMotion: boolean;
  /** A change was seen once and waits for a second look. */
  readonly unsettled: boolean;
}

export type LookKind = 'dns' | 'registry';

/** The time around the end of a registration, before it and after it until the name is released. */
const NEAR_MS = 60 * DAY_MS;
const AFTER_END_MS = 120 * DAY_MS;
const UNSETTLED_MS = 30 * MINUTE_MS;
/** For the registry of a guarded name: more than the minute between two sightings, however it is spread. */
const UNSETTLED_GUARDED_MS = 76 * SECOND_MS;
const URGENT_MS = 4 * HOUR_MS;
const ROUTINE_MS: Readonly<Record<LookKind, number>> = { dns: DAY_MS, registry: 7 * DAY_MS };
/** Looks are taken earlier by up to this part, so that the names of a list are not due at the same time. */
const SPREAD = 0.2;
/** The statuses of registries for changes that are under way. */
const MOVING_STATUS = /^pending |^redemption period$/;

/** Whether a name is looked at before others. */
export function isUrgent(name: ScheduledName, now: Date): boolean {
  return name.guarded || name.inMotion || name.unsettled || isNearEnd(name, now);
}

/**
 * When a name is to be looked at again.
 * @param random from 0 to below 1.
 */
export function nextLook(kind: LookKind, name: ScheduledName, now: Date, random: number): Date {
  if (name.unsettled) {
    const isByTheMinute = name.guarded && kind === 'registry';
    return later(now, isByTheMinute ? UNSETTLED_GUARDED_MS : UNSETTLED_MS, random);
  }
  if (isUrgent(name, now)) return later(now, URGENT_MS, random);
  const next = later(now, ROUTINE_MS[kind], random);
  const nearFrom = name.endsAt === undefined ? Number.POSITIVE_INFINITY : name.endsAt.getTime() - NEAR_MS;
  return nearFrom > now.getTime() && nearFrom < next.getTime() ? new Date(nearFrom) : next;
}

/** Whether something is going on with a name: a status says so, or a value waits for a second look. */
export function motionOf(history: NameHistory) {
  const { current, candidate } = history.statuses ?? {};
  const statuses = [...(current?.value ?? []), ...(candidate?.value ?? [])];
  return {
    inMotion: statuses.some((status) => MOVING_STATUS.test(status)),
    unsettled: isUnsettled(history),
  };
}

function isNearEnd({ endsAt }: ScheduledName, now: Date): boolean {
  if (endsAt === undefined) return false;
  const left = endsAt.getTime() - now.getTime();
  return left <= NEAR_MS && left > -AFTER_END_MS;
}

function later(now: Date, ms: number, random: number): Date {
  return new Date(now.getTime() + ms * (1 - random * SPREAD));
}

/** Assigns moments to looks. */
export interface LookPlanner {
  /**
   * The moment of a look that is due: now, or as soon as the budget of the host allows.
   * @param host whose budget it uses: a registry's server, or the resolvers
   */
  reserve(host: string, urgent: boolean, now: Date): Date;
}

/** Routine looks leave this part of a budget to urgent ones, which would otherwise wait behind all others. */
const URGENT_SHARE = 0.5;
/** After a pause a host may be asked at once what it may be asked in this time, so that a new list is read soon. */
const AHEAD_MS = 30_000;

/**
 * Creates a planner. It keeps two moments per host and nothing per name, so its memory does not grow with the names.
 * Looks are to be reserved in the order in which they fall due.
 * @param perHour how often one host may be asked, of all kinds
 */
export function createLookPlanner(perHour: number): LookPlanner {
  const lanes = new Map<string, { urgent: number; routine: number }>();
  return {
    reserve(host, urgent, now) {
      const lane = lanes.get(host) ?? { urgent: 0, routine: 0 };
      const which = urgent ? 'urgent' : 'routine';
      const share = urgent ? URGENT_SHARE : 1 - URGENT_SHARE;
      const intervalMs = HOUR_MS / (perHour * share);
      const paidFrom = Math.max(now.getTime(), lane[which]);
      lane[which] = paidFrom + intervalMs;
      lanes.set(host, lane);
      return new Date(Math.max(now.getTime(), paidFrom - AHEAD_MS));
    },
  };
}
