import type { Message } from '@domain-steward/slack-workspace';
import pg from 'pg';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { openDatabase } from '../../src/store/database.ts';
import { createKeyStore } from '../../src/store/signing.ts';
import { Authenticator } from '../support/authenticator.ts';
import {
  buttonsOf,
  openForm,
  performAndReadReply,
  performAndWaitForView,
  readCommandReply,
  textOf,
  until,
  useTestDemo,
} from '../support/demo.ts';
import {
  countChargesFor,
  requestByCommand,
  requestsOf,
  resetToApproved,
  type VisibleOrder,
} from '../support/orders.ts';
import { buttonValue, expectFormClosed, forgeClick } from '../support/people.ts';
import { createSigningHelpers, extractAddress, PUBLIC_SITE } from './signing-rig.ts';

/*
 * Protected changes need a signature. Orders that no longer match their signature aren't sent, and admins are notified.
 * Differing clocks and passkeys of another host don't break this.
 */

const MINUTE_MS = 60_000;
const keys = {
  ada: new Authenticator(PUBLIC_SITE),
  bob: new Authenticator(PUBLIC_SITE),
  eve: new Authenticator(PUBLIC_SITE),
};
const t = useTestDemo({
  settings: {
    PUBLIC_URL: PUBLIC_SITE.origin,
    SIGNING_ROOTS: keys.ada.fingerprint,
    ADMINS: 'U0ADA,U0BOB,U0CAROL',
  },
});
const people = createSigningHelpers(t);

beforeAll(async () => {
  await people.enroll(t.ada, keys.ada);
  await people.enroll(t.bob, keys.bob);
  await people.vouch(t.ada, keys.ada, keys.bob);
});
afterEach(() => t.service.faults.clear());

async function queryWithoutTriggers(sql: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: t.databaseUrl });
  await client.connect();
  try {
    // Disables the triggers, as the database's owner can.
    await client.query('SET session_replication_role = replica');
    return await client.query(sql);
  } finally {
    await client.end();
  }
}

const getSigningLink = async (order: VisibleOrder, person = t.bob) =>
  extractAddress(await people.actAndReadReply(person, () => person.click(order.card, 'order_sign')));

/** Waits for the latest message with a button in an admin's direct messages. */
const waitForRequest = (channel: string, button: string): Promise<Message> =>
  t.workspace.waitFor(
    () => t.workspace.messages(channel).findLast((message) => buttonsOf(message).includes(button)),
    { what: `a request with ${button}` },
  );

test('protected settings take effect with the signature of another admin', async () => {
  const view = await openForm(t.workspace, t.ada, '/domain settings');
  await performAndReadReply(t.workspace, t.ada, async () =>
    expectFormClosed(await t.ada.submit(view, { approvals_required: '2' })),
  );
  const request = await waitForRequest('D0BOB', 'settings_confirm');
  const refusal = await people.actAndReadReply(t.carol, async () =>
    t.carol.click(await waitForRequest('D0CAROL', 'settings_confirm'), 'settings_confirm'),
  );
  expect(refusal, 'the reply to an admin without a passkey').toContain('<@U0ADA> and <@U0BOB>');
  expect(refusal).not.toContain(PUBLIC_SITE.origin);

  const address = extractAddress(
    await people.actAndReadReply(t.bob, () => t.bob.click(request, 'settings_confirm')),
  );
  expect((await people.open(address)).html).toContain('<dt>Approvals needed</dt><dd>2</dd>');
  const before = await requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest');
  expect(textOf(before.card), 'the card before the signature').not.toContain('of 2 approvals');
  await t.alice.click(before.card, 'order_cancel');
  expect(await people.submitPage(address, keys.bob)).toMatchObject({ done: true, title: 'Signed' });
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
  const form = await performAndWaitForView(t.workspace, t.ada, () => t.ada.click(list, 'policy_upload'));
  const rules =
    '- {rule_name: renewals are signed, tasks: [renew], names: ["*"], decision: approve, approvers: [U0BOB], signed: true}';
  await performAndReadReply(t.workspace, t.ada, async () =>
    expectFormClosed(await t.ada.submit(form, { rules })),
  );
  const draft = await showPolicy();
  await performAndReadReply(t.workspace, t.ada, () => t.ada.click(draft, 'policy_publish'));
  expect(buttonsOf(await waitForRequest('D0BOB', 'policy_confirm'))).toContain('policy_confirm');
  const request = await showPolicy(t.bob);
  const address = extractAddress(
    await people.actAndReadReply(t.bob, () => t.bob.click(request, 'policy_confirm')),
  );
  expect((await people.open(address)).html).toContain('renewals are signed');
  expect(textOf(await showPolicy())).not.toContain('Version 1 is in force');
  const revision = buttonValue(request, 'policy_confirm');
  const publisherLink = extractAddress(
    await people.actAndReadReply(t.ada, () => forgeClick(t.workspace, 'U0ADA', 'policy_confirm', revision)),
  );
  expect(await people.open(publisherLink)).toMatchObject({
    status: 403,
    html: expect.stringContaining('You published this.'),
  });
  expect(await people.submitPage(address, keys.bob)).toMatchObject({ done: true, title: 'Signed' });
  expect(textOf(await showPolicy())).toContain('Version 1 is in force');
  expect(buttonsOf((await requestByCommand(t.workspace, t.alice, '/domain renew bar.rest')).card)).toContain(
    'order_sign',
  );
});

