import { afterAll, beforeAll, expect, test } from 'vitest';
import { SIGNED_RULE, type SigningRig, startSigningRig } from './signing-rig.ts';

/*
 * An attacker changes one value in the database after the last signature and before the request. Tables and columns are
 * read from the real database, so new ones are attacked too. Either nothing is sent, or only what was signed; columns
 * whose change stops nothing are listed below with the reason.
 */

let s: SigningRig;
beforeAll(async () => {
  s = await startSigningRig();
  const [at, by] = [new Date('2026-03-01T08:30:00Z'), 'U0ADA'];
  await s.saveSettings([{ name: 'approvers', before: '', after: 'U0BOB,U0CAROL,U0DORA' }], by, at);
  await s.publishPolicy([SIGNED_RULE]);
});
afterAll(() => s.rig.end());

/** The rows that an order's approvals depend on, by table. Rows with different roles are listed separately. */
const ROWS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  orders: { 'the order': 'id = $id' },
  order_items: { 'its name': 'order_id = $id' },
  approvals: { 'Bob’s approval': `order_id = $id AND user_id = 'U0BOB'` },
  events: {
    'the root’s key': `kind = 'key_added' AND actor = 'U0ANNA'`,
    'Bob’s key': `kind = 'key_added' AND actor = 'U0BOB'`,
    'Anna’s vouch for Bob': `kind = 'key_vouched' AND data->>'owner' = 'U0BOB'`,
    'the charter’s signature': `kind = 'charter_signed' AND seq = (SELECT max(seq) FROM events WHERE kind = 'charter_signed')`,
  },
  policy_versions: { 'the policy': 'version = (SELECT max(version) FROM policy_versions)' },
  settings: { 'a protected setting': `key = 'approvers'` },
  installation: { 'the installation': 'id = 1' },
};

/** Tables that don't affect an order with signed approvals, and why. */
const OTHER_TABLES: Readonly<Record<string, string>> = {
  _prisma_migrations: 'the schema',
  accounts:
    'credentials are sealed with their owner’s id; the statement’s account is compared with the one used to sign in',
  anchors: 'proves the ledger',
  budget_reservations: 'reserved at the last approval',
  budgets: 'compared at the last approval',
  calendar_feeds: 'addresses of calendars',
  domains:
    'tags and dates are read at the request and each approval; signatures are bound to the requirements of that time',
  heartbeats: 'only stops orders',
  incident_warnings: 'records that a person was shown an incident before approving',
  incidents: 'only reported, and shown to approvers',
  leases: 'which process does which work',
  ledger_entries: 'proves the ledger',
  ledger_keys: 'proves the ledger',
  mandate_acts: 'what mandates did; only holds back their orders',
  names_imports: 'names, not orders',
  notifications: 'messages',
  observations: 'public records',
  order_answers: 'responses of the service',
  order_impacts: 'compared at each approval',
  passkey_counters: 'compared when a signature is created',
  proposals: 'have no effect before they are applied',
  policy_drafts: 'have no effect before they are published',
  presets: 'form presets',
  prices: 'read at the request and at each approval',
  reminders: 'messages',
  revealable_secrets: 'results',
  seals: 'proves the ledger',
  slack_outages: 'when Slack couldn’t be reached',
  signing_links: 'used up when a signature is created',
  stand_ins: 'stand-ins can’t sign',
  token_steps: 'one-time tokens',
  unsealed_events: 'proves the ledger',
  webhook_deliveries: 'notify other programs',
  webhook_endpoints: 'notify other programs',
};

/** The order's progress and notifications, but not its content, requester or requirements. */
const PROGRESS_COLUMNS = [
  'approvals_required',
  'channel_id',
  'closed_at',
  'created_at',
  'delivery_id',
  'draft_events',
  'due_at',
  'emergency_approved_by',
  'escalate_at',
  'expires_at',
  'failed_attempts',
  'is_private',
  'lease_until',
  'names',
  'ownership',
  'policy_version',
  'reason',
  'remind_at',
  'sealed_input',
  'sealed_input_key_id',
  'signed_off_by',
  'team_id',
  'thread_ts',
  'updated_at',
  'version',
  'worker_id',
];
const ITEM_PROGRESS_COLUMNS = [
  'answered_at',
  'attempts',
  'followed_at',
  'not_before',
  'open_key',
  'sealed_input',
  'sealed_input_key_id',
];

/** Recorded when an event's content is removed. */
const REMOVAL_COLUMNS = ['forgotten_at', 'forgotten_by', 'forgotten_leaf'];

