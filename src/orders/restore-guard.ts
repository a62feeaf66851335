import { MINUTE_MS } from '../lib/duration.ts';
import { ANNOUNCEMENT_PERIOD_MS } from '../mandates/acting.ts';
import { endMandatesAfterRestore } from '../mandates/life.ts';
import { type ChangeDecision, changeOrder } from './change-order.ts';
import type { OrdersContext } from './context.ts';
import { computeDeadlines } from './deadlines.ts';
import { isWaitingForSendTime, type Order, type OrderEvent } from './order.ts';

/**
 * Detects that the database has lost commits, because a backup was restored, a standby was promoted, or a disk lost
 * confirmed writes. Orders that look unsent may then have been carried out, and only a person can check.
 */

export interface HeartbeatReading {
  /** Identifies the database. A copy, another server and a promoted standby each have a different id. */
  readonly database: string;
  /** Identifies the server process. Changes with every start. */
  readonly server: string;
  /** The flushed position of the server's write-ahead log. */
  readonly position: number;
  /** The server has restarted since it was verified, and lacks commits that this process has seen. */
  readonly isBehind: boolean;
  readonly last: HeartbeatRow | undefined;
}

/** The last heartbeat of any bot. */
export interface HeartbeatRow {
  readonly seenAt: Date;
  readonly database: string;
  readonly server: string;
  /** Incremented by each heartbeat of any process. */
  readonly count: number;
  /** Whether the row was written by the transaction whose id it contains. False for a row loaded from a dump. */
  readonly isOriginal: boolean;
  /** Processes that are still running or were killed, so that they didn't stop cleanly. */
  readonly activeProcesses: readonly string[];
  /** Changes with each write. */
  readonly version: string;
}

/** The bots' heartbeat in their database. Implemented by the store. */
export interface Heartbeat {
  read(): Promise<HeartbeatReading>;
  /**
   * Writes a process's heartbeat.
   * @param beat.reading the reading that the heartbeat is based on
   * @param beat.isLast whether the process stops cleanly
   * @returns the row's new count
   * @throws if the reading is outdated: there is a newer heartbeat, or the connection leads to another server
   */
  write(beat: {
    readonly at: Date;
    readonly reading: HeartbeatReading;
    readonly processId: string;
    readonly isLast: boolean;
  }): Promise<number>;
  /** Allows orders to be claimed and sent on this server. @throws if connections now lead to another server */
  verify(reading: HeartbeatReading): Promise<void>;
  /** Blocks claims and sending until the server is verified. */
  suspend(): void;
  /** @param listener called when a connection leads to another server, which must be verified before orders are sent */
  onUnverifiedServer(listener: () => void): void;
}

export interface GuardContext extends OrdersContext {
  readonly heartbeat: Heartbeat;
  /** Different after each start of the process. */
  readonly processId: string;
  /** Default {@link BEAT_MS}. */
  readonly beatMs?: number;
  /** Default {@link OTHER_PROCESSES_CHECK_MS}. */
  readonly otherProcessesCheckMs?: number;
}

const BEAT_MS = 15_000;
/** A process whose heartbeats fail stops sending orders within this time. */
const MAX_SILENCE_MS = 4 * BEAT_MS;
const RETRY_MS = 1_000;
/**
 * After a server restart, another process may have seen later commits than this one. The other process notices the loss
 * of commits within this time, because every process uses the database every few seconds.
 */
const OTHER_PROCESSES_CHECK_MS = 10_000;
/** Attempts to record a clean stop. */
const MAX_CLEAN_STOP_ATTEMPTS = 5;
/** If no bot ran for this long, the stored states of orders in progress aren't trusted. */
const MAX_DOWNTIME_MS = 15 * MINUTE_MS;

export interface KnownDatabase {
  readonly database: string;
  readonly server: string;
  readonly count: number;
}

/**
 * If the database may have been restored, or no bot ran for long, marks approved orders that look unsent as `UNKNOWN`.
 * Runs at start, before any work.
 * @returns what is known about the database, for {@link startHeartbeat}
 */
