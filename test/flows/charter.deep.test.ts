import type { Actor, Message } from '@domain-steward/slack-workspace';
import { beforeAll, expect, test } from 'vitest';
import { Authenticator } from '../support/authenticator.ts';
import {
  buttonsOf,
  DOMAINS,
  openForm,
  performAndReadReply,
  performAndWaitForView,
  readCommandReply,
  textOf,
  until,
  useTestDemo,
} from '../support/demo.ts';
import { requestByCommand } from '../support/orders.ts';
import { expectFormClosed } from '../support/people.ts';
import { createSigningHelpers, extractAddress, PUBLIC_SITE } from './signing-rig.ts';

/* A signed policy in Slack: when it becomes invalid, who is notified, and what orders then need. */

const passkeys = {
  ada: new Authenticator(PUBLIC_SITE),
  bob: new Authenticator(PUBLIC_SITE),
  carol: new Authenticator(PUBLIC_SITE),
};
const t = useTestDemo({
  settings: {
    PUBLIC_URL: PUBLIC_SITE.origin,
    SIGNING_ROOTS: passkeys.ada.fingerprint,
    ADMINS: 'U0ADA,U0BOB,U0CAROL',
    ALERT_CHANNEL: DOMAINS,
  },
});
const people = createSigningHelpers(t);

beforeAll(async () => {
  for (const name of ['ada', 'bob', 'carol'] as const) await people.enroll(t[name], passkeys[name]);
  for (const name of ['bob', 'carol'] as const) await people.vouch(t.ada, passkeys.ada, passkeys[name]);
});

const waitForRequest = (channel: string, button: string): Promise<Message> =>
  t.workspace.waitFor(
    () => t.workspace.messages(channel).findLast((message) => buttonsOf(message).includes(button)),
    { what: `a request with ${button}` },
  );

/** Ada changes the number of approvals in the settings, and another admin signs. */
async function changeApprovalsRequired(needed: string, signer: Actor, key: Authenticator): Promise<void> {
  const view = await openForm(t.workspace, t.ada, '/domain settings');
  await performAndReadReply(t.workspace, t.ada, async () =>
    expectFormClosed(await t.ada.submit(view, { approvals_required: needed })),
  );
  const request = await waitForRequest(`D${signer.user.id.slice(1)}`, 'settings_confirm');
  const address = extractAddress(
    await people.actAndReadReply(signer, () => signer.click(request, 'settings_confirm')),
  );
  expect(await people.submitPage(address, key)).toMatchObject({ done: true, title: 'Signed' });
}

const showPolicy = () => readCommandReply(t.workspace, t.ada, '/domain policy');
const INVALID_POLICY_NOTICE = 'There’s no valid signed policy';
const ALERT_CHANNELS = ['D0ADA', 'D0BOB', 'D0CAROL', DOMAINS];
/** Counts, in each channel, the alerts that no signed policy is valid. */
const countAlerts = () =>
  ALERT_CHANNELS.map(
    (channel) =>
      t.workspace.messages(channel).filter((m) => textOf(m).includes(`🚨 ${INVALID_POLICY_NOTICE}`)).length,
  );
const requestAuthCode = (name: string) => requestByCommand(t.workspace, t.alice, `/domain authcode ${name}`);

/** Each channel gets an alert, Slack shows the reason, and a free order needs a signature. */
async function expectInvalidPolicy(reason: string, name: string, alertCount: number): Promise<void> {
  await t.demo.bot.catchUp();
  await until('an alert in each channel', () => countAlerts().every((count) => count === alertCount));
  expect(
    t.workspace
      .messages('D0ADA')
      .map(textOf)
      .findLast((text) => text.includes(INVALID_POLICY_NOTICE)),
  ).toContain(reason);
  expect(await showPolicy()).toContain(INVALID_POLICY_NOTICE);
  expect(JSON.stringify(await openForm(t.workspace, t.ada, '/domain settings'))).toContain(
    INVALID_POLICY_NOTICE,
  );
  const testReply = await readCommandReply(t.workspace, t.ada, `/domain policy test authcode ${name}`);
  expect(testReply).toContain(INVALID_POLICY_NOTICE);
  expect(testReply).not.toContain('*no approval*');
  expect(testReply).toContain('Decided by the environment variables');
  const order = await requestAuthCode(name);
  expect(buttonsOf(order.card)).toContain('order_sign');
  await t.alice.click(order.card, 'order_cancel');
  await t.demo.bot.catchUp();
  await t.waitUntilSlackIsCurrent();
  expect(countAlerts(), 'no further alerts').toEqual(ALERT_CHANNELS.map(() => alertCount));
}

