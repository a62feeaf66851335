import { createHash } from 'node:crypto';
import { MINUTE_MS } from '../lib/duration.ts';
import type { NamesContext } from './context.ts';
import { createUnseenFact, type Facts, type Observation } from './facts.ts';
import { lookUpAtRegistry, saveParentLookup } from './lookup.ts';
import { findMajority, isNewSighting, type KnownDelegation, toDelegationFacts } from './parent-delegation.ts';
import { createTimeLimit } from './time-limit.ts';

/**
 * Checks guarded names every minute by asking one server of the parent zone, in rotation. If its answer differs, all
 * servers are asked and the majority is stored. The state between two minutes is in memory only and may be lost.
 */

const INTERVAL_MS = MINUTE_MS;
/** How often changes made by other lookups are read. */
const RELOAD_INTERVAL_MS = 30_000;
/** Another process takes over within this time. */
const LEASE_MS = 20_000;
const LEASE_RENEWAL_MS = 5_000;
/** Per server. Enough for 1,000 guarded names in one zone with one server. */
const QUERIES_PER_SECOND = 20;
/** After this many consecutive failures, a server is paused. */
const MAX_FAILURES = 3;
/** Limited, because a zone isn't watched while its servers are paused. */
const MAX_PAUSE_MS = 15 * MINUTE_MS;
/** After this time without an answer, the name is reported as not seen. */
const UNSEEN_AFTER_MS = 10 * MINUTE_MS;
const REGISTRY_TIMEOUT_MS = 30_000;

interface WatchState {
  readonly name: string;
  known: KnownDelegation;
  /** Time of the last query, by the bot's clock. */
  queriedAt: number;
  /** Index of the next server. */
  serverIndex: number;
  unseenSince: number | undefined;
  /** A server's answer differed, and the others couldn't be asked in the same second. */
  isInDoubt: boolean;
}

interface ServerPause {
  failures: number;
  until: number;
}

