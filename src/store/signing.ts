import { z } from 'zod';
import { buildPreviousField } from '../approvals/charter.ts';
import { isAtKeyLimit, listActiveKeys } from '../approvals/signing/key-ring.ts';
import {
  type KeyStore,
  LINK_PURPOSES,
  type LinkStore,
  type SignedCharter,
} from '../approvals/signing/ports.ts';
import type { TeamEventOf } from '../ledger/events.ts';
import { DAY_MS } from '../lib/duration.ts';
import type { SigningRows } from '../orders/ports.ts';
import { createBatcher } from './batch.ts';
import { acquireAdvisoryLock, createExclusiveRunner, createRunStatement, writeEvents } from './changes.ts';
import { type Database, type Transaction, wrapStore } from './database.ts';
import { VerifiedSigningLog } from './known-key-log.ts';
import { readLastEventHash, readLastPublisher, readSigningRows } from './signing-rows.ts';

const linkRowSchema = z
  .object({
    tokenHash: z.string(),
    userId: z.string(),
    purpose: z.enum(LINK_PURPOSES),
    subject: z.string(),
    salt: z.string(),
    expiresAt: z.date(),
    spentAt: z.date().nullable(),
  })
  .transform(({ spentAt, ...link }) => ({ ...link, isSpent: spentAt !== null }));

/** Expired links are kept for this long, so that the page can say why a link doesn't work. */
const EXPIRED_LINK_RETENTION_MS = DAY_MS;

/** Stores links to the signing page. */
export function createLinkStore({ prisma }: Database): LinkStore {
  return wrapStore('links', {
    add: async (link) => {
      await prisma.signingLink.create({ data: link });
    },

    find: async (tokenHash) => {
      const row = await prisma.signingLink.findUnique({ where: { tokenHash } });
      return row === null ? undefined : linkRowSchema.parse(row);
    },

    spend: async (tokenHash, now) => {
      const { count } = await prisma.signingLink.updateMany({
        where: { tokenHash, spentAt: null, expiresAt: { gt: now } },
        data: { spentAt: now },
      });
      return count === 1;
    },

    purge: async (now) => {
      const where = { expiresAt: { lte: new Date(now.getTime() - EXPIRED_LINK_RETENTION_MS) } };
      return (await prisma.signingLink.deleteMany({ where })).count;
    },
  });
}

type ChainedEvent = TeamEventOf<'key_added' | 'key_vouched' | 'key_revoked' | 'charter_signed'>;

/** Writes events, each with the hash of the previous one. Callers must hold the lock of {@link lockKeys}. */
async function writeChainedEvents(
  tx: Transaction,
  teamId: string,
  events: readonly ChainedEvent[],
): Promise<void> {
  for (const event of events)
    await writeEvents(tx, [{ ...event, previous: await readLastEventHash(createRunStatement(tx)) }], teamId);
}

const lockKeys = (tx: Transaction, teamId: string) => acquireAdvisoryLock(tx, `keys ${teamId}`);

/** Whether a charter follows the newest one in the log. No other charter can be signed until the transaction ends. */
export async function lockAndCheckNextCharter(
  tx: Transaction,
  teamId: string,
  { signature }: SignedCharter,
): Promise<boolean> {
  await lockKeys(tx, teamId);
  // Not cached in `database.signingLog`, because the transaction may be rolled back.
  const { log } = await readSigningRows(new VerifiedSigningLog(), createRunStatement(tx));
  return signature.challenge.previous === buildPreviousField(log.charters.at(-1)).previous;
}

/** {@link lockAndCheckNextCharter} must be called first, in the same transaction. */
export function writeCharter(
  tx: Transaction,
  teamId: string,
  { signature, ...charterFields }: SignedCharter,
  at: Date,
): Promise<void> {
  const subject = { kind: 'policy', id: 'policy' } as const;
  const commonFields = { actor: signature.challenge.by, at, subject };
  return writeChainedEvents(tx, teamId, [
    { kind: 'charter_signed', ...commonFields, signature, ...charterFields },
  ]);
}

