import type pg from 'pg';
import { z } from 'zod';

/** Where sealed values stand: what it is called for operators, its table and the column that names the key. */
export const SEALED_COLUMNS = [
  ['accounts', 'accounts', 'key_id'],
  ['orders', 'orders', 'sealed_input_key_id'],
  ['rows of orders', 'order_items', 'sealed_input_key_id'],
  ['results', 'revealable_secrets', 'key_id'],
  ['calendars', 'calendar_feeds', 'key_id'],
  ['keys of the ledger', 'ledger_keys', 'key_id'],
] as const;

/** How many values of a kind are sealed with a key. */
export interface SealedKey {
  readonly what: string;
  readonly keyId: string;
  readonly count: number;
}

const rows = z.array(z.object({ what: z.string(), keyId: z.string(), count: z.number() }));

/** Which keys are in use, and for what. */
export async function findSealedKeys(client: pg.ClientBase): Promise<readonly SealedKey[]> {
  const parts = SEALED_COLUMNS.map(
    ([what, table, column]) =>
      `SELECT '${what}' AS what, ${column} AS "keyId", count(*)::int AS count FROM ${table} WHERE ${column} IS NOT NULL GROUP BY ${column}`,
  );
  return rows.parse((await client.query(`${parts.join(' UNION ALL ')} ORDER BY 1, 2`)).rows);
}
