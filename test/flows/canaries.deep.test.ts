import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  SANDBOX_ACCOUNTS,
  SANDBOX_TRANSFERABLE_DOMAIN,
  type SandboxTask,
} from '@domain-steward/sandbox-service';
import type { Actor } from '@domain-steward/slack-workspace';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Credentials,
  link,
  openForm,
  performAndReadReply,
  readCommandReply,
  useTestDemo,
} from '../support/demo.ts';
import { requestAndApprove, requestByCommand, type VisibleOrder, waitForOrder } from '../support/orders.ts';
import {
  CONTACTS_AND_NAMESERVERS,
  downloadAuditLog,
  giveReason,
  linkApplication,
  linkTwoFactor,
  openLinkForm,
  revealOrderSecret,
} from '../support/people.ts';

/*
 * Every kind of secret is used in every flow, with the log at `trace`, a service that echoes secrets, and failures of
 * Slack and the database. Afterwards no secret can be found anywhere.
 */

const WRONG_PASSWORD = 'wr0ng"pass<w&rd>\\ canary';
const ENTERED_PASSWORD = 'given-user-password-canary';
const AUTH_CODE = SANDBOX_TRANSFERABLE_DOMAIN.authCode;
const WRONG_AUTH = 'a-mistyped-auth+code/canary==';

const t = useTestDemo({
  settings: { SERVICE_AUTH: 'session', SERVICE_TIMEOUT: '2s' },
  logLevel: 'trace',
  linkedPeople: [],
});
let client: pg.Client;
/** Secrets by kind. */
const secrets = new Map<string, string>();
/** The Web API calls that show a secret to its owner. No other call may contain it. */
const revealCalls = new Set<unknown>();
/** The texts in which a person or a program could find a secret, by place. */
const places = new Map<string, string>();

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi;
let sessionCount = 0;
/** Records session ids, which JSON requests have in a header and XML requests in the body. */
function recordSessionIds(message: unknown): void {
  const { request } = Object(message);
  const lines = [...(Array.isArray(request.headers) ? request.headers : [request.headers])].map(String);
  const headerIndex = lines.findIndex((line) => line.toLowerCase() === 'x-service-sessionid');
  const inBody = String(request.body).match(/<auth_session>.*?<\/auth_session>/s)?.[0] ?? '';
  for (const id of [...(lines[headerIndex + 1] ?? '').matchAll(UUID), ...inBody.matchAll(UUID)]) {
    if ([...secrets.values()].includes(id[0]) || (headerIndex === -1 && inBody === '')) continue;
    sessionCount += 1;
    secrets.set(`session ${sessionCount}`, id[0]);
  }
}

beforeAll(async () => {
  subscribe('undici:request:create', recordSessionIds);
  client = new pg.Client({ connectionString: t.databaseUrl });
  await client.connect();
  const key = (await readFile(join(t.dataDir, 'credentials.key'), 'utf8')).trim();
  for (const [kind, secret] of [
    ['password', SANDBOX_ACCOUNTS.alice.password],
    ['password with two factors', SANDBOX_ACCOUNTS.tina.password],
    ['shared secret', SANDBOX_ACCOUNTS.tina.totpSecret],
    ['password of the application', SANDBOX_ACCOUNTS.trustedApplication.password],
    ['refused password', WRONG_PASSWORD],
    ['auth code of a transfer', AUTH_CODE],
    ['refused auth code', WRONG_AUTH],
    ['entered password', ENTERED_PASSWORD],
    ['bot token', t.workspace.botToken],
    ['signing secret', t.workspace.signingSecret],
    ['key for credentials', key.slice(key.indexOf(':') + 1)],
    ['password of the database', new URL(t.databaseUrl).password],
  ] as const) {
    secrets.set(kind, secret);
  }
  await runAllFlows();
  await collectPlaces();
}, 90_000);
afterAll(async () => {
  unsubscribe('undici:request:create', recordSessionIds);
  await client.end();
});

const send = (person: Actor, text: string) => readCommandReply(t.workspace, person, text);

async function approveTransfer(auth: string): Promise<VisibleOrder> {
  const form = await openForm(t.workspace, t.alice, `/domain transfer ${SANDBOX_TRANSFERABLE_DOMAIN.name}`);
  const submit = () => t.alice.submit(form, { ...CONTACTS_AND_NAMESERVERS, auth });
  return requestAndApprove(t.bob, waitForOrder(t.workspace, submit));
}

async function requestUser(name: string, password?: string): Promise<VisibleOrder> {
  const form = await openForm(t.workspace, t.alice, '/domain user');
  const values = { user: name, defaultEmail: `${name}@team.example` };
  return waitForOrder(t.workspace, () =>
    t.alice.submit(form, password === undefined ? values : { ...values, password }),
  );
}

