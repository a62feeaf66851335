import { z } from 'zod';
import type { Sealed } from '../accounts/vault.ts';
import type { OrderStore } from '../orders/ports.ts';
import { sealedBytes } from './columns.ts';
import { type Database, Prisma, storeOf } from './database.ts';
import { idRows } from './rows.ts';
import { deleteDraft, deleteDraftsOf, deleteExpiredDrafts, takeSecret, wipeSecrets } from './statements.ts';

const sealedRows = z.array(
  z
    .object({ sealed: sealedBytes, key_id: z.string() })
    .transform(({ sealed: bytes, key_id: keyId }): Sealed => ({ bytes, keyId })),
);

/** Secret results, which are shown once, and drafts; both are deleted in the end. */
export function createOrderSecrets({ run }: Database) {
  return storeOf('orders', {
    takeRevealable: async (orderId, n, now) => {
      const [taken] = sealedRows.parse(await run(takeSecret(orderId, n, now)));
      if (taken !== undefined) return taken;
      const was = await run(
        Prisma.sql`SELECT order_id AS id FROM revealable_secrets WHERE order_id = ${orderId} AND n = ${n}`,
      );
      return idRows.parse(was).length > 0 ? 'gone' : undefined;
    },

    returnRevealable: async (orderId, n, sealed) => {
      await run(Prisma.sql`
        UPDATE revealable_secrets SET sealed = ${sealed.bytes}, key_id = ${sealed.keyId}, revealed_at = NULL
        WHERE order_id = ${orderId} AND n = ${n} AND sealed IS NULL AND revealed_at IS NOT NULL`);
    },

    forgetPrivate: async (requesterId) => {
      await run(deleteDraftsOf(requesterId));
      await run(
        wipeSecrets(Prisma.sql`order_id IN (SELECT id FROM orders WHERE requester_id = ${requesterId})`),
      );
    },

    forgetDraft: async (id) => idRows.parse(await run(deleteDraft(id))).length > 0,

    purgeExpired: async (now) => {
      const drafts = idRows.parse(await run(deleteExpiredDrafts(now))).length;
      const secrets = idRows.parse(await run(wipeSecrets(Prisma.sql`expires_at <= ${now}`))).length;
      return { drafts, secrets };
    },
  } satisfies Partial<OrderStore>);
}
