import type pg from 'pg';
import { z } from 'zod';
import { inTransaction, sumByTable, type TableChange } from './session.ts';

/*
 * Deletes old rows. The SQL function `delete_old_events` deletes events of deleted orders that, according to
 * the log, ended over 30 days ago, and other events from before the cutoff. The log's hashes stay.
 */

const IS_MANDATE_IN_FORCE = "task = 'mandate' AND state = 'SUCCEEDED' AND mandate_end IS NULL";
/** Mandates in force are kept, and so are their orders, which count against their limits. */
const SELECT_OLD_ORDER_IDS = `SELECT id FROM orders WHERE closed_at < $1 AND NOT (${IS_MANDATE_IN_FORCE})
  AND (mandate_id IS NULL OR mandate_id NOT IN (SELECT id FROM orders WHERE ${IS_MANDATE_IN_FORCE}))`;

/** `$1` is the cutoff. Rows that reference orders are deleted before the orders. */
const DELETE_STATEMENTS: readonly (readonly [table: string, sql: string])[] = [
  [
    'notifications',
    `DELETE FROM notifications WHERE subject_kind = 'order' AND subject_id IN (${SELECT_OLD_ORDER_IDS})`,
  ],
  ...['approvals', 'revealable_secrets', 'order_answers', 'order_items'].map(
    (table) => [table, `DELETE FROM ${table} WHERE order_id IN (${SELECT_OLD_ORDER_IDS})`] as const,
  ),
  ['orders', `DELETE FROM orders WHERE id IN (${SELECT_OLD_ORDER_IDS})`],
  ['reminders', 'DELETE FROM reminders WHERE claimed_at < $1'],
  ['notifications', "DELETE FROM notifications WHERE subject_kind = 'digest' AND posted_at < $1"],
];

const countRowsSchema = z.tuple([z.object({ n: z.number() })]);

/**
 * Deletes orders that ended before the cutoff, with everything that belongs to them, and older events,
 * observations, reminders and digests. A dry run deletes nothing, and returns what would be deleted.
 */
export function purge(
  client: pg.Client,
  cutoff: Date,
  options: { readonly dryRun: boolean },
): Promise<readonly TableChange[]> {
  return inTransaction(client, options, async () => {
    const changes: TableChange[] = [];
    for (const [table, sql] of DELETE_STATEMENTS) {
      changes.push({ table, rowCount: (await client.query(sql, [cutoff])).rowCount ?? 0 });
    }
    for (const table of ['events', 'observations']) {
      const { rows } = await client.query(`SELECT delete_old_${table}($1)::int AS n`, [cutoff]);
      changes.push({ table, rowCount: countRowsSchema.parse(rows)[0].n });
    }
    return sumByTable(changes);
  });
}
