import type { Actor } from '@domain-steward/slack-workspace';
import { nodeCryptography, verify } from 'domain-steward-verify';
import { beforeAll, expect, test } from 'vitest';
import { forgetPerson } from '../../src/store/forget-person.ts';
import { withSession } from '../../src/store/session.ts';
import { Authenticator } from '../support/authenticator.ts';
import {
  actUntilOpened,
  buttonsOf,
  DOMAINS,
  readCommandReply,
  textOf,
  until,
  useTestDemo,
} from '../support/demo.ts';
import { chargesFor, requestByCommand, type VisibleOrder, waitForOrder } from '../support/orders.ts';
import { expectFormClosed } from '../support/people.ts';
import { extractAddress, PUBLIC, signingPeople } from './signing-rig.ts';

/*
 * Passkeys: a root adds its passkey and vouches for others, who sign orders on the bot’s page. No charter is signed, so
 * the environment’s settings apply.
 */

const keys = {
  ada: new Authenticator(PUBLIC),
  bob: new Authenticator(PUBLIC),
  carol: new Authenticator(PUBLIC),
  mallory: new Authenticator(PUBLIC),
};
const t = useTestDemo({
  settings: {
    PUBLIC_URL: PUBLIC.origin,
    SIGNING_ROOTS: keys.ada.fingerprint,
    ADMINS: 'U0ADA',
  },
});
const people = signingPeople(t);

beforeAll(async () => {
  expect(await people.enrol(t.ada, keys.ada)).toMatchObject({ done: true, title: 'Added' });
  expect(await people.enrol(t.bob, keys.bob)).toMatchObject({ done: true });
  expect(await people.vouch(t.ada, keys.ada, keys.bob)).toMatchObject({ done: true, title: 'Vouched' });
});

const HOUR_MS = 3_600_000;

const signLink = async (order: VisibleOrder, person = t.bob) =>
  extractAddress(await people.replyAfter(person, () => person.click(order.card, 'order_sign')));
