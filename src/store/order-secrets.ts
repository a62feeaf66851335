import { z } from 'zod';
import type { OrderStore } from '../orders/ports.ts';
import { defineRow, sealedBytes } from './columns.ts';
import { type Database, Prisma, wrapStore } from './database.ts';
import { idRowsSchema } from './order-rows.ts';

const sealedSecretRow = defineRow(z.object({ sealed: sealedBytes, keyId: z.string() }), 'kept.');

/** Stores secret results, which are shown once, and deletes drafts. */
export function createOrderSecretStore({ run, prisma }: Database) {
  return wrapStore('orders', {
    takeRevealableSecret: async (orderId, n, now) => {
      const [row] = sealedSecretRow.read(await run(takeSecret(orderId, n, now)));
      if (row !== undefined) return { bytes: row.sealed, keyId: row.keyId };
      const count = await prisma.revealableSecret.count({ where: { orderId, n } });
      return count > 0 ? 'gone' : undefined;
    },

    restoreRevealableSecret: async (orderId, n, sealed) => {
      await prisma.revealableSecret.updateMany({
        where: { orderId, n, sealed: null, revealedAt: { not: null } },
        data: { sealed: sealed.bytes, keyId: sealed.keyId, revealedAt: null },
      });
    },

    deletePrivateData: async (requesterId) => {
      await run(deleteDrafts(Prisma.sql`requester_id = ${requesterId} FOR UPDATE`));
      await run(
        wipeSecrets(Prisma.sql`order_id IN (SELECT id FROM orders WHERE requester_id = ${requesterId})`),
      );
    },

    deleteDraft: async (id) =>
      idRowsSchema.parse(await run(deleteDrafts(Prisma.sql`id = ${id} FOR UPDATE`))).length > 0,

    purgeExpired: async (now) => {
      const drafts = idRowsSchema.parse(
        await run(deleteDrafts(Prisma.sql`expires_at <= ${now} FOR UPDATE SKIP LOCKED`)),
      ).length;
      const secrets = idRowsSchema.parse(await run(wipeSecrets(Prisma.sql`expires_at <= ${now}`))).length;
      return { drafts, secrets };
    },
  } satisfies Partial<OrderStore>);
}

/** Deletes drafts with everything that belongs to them. Returns their ids. */
function deleteDrafts(condition: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
    WITH drafts AS (
      SELECT id, team_id FROM orders WHERE state = 'DRAFT' AND ${condition}
    ), deleted_items AS (
      DELETE FROM order_items USING drafts WHERE order_id = drafts.id
    ), deleted_notifications AS (
      DELETE FROM notifications n USING drafts
      WHERE n.team_id = drafts.team_id AND n.subject_kind = 'order' AND n.subject_id = drafts.id
    )
    DELETE FROM orders USING drafts WHERE orders.id = drafts.id RETURNING orders.id`;
}

/** Deletes a secret and returns it. If several people ask for it at once, exactly one gets it. */
function takeSecret(orderId: string, n: number, now: Date): Prisma.Sql {
  return Prisma.sql`
    WITH kept AS (
      SELECT sealed, key_id FROM revealable_secrets
      WHERE order_id = ${orderId} AND n = ${n} AND sealed IS NOT NULL AND expires_at > ${now}
      FOR UPDATE
    )
    UPDATE revealable_secrets SET sealed = NULL, key_id = NULL, revealed_at = ${now}
    FROM kept WHERE order_id = ${orderId} AND n = ${n}
    RETURNING ${sealedSecretRow.columns}`;
}

/** Deletes secrets that were never shown. Returns a row for each secret. */
function wipeSecrets(condition: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
    UPDATE revealable_secrets SET sealed = NULL, key_id = NULL WHERE sealed IS NOT NULL AND ${condition}
    RETURNING order_id AS id`;
}
