import { createHash } from 'node:crypto';
import { MINUTE_MS } from '../lib/duration.ts';
import type { NamesContext } from './context.ts';
import { createUnknownFact, type Facts, type Observation } from './facts.ts';
import { lookUpAtRegistry, saveParentLookup } from './lookup.ts';
import {
  findMajorityFacts,
  isNewSighting,
  type KnownDelegation,
  toDelegationFacts,
} from './parent-delegation.ts';
import { createTimeoutSignal } from './time-limit.ts';

/**
 * Checks guarded names every minute by asking one server of the parent zone, in rotation. If the answer
 * differs from the stored one, all servers are asked and the majority's answer is stored. The state between
 * checks is kept only in memory and may be lost.
 */

const INTERVAL_MS = MINUTE_MS;
/** How often the names are reloaded, to include changes from other lookups. */
const RELOAD_INTERVAL_MS = 30_000;
/** If this process ends, another one takes over within this time. */
const LEASE_MS = 20_000;
const LEASE_RENEWAL_MS = 5_000;
/** Per server. Enough for 1,000 guarded names in one zone with one server. */
const QUERIES_PER_SECOND = 20;
/** After this many consecutive failures, a server is paused. */
const MAX_FAILURES = 3;
/** Limited, because a zone isn't watched while all its servers are paused. */
const MAX_PAUSE_MS = 15 * MINUTE_MS;
/** After this time without an answer, the delegation counts as unknown. */
const UNKNOWN_AFTER_MS = 10 * MINUTE_MS;
const REGISTRY_TIMEOUT_MS = 30_000;

interface WatchState {
  readonly name: string;
  delegation: KnownDelegation;
  /** Time of the last query, by the bot's clock. */
  queriedAt: number;
  nextServerIndex: number;
  unansweredSince: number | undefined;
  /** True for the first check, and after a different answer that couldn't be confirmed yet. */
  mustAskAllServers: boolean;
}

interface ServerPause {
  failures: number;
  until: number;
}