export async function markUnsentAsUnknown(deps: GuardContext): Promise<KnownDatabase> {
  const reading = await deps.heartbeat.read();
  const sign = findRestoreSign(reading, deps.now());
  if (sign !== undefined) await invalidateUnsent(deps, sign, reading.last?.seenAt);
  return writeAndVerify(deps, reading, false);
}

interface RestoreSign {
  /** For the log. */
  readonly why: string;
  /** Whether bots may have sent orders from another copy of the database since the last heartbeat. */
  readonly mayHaveOtherCopy: boolean;
}

/** Finds a sign that the database was restored while no bot ran. */
export function findRestoreSign(
  { database, server, last }: HeartbeatReading,
  now: Date,
): RestoreSign | undefined {
  if (last === undefined) return undefined;
  if (last.database !== database)
    return { why: 'another database, or a server that was promoted', mayHaveOtherCopy: true };
  if (!last.isOriginal) return { why: 'the heartbeat was loaded from a dump', mayHaveOtherCopy: true };
  if (now.getTime() - last.seenAt.getTime() > MAX_DOWNTIME_MS)
    return { why: 'no bot was running for a long time', mayHaveOtherCopy: false };
  // A restored data folder can't be told apart from a server that lost power.
  if (last.activeProcesses.length > 0 && last.server !== server)
    return { why: 'the server was started after a bot was killed', mayHaveOtherCopy: false };
  return undefined;
}

/** Finds a sign that the database lacks commits that this process has seen. Returns a text for the log. */
export function findRewindSign(
  knownDatabase: KnownDatabase,
  { database, isBehind, last }: HeartbeatReading,
): string | undefined {
  if (database !== knownDatabase.database) return 'another database, or a server that was promoted';
  if (isBehind) return 'the server lost commits';
  if (last === undefined || last.count < knownDatabase.count) return 'the heartbeat went back';
  return last.isOriginal ? undefined : 'the heartbeat was loaded from a dump';
}

/** Call this after the orders are marked, so that a process that starts in between finds the same sign. */
async function writeAndVerify(
  deps: GuardContext,
  reading: HeartbeatReading,
  isLast: boolean,
): Promise<KnownDatabase> {
  const { heartbeat, now, processId } = deps;
  const count = await heartbeat.write({ at: now(), reading, processId, isLast });
  await heartbeat.verify(reading);
  return { database: reading.database, server: reading.server, count };
}

/** @param completeUntil when the database was last known to be complete; undefined if that is unknown */
async function invalidateUnsent(
  deps: GuardContext,
  { why, mayHaveOtherCopy }: RestoreSign,
  completeUntil: Date | undefined,
): Promise<void> {
  const now = deps.now();
  // Orders that became due after the last heartbeat weren't sent, because nothing is claimed without heartbeats. Still,
  // they need a new approval, because the database may be an old copy of the data folder.
  const trustedUntil =
    mayHaveOtherCopy || completeUntil === undefined
      ? now
      : new Date(completeUntil.getTime() + MAX_SILENCE_MS);
  for (const orderId of await deps.store.listInProgressIds()) {
    const outcome = await changeOrder(deps, orderId, (order) => decideInvalidation(order, now, trustedUntil));
    if (outcome.ok) deps.log.warn({ orderId, why }, 'order not sent: it may have been sent before');
  }
  // A mandate's order is announced `ANNOUNCEMENT_PERIOD_MS` before it is sent. If less time was lost, the
  // database still has every mandate's order that was sent.
  if (completeUntil === undefined || now.getTime() - completeUntil.getTime() >= ANNOUNCEMENT_PERIOD_MS)
    await endMandatesAfterRestore(deps);
}

/** @param trustedUntil orders that became due later weren't sent */
export function decideInvalidation(order: Order, now: Date, trustedUntil: Date): ChangeDecision {
  if (isScheduledAfter(order, now)) return { refusal: { code: 'not_due' } };
  if (isWaitingForSendTime(order) && isScheduledAfter(order, trustedUntil))
    return { event: buildLateReopening(order, now) };
  return { event: { type: 'invalidated', summary: { code: 'database_restored' } } };
}