/** Alice's names at the service. */
const NAMES = ['cafe.rest', 'bar.rest', 'deli.rest', 'locked.rest'];
let earlierCharges = 0;
const newCharges = () => NAMES.reduce((sum, name) => sum + chargesFor(t.service, name), 0) - earlierCharges;
const waiting: VisibleOrder[] = [];
/** The first signed order. */
let signedOrder: VisibleOrder | undefined;
/** Requests a renewal, and cancels pending orders of other tests. */
async function newOrder(name = 'cafe.rest'): Promise<VisibleOrder> {
  for (const order of waiting.splice(0)) {
    if (order.state !== 'PENDING' || name !== 'cafe.rest') continue;
    await t.alice.click(order.card, 'order_cancel');
    await order.waitForResult('CANCELLED');
  }
  if (name === 'cafe.rest') earlierCharges += newCharges();
  const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${name}`);
  waiting.push(order);
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
  const form = await actUntilOpened(t.workspace, t.alice, () => t.alice.click(shown, 'mandate_add'));
  const until = new Date(t.service.clock.registry() + 200 * 86_400_000).toISOString().slice(0, 10);
  const terms = { mandate_names: '*.rest', max_price: '18.00', max_total: '54.00', span: 'year', until };
  const order = await waitForOrder(
    t.workspace,
    async () => expectFormClosed(await t.alice.submit(form, { ...terms, account: 'mine' })),
    DOMAINS,
  );
  const { html } = await people.open(await signLink(order));
  expect(html).toContain('What it covers today');
  for (const name of ['*.rest', ...names]) expect(html).toContain(name);
  expect(html).toContain('per calendar year');
  await t.alice.click(order.card, 'order_cancel');
  await order.waitForResult('CANCELLED');
});

test('an order is signed on a page that shows all of it, and is then sent', async () => {
  const order = await newOrder();
  expect(buttonsOf(order.card)).toContain('order_sign');
  expect(buttonsOf(order.card)).not.toContain('order_approve');
  const address = await signLink(order);
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
  expect(await people.press(address, keys.bob)).toMatchObject({ done: true, title: 'Signed' });
  await order.waitForResult('SUCCEEDED');
  signedOrder = order;
  expect(performance.now() - startedAt).toBeLessThan(5_000);
  expect(newCharges()).toBe(1);
  // The link can't be used again.
  expect(await people.open(address)).toMatchObject({
    status: 410,
    html: expect.stringContaining('already used'),
  });
});

test('a compromised Slack that impersonates everyone can’t send an order', async () => {
  const order = await newOrder();
  for (const person of [t.bob, t.carol, t.ada, t.alice]) {
    for (const action of [
      'order_approve',
      'order_approve_comment',
      'order_break_glass',
      'order_resume',
      'order_sign',
    ])
      await person.click(order.card, action).catch(() => undefined);
    await people.keyLink(person, 'key_add');
  }
  // The attacker adds a passkey as Bob, and uses it with Bob’s link.
  await people.enrol(t.bob, keys.mallory);
  const address = await signLink(order);
  expect(await people.press(address, keys.mallory)).toMatchObject({ done: false, code: 'key_unknown' });
  await t.demo.bot.catchUp();
  expect(order.state).toBe('PENDING');
  expect(newCharges()).toBe(0);
});

test('invalid signatures are refused with a reason, and nothing is sent', async () => {
  const order = await newOrder();
  const address = await signLink(order);
  const page = await people.open(address);
  const challenge = (page.data !== '' && page.data?.options.challenge) || '';
  const other = await people.open(await signLink(order));
  const otherChallenge = (other.data !== '' && other.data?.options.challenge) || '';
  const good = keys.bob.answer(challenge);
  const cut = { ...good, response: { ...good.response, signature: good.response.signature.slice(0, 20) } };
  const cases: readonly (readonly [body: unknown, code: string])[] = [
    [keys.bob.answer(otherChallenge), 'changed'],
    [keys.bob.answer(challenge, { origin: 'http://evil.example' }), 'not_signed'],
    [keys.bob.answer(challenge, { rpId: 'evil.example' }), 'not_signed'],
    [keys.bob.answer(challenge, { isUserVerified: false }), 'not_signed'],
    [keys.carol.answer(challenge), 'key_unknown'],
    [keys.ada.answer(challenge), 'key_unknown'],
    [cut, 'not_signed'],
    [{ ...good, response: { ...good.response, clientDataJSON: '' } }, 'unreadable'],
    [{ ...good, response: {} }, 'unreadable'],
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
  expect((await people.post(address, good, { origin: 'http://evil.example' })).status).toBe(403);
  expect(order.state).toBe('PENDING');
  // The link still works after them.
  expect(await people.post(address, good)).toMatchObject({ done: true });
  expect(await people.post(address, good)).toMatchObject({ done: false, code: 'link_spent' });
  await order.waitForResult('SUCCEEDED');
  expect(newCharges()).toBe(1);
});

test('a person without the owner’s valid passkey sees only a reason and can’t sign', async () => {
  const order = await newOrder();
  const [lost, eve] = [new Authenticator(PUBLIC), new Authenticator(PUBLIC)];
  const expectReason = async (address: string, status: number, text: string) => {
    const page = await people.open(address);
    expect(page, text).toMatchObject({ status, html: expect.stringContaining(text) });
    expect(page.data, 'nothing to sign').toBeUndefined();
    for (const part of ['cafe.rest', order.id, '_renew', 'Alice', '<button'])
      expect(page.html, text).not.toContain(part);
    const response = await people.post(address, lost.answer('AAAA'));
    expect(response, text).toMatchObject({
      status: 409,
      done: false,
      text: expect.stringMatching(/\w{3}.*\./),
    });
    expect(JSON.stringify(response)).not.toMatch(/cafe\.rest|_renew/);
  };
  const NOT_YET = 'None of your passkeys is valid.';
  const toCarol = await signLink(order, t.carol);
  await expectReason(toCarol, 403, NOT_YET);
  await people.enrol(t.carol, lost);
  await expectReason(toCarol, 403, NOT_YET);
  expect(await people.vouch(t.ada, keys.ada, lost)).toMatchObject({ done: true });
  const page = await people.open(toCarol);
  expect(page.status, 'the page once the passkey is vouched for').toBe(200);
  const challenge = (page.data !== '' && page.data?.options.challenge) || '';
  for (const stranger of [keys.bob, keys.ada, eve])
    expect(await people.post(toCarol, stranger.answer(challenge))).toMatchObject({
      ...{ status: 409, done: false, code: 'key_unknown' },
      text: expect.stringContaining('Use one that /domain key lists as yours'),
    });
  expect(await people.revoke(t.ada, keys.ada, lost)).toMatchObject({ done: true });
  await expectReason(toCarol, 403, NOT_YET);
  expect(await people.post(toCarol, lost.answer(challenge)), 'an open page').toMatchObject({
    code: 'key_unknown',
  });

  const toBob = await signLink(order);
  const NOWHERE = 'This address isn’t valid.';
  const end = toBob.endsWith('A') ? 'B' : 'A';
  for (const wrong of [toBob.slice(0, -1), `${toBob.slice(0, -1)}${end}`, `${toBob}A`, `${toBob}/`])
    if (wrong.endsWith('/')) expect((await fetch(wrong.replace(PUBLIC.origin, t.botUrl))).status).toBe(404);
    else await expectReason(wrong, 404, NOWHERE);
  await t.demo.moveTime(10 * 60_000);
  await expectReason(toBob, 410, 'expired after ten minutes');
  expect(order.state).toBe('PENDING');
  const again = await signLink(order);
  expect(await people.press(again, keys.bob)).toMatchObject({ done: true });
  await expectReason(again, 410, 'already used');
  await order.waitForResult('SUCCEEDED');
  expect(newCharges()).toBe(1);
});

test('an order can be denied without a signature', async () => {
  const order = await newOrder();
  const form = await actUntilOpened(t.workspace, t.bob, () => t.bob.click(order.card, 'order_deny'));
  expectFormClosed(await t.bob.submit(form, { reason: 'not this year' }));
  await order.waitForResult('DENIED');
  expect(newCharges()).toBe(0);
});

const place = { channelId: DOMAINS };
async function addGuardedName(name: string) {
  const { protectedChanges } = t.demo.bot;
  await protectedChanges.changeReminders([{ name, isNew: true }], 'U0ALICE', place);
  await protectedChanges.change(new Map([[name, { addTags: ['guarded'] }]]), 'U0ALICE', place);
}
const waitForMessage = (button: string, name: string) =>
  t.workspace.waitFor(
    () =>
      t.workspace
        .messages(DOMAINS)
        .findLast((each) => buttonsOf(each).includes(button) && textOf(each).includes(name)),
    { what: `${button} of ${name}` },
  );

test('a change that weakens protection takes effect with a signature, not with a click', async () => {
  await addGuardedName('signed.rest');
  await readCommandReply(t.workspace, t.alice, '/domain unwatch signed.rest');
  const question = await waitForMessage('facts_confirm', 'signed.rest');
  const link = extractAddress(await people.replyAfter(t.bob, () => t.bob.click(question, 'facts_confirm')));
  expect((await people.open(link)).html).toContain('Confirm a change that weakens protection');
  expect(await people.press(link, keys.mallory)).toMatchObject({ done: false });
  expect(
    await people.press(link, keys.bob, { challenge: Buffer.from('other').toString('base64url') }),
  ).toMatchObject({ done: false });
  expect(await t.demo.bot.expiry.find('signed.rest')).toBeDefined();
  expect(await people.press(link, keys.bob)).toMatchObject({ done: true, title: 'Signed' });
  await t.workspace.waitFor(
    async () => ((await t.demo.bot.expiry.find('signed.rest')) === undefined ? true : undefined),
    { what: 'the change' },
  );
});

test('letting a guarded name lapse needs a signature, not a click', async () => {
  await addGuardedName('ending.rest');
  const { expiry, protectedChanges } = t.demo.bot;
  await expiry.requestLapse({ name: 'ending.rest', reason: 'not needed', origin: place }, (changes) =>
    protectedChanges.changeReminders(changes, 'U0ALICE', place),
  );
  await readCommandReply(t.workspace, t.alice, '/domain name ending.rest');
  const request = await waitForMessage('lapse_confirm', 'ending.rest');
  const link = extractAddress(await people.replyAfter(t.bob, () => t.bob.click(request, 'lapse_confirm')));
  expect((await expiry.find('ending.rest'))?.lapse?.confirmed).toBeUndefined();
  expect((await people.open(link)).html).toContain('let it lapse');
  expect(await people.press(link, keys.bob)).toMatchObject({ done: true, title: 'Signed' });
  expect((await expiry.find('ending.rest'))?.lapse).toMatchObject({
    requestedBy: 'U0ALICE',
    confirmed: { by: 'U0BOB' },
  });
});

test('a person whose passkey a non-root vouched for can sign', async () => {
  const order = await newOrder();
  await people.enrol(t.carol, keys.carol);
  expect(await people.vouch(t.bob, keys.bob, keys.carol)).toMatchObject({ done: true });
  expect(await people.press(await signLink(order, t.carol), keys.carol)).toMatchObject({ done: true });
  await order.waitForResult('SUCCEEDED');
});

test('a scheduled order is signed with its time, sent then, and the receipt proves it', async () => {
  const at = new Date(Math.ceil(Date.now() / 60_000) * 60_000 + 2 * HOUR_MS);
  const typed = at.toLocaleString('sv-SE', { timeZone: t.alice.user.tz }).slice(0, 16);
  const order = await requestByCommand(t.workspace, t.alice, `/domain renew deli.rest at ${typed}`);
  const address = await signLink(order);
  const { html } = await people.open(address);
  const minute = at.toISOString().slice(0, 16).replace('T', ' ');
  expect(html).toContain(
    `<dt>Will be sent</dt><dd><time datetime="${at.toISOString()}">${minute} UTC</time></dd>`,
  );
  const before = newCharges();
  expect(await people.press(address, keys.bob)).toMatchObject({ done: true });
  await until('the order is approved', () => order.state === 'APPROVED');
  expect(newCharges()).toBe(before);
  await t.demo.moveTime(2 * HOUR_MS);
  await order.waitForResult('SUCCEEDED');
  expect(newCharges()).toBe(before + 1);
  const receipt = await verifyFile(t.alice, `/domain receipt ${order.id}`);
  expect(receipt).toMatchObject({ verdict: 'proved', differences: [] });
  expect(receipt.proved).toContain(`It was approved to be sent at ${at.toISOString()} or later.`);
});

test('a passkey counter that doesn’t increase is refused', async () => {
  const [one, other] = [await newOrder(), await newOrder('bar.rest')];
  expect(await people.press(await signLink(one), keys.bob, { counter: 7 })).toMatchObject({ done: true });
  expect(await people.press(await signLink(other), keys.bob, { counter: 7 })).toMatchObject({
    code: 'counter',
  });
  expect(other.state).toBe('PENDING');
  expect(await people.press(await signLink(other), keys.bob, { counter: 8 })).toMatchObject({ done: true });
});

test('the policy and settings take effect with a signature', async () => {
  const settingsBefore = await people.showKeys(t.ada);
  expect(settingsBefore).toContain('aren’t signed yet');
  const address = await people.keyLink(t.ada, 'charter_sign');
  expect((await people.open(address)).html).toContain('Sign the policy and settings');
  expect(await people.press(address, keys.ada)).toMatchObject({ done: true, title: 'Signed' });
  expect(await people.showKeys(t.ada)).not.toContain('aren’t signed yet');
  // Under the signed charter, a click approves.
  const order = await newOrder();
  expect(buttonsOf(order.card)).toContain('order_approve');
  await t.bob.click(order.card, 'order_approve');
  await order.waitForResult('SUCCEEDED');
});

test('a revoked passkey is shown, and passkeys it vouched for are no longer valid', async () => {
  expect(await people.revoke(t.bob, keys.bob, keys.bob, { counter: 9 })).toMatchObject({
    done: true,
    title: 'Revoked',
  });
  await until('the revocation', async () => (await people.showKeys(t.ada)).includes('revoked'));
  // Only Bob had vouched for Carol.
  expect(await people.showKeys(t.ada)).toContain('no one with a valid passkey has vouched for it');
});

/** Requests a file and verifies it. */
async function verifyFile(person: Actor, command: string) {
  const channel = `D${person.user.id.slice(1)}`;
  const files = () => t.workspace.messages(channel).flatMap((message) => message.files ?? []);
  const before = files().length;
  await person.command(DOMAINS, command);
  const file = await t.workspace.waitFor(() => files()[before], { what: `the file of ${command}` });
  const text = await (await fetch(new URL(file.url_private_download, t.workspace.url))).text();
  const pieces = (async function* () {
    yield Buffer.from(text);
  })();
  const known = { key: undefined, anchors: [], roots: [keys.ada.fingerprint] };
  return verify(pieces, known, nodeCryptography);
}

test('a receipt proves who signed the order, until that person is forgotten', async () => {
  if (signedOrder === undefined) throw new Error('no order was signed');
  const receipt = `/domain receipt ${signedOrder.id}`;
  const before = await verifyFile(t.alice, receipt);
  expect(before).toMatchObject({ verdict: 'proved', differences: [] });
  expect(before.proved.join('\n')).toMatch(
    new RegExp(
      `U0BOB’s passkey ${keys.bob.fingerprint}, vouched for by root ${keys.ada.fingerprint}, signed exactly`,
    ),
  );
  const ledger = await verifyFile(t.ada, '/domain ledger');
  expect(ledger).toMatchObject({ verdict: 'proved', differences: [] });
  expect(ledger.proved.join('\n')).toMatch(
    /\d+ passkey signatures match their events, and the roots vouched/,
  );
  const { done } = await withSession(t.databaseUrl, (client) =>
    forgetPerson(client, 'U0BOB', { dryRun: false }),
  );
  expect(done).toBe(true);
  const after = await verifyFile(t.alice, receipt);
  expect(after).toMatchObject({ verdict: 'proved', differences: [] });
  expect(after.erasures.length).toBe(1);
  expect(after.notes.join('\n')).toContain('signatures in it can no longer be verified');
  expect(after.notes.join('\n')).toContain('No approval that is left in it is signed');
});

test('the log contains no signature or link', () => {
  expect(t.logged()).not.toMatch(/authenticatorData|\/sign\/[A-Za-z0-9_-]{20}/);
});
