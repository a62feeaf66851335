import { createHash } from 'node:crypto';
import { MINUTE_MS } from '../lib/duration.ts';
import type { NamesContext } from './context.ts';
import { type Facts, type Observation, unseen } from './facts.ts';
import { lookUpAtRegistry, saveParentLookup } from './lookup.ts';
import { factsOfDelegation, findMajority, isNewSighting, type KnownDelegation } from './parent-delegation.ts';
import { timeLimit } from './time-limit.ts';

/**
 * Watches guarded names every minute: one server of the parent zone is asked, in rotation. After a difference, all
 * servers are asked, and the majority is stored. State between two minutes is in memory and may be lost.
 */

const EVERY_MS = MINUTE_MS;
/** How often changes by other lookups are read. */
const READ_EVERY_MS = 30_000;
/** Another process takes over within this time. */
const LEAD_FOR_MS = 20_000;
const LEAD_EVERY_MS = 5_000;
/** Per server: enough for 1,000 guarded names of one zone with one server. */
const QUESTIONS_PER_SECOND = 20;
/** After this many consecutive failures, a server is paused. */
const MAX_FAILURES = 3;
/** A limit, because a paused zone isn't watched. */
const MAX_REST_MS = 15 * MINUTE_MS;
/** After this time, the name is reported as not seen. */
const UNSEEN_AFTER_MS = 10 * MINUTE_MS;
const REGISTRY_MS = 30_000;

interface Watched {
  readonly name: string;
  known: KnownDelegation;
  /** Last query, by the bot's clock. */
  queriedAt: number;
  /** The next server. */
  turn: number;
  unseenSince: number | undefined;
  /** A server reported a difference, and the others couldn't be asked in the same second. */
  isInDoubt: boolean;
}

interface Rest {
  failures: number;
  until: number;
}

/** @returns a function to call every second, which asks about names whose minute is over */
export function createGuardedWatch(context: NamesContext): () => Promise<void> {
  const { parents, now, log, signal } = context;
  let watched = new Map<string, Watched>();
  let readAt = Number.NEGATIVE_INFINITY;
  /** By the process's own clock, because the lease uses the database's. */
  let ledAt = Number.NEGATIVE_INFINITY;
  const resting = new Map<string, Rest>();
  /** By server. */
  let queries = new Map<string, number>();

  /** Whether this process has the watch. Only one process does. */
  async function read(at: number): Promise<boolean> {
    if (performance.now() - ledAt >= LEAD_EVERY_MS) {
      if (!(await context.leases.take('guarded_watch', context.processId, LEAD_FOR_MS))) return false;
      ledAt = performance.now();
    }
    if (at - readAt < READ_EVERY_MS && at >= readAt) return true;
    const names = await context.records.guarded();
    watched = new Map(
      names.map(({ name, history }) => {
        const kept = watched.get(name) ?? newlyWatched(name);
        kept.known = history;
        return [name, kept];
      }),
    );
    readAt = at;
    return true;
  }

  function isResting(server: string): boolean {
    return (resting.get(server)?.until ?? 0) > now().getTime();
  }

  /** Whether all servers have capacity in this second. */
  function mayAsk(servers: readonly string[]): boolean {
    if (servers.some((server) => (queries.get(server) ?? 0) >= QUESTIONS_PER_SECOND)) return false;
    for (const server of servers) queries.set(server, (queries.get(server) ?? 0) + 1);
    return true;
  }

  async function ask(server: string, name: string): Promise<Facts> {
    const answer = await context.parentDns.queryDelegation(server, name, 'nameservers and ds', signal);
    if (answer.kind !== 'unanswered') {
      resting.delete(server);
      return factsOfDelegation(answer);
    }
    const failures = (resting.get(server)?.failures ?? 0) + 1;
    const restMs = failures < MAX_FAILURES ? 0 : EVERY_MS * 2 ** (failures - MAX_FAILURES);
    resting.set(server, { failures, until: now().getTime() + Math.min(restMs, MAX_REST_MS) });
    if (failures === MAX_FAILURES)
      log.warn({ server, name, failure: answer.failure }, 'a parent zone’s server doesn’t answer');
    return factsOfDelegation(answer);
  }

  async function checkName(one: Watched): Promise<void> {
    const { name, known } = one;
    const all = await parents.serversOf(name, signal);
    // A server without a recent response has no vote.
    const servers = all.filter((server) => !isResting(server));
    const [first, ...others] = rotated(servers, one.turn);
    // Out of capacity: tried again in the next second.
    if (first !== undefined && !mayAsk(one.isInDoubt ? servers : [first])) return;
    const at = now();
    const askAll = (some: readonly string[]) => Promise.all(some.map((server) => ask(server, name)));
    const isNew = (answer: Facts) => isNewSighting(known, answer);
    let answers = await askAll(one.isInDoubt ? servers : servers.filter((server) => server === first));
    if (!one.isInDoubt && answers.some(isNew)) {
      one.isInDoubt = !mayAsk(others);
      if (one.isInDoubt) return;
      answers = [...answers, ...(await askAll(others))];
    }
    Object.assign(one, { turn: one.turn + 1, queriedAt: at.getTime(), isInDoubt: false });
    const facts =
      first === undefined
        ? unseenFacts(all.length === 0 ? 'no_parent' : 'unreachable')
        : findMajority(answers);
    if (isNew(facts)) return keep(one, { name, at, facts });
    if (facts.parent_nameservers?.state === 'unseen') return recordUnseen(one, facts);
    one.unseenSince = undefined;
    if (answers.some(isNew)) log.warn({ name }, 'a parent zone’s server disagrees with the others');
  }

  async function keep(one: Watched, sight: Observation): Promise<void> {
    const isConfirmed = await saveParentLookup(context, sight);
    readAt = Number.NEGATIVE_INFINITY;
    if (isConfirmed) await lookUpAtRegistry(context, one.name, timeLimit(signal, REGISTRY_MS));
  }

  /** Stored once. */
  async function recordUnseen(one: Watched, facts: Facts): Promise<void> {
    const at = now();
    one.unseenSince ??= at.getTime();
    const { current, unseen: lost } = one.known.parent_nameservers ?? {};
    const isLong = at.getTime() - one.unseenSince >= UNSEEN_AFTER_MS;
    if (isLong && current !== undefined && lost === undefined) await keep(one, { name: one.name, at, facts });
  }

  return async () => {
    const at = now().getTime();
    if (!(await read(at))) return;
    queries = new Map();
    const due = [...watched.values()].filter(({ queriedAt }) => at - queriedAt >= EVERY_MS || queriedAt > at);
    await Promise.all(
      due.map((one) =>
        checkName(one).catch((err: unknown) => {
          if (!signal.aborted) log.error({ err, name: one.name }, 'asking a parent zone about a name');
        }),
      ),
    );
  };
}

/** Rotates the first server. */
function rotated(servers: readonly string[], turn: number): readonly string[] {
  const start = servers.length === 0 ? 0 : turn % servers.length;
  return [...servers.slice(start), ...servers.slice(0, start)];
}

/** Names of a zone start at different servers. */
function newlyWatched(name: string): Watched {
  const turn = createHash('sha256').update(name).digest().readUInt16BE(0);
  return {
    name,
    known: {},
    queriedAt: Number.NEGATIVE_INFINITY,
    turn,
    unseenSince: undefined,
    isInDoubt: true,
  };
}

function unseenFacts(reason: 'no_parent' | 'unreachable' | 'stale'): Facts {
  return { parent_nameservers: unseen(reason), ds: unseen(reason) };
}
