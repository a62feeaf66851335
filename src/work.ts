import { setTimeout as sleep } from 'node:timers/promises';
import type { Bus } from './bus.ts';
import type { Log } from './log.ts';
import type { Names } from './names/names.ts';
import type { NotificationStore, Subject } from './notifications.ts';
import { type AdvanceDeps, advance } from './orders/advance.ts';
import { keepOffboarding, type OffboardingLook } from './orders/offboarding.ts';
import { createLoop, createReconciler, repeat } from './reconcile.ts';
import type { Pace } from './seams.ts';
import type { Webhooks } from './webhooks/webhooks.ts';

/** What is carried out whenever it is due. Rows say what is due, and replicas share it. */
export interface Work {
  /** Looks for due work at once, instead of at the next turn. */
  catchUp(): Promise<void>;
  /** Begins nothing more. */
  stop(): void;
  /** Resolves when nothing is under way. */
  idle(): Promise<void>;
}

export interface WorkDeps {
  readonly bus: Bus;
  readonly execution: AdvanceDeps;
  readonly notifications: NotificationStore;
  /** Tells people of a subject. */
  readonly notify: (subject: Subject, isClaimed: boolean) => Promise<void>;
  readonly names: Pick<Names, 'claimDue' | 'look' | 'lookAtGuarded'>;
  readonly webhooks: Pick<Webhooks, 'endpoints'>;
  /** Opens the digests and reports that are due. */
  readonly openDue: () => Promise<void>;
  /** Deletes what has run out. */
  readonly purge: () => Promise<void>;
  /** Takes the backup of the day, where the bot takes any. */
  readonly takeBackup: () => Promise<void>;
  /** Seals what is new in the log. */
  readonly seal: () => Promise<void>;
  /** Holds the ledger against the log, where an hour has passed. */
  readonly checkLedger: () => Promise<void>;
  /** Has anchors stamped that have no time stamp yet, where there is a service for it. */
  readonly stamp: () => Promise<void>;
  /** Looks who has left the workspace. */
  readonly offboarding: OffboardingLook;
  readonly pace: Pace;
  readonly now: () => Date;
  readonly log: Log;
}

/** The time between two looks whether digests and reports are due. */
const SCHEDULE_MS = 60_000;
/** The time between two looks whether there is a backup of this day. */
const BACKUP_MS = 10 * 60_000;
/** Guarded names are looked at by the minute, a few of them each second. */
const GUARDED_MS = 1_000;
/** How long a jump of the clock waits for the registries before it looks for due work. */
const CATCH_UP_MS = 10_000;
/** The number of webhooks that one process sends to one endpoint in parallel. */
const WEBHOOKS_AT_ONCE = 4;
/** The number of names that one process looks at in parallel. */
const OBSERVED_AT_ONCE = 8;

/** Starts with everything that is due. */
export function startWork(deps: WorkDeps): Work {
  const { bus, execution, notifications, names, pace, now, log } = deps;
  const reconciler = createReconciler({
    store: execution.store,
    advance: (orderId, lane) => advance(execution, orderId, lane),
    notifications,
    notify: deps.notify,
    leaseMs: pace.leaseMs,
    notificationLeaseMs: pace.notificationLeaseMs,
    periodMs: pace.periodMs,
    now,
    log,
  });
  const observing = createLoop({
    name: 'looking at names',
    parallel: OBSERVED_AT_ONCE,
    periodMs: pace.periodMs,
    claim: names.claimDue,
    work: names.look,
    log,
  });
  // One loop for each, so that an endpoint which hangs holds up no other.
  const webhooks = deps.webhooks.endpoints.map(({ host, claimDue, deliver }) =>
    createLoop({
      name: `webhooks to ${host}`,
      parallel: WEBHOOKS_AT_ONCE,
      periodMs: pace.periodMs,
      claim: claimDue,
      work: deliver,
      log,
    }),
  );
  bus.on('orderChanged', (order) => reconciler.changed(order));
  bus.on('notificationsDue', () => void reconciler.notifyDue());
  bus.on('namesAdded', () => {
    void reconciler.askRecords();
    void observing.look();
  });
  reconciler.start();
  observing.start();
  for (const loop of webhooks) loop.start();
  const guarding = repeat({
    name: 'asking parent zones about guarded names',
    everyMs: GUARDED_MS,
    work: names.lookAtGuarded,
    log,
  });
  const scheduling = repeat({
    name: 'looking at the schedule',
    everyMs: SCHEDULE_MS,
    work: async () => {
      await deps.openDue();
      await reconciler.notifyDue();
    },
    log,
  });
  const purging = repeat({
    name: 'purging what has run out',
    everyMs: pace.purgeMs,
    work: deps.purge,
    log,
  });
  const backups = repeat({
    name: 'taking the backup of the day',
    everyMs: BACKUP_MS,
    work: deps.takeBackup,
    log,
  });
  const sealing = repeat({
    name: 'sealing the ledger',
    everyMs: pace.periodMs,
    work: deps.seal,
    log,
  });
  const checking = repeat({
    name: 'verifying the ledger',
    everyMs: SCHEDULE_MS,
    work: deps.checkLedger,
    log,
  });
  const stamping = repeat({
    name: 'stamping anchors of the ledger',
    everyMs: SCHEDULE_MS,
    work: deps.stamp,
    log,
  });
  const offboarding = keepOffboarding(deps.offboarding);
  const loops = [
    reconciler,
    observing,
    guarding,
    ...webhooks,
    scheduling,
    purging,
    sealing,
    checking,
    stamping,
  ];
  const idle = async () => {
    await Promise.all(loops.map((loop) => loop.idle()));
  };
  return {
    async catchUp() {
      const looking = Promise.all([
        reconciler.catchUp(),
        offboarding.lookIfDue(),
        observing.look(),
        guarding.now(),
        purging.now(),
        sealing.now().then(() => Promise.all([checking.now(), stamping.now()])),
      ]);
      await Promise.race([looking, sleep(CATCH_UP_MS, undefined, { ref: false })]);
      await scheduling.now();
      await Promise.all(webhooks.map((loop) => loop.look()));
      const told = Promise.all([reconciler, ...webhooks].map((loop) => loop.idle()));
      await Promise.race([told, sleep(CATCH_UP_MS, undefined, { ref: false })]);
    },
    stop() {
      offboarding.stop();
      // One under way is not waited for: its file never appears, and the next start takes it again.
      backups.stop();
      for (const loop of loops) loop.stop();
    },
    idle,
  };
}
