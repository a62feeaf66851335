import { afterAll, beforeAll, expect, test } from 'vitest';
import { SIGNED_RULE, type SigningRig, startSigningRig } from './signing-rig.ts';

/*
 * An attacker writes one value into the database between the last signature and the sending. The tables and columns are
 * those of the real database, so new ones are attacked too. Either nothing is sent, or only what was signed; columns of
 * the second kind are listed below with the reason.
 */

let s: SigningRig;
beforeAll(async () => {
  s = await startSigningRig();
  const [at, by] = [new Date('2026-03-01T08:30:00Z'), 'U0ADA'];
  await s.save([{ name: 'approvers', before: '', after: 'U0BOB,U0CAROL,U0DORA' }], by, at);
  await s.publish([SIGNED_RULE]);
});
afterAll(() => s.rig.end());

/** The rows that the approvals of an order depend on, by table; several if rows of a table have different roles. */
const ROWS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  orders: { 'the order': 'id = $id' },
  order_items: { 'its name': 'order_id = $id' },
  approvals: { 'Bob’s approval': `order_id = $id AND user_id = 'U0BOB'` },
  events: {
    'the root’s key': `kind = 'key_added' AND actor = 'U0ANNA'`,
    'Bob’s key': `kind = 'key_added' AND actor = 'U0BOB'`,
    'that Anna vouched for Bob': `kind = 'key_vouched' AND data->>'owner' = 'U0BOB'`,
    'the charter’s signature': `kind = 'charter_signed' AND seq = (SELECT max(seq) FROM events WHERE kind = 'charter_signed')`,
  },
  policy_versions: { 'the policy': 'version = (SELECT max(version) FROM policy_versions)' },
  settings: { 'a setting that decides': `key = 'approvers'` },
  installation: { 'whose it is': 'id = 1' },
};

/** Tables that don't affect an order with signed approvals, and why. */
const OTHER_TABLES: Readonly<Record<string, string>> = {
  _prisma_migrations: 'the schema',
  accounts:
    'credentials are sealed with their owner’s id; the account in the statement is compared with the one that signs in',
  anchors: 'what proves the ledger',
  budget_reservations: 'money is reserved with the last approval',
  budgets: 'looked at with the last approval',
  calendar_feeds: 'addresses of calendars',
  domains:
    'tags and dates are read at the request and at each approval; signatures stay bound to the requirements of that time',
  heartbeats: 'only stops orders',
  incident_warnings: 'that a person was shown an incident before their approval counted',
  incidents: 'only reported, and shown to approvers',
  leases: 'which process does some work',
  ledger_entries: 'what proves the ledger',
  ledger_keys: 'what proves the ledger',
  mandate_acts: 'what mandates did: it keeps their orders back, and theirs alone',
  names_imports: 'names, not orders',
  notifications: 'messages',
  observations: 'what was seen',
  order_answers: 'what the service said',
  order_impacts: 'looked at with each approval',
  passkey_counters: 'compared where a signature is made',
  proposals: 'proposals decide nothing',
  policy_drafts: 'drafts decide nothing',
  presets: 'what forms offer',
  prices: 'looked at when it is asked for and at each approval',
  reminders: 'messages',
  revealable_secrets: 'results',
  seals: 'what proves the ledger',
  slack_outages: 'when Slack didn’t answer',
  signing_links: 'spent where a signature is made',
  stand_ins: 'stand-ins can’t sign',
  token_steps: 'one-time tokens',
  unsealed_events: 'what proves the ledger',
  webhook_deliveries: 'notifications of other programs',
  webhook_endpoints: 'notifications of other programs',
};

/** The order's course, notifications and their places: not its content, requester or requirements. */
const COURSE = [
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
const COURSE_OF_ITEM = [
  'answered_at',
  'attempts',
  'followed_at',
  'not_before',
  'open_key',
  'sealed_input',
  'sealed_input_key_id',
];

/** Recorded when an event's content is removed. */
const NOTED_OF_EVENT = ['forgotten_at', 'forgotten_by', 'forgotten_leaf'];

/** Columns in which another value doesn't stop what was signed, and why. */
const HARMLESS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(COURSE.map((name) => [`orders.${name}`, 'its course'])),
  ...Object.fromEntries(COURSE_OF_ITEM.map((name) => [`order_items.${name}`, 'its course'])),
  ...Object.fromEntries(
    Object.keys(ROWS['events'] ?? {}).flatMap((what) =>
      NOTED_OF_EVENT.map((name) => [
        `events.${name} of ${what}`,
        'what an event says decides while it says it',
      ]),
    ),
  ),
  'approvals.at': 'when it was given',
  'events.actor of that Anna vouched for Bob': 'the signature says who vouched',
  'events.actor of the charter’s signature': 'the signature says whose it is',
  'events.at of Bob’s key': 'when it was added',
  'events.at of that Anna vouched for Bob': 'when it was',
  'events.at of the charter’s signature': 'when it was',
  'events.at of the root’s key': 'when it was added',
  'policy_versions.confirmed_at': 'the signature counts, not the click',
  'policy_versions.confirmed_by': 'the signature counts, not the click',
  'policy_versions.published_at': 'the signature counts, not the click',
  'policy_versions.published_by': 'the signature counts, not the click',
  'settings.team_id': 'settings are those of the installation',
  'settings.updated_at': 'the signature decides, not who saved it',
  'settings.updated_by': 'the signature decides, not who saved it',
};