export interface SigningRowsStore {
  /**
   * @param checkSeals checks whether the events match their seals. If omitted, no key counts until another
   * call checks the seals
   */
  readRows(checkSeals?: () => Promise<boolean>): Promise<SigningRows>;
}

/** Stores keys as events in the log, and their signature counters in a separate table. */
export function createKeyStore(database: Database, teamId: string): KeyStore & SigningRowsStore {
  const { prisma, run } = database;
  const runExclusively = createExclusiveRunner(prisma, `keys ${teamId}`);
  const appendEvents = (...events: readonly ChainedEvent[]) =>
    runExclusively((tx) => writeChainedEvents(tx, teamId, events));
  const toSubject = (key: string) => ({ kind: 'key', id: key }) as const;
  const readRows: SigningRowsStore['readRows'] = createBatcher(async (checks) => {
    const rows = await readSigningRows(
      database.signingLog,
      run,
      checks.find((check) => check !== undefined),
    );
    return checks.map(() => rows);
  });

  return wrapStore('keys', {
    readRows,

    add: ({ fingerprint, owner, addedAt, ...key }) =>
      runExclusively(async (tx) => {
        const { log } = await readSigningRows(database.signingLog, createRunStatement(tx));
        if (isAtKeyLimit(log.keys, owner)) return false;
        const commonFields = { subject: toSubject(fingerprint), actor: owner, at: addedAt };
        await writeChainedEvents(tx, teamId, [{ kind: 'key_added', ...commonFields, ...key }]);
        return true;
      }),

    vouch: (owner, signature, at) => {
      const { by, key } = signature.challenge;
      return appendEvents({ kind: 'key_vouched', subject: toSubject(key), actor: by, at, owner, signature });
    },

    revoke: (owner, signature, at) => {
      const { by, key } = signature.challenge;
      return appendEvents({ kind: 'key_revoked', subject: toSubject(key), actor: by, at, owner, signature });
    },

    revokeForDeparture: async (owner, at) => {
      const keys = listActiveKeys((await readRows()).log.keys).filter((key) => key.owner === owner);
      await appendEvents(
        ...keys.map(
          ({ fingerprint }): ChainedEvent => ({
            kind: 'key_revoked',
            subject: toSubject(fingerprint),
            actor: 'system',
            at,
            owner,
            left: true,
          }),
        ),
      );
      return keys.length;
    },

    signCharter: (charter, at) =>
      prisma.$transaction(async (tx) => {
        if (!(await lockAndCheckNextCharter(tx, teamId, charter))) return false;
        await writeCharter(tx, teamId, charter, at);
        return true;
      }),

    findLastPublisher: () => readLastPublisher(run, teamId),

    recordStatus: (status, at) =>
      runExclusively(async (tx) => {
        const where = { teamId, subjectKind: 'policy', kind: 'charter_status' };
        const event = await tx.event.findFirst({ where, orderBy: { seq: 'desc' } });
        const lastStatus = z.object({ status: z.string() }).safeParse(event?.data).data?.status ?? 'valid';
        // A status other than `valid` is always recorded, because the last event may be forged.
        if (status === 'valid' && lastStatus === status) return false;
        const subject = { kind: 'policy', id: 'policy' } as const;
        await writeEvents(tx, [{ kind: 'charter_status', subject, actor: 'system', at, status }], teamId);
        return true;
      }),

    advanceCounter: (fingerprint, counter) =>
      runExclusively(async (tx) => {
        const row = await tx.passkeyCounter.findUnique({ where: { fingerprint } });
        // Synced passkeys always report 0 (WebAuthn, section 6.1.1).
        if (counter === 0 && (row === null || row.counter === 0n)) return true;
        if (row !== null && BigInt(counter) <= row.counter) return false;
        const fields = { counter: BigInt(counter) };
        await tx.passkeyCounter.upsert({
          where: { fingerprint },
          create: { fingerprint, ...fields },
          update: fields,
        });
        return true;
      }),
  });
}