/** Columns whose change doesn't stop a signed order, and why. */
const HARMLESS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(PROGRESS_COLUMNS.map((name) => [`orders.${name}`, 'progress'])),
  ...Object.fromEntries(ITEM_PROGRESS_COLUMNS.map((name) => [`order_items.${name}`, 'progress'])),
  ...Object.fromEntries(
    Object.keys(ROWS['events'] ?? {}).flatMap((what) =>
      REMOVAL_COLUMNS.map((name) => [
        `events.${name} of ${what}`,
        'the content of an event counts while it is there',
      ]),
    ),
  ),
  'approvals.at': 'when it was given',
  'events.actor of Anna’s vouch for Bob': 'the signature names the voucher',
  'events.actor of the charter’s signature': 'the signature names the signer',
  'events.at of Bob’s key': 'when it was added',
  'events.at of Anna’s vouch for Bob': 'when it was',
  'events.at of the charter’s signature': 'when it was',
  'events.at of the root’s key': 'when it was added',
  'policy_versions.confirmed_at': 'the signature counts, not the click',
  'policy_versions.confirmed_by': 'the signature counts, not the click',
  'policy_versions.published_at': 'the signature counts, not the click',
  'policy_versions.published_by': 'the signature counts, not the click',
  'settings.team_id': 'settings are those of the installation',
  'settings.updated_at': 'the signature counts, not who saved it',
  'settings.updated_by': 'the signature counts, not who saved it',
};

interface Column {
  readonly table_name: string;
  readonly column_name: string;
  readonly data_type: string;
  readonly udt_name: string;
}

const listColumns = async (): Promise<readonly Column[]> =>
  (await s.rig.sql(`
    SELECT c.table_name, c.column_name, c.data_type, c.udt_name FROM information_schema.columns c
    JOIN information_schema.tables t USING (table_schema, table_name)
    WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE' ORDER BY 1, 2`)) as unknown as Column[];

/** Another value for a column. */
function otherValue({ column_name: name, data_type, udt_name }: Column): string {
  const quoted = `"${name}"`;
  if (udt_name === 'jsonb' || udt_name === 'json') return `'{"other":1}'::jsonb`;
  if (data_type === 'ARRAY') return `ARRAY['U0MALLORY']`;
  if (data_type === 'boolean') return `NOT ${quoted}`;
  if (data_type === 'bytea') return `'\\x00'::bytea`;
  if (data_type.startsWith('timestamp')) return `COALESCE(${quoted}, '2020-01-01') + interval '1 second'`;
  if (data_type === 'text') return `COALESCE(${quoted}, '') || 'x'`;
  // Far from other numeric keys.
  return `COALESCE(${quoted}, 0) + 1000`;
}

/** Changes a table with its triggers disabled, and restores it afterwards. */
async function withChange(table: string, update: string, act: () => Promise<void>): Promise<void> {
  const runWithoutTriggers = (sql: string) =>
    s.rig.sql(`DO $do$ BEGIN SET LOCAL session_replication_role = replica; ${sql}; END $do$`);
  await runWithoutTriggers(`CREATE TABLE kept AS SELECT * FROM "${table}"`);
  try {
    await runWithoutTriggers(update);
    await act();
  } finally {
    // Other tests need the changed value restored, but not the order's result.
    await runWithoutTriggers(
      table.startsWith('order') || table === 'approvals'
        ? 'DROP TABLE kept'
        : `DELETE FROM "${table}"; INSERT INTO "${table}" OVERRIDING SYSTEM VALUE SELECT * FROM kept; DROP TABLE kept;
           DELETE FROM unsealed_events u WHERE NOT EXISTS (SELECT FROM events e WHERE e.seq = u.event_seq)`,
    );
  }
}

let count = 0;

/** Sends a signed order after one change. @returns the requests */
async function attack(table: string, which: string, set: string) {
  count += 1;
  const name = `attacked-${count}.rest`;
  const order = await s.requestSignedOrder(name);
  s.rig.service.received.length = 0;
  const where = which.replaceAll('$id', `'${order.id}'`);
  await withChange(table, `UPDATE "${table}" SET ${set} WHERE ${where}`, async () => {
    await s.execute(order.id).catch(() => undefined);
    // `otherValue` may have changed the id.
    if (table === 'orders') await s.execute(`${order.id}x`).catch(() => undefined);
  });
  for (const request of s.rig.service.received)
    expect(request).toMatchObject({
      ctid: order.id,
      description: { method: 'POST', path: `/domain/${name}/_renew`, body: { period: 1 } },
    });
  return s.rig.service.received.length;
}

test('every table is attacked or listed as unrelated', async () => {
  const tables = new Set((await listColumns()).map(({ table_name }) => table_name));
  expect([...Object.keys(ROWS), ...Object.keys(OTHER_TABLES)].sort()).toEqual([...tables].sort());
});

