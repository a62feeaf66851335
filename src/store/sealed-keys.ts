import type pg from 'pg';
import { z } from 'zod';

/**
 * Where encrypted values are stored: what operators call them (singular and plural), their table, and its
 * column with the key's id.
 */
export const SEALED_COLUMNS = [
  ['account', 'accounts', 'accounts', 'key_id'],
  ['order', 'orders', 'orders', 'sealed_input_key_id'],
  ['row of an order', 'rows of orders', 'order_items', 'sealed_input_key_id'],
  ['result', 'results', 'revealable_secrets', 'key_id'],
  ['calendar', 'calendars', 'calendar_feeds', 'key_id'],
  ['key of the ledger', 'keys of the ledger', 'ledger_keys', 'key_id'],
] as const;

/** How many values of one kind are encrypted with a key. */
export interface SealedKeyUsage {
  readonly nouns: readonly [one: string, many: string];
  readonly keyId: string;
  readonly count: number;
}

const sealedKeyUsageRowsSchema = z.array(
  z.object({ nouns: z.tuple([z.string(), z.string()]), keyId: z.string(), count: z.number() }),
);

export async function readSealedKeyUsages(client: pg.ClientBase): Promise<readonly SealedKeyUsage[]> {
  const queries = SEALED_COLUMNS.map(
    ([one, many, table, column]) =>
      `SELECT ARRAY['${one}', '${many}'] AS nouns, ${column} AS "keyId", count(*)::int AS count FROM ${table} WHERE ${column} IS NOT NULL GROUP BY ${column}`,
  );
  return sealedKeyUsageRowsSchema.parse(
    (await client.query(`${queries.join(' UNION ALL ')} ORDER BY 1, 2`)).rows,
  );
}
