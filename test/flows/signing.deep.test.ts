import type { Actor } from '@domain-steward/slack-workspace';
import { nodeCryptography, verify } from 'domain-steward-verify';
import { beforeAll, expect, test } from 'vitest';
import { forgetPerson } from '../../src/store/forget-person.ts';
import { withSession } from '../../src/store/session.ts';
import { Authenticator } from '../support/authenticator.ts';
import {
  buttonsOf,
  DOMAINS,
  performAndWaitForView,
  readCommandReply,
  textOf,
  until,
  useTestDemo,
} from '../support/demo.ts';
import { countChargesFor, requestByCommand, type VisibleOrder, waitForOrder } from '../support/orders.ts';
import { expectFormClosed } from '../support/people.ts';
import { createSigningHelpers, extractAddress, PUBLIC_SITE } from './signing-rig.ts';

/*
 * A person with a root passkey vouches for others, who sign orders on the bot’s page. No charter is signed at first, so
 * the environment’s settings apply.
 */

const keys = {
  ada: new Authenticator(PUBLIC_SITE),
  bob: new Authenticator(PUBLIC_SITE),
  carol: new Authenticator(PUBLIC_SITE),
  mallory: new Authenticator(PUBLIC_SITE),
};
const t = useTestDemo({
  settings: {
    PUBLIC_URL: PUBLIC_SITE.origin,
    SIGNING_ROOTS: keys.ada.fingerprint,
    ADMINS: 'U0ADA',
  },
});
const people = createSigningHelpers(t);

beforeAll(async () => {
  expect(await people.enroll(t.ada, keys.ada)).toMatchObject({ done: true, title: 'Added' });
  expect(await people.enroll(t.bob, keys.bob)).toMatchObject({ done: true });
  expect(await people.vouch(t.ada, keys.ada, keys.bob)).toMatchObject({ done: true, title: 'Vouched' });
});

const HOUR_MS = 3_600_000;

const getSigningLink = async (order: VisibleOrder, person = t.bob) =>
  extractAddress(await people.actAndReadReply(person, () => person.click(order.card, 'order_sign')));
const ALICES_NAMES = ['cafe.rest', 'bar.rest', 'deli.rest', 'locked.rest'];
let earlierCharges = 0;
const countNewCharges = () =>
  ALICES_NAMES.reduce((sum, name) => sum + countChargesFor(t.service, name), 0) - earlierCharges;
