import type { Message } from '@domain-steward/slack-workspace';
import pg from 'pg';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { openDatabase } from '../../src/store/database.ts';
import { createKeyStore } from '../../src/store/signing.ts';
import { Authenticator } from '../support/authenticator.ts';
import {
  actAndReadReply,
  actUntilOpened,
  buttonsOf,
  openForm,
  readCommandReply,
  textOf,
  until,
  useTestDemo,
} from '../support/demo.ts';
import { chargesFor, requestByCommand, requestsOf, resetRows, type VisibleOrder } from '../support/orders.ts';
import { buttonValue, clickAs, expectFormClosed } from '../support/people.ts';
import { extractAddress, PUBLIC, signingPeople } from './signing-rig.ts';

/*
 * Protected changes need a signature. Signed orders that no longer match aren't sent, and admins are notified. Also:
 * keys of another host, and clocks that differ.
 */

const MINUTE_MS = 60_000;
const keys = {
  ada: new Authenticator(PUBLIC),
  bob: new Authenticator(PUBLIC),
  eve: new Authenticator(PUBLIC),
};
const t = useTestDemo({
  settings: { PUBLIC_URL: PUBLIC.origin, SIGNING_ROOTS: keys.ada.fingerprint, ADMINS: 'U0ADA,U0BOB,U0CAROL' },
});
const people = signingPeople(t);

beforeAll(async () => {
  await people.enrol(t.ada, keys.ada);
  await people.enrol(t.bob, keys.bob);
  await people.vouch(t.ada, keys.ada, keys.bob);
});
afterEach(() => t.service.faults.clear());

async function query(sql: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: t.databaseUrl });
  await client.connect();
  try {
    // Disables the triggers, as the owner of the database could.
    await client.query('SET session_replication_role = replica');
    return await client.query(sql);
  } finally {
    await client.end();
  }
}

const signLink = async (order: VisibleOrder, person = t.bob) =>
  extractAddress(await people.replyAfter(person, () => person.click(order.card, 'order_sign')));

/** The latest direct message to an admin with a button. */
const waitForRequest = (channel: string, button: string): Promise<Message> =>
  t.workspace.waitFor(
    () => t.workspace.messages(channel).findLast((message) => buttonsOf(message).includes(button)),
    { what: `a request with ${button}` },
  );

test('protected settings take effect with the signature of another admin', async () => {
  const view = await openForm(t.workspace, t.ada, '/domain settings');
  await actAndReadReply(t.workspace, t.ada, async () =>
    expectFormClosed(await t.ada.submit(view, { approvals_required: '2' })),
  );
  const request = await waitForRequest('D0BOB', 'settings_confirm');
  const refusal = await people.replyAfter(t.carol, async () =>
    t.carol.click(await waitForRequest('D0CAROL', 'settings_confirm'), 'settings_confirm'),
  );
  expect(refusal, 'the reply to an admin without a passkey').toContain('<@U0ADA> and <@U0BOB>');
  expect(refusal).not.toContain(PUBLIC.origin);

  const address = extractAddress(
    await people.replyAfter(t.bob, () => t.bob.click(request, 'settings_confirm')),
  );
  expect((await people.open(address)).html).toContain('<dt>Approvals needed</dt><dd>2</dd>');
  const before = await requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest');
  expect(textOf(before.card), 'the card before the signature').not.toContain('of 2 approvals');
  await t.alice.click(before.card, 'order_cancel');
  expect(await people.press(address, keys.bob)).toMatchObject({ done: true, title: 'Signed' });
  expect(await people.showKeys(t.ada), 'no unsigned settings').not.toContain('aren’t signed yet');
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest');
  expect(textOf(order.card)).toContain('of 2 approvals');
  await t.alice.click(order.card, 'order_cancel');
});

test('a policy takes effect with the signature of another admin, not of its publisher', async () => {
  const showPolicy = async (person = t.ada): Promise<Message> => {
    await readCommandReply(t.workspace, person, '/domain policy');
    const message = person.ephemerals().at(-1);
    if (message === undefined) throw new Error('no policy was shown');
    return message;
  };
  const list = await showPolicy();
  const form = await actUntilOpened(t.workspace, t.ada, () => t.ada.click(list, 'policy_upload'));
  const rules =
    '- {rule_name: renewals are signed, tasks: [renew], names: ["*"], decision: approve, approvers: [U0BOB], signed: true}';
  await actAndReadReply(t.workspace, t.ada, async () =>
    expectFormClosed(await t.ada.submit(form, { rules })),
  );
  const draft = await showPolicy();
  await actAndReadReply(t.workspace, t.ada, () => t.ada.click(draft, 'policy_publish'));
  expect(buttonsOf(await waitForRequest('D0BOB', 'policy_confirm'))).toContain('policy_confirm');
  const request = await showPolicy(t.bob);
  const address = extractAddress(
    await people.replyAfter(t.bob, () => t.bob.click(request, 'policy_confirm')),
  );
  expect((await people.open(address)).html).toContain('renewals are signed');
  expect(textOf(await showPolicy())).not.toContain('Version 1 is in force');
  const revision = buttonValue(request, 'policy_confirm');
  const own = extractAddress(
    await people.replyAfter(t.ada, () => clickAs(t.workspace, 'U0ADA', 'policy_confirm', revision)),
  );
  expect(await people.open(own)).toMatchObject({
    status: 403,
    html: expect.stringContaining('You published this.'),
  });
  expect(await people.press(address, keys.bob)).toMatchObject({ done: true, title: 'Signed' });
  expect(textOf(await showPolicy())).toContain('Version 1 is in force');
  expect(buttonsOf((await requestByCommand(t.workspace, t.alice, '/domain renew bar.rest')).card)).toContain(
    'order_sign',
  );
});

