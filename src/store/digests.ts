import { randomUUID } from 'node:crypto';
import { COMMON, type DigestRun, type PostedAt, type ReminderStore } from '../expiry/ports.ts';
import {
  type Database,
  isUniqueViolation,
  type Prisma,
  type Transaction,
  withStoreError,
} from './database.ts';
import { freeReminders } from './reminder-statements.ts';

const DAY_MS = 86_400_000;
/** A digest is never put off for longer than this. */
const FARTHEST_LEASE_MS = 2 * 3_600_000;
const TRANSACTION = { maxWait: 3_000, timeout: 10_000 };

/** Which digest is posted, and by whom. */
export function createDigestStore({ prisma }: Pick<Database, 'prisma'>) {
  return {
    claimDigest: (scheduledFor, now, leaseUntil) =>
      withStoreError('taking a digest', async () => {
        // A time in the future was written by a clock that has been set back since.
        const latest = await prisma.digest.findFirst({
          where: { scheduledFor: { lte: now } },
          orderBy: { scheduledFor: 'desc' },
        });
        if (latest === null) {
          await prisma.digest.createMany({
            data: [{ id: randomUUID(), scheduledFor, leaseUntil: now, completedAt: now }],
            skipDuplicates: true,
          });
          return undefined;
        }
        if (!isClaimable(latest, scheduledFor, now)) return undefined;
        try {
          return await prisma.$transaction(async (tx) => {
            const run =
              latest.scheduledFor >= scheduledFor
                ? await takeOver(tx, latest, leaseUntil)
                : await begin(tx, scheduledFor, leaseUntil);
            if (run !== undefined) await closeOthers(tx, run, now);
            return run;
          }, TRANSACTION);
        } catch (error) {
          // Another process has taken the same time of the schedule.
          if (isUniqueViolation(error)) return undefined;
          throw error;
        }
      }),

    extendDigest: (id, leaseUntil) =>
      withStoreError('extending the lease of a digest', async () => {
        const { count } = await prisma.digest.updateMany({
          where: { id, completedAt: null },
          data: { leaseUntil },
        });
        return count === 1;
      }),

    postponeDigest: (id, until) =>
      withStoreError('putting off a digest', async () => {
        await prisma.digest.updateMany({ where: { id, completedAt: null }, data: { leaseUntil: until } });
      }),

    recordHead: (id, destination, { channelId, ts }) =>
      withStoreError('noting where a digest stands', async () => {
        if (destination === COMMON) {
          await prisma.digest.update({ where: { id }, data: { channelId, ts } });
          return;
        }
        await prisma.digestHead.upsert({
          where: { digestId_destination: { digestId: id, destination } },
          create: { digestId: id, destination, channelId, ts },
          update: { channelId, ts },
        });
      }),

    finishDigest: (id, now) =>
      withStoreError('finishing a digest', async () => {
        const finished = await prisma.digest.update({ where: { id }, data: { completedAt: now } });
        await prisma.$executeRaw(freeReminders([id]));
        await prisma.digestHead.deleteMany({ where: { digestId: id } });
        // Of the times at which nothing was said, only the latest is needed.
        await prisma.digest.deleteMany({
          where: {
            scheduledFor: { lt: finished.scheduledFor },
            completedAt: { not: null },
            ts: null,
            OR: [{ adminsAlertedAt: null }, { adminsAlertedAt: { lt: new Date(now.getTime() - DAY_MS) } }],
          },
        });
      }),

    claimAlert: (id, now) =>
      withStoreError('noting a complaint about a digest', async () => {
        const recent = await prisma.digest.count({
          where: { adminsAlertedAt: { gt: new Date(now.getTime() - DAY_MS) } },
        });
        if (recent > 0) return false;
        const { count } = await prisma.digest.updateMany({ where: { id }, data: { adminsAlertedAt: now } });
        return count === 1;
      }),
  } satisfies Partial<ReminderStore>;
}

/** Whether there is a digest to post that no process is working on. */
function isClaimable(latest: Prisma.DigestModel, scheduledFor: Date, now: Date): boolean {
  const isUnfinished = latest.completedAt === null;
  const isHeld = latest.leaseUntil > now && latest.leaseUntil.getTime() - now.getTime() < FARTHEST_LEASE_MS;
  if (isUnfinished && isHeld) return false;
  return isUnfinished || latest.scheduledFor < scheduledFor;
}

/** Takes a digest that a process left unfinished. @returns undefined when another process was faster */
async function takeOver(
  tx: Transaction,
  { id, leaseUntil: was, channelId, ts }: Prisma.DigestModel,
  leaseUntil: Date,
): Promise<DigestRun | undefined> {
  const { count } = await tx.digest.updateMany({
    where: { id, leaseUntil: was, completedAt: null },
    data: { leaseUntil },
  });
  if (count === 0) return undefined;
  const heads = new Map<string, PostedAt>();
  if (channelId !== null && ts !== null) heads.set(COMMON, { channelId, ts });
  for (const head of await tx.digestHead.findMany({ where: { digestId: id } })) {
    heads.set(head.destination, { channelId: head.channelId, ts: head.ts });
  }
  return { id, heads };
}

async function begin(tx: Transaction, scheduledFor: Date, leaseUntil: Date): Promise<DigestRun> {
  const run: DigestRun = { id: randomUUID(), heads: new Map() };
  await tx.digest.create({ data: { id: run.id, scheduledFor, leaseUntil } });
  return run;
}

/** Ends digests that processes left unfinished, and frees what they and this one had claimed and not posted. */
async function closeOthers(tx: Transaction, run: DigestRun, now: Date): Promise<void> {
  const abandoned = await tx.digest.findMany({ where: { completedAt: null }, select: { id: true } });
  const ids = abandoned.map(({ id }) => id);
  // Closed first, so that a process that was overtaken claims no more reminders, which nobody would free.
  await tx.digest.updateMany({ where: { id: { in: ids, not: run.id } }, data: { completedAt: now } });
  await tx.$executeRaw(freeReminders(ids));
  await tx.digestHead.deleteMany({ where: { digestId: { in: ids, not: run.id } } });
}