const openOrders: VisibleOrder[] = [];
/** The first signed order. */
let signedOrder: VisibleOrder | undefined;
/** Requests a renewal. Before one of cafe.rest, cancels the pending orders of earlier tests. */
async function requestRenewal(name = 'cafe.rest'): Promise<VisibleOrder> {
  for (const order of openOrders.splice(0)) {
    if (order.state !== 'PENDING' || name !== 'cafe.rest') continue;
    await t.alice.click(order.card, 'order_cancel');
    await order.waitForResult('CANCELLED');
  }
  if (name === 'cafe.rest') earlierCharges += countNewCharges();
  const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${name}`);
  openOrders.push(order);
  return order;
}

test('/domain key shows which passkeys are valid, and who vouched for them', async () => {
  const list = await people.showKeys(t.alice);
  expect(list).toContain('*valid* (root passkey)');
  expect(list).toContain('*valid*, vouched for by <@U0ADA>');
  expect(list).toContain(keys.bob.fingerprint);
});

test('the signing page of a mandate shows every name that it covers today', async () => {
  const names = ['a', 'b', 'c', 'd', 'e'].map((letter) => `s${letter}.rest`);
  for (const name of names) await readCommandReply(t.workspace, t.alice, `/domain watch ${name} 2035-01-01`);
  await readCommandReply(t.workspace, t.alice, '/domain mandates');
  const shown = t.alice.ephemerals().at(-1);
  if (shown === undefined) throw new Error('the mandates were not shown');
  const form = await performAndWaitForView(t.workspace, t.alice, () => t.alice.click(shown, 'mandate_add'));
  const endDate = new Date(t.service.clock.registryTime() + 200 * 86_400_000).toISOString().slice(0, 10);
  const terms = {
    mandate_names: '*.rest',
    max_price: '18.00',
    max_total: '54.00',
    span: 'year',
    until: endDate,
  };
  const order = await waitForOrder(
    t.workspace,
    async () => expectFormClosed(await t.alice.submit(form, { ...terms, account: 'mine' })),
    DOMAINS,
  );
  const { html } = await people.open(await getSigningLink(order));
  expect(html).toContain('What it covers today');
  for (const name of ['*.rest', ...names]) expect(html).toContain(name);
  expect(html).toContain('per calendar year');
  await t.alice.click(order.card, 'order_cancel');
  await order.waitForResult('CANCELLED');
});

test('an order is signed on a page that shows all of it, and is then sent', async () => {
  const order = await requestRenewal();
  expect(buttonsOf(order.card)).toContain('order_sign');
  expect(buttonsOf(order.card)).not.toContain('order_approve');
  const address = await getSigningLink(order);
  const page = await people.open(address);
  expect(page.status).toBe(200);
  expect(page.html).toContain('Renew cafe.rest');
  expect(page.html).toContain('POST /domain/cafe.rest/_renew');
  expect(page.html).toContain('>Sign</button>');
  expect(page.html, 'no Slack ids').not.toMatch(/@U0[A-Z]/);
  expect(page.headers.get('referrer-policy')).toBe('no-referrer');
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  expect(page.headers.get('set-cookie')).toBeNull();
  expect(page.headers.get('cache-control')).toBe('no-store');
  const startedAt = performance.now();
  expect(await people.submitPage(address, keys.bob)).toMatchObject({ done: true, title: 'Signed' });
  await order.waitForResult('SUCCEEDED');
  signedOrder = order;
  expect(performance.now() - startedAt).toBeLessThan(5_000);
  expect(countNewCharges()).toBe(1);
  expect(await people.open(address)).toMatchObject({
    status: 410,
    html: expect.stringContaining('already used'),
  });
});

test('a compromised Slack that impersonates everyone can’t send an order', async () => {
  const order = await requestRenewal();
  for (const person of [t.bob, t.carol, t.ada, t.alice]) {
    for (const action of [
      'order_approve',
      'order_approve_comment',
      'order_break_glass',
      'order_resume',
      'order_sign',
    ])
      await person.click(order.card, action).catch(() => undefined);
    await people.getKeyLink(person, 'key_add');
  }
  // The attacker adds a passkey as Bob, and uses it with Bob’s link.
  await people.enroll(t.bob, keys.mallory);
  const address = await getSigningLink(order);
  expect(await people.submitPage(address, keys.mallory)).toMatchObject({ done: false, code: 'key_unknown' });
  await t.demo.bot.catchUp();
  expect(order.state).toBe('PENDING');
  expect(countNewCharges()).toBe(0);
});

test('invalid signatures are refused with a reason, and nothing is sent', async () => {
  const order = await requestRenewal();
  const address = await getSigningLink(order);
  const page = await people.open(address);
  const challenge = (page.data !== '' && page.data?.options.challenge) || '';
  const other = await people.open(await getSigningLink(order));
  const otherChallenge = (other.data !== '' && other.data?.options.challenge) || '';
  const validAnswer = keys.bob.answer(challenge);
  const truncatedAnswer = {
    ...validAnswer,
    response: { ...validAnswer.response, signature: validAnswer.response.signature.slice(0, 20) },
  };
  const cases: readonly (readonly [body: unknown, code: string])[] = [
    [keys.bob.answer(otherChallenge), 'changed'],
    [keys.bob.answer(challenge, { origin: 'http://evil.example' }), 'not_signed'],
    [keys.bob.answer(challenge, { rpId: 'evil.example' }), 'not_signed'],
    [keys.bob.answer(challenge, { isUserVerified: false }), 'not_signed'],
    [keys.carol.answer(challenge), 'key_unknown'],
    [keys.ada.answer(challenge), 'key_unknown'],
    [truncatedAnswer, 'not_signed'],
    [{ ...validAnswer, response: { ...validAnswer.response, clientDataJSON: '' } }, 'unreadable'],
    [{ ...validAnswer, response: {} }, 'unreadable'],
    ['{"id":', 'unreadable'],
    [{ id: 'a'.repeat(70_000) }, 'unreadable'],
  ];
  for (const [body, code] of cases) {
    const response = await people.post(address, body);
    expect(response, code).toMatchObject({
      status: 409,
      done: false,
      code,
      text: expect.stringMatching(/\w{3}.*\./),
    });
  }
  expect((await people.post(address, validAnswer, { origin: 'http://evil.example' })).status).toBe(403);
  expect(order.state).toBe('PENDING');
  // The link still works after the refusals.
  expect(await people.post(address, validAnswer)).toMatchObject({ done: true });
  expect(await people.post(address, validAnswer)).toMatchObject({ done: false, code: 'link_spent' });
  await order.waitForResult('SUCCEEDED');
  expect(countNewCharges()).toBe(1);
});

test('a person without the owner’s valid passkey sees only a reason and can’t sign', async () => {
  const order = await requestRenewal();
  const [carolsKey, unknownKey] = [new Authenticator(PUBLIC_SITE), new Authenticator(PUBLIC_SITE)];
  const expectReason = async (address: string, status: number, text: string) => {
    const page = await people.open(address);
    expect(page, text).toMatchObject({ status, html: expect.stringContaining(text) });
    expect(page.data, 'nothing to sign').toBeUndefined();
    for (const part of ['cafe.rest', order.id, '_renew', 'Alice', '<button'])
      expect(page.html, text).not.toContain(part);
    const response = await people.post(address, carolsKey.answer('AAAA'));
    expect(response, text).toMatchObject({
      status: 409,
      done: false,
      text: expect.stringMatching(/\w{3}.*\./),
    });
    expect(JSON.stringify(response)).not.toMatch(/cafe\.rest|_renew/);
  };
  const NO_VALID_PASSKEY = 'None of your passkeys is valid.';
  const carolsLink = await getSigningLink(order, t.carol);
  await expectReason(carolsLink, 403, NO_VALID_PASSKEY);
  await people.enroll(t.carol, carolsKey);
  await expectReason(carolsLink, 403, NO_VALID_PASSKEY);
  expect(await people.vouch(t.ada, keys.ada, carolsKey)).toMatchObject({ done: true });
  const page = await people.open(carolsLink);
  expect(page.status, 'the page once the passkey is vouched for').toBe(200);
  const challenge = (page.data !== '' && page.data?.options.challenge) || '';
  for (const stranger of [keys.bob, keys.ada, unknownKey])
    expect(await people.post(carolsLink, stranger.answer(challenge))).toMatchObject({
      ...{ status: 409, done: false, code: 'key_unknown' },
      text: expect.stringContaining('Use one that /domain key lists as yours'),
    });
  expect(await people.revoke(t.ada, keys.ada, carolsKey)).toMatchObject({ done: true });
  await expectReason(carolsLink, 403, NO_VALID_PASSKEY);
  expect(await people.post(carolsLink, carolsKey.answer(challenge)), 'a page opened earlier').toMatchObject({
    code: 'key_unknown',
  });

  const bobsLink = await getSigningLink(order);
  const INVALID_ADDRESS = 'This address isn’t valid.';
  const otherCharacter = bobsLink.endsWith('A') ? 'B' : 'A';
  for (const wrongLink of [
    bobsLink.slice(0, -1),
    `${bobsLink.slice(0, -1)}${otherCharacter}`,
    `${bobsLink}A`,
    `${bobsLink}/`,
  ])
    if (wrongLink.endsWith('/'))
      expect((await fetch(wrongLink.replace(PUBLIC_SITE.origin, t.botUrl))).status).toBe(404);
    else await expectReason(wrongLink, 404, INVALID_ADDRESS);
  await t.demo.moveTime(10 * 60_000);
  await expectReason(bobsLink, 410, 'expired after ten minutes');
  expect(order.state).toBe('PENDING');
  const newLink = await getSigningLink(order);
  expect(await people.submitPage(newLink, keys.bob)).toMatchObject({ done: true });
  await expectReason(newLink, 410, 'already used');
  await order.waitForResult('SUCCEEDED');
  expect(countNewCharges()).toBe(1);
});

test('an order can be denied without a signature', async () => {
  const order = await requestRenewal();
  const form = await performAndWaitForView(t.workspace, t.bob, () => t.bob.click(order.card, 'order_deny'));
  expectFormClosed(await t.bob.submit(form, { reason: 'not this year' }));
  await order.waitForResult('DENIED');
  expect(countNewCharges()).toBe(0);
});

const channelOrigin = { channelId: DOMAINS };
async function addGuardedName(name: string) {
  const { protectedChanges } = t.demo.bot;
  await protectedChanges.changeReminders([{ name, isNew: true }], 'U0ALICE', channelOrigin);
  await protectedChanges.changeDetails(new Map([[name, { addTags: ['guarded'] }]]), 'U0ALICE', channelOrigin);
}
const waitForMessage = (button: string, name: string) =>
  t.workspace.waitFor(
    () =>
      t.workspace
        .messages(DOMAINS)
        .findLast((each) => buttonsOf(each).includes(button) && textOf(each).includes(name)),
    { what: `a message about ${name} with ${button}` },
  );

test('a change that weakens protection takes effect with a signature, not with a click', async () => {
  await addGuardedName('signed.rest');
  await readCommandReply(t.workspace, t.alice, '/domain unwatch signed.rest');
  const question = await waitForMessage('facts_confirm', 'signed.rest');
  const link = extractAddress(
    await people.actAndReadReply(t.bob, () => t.bob.click(question, 'facts_confirm')),
  );
  expect((await people.open(link)).html).toContain('Confirm a change that weakens protection');
  expect(await people.submitPage(link, keys.mallory)).toMatchObject({ done: false });
  expect(
    await people.submitPage(link, keys.bob, { challenge: Buffer.from('other').toString('base64url') }),
  ).toMatchObject({ done: false });
  expect(await t.demo.bot.expiry.find('signed.rest')).toBeDefined();
  expect(await people.submitPage(link, keys.bob)).toMatchObject({ done: true, title: 'Signed' });
  await t.workspace.waitFor(
    async () => ((await t.demo.bot.expiry.find('signed.rest')) === undefined ? true : undefined),
    { what: 'signed.rest to be unwatched' },
  );
});

test('letting a guarded name lapse needs a signature, not a click', async () => {
  await addGuardedName('ending.rest');
  const { expiry, protectedChanges } = t.demo.bot;
  await expiry.requestLapse({ name: 'ending.rest', reason: 'not needed', origin: channelOrigin }, (changes) =>
    protectedChanges.changeReminders(changes, 'U0ALICE', channelOrigin),
  );
  await readCommandReply(t.workspace, t.alice, '/domain name ending.rest');
  const request = await waitForMessage('lapse_confirm', 'ending.rest');
  const link = extractAddress(
    await people.actAndReadReply(t.bob, () => t.bob.click(request, 'lapse_confirm')),
  );
  expect((await expiry.find('ending.rest'))?.lapse?.confirmed).toBeUndefined();
  expect((await people.open(link)).html).toContain('let it lapse');
  expect(await people.submitPage(link, keys.bob)).toMatchObject({ done: true, title: 'Signed' });
  expect((await expiry.find('ending.rest'))?.lapse).toMatchObject({
    requestedBy: 'U0ALICE',
    confirmed: { by: 'U0BOB' },
  });
});

test('a person can sign with a passkey that a non-root vouched for', async () => {
  const order = await requestRenewal();
  await people.enroll(t.carol, keys.carol);
  expect(await people.vouch(t.bob, keys.bob, keys.carol)).toMatchObject({ done: true });
  expect(await people.submitPage(await getSigningLink(order, t.carol), keys.carol)).toMatchObject({
    done: true,
  });
  await order.waitForResult('SUCCEEDED');
});

test('a scheduled order is signed with its time and sent at that time, as its receipt proves', async () => {
  const at = new Date(Math.ceil(Date.now() / 60_000) * 60_000 + 2 * HOUR_MS);
  const typed = at.toLocaleString('sv-SE', { timeZone: t.alice.user.tz }).slice(0, 16);
  const order = await requestByCommand(t.workspace, t.alice, `/domain renew deli.rest at ${typed}`);
  const address = await getSigningLink(order);
  const { html } = await people.open(address);
  const minute = at.toISOString().slice(0, 16).replace('T', ' ');
  expect(html).toContain(
    `<dt>Will be sent</dt><dd><time datetime="${at.toISOString()}">${minute} UTC</time></dd>`,
  );
  const before = countNewCharges();
  expect(await people.submitPage(address, keys.bob)).toMatchObject({ done: true });
  await until('the order is approved', () => order.state === 'APPROVED');
  expect(countNewCharges()).toBe(before);
  await t.demo.moveTime(2 * HOUR_MS);
  await order.waitForResult('SUCCEEDED');
  expect(countNewCharges()).toBe(before + 1);
  const receipt = await downloadAndVerify(t.alice, `/domain receipt ${order.id}`);
  expect(receipt).toMatchObject({ verdict: 'proved', differences: [] });
  expect(receipt.proved).toContain(`It was approved to be sent at ${at.toISOString()} or later.`);
});

test('a signature whose passkey counter hasn’t increased is refused', async () => {
  const [one, other] = [await requestRenewal(), await requestRenewal('bar.rest')];
  expect(await people.submitPage(await getSigningLink(one), keys.bob, { counter: 7 })).toMatchObject({
    done: true,
  });
  expect(await people.submitPage(await getSigningLink(other), keys.bob, { counter: 7 })).toMatchObject({
    code: 'counter',
  });
  expect(other.state).toBe('PENDING');
  expect(await people.submitPage(await getSigningLink(other), keys.bob, { counter: 8 })).toMatchObject({
    done: true,
  });
});

test('the policy and settings take effect with a signature', async () => {
  const keysBefore = await people.showKeys(t.ada);
  expect(keysBefore).toContain('aren’t signed yet');
  const address = await people.getKeyLink(t.ada, 'charter_sign');
  expect((await people.open(address)).html).toContain('Sign the policy and settings');
  expect(await people.submitPage(address, keys.ada)).toMatchObject({ done: true, title: 'Signed' });
  expect(await people.showKeys(t.ada)).not.toContain('aren’t signed yet');
  // The signed charter lets approvers approve with a click.
  const order = await requestRenewal();
  expect(buttonsOf(order.card)).toContain('order_approve');
  await t.bob.click(order.card, 'order_approve');
  await order.waitForResult('SUCCEEDED');
});

test('a revoked passkey is shown as revoked, and passkeys it vouched for are no longer valid', async () => {
  expect(await people.revoke(t.bob, keys.bob, keys.bob, { counter: 9 })).toMatchObject({
    done: true,
    title: 'Revoked',
  });
  await until('the passkey is shown as revoked', async () =>
    (await people.showKeys(t.ada)).includes('revoked'),
  );
  // Only Bob had vouched for Carol.
  expect(await people.showKeys(t.ada)).toContain('no one with a valid passkey has vouched for it');
});

/** Downloads the file that a command sends, and verifies it. */
async function downloadAndVerify(person: Actor, command: string) {
  const channel = `D${person.user.id.slice(1)}`;
  const files = () => t.workspace.messages(channel).flatMap((message) => message.files ?? []);
  const before = files().length;
  await person.command(DOMAINS, command);
  const file = await t.workspace.waitFor(() => files()[before], { what: `the file of ${command}` });
  const text = await (await fetch(new URL(file.url_private_download, t.workspace.url))).text();
  const chunks = (async function* () {
    yield Buffer.from(text);
  })();
  const trusted = { key: undefined, anchors: [], roots: [keys.ada.fingerprint] };
  return verify(chunks, trusted, nodeCryptography);
}

test('a receipt proves who signed the order, until that person is forgotten', async () => {
  if (signedOrder === undefined) throw new Error('no order was signed');
  const receipt = `/domain receipt ${signedOrder.id}`;
  const before = await downloadAndVerify(t.alice, receipt);
  expect(before).toMatchObject({ verdict: 'proved', differences: [] });
  expect(before.proved.join('\n')).toMatch(
    new RegExp(
      `U0BOB’s passkey ${keys.bob.fingerprint}, vouched for by root ${keys.ada.fingerprint}, signed exactly`,
    ),
  );
  const ledger = await downloadAndVerify(t.ada, '/domain ledger');
  expect(ledger).toMatchObject({ verdict: 'proved', differences: [] });
  expect(ledger.proved.join('\n')).toMatch(
    /\d+ passkey signatures match their events, and the roots vouched/,
  );
  const { isDone } = await withSession(t.databaseUrl, (client) =>
    forgetPerson(client, 'U0BOB', { dryRun: false }),
  );
  expect(isDone).toBe(true);
  const after = await downloadAndVerify(t.alice, receipt);
  expect(after).toMatchObject({ verdict: 'proved', differences: [] });
  expect(after.erasures.length).toBe(1);
  expect(after.notes.join('\n')).toContain('signatures in it can no longer be verified');
  expect(after.notes.join('\n')).toContain('No approval that is left in it is signed');
});

test('the log contains no signature or link', () => {
  expect(t.getLog()).not.toMatch(/authenticatorData|\/sign\/[A-Za-z0-9_-]{20}/);
});
