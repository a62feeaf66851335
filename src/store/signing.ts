import { z } from 'zod';
import type { TeamEvent } from '../events.ts';
import { type KeyStore, LINK_PURPOSES, type LinkStore } from '../signing/ports.ts';
import { exclusiveChanges, writeEvents } from './changes.ts';
import { type Database, storeOf } from './database.ts';
import { readSigningRows } from './signing-rows.ts';

const linkRow = z
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

/** For this long after its time it can still be said why a link does not work. */
const KEPT_MS = 24 * 60 * 60_000;

/** Links under which people sign, on PostgreSQL. */
export function createLinkStore({ prisma }: Pick<Database, 'prisma'>): LinkStore {
  return storeOf('links', {
    open: async (link) => {
      await prisma.signingLink.create({ data: link });
    },

    find: async (tokenHash) => {
      const row = await prisma.signingLink.findUnique({ where: { tokenHash } });
      return row === null ? undefined : linkRow.parse(row);
    },

    spend: async (tokenHash, now) => {
      const { count } = await prisma.signingLink.updateMany({
        where: { tokenHash, spentAt: null, expiresAt: { gt: now } },
        data: { spentAt: now },
      });
      return count === 1;
    },

    purge: async (now) => {
      const over = { expiresAt: { lte: new Date(now.getTime() - KEPT_MS) } };
      return (await prisma.signingLink.deleteMany({ where: over })).count;
    },
  });
}

/** Keys, on PostgreSQL: their events in the log, and the counters of those that count. */
export function createKeyStore({ prisma, run }: Database, teamId: string): KeyStore {
  const exclusively = exclusiveChanges(prisma, `keys ${teamId}`);
  const write = (...events: readonly TeamEvent[]) => exclusively((tx) => writeEvents(tx, events, teamId));
  const about = (key: string) => ({ kind: 'key', id: key }) as const;
  const read = async () => (await readSigningRows(run)).keys;

  return storeOf('keys', {
    read,

    add: ({ fingerprint, owner, addedAt, ...key }) =>
      write({ kind: 'key_added', subject: about(fingerprint), actor: owner, at: addedAt, ...key }),

    vouch: (owner, signature, at) => {
      const { by, key } = signature.challenge;
      return write({ kind: 'key_vouched', subject: about(key), actor: by, at, owner, signature });
    },

    revoke: (owner, signature, at) => {
      const { by, key } = signature.challenge;
      return write({ kind: 'key_revoked', subject: about(key), actor: by, at, owner, signature });
    },

    revokeOfLeaver: async (owner, at) => {
      const { added, revoked } = await read();
      const gone = new Set(revoked.map(({ key }) => key));
      const keys = added.filter((key) => key.owner === owner && !gone.has(key.fingerprint));
      await write(
        ...keys.map(
          ({ fingerprint }): TeamEvent => ({
            kind: 'key_revoked',
            subject: about(fingerprint),
            actor: 'system',
            ...{ at, owner },
            left: true,
          }),
        ),
      );
      return keys.length;
    },

    signCharter: (charter, signature, at) =>
      write({
        kind: 'charter_signed',
        subject: { kind: 'policy', id: 'policy' },
        ...{ actor: signature.challenge.by, at, charter: z.json().parse(charter), signature },
      }),

    raiseCounter: (fingerprint, counter) =>
      exclusively(async (tx) => {
        const known = await tx.passkeyCounter.findUnique({ where: { fingerprint } });
        // Passkeys that are kept in several places always say 0 (WebAuthn, 6.1.1).
        if (counter === 0 && (known === null || known.counter === 0n)) return true;
        if (known !== null && BigInt(counter) <= known.counter) return false;
        const seen = { counter: BigInt(counter) };
        await tx.passkeyCounter.upsert({
          where: { fingerprint },
          create: { fingerprint, ...seen },
          update: seen,
        });
        return true;
      }),
  });
}