/** Whether an order can't have been sent by a certain time, because it wasn't due. */
function isScheduledAfter({ state, sendAfter }: Order, time: Date): boolean {
  return state === 'APPROVED' && sendAfter !== undefined && sendAfter > time;
}

type ReopenedEvent = Extract<OrderEvent, { readonly type: 'reopened' }>;

function buildLateReopening(
  { policyVersion, requirements, approvalsRequired }: Order,
  now: Date,
): ReopenedEvent {
  const decision = {
    policyVersion,
    requirements,
    decidedBy: [],
    approvalsRequired: Math.max(1, approvalsRequired),
  };
  return {
    type: 'reopened',
    reasons: ['late'],
    price: undefined,
    decision,
    ...computeDeadlines(requirements, now),
  };
}

export interface RunningHeartbeat {
  stop(): void;
  /** Stops, and records a clean stop, so that orders can be trusted at the next start. */
  stopCleanly(): Promise<void>;
}

/**
 * Writes a heartbeat periodically, after checking that the database still has all commits that this process has seen.
 * If a connection leads to another server, checks immediately. Until the check succeeds, nothing is claimed or sent
 * there.
 */
export function startHeartbeat(deps: GuardContext, initial: KnownDatabase): RunningHeartbeat {
  const {
    heartbeat,
    log,
    processId,
    beatMs = BEAT_MS,
    otherProcessesCheckMs = OTHER_PROCESSES_CHECK_MS,
  } = deps;
  let knownDatabase = initial;
  let isStopped = false;
  let isBeatRequested = false;
  let timer: NodeJS.Timeout | undefined;
  let runningBeat: Promise<void> | undefined;
  let lastRestart = { server: initial.server, seenAt: 0 };
  const throwIfOtherProcessesNeedTime = ({ server, last }: HeartbeatReading) => {
    if (lastRestart.server !== server) lastRestart = { server, seenAt: performance.now() };
    const isAlone = last?.activeProcesses.every((activeId) => activeId === processId) ?? true;
    if (!isAlone && performance.now() - lastRestart.seenAt < otherProcessesCheckMs)
      throw new Error('the server restarted: other processes first check whether it lost commits');
  };

  const checkAndWriteHeartbeat = async (isLast: boolean) => {
    const reading = await heartbeat.read();
    const why = findRewindSign(knownDatabase, reading);
    if (why !== undefined) {
      heartbeat.suspend();
      log.error({ why }, 'the database lost commits: orders that look unsent become unknown');
      await invalidateUnsent(deps, { why, mayHaveOtherCopy: true }, reading.last?.seenAt);
    } else if (reading.server !== knownDatabase.server) throwIfOtherProcessesNeedTime(reading);
    knownDatabase = await writeAndVerify(deps, reading, isLast);
  };

  const beatAndReschedule = async () => {
    let waitMs = beatMs;
    isBeatRequested = false;
    await checkAndWriteHeartbeat(false).catch((err: unknown) => {
      waitMs = RETRY_MS;
      log.warn({ err }, 'failed to save the heartbeat');
    });
    runningBeat = undefined;
    if (!isStopped) timer = setTimeout(beatNow, isBeatRequested ? 0 : waitMs);
  };
  const beatNow = () => {
    clearTimeout(timer);
    isBeatRequested = true;
    runningBeat ??= beatAndReschedule();
  };

  heartbeat.onUnverifiedServer(() => {
    if (!isStopped) beatNow();
  });
  timer = setTimeout(beatNow, beatMs);
  const stop = () => {
    isStopped = true;
    clearTimeout(timer);
  };
  return {
    stop,
    async stopCleanly() {
      stop();
      await runningBeat;
      // Another process that stops at the same time may write its heartbeat between this one's read and write.
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await checkAndWriteHeartbeat(true);
        } catch (error) {
          if (attempt === MAX_CLEAN_STOP_ATTEMPTS) throw error;
        }
      }
    },
  };
}
