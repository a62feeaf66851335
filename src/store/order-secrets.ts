import { z } from 'zod';
import type { Sealed } from '../accounts/vault.ts';
import type { OrderStore } from '../orders/ports.ts';
import { sealedBytes } from './columns.ts';
import { type Database, withStoreError } from './database.ts';
import { idRows } from './rows.ts';
import { deleteDraft, deleteDraftsOf, deleteExpiredDrafts, takeSecret } from './statements.ts';

const sealedRows = z.array(
  z
    .object({ sealed: sealedBytes, key_id: z.string() })
    .transform(({ sealed: bytes, key_id: keyId }): Sealed => ({ bytes, keyId })),
);

/** Secret results, which are shown once, and drafts; both are deleted in the end. */
export function createOrderSecrets({ prisma, run }: Database) {
  return {
    takeRevealable: (orderId, n, now) =>
      withStoreError(`taking a secret result of order ${orderId}`, async () => {
        const [taken] = sealedRows.parse(await run(takeSecret(orderId, n, now)));
        if (taken !== undefined) return taken;
        const was = await prisma.revealableSecret.count({ where: { orderId, n } });
        return was > 0 ? 'gone' : undefined;
      }),

    returnRevealable: (orderId, n, sealed) =>
      withStoreError(`taking back a secret result of order ${orderId}`, async () => {
        await prisma.revealableSecret.updateMany({
          where: { orderId, n, sealed: null, NOT: { revealedAt: null } },
          data: { sealed: sealed.bytes, keyId: sealed.keyId, revealedAt: null },
        });
      }),

    forgetPrivate: (requesterId) =>
      withStoreError('forgetting the drafts and secret results of a person', async () => {
        await run(deleteDraftsOf(requesterId));
        await prisma.revealableSecret.updateMany({
          where: { order: { requesterId }, sealed: { not: null } },
          data: { sealed: null, keyId: null },
        });
      }),

    forgetDraft: (id) =>
      withStoreError(
        `forgetting draft ${id}`,
        async () => idRows.parse(await run(deleteDraft(id))).length > 0,
      ),

    purgeExpired: (now) =>
      withStoreError('purging what has run out', async () => {
        const drafts = idRows.parse(await run(deleteExpiredDrafts(now))).length;
        const { count: secrets } = await prisma.revealableSecret.updateMany({
          where: { expiresAt: { lte: now }, sealed: { not: null } },
          data: { sealed: null, keyId: null },
        });
        return { drafts, secrets };
      }),
  } satisfies Partial<OrderStore>;
}