async function revealResult(order: VisibleOrder): Promise<void> {
  await recordReveal(async () => t.alice.close(await revealOrderSecret(t.workspace, t.alice, order)));
}

async function recordReveal(act: () => Promise<unknown>): Promise<void> {
  const before = t.workspace.calls.length;
  await act();
  for (const call of t.workspace.calls.slice(before)) {
    if (call.method === 'views.open') revealCalls.add(call);
  }
}

async function tryLink(credentials: Credentials): Promise<void> {
  const form = await openLinkForm(t.workspace, t.alice, 'password');
  const { user, context, password } = credentials;
  await t.alice.submit(form, { user, context: String(context), password });
  await t.alice.close(form);
}

/** Runs every flow with a secret, successful and failing. */
async function runAllFlows(): Promise<void> {
  const { workspace, service } = t;

  // Links, refused and accepted; the service echoes the password.
  await tryLink({ ...SANDBOX_ACCOUNTS.alice, password: WRONG_PASSWORD });
  const echo = (task: SandboxTask, text: string) =>
    service.faults.set({ kind: 'refuse', code: 'E0200', text, times: 1, match: { task } });
  const basicCredentials = Buffer.from(`alice:${WRONG_PASSWORD}`).toString('base64');
  echo(
    'session.create',
    `not "${WRONG_PASSWORD}" (${basicCredentials}, ${encodeURIComponent(WRONG_PASSWORD)})`,
  );
  await tryLink({ ...SANDBOX_ACCOUNTS.alice, password: WRONG_PASSWORD });
  service.faults.clear();
  await link(workspace, t.alice);
  await linkTwoFactor(workspace, t.carol);
  await linkApplication(workspace, t.bob);
  await send(t.alice, '/domain whoami');

  // Transfers: refused with an echo of the code, unanswered, and accepted.
  echo('domain.transfer', `auth code ${WRONG_AUTH} is wrong: ${WRONG_AUTH}`);
  await (await approveTransfer(WRONG_AUTH)).waitForResult('FAILED');
  service.faults.set({ kind: 'status_500', times: 1, match: { task: 'domain.transfer' } });
  const unansweredOrder = await approveTransfer(WRONG_AUTH);
  const unknownReply = await unansweredOrder.waitForResult('UNKNOWN');
  await giveReason(workspace, t.bob, unknownReply, 'order_resolve_failed', 'not done');
  await unansweredOrder.waitForState('FAILED');
  // Slack fails and rate-limits the messages about the accepted transfer.
  workspace.faults.set({ kind: 'error', code: 'internal_error', method: 'chat.update', times: 1 });
  workspace.faults.set({ kind: 'ratelimited', retryAfterSeconds: 1, method: 'chat.postMessage', times: 1 });
  await (await approveTransfer(AUTH_CODE)).waitForResult('SUCCEEDED', 15_000);

  // Secret results: an auth code, a generated password, and a view that Slack doesn't open.
  const authCodeOrder = await requestByCommand(workspace, t.alice, '/domain authcode tavern.rest');
  await authCodeOrder.waitForResult('SUCCEEDED');
  secrets.set('fetched auth code', service.state.findDomain('tavern.rest', 4)?.authCode ?? '');
  const unrevealedOrder = await requestByCommand(workspace, t.alice, '/domain authcode olive.rest');
  const reply = await unrevealedOrder.waitForResult('SUCCEEDED');
  secrets.set('auth code that was not revealed', service.state.findDomain('olive.rest', 4)?.authCode ?? '');
  workspace.faults.set({ kind: 'error', code: 'expired_trigger_id', method: 'views.open', times: 1 });
  await recordReveal(() =>
    performAndReadReply(workspace, t.alice, () => t.alice.click(reply, 'order_reveal')),
  );
  await revealResult(authCodeOrder);
  const userOrder = await requestUser('waiter-1');
  await userOrder.waitForResult('SUCCEEDED');
  secrets.set('generated password', service.state.findUser('waiter-1', 4)?.password ?? '');
  await revealResult(userOrder);
  await (await requestUser('waiter-2', ENTERED_PASSWORD)).waitForResult('SUCCEEDED');
  echo('user.create', `password ${ENTERED_PASSWORD} is too weak`);
  await (await requestUser('waiter-3', ENTERED_PASSWORD)).waitForResult('FAILED');

  // The calendar's address is shown only in Slack, in the reply to the person.
  const address = await send(t.alice, '/domain calendar');
  secrets.set('calendar token', /calendar\/([\w-]+)\.ics/.exec(address)?.[1] ?? '');
  await fetch(`${t.botUrl}/calendar/${secrets.get('calendar token')}.ics`);

  // The database refuses rows with secrets; its errors quote values.
  for (const table of ['accounts', 'orders', 'calendar_feeds']) {
    await client.query(`ALTER TABLE ${table} RENAME TO ${table}_away`);
    try {
      const form = await openLinkForm(workspace, t.ada, 'password');
      await t.ada.submit(form, { user: 'alice', context: '4', password: SANDBOX_ACCOUNTS.alice.password });
      for (const open of t.ada.openedViews()) await t.ada.close(open);
      await send(t.alice, '/domain calendar reset');
      if (table !== 'calendar_feeds') await send(t.alice, '/domain authcode deli.rest');
    } finally {
      await client.query(`ALTER TABLE ${table}_away RENAME TO ${table}`);
    }
  }
  await send(t.alice, '/domain whoami');
}