interface Column {
  readonly table_name: string;
  readonly column_name: string;
  readonly data_type: string;
  readonly udt_name: string;
}

const columns = async (): Promise<readonly Column[]> =>
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
  // Far away, for numeric keys.
  return `COALESCE(${quoted}, 0) + 1000`;
}

/** Does something with the triggers disabled, and restores the table afterwards. */
async function withChange(table: string, update: string, act: () => Promise<void>): Promise<void> {
  const past = (sql: string) =>
    s.rig.sql(`DO $do$ BEGIN SET LOCAL session_replication_role = replica; ${sql}; END $do$`);
  await past(`CREATE TABLE kept AS SELECT * FROM "${table}"`);
  try {
    await past(update);
    await act();
  } finally {
    // The order's result stays; only the changed value is restored for other tests.
    await past(
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
  const order = await s.signedOrder(name);
  s.rig.service.received.length = 0;
  const where = which.replaceAll('$id', `'${order.id}'`);
  await withChange(table, `UPDATE "${table}" SET ${set} WHERE ${where}`, async () => {
    await s.execute(order.id).catch(() => undefined);
    // With another id it is another order.
    if (table === 'orders') await s.execute(`${order.id}x`).catch(() => undefined);
  });
  for (const request of s.rig.service.received)
    expect(request).toMatchObject({
      ctid: order.id,
      description: { method: 'POST', path: `/domain/${name}/_renew`, body: { period: 1 } },
    });
  return s.rig.service.received.length;
}

test('every table is attacked, or listed with the reason why not', async () => {
  const tables = new Set((await columns()).map(({ table_name }) => table_name));
  expect([...Object.keys(ROWS), ...Object.keys(OTHER_TABLES)].sort()).toEqual([...tables].sort());
});

test('without a change it is sent', async () => {
  expect(await attack('orders', 'id = $id', 'reason = reason')).toBe(1);
});

test('after one change in the database either nothing is sent, or what was signed', async () => {
  const leaks: string[] = [];
  for (const column of await columns()) {
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
  // An order per column, of about 200.
}, 240_000);

const DEEPER: readonly [what: string, table: string, which: string, set: string][] = [
  ['what it needed', 'orders', 'id = $id', `requirements = jsonb_set(requirements, '{list,0,needed}', '1')`],
  [
    'that it was to be signed',
    'orders',
    'id = $id',
    `requirements = jsonb_set(requirements, '{list,0,signed}', 'false')`,
  ],
  [
    'that nobody had to be asked',
    'orders',
    'id = $id',
    `requirements = jsonb_set(jsonb_set(requirements, '{outcome}', '"free"'), '{list}', '[]')`,
  ],
  ['the request', 'orders', 'id = $id', `input = jsonb_set(input, '{period}', '9')`],
  [
    'whether a mandate made it',
    'orders',
    'id = $id',
    `mandate_id = 'x', send_after = now() - interval '1 year'`,
  ],
  ['who asked', 'orders', 'id = $id', `requester_id = 'U0EVE'`],
  [
    'a rule',
    'policy_versions',
    'version = (SELECT max(version) FROM policy_versions)',
    `rules = jsonb_set(rules, '{0,signed}', 'false')`,
  ],
  [
    'how many a rule wants',
    'policy_versions',
    'version = (SELECT max(version) FROM policy_versions)',
    `rules = jsonb_set(rules, '{0,needed}', '1')`,
  ],
  [
    'who approves by a rule',
    'policy_versions',
    'version = (SELECT max(version) FROM policy_versions)',
    `rules = jsonb_set(rules, '{0,approvers,2}', '"U0MALLORY"')`,
  ],
  [
    'a decision',
    'policy_versions',
    'version = (SELECT max(version) FROM policy_versions)',
    `rules = jsonb_set(rules, '{0,decision}', '"free"')`,
  ],
  ['who approves by the settings', 'settings', `key = 'approvers'`, `value = '"U0MALLORY"'`],
  ['whose approval it is', 'approvals', `order_id = $id AND user_id = 'U0BOB'`, `user_id = 'U0DORA'`],
  [
    'who approved',
    'approvals',
    `order_id = $id AND user_id = 'U0BOB'`,
    `signature = jsonb_set(signature, '{signature,challenge,approver}', '"U0DORA"')`,
  ],
  ['that it was signed', 'approvals', `order_id = $id AND user_id = 'U0BOB'`, `signature = NULL`],
  [
    'a key',
    'events',
    `kind = 'key_added' AND actor = 'U0BOB'`,
    `data = jsonb_set(data, '{publicKey}', (SELECT data->'publicKey' FROM events WHERE kind = 'key_added' AND actor = 'U0MALLORY'))`,
  ],
  ['whose key it is', 'events', `kind = 'key_added' AND actor = 'U0BOB'`, `actor = 'U0DORA'`],
];

test.each(DEEPER)('another value in %s sends nothing', async (_what, table, which, set) => {
  expect(await attack(table, which, set)).toBe(0);
});

test('an order that was inserted as approved isn’t sent', async () => {
  const order = await s.askFor('forged.rest');
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
