import { z } from 'zod';
import type { Sealed } from '../accounts/vault.ts';
import type { OrderStore } from '../orders/ports.ts';
import { sealedBytes } from './columns.ts';
import { type Database, Prisma, withStoreError } from './database.ts';
import { idRows } from './rows.ts';
import { deleteDraft, deleteDraftsOf, deleteExpiredDrafts, takeSecret, wipeSecrets } from './statements.ts';

const sealedRows = z.array(
  z
    .object({ sealed: sealedBytes, key_id: z.string() })
    .transform(({ sealed: bytes, key_id: keyId }): Sealed => ({ bytes, keyId })),
);

/** Secret results, which are shown once, and drafts; both are deleted in the end. */
export function createOrderSecrets({ run }: Pick<Database, 'run'>) {
  return {
    takeRevealable: (orderId, n, now) =>
      withStoreError(`taking a secret result of order ${orderId}`, async () => {
        const [taken] = sealedRows.parse(await run(takeSecret(orderId, n, now)));
        if (taken !== undefined) return taken;
        const was = await run(
          Prisma.sql`SELECT order_id AS id FROM revealable_secrets WHERE order_id = ${orderId} AND n = ${n}`,
        );
        return idRows.parse(was).length > 0 ? 'gone' : undefined;
      }),

    returnRevealable: (orderId, n, sealed) =>
      withStoreError(`taking back a secret result of order ${orderId}`, async () => {
        await run(Prisma.sql`
          UPDATE revealable_secrets SET sealed = ${sealed.bytes}, key_id = ${sealed.keyId}, revealed_at = NULL
          WHERE order_id = ${orderId} AND n = ${n} AND sealed IS NULL AND revealed_at IS NOT NULL`);
      }),

    forgetPrivate: (requesterId) =>
      withStoreError('forgetting the drafts and secret results of a person', async () => {
        await run(deleteDraftsOf(requesterId));
        await run(
          wipeSecrets(Prisma.sql`order_id IN (SELECT id FROM orders WHERE requester_id = ${requesterId})`),
        );
      }),

    forgetDraft: (id) =>
      withStoreError(
        `forgetting draft ${id}`,
        async () => idRows.parse(await run(deleteDraft(id))).length > 0,
      ),

    purgeExpired: (now) =>
      withStoreError('purging what has run out', async () => {
        const drafts = idRows.parse(await run(deleteExpiredDrafts(now))).length;
        const secrets = idRows.parse(await run(wipeSecrets(Prisma.sql`expires_at <= ${now}`))).length;
        return { drafts, secrets };
      }),
  } satisfies Partial<OrderStore>;
}
