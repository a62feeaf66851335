import type pg from 'pg';
import { z } from 'zod';
import { inTransaction, sumByTable, type TableChange } from './session.ts';

/*
 * Deletes old rows. `delete_old_events` deletes the events of deleted orders that, according to their log, ended over
 * 30 days ago, and all other events from before the cutoff. The log's hashes stay.
 */

const IS_IN_FORCE = "task = 'mandate' AND state = 'SUCCEEDED' AND mandate_end IS NULL";
/** A mandate in force is kept, however old it is. So are its orders, which count against its limits. */
const OLD_ORDERS = `SELECT id FROM orders WHERE closed_at < $1 AND NOT (${IS_IN_FORCE})
  AND (mandate_id IS NULL OR mandate_id NOT IN (SELECT id FROM orders WHERE ${IS_IN_FORCE}))`;

/** `$1` is the cutoff. Rows that reference orders are deleted before the orders. */
const STATEMENTS: readonly (readonly [table: string, sql: string])[] = [
  [
    'notifications',
    `DELETE FROM notifications WHERE subject_kind = 'order' AND subject_id IN (${OLD_ORDERS})`,
  ],
  ...['approvals', 'revealable_secrets', 'order_answers', 'order_items'].map(
    (table) => [table, `DELETE FROM ${table} WHERE order_id IN (${OLD_ORDERS})`] as const,
  ),
  ['orders', `DELETE FROM orders WHERE id IN (${OLD_ORDERS})`],
  ['reminders', 'DELETE FROM reminders WHERE claimed_at < $1'],
  ['notifications', "DELETE FROM notifications WHERE subject_kind = 'digest' AND posted_at < $1"],
];

const countRowsSchema = z.tuple([z.object({ n: z.number() })]);

/**
 * Deletes orders that ended before a time, with everything that belongs to them, and older events, observations,
 * reminders and digests. A dry run deletes nothing and reports what would be deleted.
 */
export function purge(
  client: pg.Client,
  before: Date,
  options: { readonly dryRun: boolean },
): Promise<readonly TableChange[]> {
  return inTransaction(client, options, async () => {
    const changes: TableChange[] = [];
    for (const [table, sql] of STATEMENTS) {
      changes.push({ table, rows: (await client.query(sql, [before])).rowCount ?? 0 });
    }
    for (const table of ['events', 'observations']) {
      const { rows } = await client.query(`SELECT delete_old_${table}($1)::int AS n`, [before]);
      changes.push({ table, rows: countRowsSchema.parse(rows)[0].n });
    }
    return sumByTable(changes);
  });
}
