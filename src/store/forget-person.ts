import type pg from 'pg';
import { z } from 'zod';
import { inTransaction, sumByTable, type TableChange } from './session.ts';

/*
 * Removes a person from all stored data. Rows that are only about this person are deleted. The person's
 * actions stay, but `former` then replaces the person's ID in every column of every table.
 */

/**
 * `$1` is the person's ID. The order matters: a statement that finds rows by a column must run before the ID
 * in this column is replaced.
 */
const CLEANUP_STATEMENTS: readonly (readonly [table: string, sql: string])[] = [
  [
    'token_steps',
    'DELETE FROM token_steps WHERE login IN (SELECT lower(login) FROM accounts WHERE user_id = $1)',
  ],
  ['accounts', 'DELETE FROM accounts WHERE user_id = $1'],
  ['accounts', 'UPDATE accounts SET linked_by = NULL WHERE linked_by = $1'],
  ['incident_warnings', 'DELETE FROM incident_warnings WHERE user_id = $1'],
  ['calendar_feeds', 'DELETE FROM calendar_feeds WHERE user_id = $1'],
  [
    'order_answers',
    'DELETE FROM order_answers a USING orders o WHERE o.id = a.order_id AND o.requester_id = $1',
  ],
  ['orders', "UPDATE orders SET ownership = ownership - 'owner' WHERE ownership ->> 'owner' = $1"],
  ['orders', "UPDATE orders SET account_login = 'former' WHERE requester_id = $1"],
  ['signing_links', 'DELETE FROM signing_links s WHERE names_person(to_jsonb(s)::text, $1)'],
  // The signature contains the approver and the requester. It isn't needed after the order has ended.
  ['approvals', 'UPDATE approvals SET signature = NULL WHERE names_person(signature::text, $1)'],
  ['stand_ins', 'DELETE FROM stand_ins WHERE user_id = $1 OR stand_in_id = $1'],
  [
    'approvals',
    `DELETE FROM approvals a WHERE user_id = $1
     AND EXISTS (SELECT FROM approvals b WHERE b.order_id = a.order_id AND b.user_id = 'former')`,
  ],
  ['names_imports', 'DELETE FROM names_imports i WHERE names_person(to_jsonb(i)::text, $1)'],
  [
    'notifications',
    "DELETE FROM notifications WHERE names_person(concat_ws(' ', subject_kind, subject_id, purpose), $1)",
  ],
  ['proposals', 'DELETE FROM proposals p WHERE names_person(to_jsonb(p)::text, $1)'],
  ['domains', 'UPDATE domains SET registered_by = NULL WHERE registered_by = $1'],
  ['domains', 'UPDATE domains SET owner_id = NULL, owner_left_at = NULL WHERE owner_id = $1'],
];

/** `forget_person_in_…` removes the person from events and observations. The other tables contain no people. */
const APPEND_ONLY_TABLES = ['events', 'observations', 'ledger_entries', 'seals', 'anchors'];

const columnRowsSchema = z.array(z.object({ table: z.string(), columns: z.array(z.string()) }));

/** Builds a statement for each table, which replaces `$1` with `former` in every text column. */
async function buildReplaceStatements(client: pg.Client): Promise<readonly (readonly [string, string])[]> {
  const { rows } = await client.query(
    `SELECT c.table_name AS table, array_agg(format('%1$I = without_person(%1$I::text, $1)::%2$s', c.column_name,
         CASE c.data_type WHEN 'ARRAY' THEN 'text[]' ELSE c.data_type END)) AS columns
     FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
     WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE' AND c.table_name <> ALL($1)
       AND c.data_type IN ('text', 'json', 'jsonb', 'ARRAY') GROUP BY 1 ORDER BY 1`,
    [[...APPEND_ONLY_TABLES, '_prisma_migrations']],
  );
  return columnRowsSchema
    .parse(rows)
    .map(({ table, columns }) => [
      table,
      `UPDATE "${table}" x SET ${columns.join(', ')} WHERE names_person(to_jsonb(x)::text, $1)`,
    ]);
}

/** Why a person can't be forgotten yet. */
export type ForgetObstacle =
  | { readonly kind: 'open_order'; readonly orderId: string }
  | { readonly kind: 'setting'; readonly name: string }
  | { readonly kind: 'policy' | 'policy_draft' };

const obstacleRowsSchema = z.array(
  z.discriminatedUnion('kind', [
    z
      .object({ kind: z.literal('open_order'), id: z.string() })
      .transform(({ id }) => ({ kind: 'open_order' as const, orderId: id })),
    z
      .object({ kind: z.literal('setting'), id: z.string() })
      .transform(({ id }) => ({ kind: 'setting' as const, name: id })),
    z.object({ kind: z.enum(['policy', 'policy_draft']) }),
  ]),
);

const SELECT_OBSTACLES = `
  SELECT 'open_order' AS kind, id FROM orders o WHERE closed_at IS NULL AND (names_person(to_jsonb(o)::text, $1)
    OR EXISTS (SELECT FROM order_items i WHERE i.order_id = o.id AND names_person(to_jsonb(i)::text, $1))
    OR EXISTS (SELECT FROM approvals a WHERE a.order_id = o.id AND names_person(to_jsonb(a)::text, $1)))
  UNION ALL SELECT 'setting', key FROM settings WHERE names_person(value::text, $1)
  UNION ALL SELECT 'policy', NULL FROM policy_versions v WHERE names_person(rules::text, $1)
    AND version = (SELECT max(version) FROM policy_versions w WHERE w.team_id = v.team_id)
  UNION ALL SELECT 'policy_draft', NULL FROM policy_drafts WHERE names_person(rules::text, $1)
  ORDER BY 1, 2`;

/** The changes that were made, or that a dry run would make. If there are obstacles, nothing is changed. */
export type ForgetResult =
  | { readonly isDone: true; readonly changes: readonly TableChange[] }
  | { readonly isDone: false; readonly obstacles: readonly ForgetObstacle[] };

export function forgetPerson(
  client: pg.Client,
  userId: string,
  options: { readonly dryRun: boolean },
): Promise<ForgetResult> {
  return inTransaction(client, options, async () => {
    const obstacles = obstacleRowsSchema.parse((await client.query(SELECT_OBSTACLES, [userId])).rows);
    if (obstacles.length > 0) return { isDone: false, obstacles };
    const changes: TableChange[] = [];
    for (const table of ['events', 'observations']) {
      const { rows } = await client.query(`SELECT forget_person_in_${table}($1)::int AS n`, [userId]);
      changes.push({ table, rowCount: countRowsSchema.parse(rows)[0].n });
    }
    for (const [table, sql] of [...CLEANUP_STATEMENTS, ...(await buildReplaceStatements(client))]) {
      changes.push({ table, rowCount: (await client.query(sql, [userId])).rowCount ?? 0 });
    }
    return { isDone: true, changes: sumByTable(changes) };
  });
}

const countRowsSchema = z.tuple([z.object({ n: z.number() })]);