const signatureAlerts = (channel: string) =>
  t.workspace
    .messages(channel)
    .map(textOf)
    .filter((text) => text.includes('a required signature is missing or invalid'));

test('an order whose signature was changed isn’t sent again, and each admin is notified once', async () => {
  t.service.faults.set({ kind: 'status_429', retryAfter: 3, times: 1, match: { name: 'deli.rest' } });
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew deli.rest');
  expect(await people.press(await signLink(order), keys.bob)).toMatchObject({ done: true });
  await until('the service has deferred the request', () => requestsOf(t.service, order).length === 1);
  expect(
    await query(
      `UPDATE approvals SET signature = jsonb_set(signature, '{binding,from}', '7') WHERE order_id = '${order.id}'`,
    ),
  ).toMatchObject({ rowCount: 1 });
  await order.waitForResult('FAILED', 20_000);
  expect(chargesFor(t.service, 'deli.rest')).toBe(0);
  for (const channel of ['D0ADA', 'D0BOB', 'D0CAROL'])
    await until(`a message in ${channel}`, () => signatureAlerts(channel).length > 0);
  await t.demo.bot.catchUp();
  await t.waitUntilSlackIsCurrent();
  expect(['D0ADA', 'D0BOB', 'D0CAROL'].map((channel) => signatureAlerts(channel).length)).toEqual([1, 1, 1]);
});

test('a sent order isn’t sent again if its rows are reset, and each admin is notified once', async () => {
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew ramen.rest');
  expect(await people.press(await signLink(order), keys.bob)).toMatchObject({ done: true });
  await order.waitForResult('SUCCEEDED', 20_000);
  await resetRows(query, order);
  await t.demo.bot.catchUp();
  await order.waitForResult('FAILED', 20_000);
  expect(chargesFor(t.service, 'ramen.rest')).toBe(1);
  const countAlerts = (channel: string) =>
    t.workspace.messages(channel).filter((message) => textOf(message).includes('the log disagree')).length;
  for (const channel of ['D0ADA', 'D0BOB', 'D0CAROL'])
    await until(`a message in ${channel}`, () => countAlerts(channel) > 0);
  await t.demo.bot.catchUp();
  await t.waitUntilSlackIsCurrent();
  expect(['D0ADA', 'D0BOB', 'D0CAROL'].map(countAlerts)).toEqual([1, 1, 1]);
});

test('no order is sent twice or unsigned when clocks differ by ten minutes', async () => {
  // A link from a bot whose clock is ahead is valid for longer, but only once.
  const behind = await requestByCommand(t.workspace, t.alice, '/domain renew tapas.rest');
  const address = await signLink(behind);
  await t.demo.moveTime(-10 * MINUTE_MS);
  expect(await people.press(address, keys.bob)).toMatchObject({ done: true });
  await behind.waitForResult('SUCCEEDED', 20_000);
  expect(chargesFor(t.service, 'tapas.rest')).toBe(1);
  expect(await people.open(address)).toMatchObject({ status: 410 });
  // A link from a bot whose clock is behind has expired, and the page says what to do.
  const ahead = await requestByCommand(t.workspace, t.alice, '/domain renew soup.rest');
  const late = await signLink(ahead);
  await t.demo.moveTime(10 * MINUTE_MS);
  const { html } = await people.open(late);
  expect(html).toContain('Click the button in Slack again for a new one.');
  expect(chargesFor(t.service, 'soup.rest')).toBe(0);
  expect(await people.press(await signLink(ahead), keys.bob)).toMatchObject({ done: true });
  await ahead.waitForResult('SUCCEEDED', 20_000);
});

test('a passkey of another host is marked and can’t sign', async () => {
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew sushi.rest');
  const address = await signLink(order, t.carol);
  const { fingerprint, publicKey, credential } = new Authenticator({
    id: 'old.example',
    origin: 'https://old.example',
  });
  const database = openDatabase({ url: t.databaseUrl });
  const store = createKeyStore(database, t.workspace.teamId);
  const added = { owner: 'U0CAROL', label: '', host: 'old.example', addedAt: new Date() };
  expect(await store.add({ ...added, fingerprint, publicKey, credential })).toBe(true);
  await database.close();
  expect(await people.showKeys(t.carol)).toContain('belongs to an address other than PUBLIC_URL');
  const page = await people.open(address);
  expect(page.status).toBe(403);
  expect(page.html).toContain('Use /domain key to add one');
  expect(chargesFor(t.service, 'sushi.rest')).toBe(0);
});