/** @returns a function to call every second; it checks the names that are due */
export function createGuardedWatch(context: NamesContext): () => Promise<void> {
  const { parents, now, log, signal } = context;
  let states = new Map<string, WatchState>();
  let reloadedAt = Number.NEGATIVE_INFINITY;
  /** By this process's clock. The lease itself uses the database's clock. */
  let leaseRenewedAt = Number.NEGATIVE_INFINITY;
  const pauses = new Map<string, ServerPause>();
  /** By server, for the current second. */
  let queryCounts = new Map<string, number>();

  /** Renews the lease and reloads the names, if due. @returns false if another process has the lease */
  async function acquireLeaseAndReload(at: number): Promise<boolean> {
    if (performance.now() - leaseRenewedAt >= LEASE_RENEWAL_MS) {
      if (!(await context.leases.acquire('guarded_watch', context.processId, LEASE_MS))) return false;
      leaseRenewedAt = performance.now();
    }
    if (at - reloadedAt < RELOAD_INTERVAL_MS && at >= reloadedAt) return true;
    const names = await context.records.listGuarded();
    states = new Map(
      names.map(({ name, history }) => {
        const state = states.get(name) ?? createWatchState(name);
        state.delegation = history;
        return [name, state];
      }),
    );
    reloadedAt = at;
    return true;
  }

  function isPaused(server: string): boolean {
    return (pauses.get(server)?.until ?? 0) > now().getTime();
  }

  /** Reserves a query per server. @returns false if a server has no capacity left in this second */
  function reserveQueries(servers: readonly string[]): boolean {
    if (servers.some((server) => (queryCounts.get(server) ?? 0) >= QUERIES_PER_SECOND)) return false;
    for (const server of servers) queryCounts.set(server, (queryCounts.get(server) ?? 0) + 1);
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
      log.warn({ server, name, failure: answer.failure }, 'a server of the parent zone doesn’t answer');
    return toDelegationFacts(answer);
  }

  async function checkName(state: WatchState): Promise<void> {
    const { name, delegation } = state;
    const allServers = await parents.findServers(name, signal);
    // Paused servers have no vote.
    const servers = allServers.filter((server) => !isPaused(server));
    const [firstServer, ...otherServers] = rotate(servers, state.nextServerIndex);
    // If there is no capacity, the name is checked in the next second.
    if (firstServer !== undefined && !reserveQueries(state.mustAskAllServers ? servers : [firstServer]))
      return;
    const at = now();
    const queryServers = (targets: readonly string[]) =>
      Promise.all(targets.map((server) => queryServer(server, name)));
    const isDifferent = (answer: Facts) => isNewSighting(delegation, answer);
    let answers = await queryServers(
      state.mustAskAllServers ? servers : servers.filter((server) => server === firstServer),
    );
    if (!state.mustAskAllServers && answers.some(isDifferent)) {
      state.mustAskAllServers = !reserveQueries(otherServers);
      if (state.mustAskAllServers) return;
      answers = [...answers, ...(await queryServers(otherServers))];
    }
    Object.assign(state, {
      nextServerIndex: state.nextServerIndex + 1,
      queriedAt: at.getTime(),
      mustAskAllServers: false,
    });
    const facts =
      firstServer === undefined
        ? createUnknownFacts(allServers.length === 0 ? 'no_parent' : 'unreachable')
        : findMajorityFacts(answers);
    if (isDifferent(facts)) return saveObservation(state, { name, at, facts });
    if (facts.parent_nameservers?.state === 'unseen') return recordNoAnswer(state, facts);
    state.unansweredSince = undefined;
    if (answers.some(isDifferent))
      log.warn({ name }, 'a server of the parent zone disagrees with the others');
  }

  async function saveObservation(state: WatchState, observation: Observation): Promise<void> {
    const isConfirmed = await saveParentLookup(context, observation);
    reloadedAt = Number.NEGATIVE_INFINITY;
    if (isConfirmed)
      await lookUpAtRegistry(context, state.name, createTimeoutSignal(signal, REGISTRY_TIMEOUT_MS));
  }

  async function recordNoAnswer(state: WatchState, facts: Facts): Promise<void> {
    const at = now();
    state.unansweredSince ??= at.getTime();
    const { current, unseen } = state.delegation.parent_nameservers ?? {};
    const isOverdue = at.getTime() - state.unansweredSince >= UNKNOWN_AFTER_MS;
    if (isOverdue && current !== undefined && unseen === undefined)
      await saveObservation(state, { name: state.name, at, facts });
  }

  return async () => {
    const at = now().getTime();
    if (!(await acquireLeaseAndReload(at))) return;
    queryCounts = new Map();
    const dueStates = [...states.values()].filter(
      ({ queriedAt }) => at - queriedAt >= INTERVAL_MS || queriedAt > at,
    );
    await Promise.all(
      dueStates.map((state) =>
        checkName(state).catch((err: unknown) => {
          if (!signal.aborted) log.error({ err, name: state.name }, 'checking a guarded name failed');
        }),
      ),
    );
  };
}

function rotate(servers: readonly string[], nextServerIndex: number): readonly string[] {
  const start = servers.length === 0 ? 0 : nextServerIndex % servers.length;
  return [...servers.slice(start), ...servers.slice(0, start)];
}

/** A hash of the name selects the first server, so that a zone's names are spread across its servers. */
function createWatchState(name: string): WatchState {
  const nextServerIndex = createHash('sha256').update(name).digest().readUInt16BE(0);
  return {
    name,
    delegation: {},
    queriedAt: Number.NEGATIVE_INFINITY,
    nextServerIndex,
    unansweredSince: undefined,
    mustAskAllServers: true,
  };
}

function createUnknownFacts(reason: 'no_parent' | 'unreachable'): Facts {
  return { parent_nameservers: createUnknownFact(reason), ds: createUnknownFact(reason) };
}
