import type pg from 'pg';
import { z } from 'zod';

const passkeyRowsSchema = z.array(
  z.object({
    fingerprint: z.string(),
    owner: z.string(),
    label: z.string(),
    at: z.date(),
    isRevoked: z.boolean(),
  }),
);

/** Returns the registered passkeys, oldest first. */
export async function listPasskeys(client: pg.Client): Promise<z.output<typeof passkeyRowsSchema>> {
  const { rows } = await client.query(`
    SELECT e.subject_id AS fingerprint, e.actor AS owner, coalesce(e.data->>'label', '') AS label, e.at,
      EXISTS (SELECT FROM events r WHERE r.subject_kind = 'key' AND r.subject_id = e.subject_id
        AND r.kind = 'key_revoked') AS "isRevoked"
    FROM events e WHERE e.subject_kind = 'key' AND e.kind = 'key_added' ORDER BY e.seq`);
  return passkeyRowsSchema.parse(rows);
}