const listSignatureAlerts = (channel: string) =>
  t.workspace
    .messages(channel)
    .map(textOf)
    .filter((text) => text.includes('a required signature is missing or invalid'));

test('an order whose signature was changed isn’t sent again, and each admin is notified once', async () => {
  t.service.faults.set({ kind: 'status_429', retryAfter: 3, times: 1, match: { name: 'deli.rest' } });
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew deli.rest');
  expect(await people.submitPage(await getSigningLink(order), keys.bob)).toMatchObject({ done: true });
  await until('the service has deferred the request', () => requestsOf(t.service, order).length === 1);
  expect(
    await queryWithoutTriggers(
      `UPDATE approvals SET signature = jsonb_set(signature, '{binding,from}', '7') WHERE order_id = '${order.id}'`,
    ),
  ).toMatchObject({ rowCount: 1 });
  await order.waitForResult('FAILED', 20_000);
  expect(countChargesFor(t.service, 'deli.rest')).toBe(0);
  for (const channel of ['D0ADA', 'D0BOB', 'D0CAROL'])
    await until(`a message in ${channel}`, () => listSignatureAlerts(channel).length > 0);
  await t.demo.bot.catchUp();
  await t.waitUntilSlackIsCurrent();
  expect(['D0ADA', 'D0BOB', 'D0CAROL'].map((channel) => listSignatureAlerts(channel).length)).toEqual([
    1, 1, 1,
  ]);
});

test('a sent order isn’t sent again if its rows are reset, and each admin is notified once', async () => {
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew ramen.rest');
  expect(await people.submitPage(await getSigningLink(order), keys.bob)).toMatchObject({ done: true });
  await order.waitForResult('SUCCEEDED', 20_000);
  await resetToApproved(queryWithoutTriggers, order);
  await t.demo.bot.catchUp();
  await order.waitForResult('FAILED', 20_000);
  expect(countChargesFor(t.service, 'ramen.rest')).toBe(1);
  const countAlerts = (channel: string) =>
    t.workspace.messages(channel).filter((message) => textOf(message).includes('the log disagree')).length;
  for (const channel of ['D0ADA', 'D0BOB', 'D0CAROL'])
    await until(`a message in ${channel}`, () => countAlerts(channel) > 0);
  await t.demo.bot.catchUp();
  await t.waitUntilSlackIsCurrent();
  expect(['D0ADA', 'D0BOB', 'D0CAROL'].map(countAlerts)).toEqual([1, 1, 1]);
});

test('no order is sent twice or unsigned when clocks differ by ten minutes', async () => {
  // A link from a bot whose clock is ahead is valid for longer, but still works only once.
  const firstOrder = await requestByCommand(t.workspace, t.alice, '/domain renew tapas.rest');
  const address = await getSigningLink(firstOrder);
  await t.demo.moveTime(-10 * MINUTE_MS);
  expect(await people.submitPage(address, keys.bob)).toMatchObject({ done: true });
  await firstOrder.waitForResult('SUCCEEDED', 20_000);
  expect(countChargesFor(t.service, 'tapas.rest')).toBe(1);
  expect(await people.open(address)).toMatchObject({ status: 410 });
  // A link from a bot whose clock is behind has expired, and the page says what to do.
  const secondOrder = await requestByCommand(t.workspace, t.alice, '/domain renew soup.rest');
  const expiredLink = await getSigningLink(secondOrder);
  await t.demo.moveTime(10 * MINUTE_MS);
  const { html } = await people.open(expiredLink);
  expect(html).toContain('Click the button in Slack again for a new one.');
  expect(countChargesFor(t.service, 'soup.rest')).toBe(0);
  expect(await people.submitPage(await getSigningLink(secondOrder), keys.bob)).toMatchObject({ done: true });
  await secondOrder.waitForResult('SUCCEEDED', 20_000);
});

test('a passkey of another host is marked in the list and can’t sign', async () => {
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew sushi.rest');
  const address = await getSigningLink(order, t.carol);
  const { fingerprint, publicKey, credential } = new Authenticator({
    id: 'old.example',
    origin: 'https://old.example',
  });
  const database = openDatabase({ url: t.databaseUrl });
  const store = createKeyStore(database, t.workspace.teamId);
  const keyFields = { owner: 'U0CAROL', label: '', host: 'old.example', addedAt: new Date() };
  expect(await store.add({ ...keyFields, fingerprint, publicKey, credential })).toBe(true);
  await database.close();
  expect(await people.showKeys(t.carol)).toContain('belongs to an address other than PUBLIC_URL');
  const page = await people.open(address);
  expect(page.status).toBe(403);
  expect(page.html).toContain('Use /domain key to add one');
  expect(countChargesFor(t.service, 'sushi.rest')).toBe(0);
});