test('revoking a passkey offers to retire it or to revoke it as compromised', async () => {
  const sparePasskey = new Authenticator(PUBLIC_SITE);
  await people.enroll(t.alice, sparePasskey);
  await people.vouch(t.ada, passkeys.ada, sparePasskey);
  const { retired, compromised } = await people.getRevokeLinks(t.ada, sparePasskey);
  expect((await people.open(retired)).html).toContain('retired');
  expect((await people.open(compromised)).html).toContain('compromised');
  expect(await people.submitPage(retired, passkeys.ada)).toMatchObject({ done: true, title: 'Revoked' });
  expect(await people.showKeys(t.ada)).toContain('revoked');
});

test('once the signer’s passkey is compromised, free orders need a signature', async () => {
  await changeApprovalsRequired('2', t.bob, passkeys.bob);
  const { compromised } = await people.getRevokeLinks(t.ada, passkeys.bob);
  expect(await people.submitPage(compromised, passkeys.ada)).toMatchObject({ done: true, title: 'Revoked' });
  await expectInvalidPolicy('revoked as compromised', 'deli.rest', 1);
  // Bob adds another passkey and signs the policy again.
  passkeys.bob = new Authenticator(PUBLIC_SITE);
  await people.enroll(t.bob, passkeys.bob);
  await people.vouch(t.ada, passkeys.ada, passkeys.bob);
  const address = await people.getKeyLink(t.bob, 'charter_sign');
  expect(await people.submitPage(address, passkeys.bob)).toMatchObject({ done: true, title: 'Signed' });
  await t.demo.bot.catchUp();
  await until('a notice that the policy is valid again', () =>
    ALERT_CHANNELS.every((channel) =>
      t.workspace.messages(channel).some((m) => textOf(m).includes('The signed policy is valid again')),
    ),
  );
  expect(await showPolicy()).not.toContain(INVALID_POLICY_NOTICE);
  await (await requestAuthCode('cafe.rest')).waitForResult('SUCCEEDED');
});

test('one rule’s approver approves with a click while another rule’s approver signs', async () => {
  const openPolicy = async (): Promise<Message> => {
    await showPolicy();
    const message = t.ada.ephemerals().at(-1);
    if (message === undefined) throw new Error('no policy was shown');
    return message;
  };
  const form = await performAndWaitForView(t.workspace, t.ada, async () =>
    t.ada.click(await openPolicy(), 'policy_upload'),
  );
  const rules = `- {rule_name: by those who may not be known, tasks: [renew], names: ["*"], by: [S0NOBODY], decision: approve, approvers: [U0BOB], signed: true}
- {rule_name: by a click, tasks: [renew], names: ["*"], decision: approve, approvers: [U0CAROL]}`;
  await performAndReadReply(t.workspace, t.ada, async () =>
    expectFormClosed(await t.ada.submit(form, { rules })),
  );
  await performAndReadReply(t.workspace, t.ada, async () =>
    t.ada.click(await openPolicy(), 'policy_publish'),
  );
  const request = await waitForRequest('D0BOB', 'policy_confirm');
  const address = extractAddress(
    await people.actAndReadReply(t.bob, () => t.bob.click(request, 'policy_confirm')),
  );
  expect(await people.submitPage(address, passkeys.bob)).toMatchObject({ done: true, title: 'Signed' });
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew ramen.rest');
  expect(buttonsOf(order.card)).toEqual(expect.arrayContaining(['order_sign', 'order_approve']));
  await t.carol.click(order.card, 'order_approve');
  const signAddress = extractAddress(
    await people.actAndReadReply(t.bob, () => t.bob.click(order.card, 'order_sign')),
  );
  expect(await people.submitPage(signAddress, passkeys.bob)).toMatchObject({ done: true, title: 'Signed' });
  await order.waitForResult('SUCCEEDED', 20_000);
});

test('a person with ten passkeys has to revoke one before adding another', async () => {
  for (let n = 0; n < 10; n += 1) await people.enroll(t.alice, new Authenticator(PUBLIC_SITE));
  const reply = await people.clickKeyButton(t.alice, 'key_add');
  expect(reply).toContain('You have 10 passkeys, which is the limit. Revoke one you no longer use');
  expect(reply).not.toContain(PUBLIC_SITE.origin);
});