test('an unchanged order is sent', async () => {
  expect(await attack('orders', 'id = $id', 'reason = reason')).toBe(1);
});

test('after one change in the database, only the signed request is sent, or nothing', async () => {
  const leaks: string[] = [];
  for (const column of await listColumns()) {
    const { table_name: table, column_name: name } = column;
    for (const [what, which] of Object.entries(ROWS[table] ?? {})) {
      const sent = await attack(table, which, `"${name}" = ${otherValue(column)}`);
      if (sent === 0) continue;
      expect(sent).toBe(1);
      const rows = Object.keys(ROWS[table] ?? {}).length > 1 ? ` of ${what}` : '';
      leaks.push(`${table}.${name}${rows}`);
    }
  }
  expect(leaks.sort()).toEqual(Object.keys(HARMLESS).sort());
  // One order for each of about 200 columns.
}, 240_000);

const DEEPER: readonly [what: string, table: string, which: string, set: string][] = [
  ['the threshold', 'orders', 'id = $id', `requirements = jsonb_set(requirements, '{list,0,needed}', '1')`],
  [
    'the signature requirement',
    'orders',
    'id = $id',
    `requirements = jsonb_set(requirements, '{list,0,signed}', 'false')`,
  ],
  [
    'the outcome and requirements',
    'orders',
    'id = $id',
    `requirements = jsonb_set(jsonb_set(requirements, '{outcome}', '"free"'), '{list}', '[]')`,
  ],
  ['the period', 'orders', 'id = $id', `input = jsonb_set(input, '{period}', '9')`],
  ['the mandate', 'orders', 'id = $id', `mandate_id = 'x', send_after = now() - interval '1 year'`],
  ['the requester', 'orders', 'id = $id', `requester_id = 'U0EVE'`],
  [
    'a rule’s signature requirement',
    'policy_versions',
    'version = (SELECT max(version) FROM policy_versions)',
    `rules = jsonb_set(rules, '{0,signed}', 'false')`,
  ],
  [
    'a rule’s number of approvals',
    'policy_versions',
    'version = (SELECT max(version) FROM policy_versions)',
    `rules = jsonb_set(rules, '{0,needed}', '1')`,
  ],
  [
    'a rule’s approvers',
    'policy_versions',
    'version = (SELECT max(version) FROM policy_versions)',
    `rules = jsonb_set(rules, '{0,approvers,2}', '"U0MALLORY"')`,
  ],
  [
    'a rule’s decision',
    'policy_versions',
    'version = (SELECT max(version) FROM policy_versions)',
    `rules = jsonb_set(rules, '{0,decision}', '"free"')`,
  ],
  ['the approvers in the settings', 'settings', `key = 'approvers'`, `value = '"U0MALLORY"'`],
  ['the approver', 'approvals', `order_id = $id AND user_id = 'U0BOB'`, `user_id = 'U0DORA'`],
  [
    'the signature’s approver',
    'approvals',
    `order_id = $id AND user_id = 'U0BOB'`,
    `signature = jsonb_set(signature, '{signature,challenge,approver}', '"U0DORA"')`,
  ],
  ['the signature', 'approvals', `order_id = $id AND user_id = 'U0BOB'`, `signature = NULL`],
  [
    'the public key',
    'events',
    `kind = 'key_added' AND actor = 'U0BOB'`,
    `data = jsonb_set(data, '{publicKey}', (SELECT data->'publicKey' FROM events WHERE kind = 'key_added' AND actor = 'U0MALLORY'))`,
  ],
  ['the key’s owner', 'events', `kind = 'key_added' AND actor = 'U0BOB'`, `actor = 'U0DORA'`],
];

test.each(DEEPER)('nothing is sent after a change to %s', async (_what, table, which, set) => {
  expect(await attack(table, which, set)).toBe(0);
});

test('an order that was inserted as approved isn’t sent', async () => {
  const order = await s.requestRenewal('forged.rest');
  s.rig.service.received.length = 0;
  await s.rig.sql(`UPDATE orders SET state = 'APPROVED' WHERE id = $1`, order.id);
  await s.rig.sql(
    `INSERT INTO approvals (order_id, user_id, at) VALUES ($1, 'U0BOB', now()), ($1, 'U0CAROL', now())`,
    order.id,
  );
  await s.execute(order.id);
  expect(s.rig.service.received).toEqual([]);
  expect(await s.rig.read(order.id)).toMatchObject({
    state: 'FAILED',
    items: [{ result: { summary: { code: 'not_signed', differs: ['unsigned'] } } }],
  });
});