async function collectPlaces(): Promise<void> {
  const { workspace } = t;
  places.set('audit log', (await downloadAuditLog(workspace)).csv);
  places.set('metrics', await (await fetch(`${t.botUrl}/metrics`)).text());
  places.set('readiness', await (await fetch(`${t.botUrl}/readyz`)).text());
  places.set('calls of Slack', JSON.stringify(workspace.calls.filter((call) => !revealCalls.has(call))));
  places.set(
    'messages',
    JSON.stringify(['C0DOMAINS', 'D0ALICE', 'D0BOB', 'D0ADA', 'D0CAROL'].map((id) => workspace.messages(id))),
  );
  places.set('log', t.getLog());
  places.set('database', await t.dump());
}

/** Encodes a secret in every way in which it could be found, also within other data. */
function encodeSecret(secret: string): Map<string, string> {
  const encodings = new Map([
    ['as it is', secret],
    ['in JSON', JSON.stringify(secret).slice(1, -1)],
    ['in JSON in JSON', JSON.stringify(JSON.stringify(secret)).slice(3, -3)],
    ['URL-encoded', encodeURIComponent(secret)],
    ['in a form', new URLSearchParams({ x: secret }).toString().slice(2)],
    ['in XML', secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')],
    ['in hex', Buffer.from(secret).toString('hex')],
    ['in upper-case hex', Buffer.from(secret).toString('hex').toUpperCase()],
  ]);
  for (const offset of [0, 1, 2]) {
    // Drops the characters at both ends, which share bits with the neighboring data.
    const whole = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)]);
    const inner = (text: string) =>
      text.slice(offset === 0 ? 0 : offset + 1, Math.floor(whole.length / 3) * 4);
    encodings.set(`in base64 at ${offset}`, inner(whole.toString('base64')));
    encodings.set(`in base64url at ${offset}`, inner(whole.toString('base64url')));
  }
  return encodings;
}

/** Lists the places and encodings in which a secret is found. */
function findSecret(secret: string, ignoredPlaces: readonly string[] = []): string[] {
  return [...places].flatMap(([place, text]) =>
    ignoredPlaces.includes(place)
      ? []
      : [...encodeSecret(secret)].flatMap(([form, encoded]) =>
          text.includes(encoded) ? [`${form} in the ${place}`] : [],
        ),
  );
}

test('every kind of secret is used', () => {
  expect(sessionCount, 'sessions').toBeGreaterThan(1);
  for (const [kind, secret] of secrets) expect(secret.length, kind).toBeGreaterThan(7);
  expect([...secrets.keys()].filter((kind) => !kind.startsWith('session'))).toHaveLength(16);
  expect(places.get('log')).toContain('"level":50');
  expect(places.get('log')?.length).toBeGreaterThan(10_000);
  expect(places.get('database')).toContain('public.orders ');
});

describe('the search for secrets', () => {
  test.each([...encodeSecret('a secret "with" <marks> & more')])('finds a secret %s', (_form, encoded) => {
    places.set('test', `before ${encoded} after`);
    expect(findSecret('a secret "with" <marks> & more').some((found) => found.endsWith('in the test'))).toBe(
      true,
    );
    places.delete('test');
  });

  test('finds a secret in the views that reveal it', () => {
    const shown = JSON.stringify([...revealCalls]);
    for (const kind of ['fetched auth code', 'generated password']) {
      expect(shown.includes(secrets.get(kind) ?? 'nothing'), kind).toBe(true);
    }
  });
});

test('no secret is found anywhere', () => {
  const found = [...secrets].flatMap(([kind, secret]) =>
    findSecret(secret, kind === 'calendar token' ? ['calls of Slack'] : []).map(
      (where) => `${kind}: ${where}`,
    ),
  );
  expect(found).toEqual([]);
});
