import type pg from 'pg';
import { z } from 'zod';
import { inTransaction, sumByTable, type TableChange } from './session.ts';

/*
 * Takes a person out of everything that is kept. What was done stays, done by `former`. A test asks the schema for every
 * column that has people, and holds that each of them stands here or in `forget_person_in_events`.
 */

/** What stands in the place of a person; null: nobody. */
const IN_THEIR_PLACE: Readonly<Record<string, Readonly<Record<string, 'former' | null>>>> = {
  accounts: { linked_by: null },
  orders: { emergency_approved_by: 'former', signed_off_by: 'former' },
  domains: {
    added_by: 'former',
    registered_by: null,
    snoozed_by: 'former',
    lapse_requested_by: 'former',
    lapse_confirmed_by: 'former',
    owner_id: null,
  },
  presets: { updated_by: 'former' },
  incidents: { proposed_by: 'former', explained_by: 'former', raised_by: 'former' },
  reminders: { undelivered: 'former' },
  prices: { updated_by: 'former' },
  budgets: { updated_by: 'former' },
  settings: { updated_by: 'former' },
  policy_versions: { published_by: 'former', confirmed_by: 'former' },
  policy_drafts: { changed_by: 'former', published_by: 'former' },
};

/** `$1` is the person. The sequence matters: what is found by a column goes before the column. */
const STATEMENTS: readonly (readonly [table: string, sql: string])[] = [
  [
    'token_steps',
    'DELETE FROM token_steps WHERE login IN (SELECT lower(login) FROM accounts WHERE user_id = $1)',
  ],
  ['accounts', 'DELETE FROM accounts WHERE user_id = $1'],
  ['incident_warnings', 'DELETE FROM incident_warnings WHERE user_id = $1'],
  ['calendar_feeds', 'DELETE FROM calendar_feeds WHERE user_id = $1'],
  [
    'order_answers',
    'DELETE FROM order_answers a USING orders o WHERE o.id = a.order_id AND o.requester_id = $1',
  ],
  [
    'orders',
    "UPDATE orders SET delivery_id = replace(delivery_id, $1, 'former') WHERE strpos(delivery_id, $1) > 0",
  ],
  [
    'orders',
    "UPDATE orders SET requester_id = 'former', account_login = 'former' WHERE requester_id = $1 AND closed_at IS NOT NULL",
  ],
  [
    'orders',
    `UPDATE orders SET earlier_requesters = array_replace(earlier_requesters, $1, 'former')
     WHERE $1 = ANY(earlier_requesters) AND closed_at IS NOT NULL`,
  ],
  [
    'orders',
    `UPDATE orders SET demand = replace(demand::text, to_jsonb($1::text)::text, '"former"')::jsonb
     WHERE strpos(demand::text, to_jsonb($1::text)::text) > 0 AND closed_at IS NOT NULL`,
  ],
  ['signing_links', 'DELETE FROM signing_links WHERE user_id = $1'],
  // It names who approved and who asked, and nothing of it counts for an order that has ended.
  [
    'approvals',
    `UPDATE approvals a SET signature = NULL FROM orders o
     WHERE o.id = a.order_id AND o.closed_at IS NOT NULL AND strpos(a.signature::text, to_jsonb($1::text)::text) > 0`,
  ],
  ['stand_ins', 'DELETE FROM stand_ins WHERE user_id = $1 OR stand_in_id = $1'],
  [
    'approvals',
    `UPDATE approvals a SET user_id = 'former' WHERE user_id = $1
     AND NOT EXISTS (SELECT FROM approvals b WHERE b.order_id = a.order_id AND b.user_id = 'former')`,
  ],
  ['approvals', 'DELETE FROM approvals WHERE user_id = $1'],
  [
    'names_imports',
    'DELETE FROM names_imports WHERE by = $1 OR strpos(rows::text, to_jsonb($1::text)::text) > 0',
  ],
  ['notifications', "DELETE FROM notifications WHERE purpose LIKE '%:' || $1 OR purpose LIKE $1 || ':%'"],
  ['reminders', "UPDATE reminders SET destination = 'former', purpose = 'former' WHERE destination = $1"],
  [
    'policy_versions',
    `UPDATE policy_versions v SET rules = replace(rules::text, to_jsonb($1::text)::text, '"former"')::jsonb
     WHERE strpos(rules::text, to_jsonb($1::text)::text) > 0
       AND version < (SELECT max(version) FROM policy_versions w WHERE w.team_id = v.team_id)`,
  ],
  [
    'pending_changes',
    'DELETE FROM pending_changes WHERE asked_by = $1 OR decided_by = $1 OR strpos(change::text, $1) > 0',
  ],
  ...Object.entries(IN_THEIR_PLACE).flatMap(([table, columns]) =>
    Object.entries(columns).map(([column, value]) => {
      const put = value === null ? 'NULL' : `'${value}'`;
      return [table, `UPDATE ${table} SET ${column} = ${put} WHERE ${column} = $1`] as const;
    }),
  ),
];

/** The statements as text, for the test that looks for columns that were forgotten. */
export const FORGETTING_SQL = STATEMENTS.map(([, sql]) => sql).join(';\n');

/** Why a person cannot be forgotten yet. */
export type StillNeeded =
  | { readonly kind: 'open_order'; readonly orderId: string }
  | { readonly kind: 'setting'; readonly name: string }
  | { readonly kind: 'policy' | 'policy_draft' };

const needed = z.array(
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

const SELECT_NEEDED = `
  SELECT 'open_order' AS kind, id FROM orders WHERE requester_id = $1 AND closed_at IS NULL
  UNION ALL SELECT 'setting', key FROM settings WHERE strpos(value::text, to_jsonb($1::text)::text) > 0
  UNION ALL SELECT 'policy', NULL FROM policy_versions v WHERE strpos(rules::text, to_jsonb($1::text)::text) > 0
    AND version = (SELECT max(version) FROM policy_versions w WHERE w.team_id = v.team_id)
  UNION ALL SELECT 'policy_draft', NULL FROM policy_drafts WHERE strpos(rules::text, to_jsonb($1::text)::text) > 0
  ORDER BY 1, 2`;

/** What was changed, or would be; nothing was where the person is still needed. */
export type Forgetting =
  | { readonly done: true; readonly changes: readonly TableChange[] }
  | { readonly done: false; readonly needed: readonly StillNeeded[] };

/**
 * Forgets a person. A dry run changes nothing and tells what would be changed.
 * @param person Slack user id
 */
export function forgetPerson(
  client: pg.Client,
  person: string,
  options: { readonly dryRun: boolean },
): Promise<Forgetting> {
  return inTransaction(client, options, async () => {
    const found = needed.parse((await client.query(SELECT_NEEDED, [person])).rows);
    if (found.length > 0) return { done: false, needed: found };
    const changes: TableChange[] = [];
    const { rows } = await client.query(
      'SELECT count(*)::int AS n FROM events WHERE actor = $1 OR subject_id = $1 OR strpos(data::text, to_jsonb($1::text)::text) > 0',
      [person],
    );
    changes.push({ table: 'events', rows: counts.parse(rows)[0].n });
    await client.query('SELECT forget_person_in_events($1)', [person]);
    for (const [table, sql] of STATEMENTS) {
      changes.push({ table, rows: (await client.query(sql, [person])).rowCount ?? 0 });
    }
    return { done: true, changes: sumByTable(changes) };
  });
}

const counts = z.tuple([z.object({ n: z.number() })]);