/** @returns a function to call every second; it asks about the names that are due */
export function createGuardedWatch(context: NamesContext): () => Promise<void> {
  const { parents, now, log, signal } = context;
  let states = new Map<string, WatchState>();
  let reloadedAt = Number.NEGATIVE_INFINITY;
  /** By this process's own clock, while the lease uses the database's. */
  let leaseRenewedAt = Number.NEGATIVE_INFINITY;
  const pauses = new Map<string, ServerPause>();
  /** Number of queries in this second, by server. */
  let queries = new Map<string, number>();

  /** Whether this process has the lease. Only one process watches. */
  async function leadWatch(at: number): Promise<boolean> {
    if (performance.now() - leaseRenewedAt >= LEASE_RENEWAL_MS) {
      if (!(await context.leases.acquire('guarded_watch', context.processId, LEASE_MS))) return false;
      leaseRenewedAt = performance.now();
    }
    if (at - reloadedAt < RELOAD_INTERVAL_MS && at >= reloadedAt) return true;
    const names = await context.records.listGuarded();
    states = new Map(
      names.map(({ name, history }) => {
        const state = states.get(name) ?? createWatchState(name);
        state.known = history;
        return [name, state];
      }),
    );
    reloadedAt = at;
    return true;
  }

  function isPaused(server: string): boolean {
    return (pauses.get(server)?.until ?? 0) > now().getTime();
  }

  /** Whether all servers have capacity in this second. */
  function reserveQueries(servers: readonly string[]): boolean {
    if (servers.some((server) => (queries.get(server) ?? 0) >= QUERIES_PER_SECOND)) return false;
    for (const server of servers) queries.set(server, (queries.get(server) ?? 0) + 1);
    return true;
  }

  async function queryServer(server: string, name: string): Promise<Facts> {
    const answer = await context.parentDns.queryDelegation(server, name, 'nameservers and ds', signal);
    if (answer.kind !== 'unanswered') {
      pauses.delete(server);
      return toDelegationFacts(answer);
    }
    const failures = (pauses.get(server)?.failures ?? 0) + 1;
    const pauseMs = failures < MAX_FAILURES ? 0 : INTERVAL_MS * 2 ** (failures - MAX_FAILURES);
    pauses.set(server, { failures, until: now().getTime() + Math.min(pauseMs, MAX_PAUSE_MS) });
    if (failures === MAX_FAILURES)
      log.warn({ server, name, failure: answer.failure }, 'a parent zone’s server doesn’t answer');
    return toDelegationFacts(answer);
  }

  async function checkName(state: WatchState): Promise<void> {
    const { name, known } = state;
    const all = await parents.findServers(name, signal);
    // A server without a recent response has no vote.
    const servers = all.filter((server) => !isPaused(server));
    const [first, ...others] = rotate(servers, state.serverIndex);
    // Without capacity, it is tried again in the next second.
    if (first !== undefined && !reserveQueries(state.isInDoubt ? servers : [first])) return;
    const at = now();
    const queryAll = (queried: readonly string[]) =>
      Promise.all(queried.map((server) => queryServer(server, name)));
    const isNew = (answer: Facts) => isNewSighting(known, answer);
    let answers = await queryAll(state.isInDoubt ? servers : servers.filter((server) => server === first));
    if (!state.isInDoubt && answers.some(isNew)) {
      state.isInDoubt = !reserveQueries(others);
      if (state.isInDoubt) return;
      answers = [...answers, ...(await queryAll(others))];
    }
    Object.assign(state, {
      serverIndex: state.serverIndex + 1,
      queriedAt: at.getTime(),
      isInDoubt: false,
    });
    const facts =
      first === undefined
        ? createUnseenFacts(all.length === 0 ? 'no_parent' : 'unreachable')
        : findMajority(answers);
    if (isNew(facts)) return saveObservation(state, { name, at, facts });
    if (facts.parent_nameservers?.state === 'unseen') return recordUnseen(state, facts);
    state.unseenSince = undefined;
    if (answers.some(isNew)) log.warn({ name }, 'a parent zone’s server disagrees with the others');
  }

  async function saveObservation(state: WatchState, observation: Observation): Promise<void> {
    const isConfirmed = await saveParentLookup(context, observation);
    reloadedAt = Number.NEGATIVE_INFINITY;
    if (isConfirmed)
      await lookUpAtRegistry(context, state.name, createTimeLimit(signal, REGISTRY_TIMEOUT_MS));
  }

  async function recordUnseen(state: WatchState, facts: Facts): Promise<void> {
    const at = now();
    state.unseenSince ??= at.getTime();
    const { current, unseen } = state.known.parent_nameservers ?? {};
    const isOverdue = at.getTime() - state.unseenSince >= UNSEEN_AFTER_MS;
    if (isOverdue && current !== undefined && unseen === undefined)
      await saveObservation(state, { name: state.name, at, facts });
  }

  return async () => {
    const at = now().getTime();
    if (!(await leadWatch(at))) return;
    queries = new Map();
    const due = [...states.values()].filter(
      ({ queriedAt }) => at - queriedAt >= INTERVAL_MS || queriedAt > at,
    );
    await Promise.all(
      due.map((state) =>
        checkName(state).catch((err: unknown) => {
          if (!signal.aborted) log.error({ err, name: state.name }, 'querying a parent zone failed');
        }),
      ),
    );
  };
}

/** Starts the list at another server. */
function rotate(servers: readonly string[], serverIndex: number): readonly string[] {
  const start = servers.length === 0 ? 0 : serverIndex % servers.length;
  return [...servers.slice(start), ...servers.slice(0, start)];
}

/** The names of a zone start at different servers. */
function createWatchState(name: string): WatchState {
  const serverIndex = createHash('sha256').update(name).digest().readUInt16BE(0);
  return {
    name,
    known: {},
    queriedAt: Number.NEGATIVE_INFINITY,
    serverIndex,
    unseenSince: undefined,
    isInDoubt: true,
  };
}

function createUnseenFacts(reason: 'no_parent' | 'unreachable' | 'stale'): Facts {
  return { parent_nameservers: createUnseenFact(reason), ds: createUnseenFact(reason) };
}
