import type { Actor, Message } from '@domain-steward/slack-workspace';
import { beforeAll, expect, test } from 'vitest';
import { Authenticator } from '../support/authenticator.ts';
import {
  actAndReadReply,
  actUntilOpened,
  buttonsOf,
  DOMAINS,
  openForm,
  readCommandReply,
  textOf,
  until,
  useTestDemo,
} from '../support/demo.ts';
import { requestByCommand } from '../support/orders.ts';
import { expectFormClosed } from '../support/people.ts';
import { extractAddress, PUBLIC, signingPeople } from './signing-rig.ts';

/* A signed policy in Slack: when it becomes invalid, who is notified, and what orders then need. */

const keys = {
  ada: new Authenticator(PUBLIC),
  bob: new Authenticator(PUBLIC),
  carol: new Authenticator(PUBLIC),
};
const t = useTestDemo({
  settings: {
    PUBLIC_URL: PUBLIC.origin,
    SIGNING_ROOTS: keys.ada.fingerprint,
    ADMINS: 'U0ADA,U0BOB,U0CAROL',
    ALERT_CHANNEL: DOMAINS,
  },
});
const people = signingPeople(t);

beforeAll(async () => {
  for (const name of ['ada', 'bob', 'carol'] as const) await people.enrol(t[name], keys[name]);
  for (const name of ['bob', 'carol'] as const) await people.vouch(t.ada, keys.ada, keys[name]);
});

const waitForRequest = (channel: string, button: string): Promise<Message> =>
  t.workspace.waitFor(
    () => t.workspace.messages(channel).findLast((message) => buttonsOf(message).includes(button)),
    { what: `a request with ${button}` },
  );

/** Ada changes the number of approvals in the settings, and another admin signs. */
async function changeApprovalsRequired(needed: string, signer: Actor, key: Authenticator): Promise<void> {
  const view = await openForm(t.workspace, t.ada, '/domain settings');
  await actAndReadReply(t.workspace, t.ada, async () =>
    expectFormClosed(await t.ada.submit(view, { approvals_required: needed })),
  );
  const request = await waitForRequest(`D${signer.user.id.slice(1)}`, 'settings_confirm');
  const address = extractAddress(
    await people.replyAfter(signer, () => signer.click(request, 'settings_confirm')),
  );
  expect(await people.press(address, key)).toMatchObject({ done: true, title: 'Signed' });
}

const showPolicy = () => readCommandReply(t.workspace, t.ada, '/domain policy');
const NOTICE = 'There’s no valid signed policy';
const PLACES = ['D0ADA', 'D0BOB', 'D0CAROL', DOMAINS];
/** The number of alerts in each place that no signed policy is valid. */
const alerts = () =>
  PLACES.map(
    (channel) => t.workspace.messages(channel).filter((m) => textOf(m).includes(`🚨 ${NOTICE}`)).length,
  );
const requestAuthCode = (name: string) => requestByCommand(t.workspace, t.alice, `/domain authcode ${name}`);

/** Each place gets one alert, Slack shows the reason, and a free order needs a signature. */
async function expectInvalidPolicy(why: string, name: string, times: number): Promise<void> {
  await t.demo.bot.catchUp();
  await until('an alert in each place', () => alerts().every((count) => count === times));
  expect(
    t.workspace
      .messages('D0ADA')
      .map(textOf)
      .findLast((text) => text.includes(NOTICE)),
  ).toContain(why);
  expect(await showPolicy()).toContain(NOTICE);
  expect(JSON.stringify(await openForm(t.workspace, t.ada, '/domain settings'))).toContain(NOTICE);
  const trial = await readCommandReply(t.workspace, t.ada, `/domain policy test authcode ${name}`);
  expect(trial).toContain(NOTICE);
  expect(trial).not.toContain('*no approval*');
  expect(trial).toContain('Decided by the environment variables');
  const order = await requestAuthCode(name);
  expect(buttonsOf(order.card)).toContain('order_sign');
  await t.alice.click(order.card, 'order_cancel');
  await t.demo.bot.catchUp();
  await t.waitUntilSlackIsCurrent();
  expect(alerts(), 'one alert in each place').toEqual(PLACES.map(() => times));
}

test('revoking a passkey offers to retire it or to revoke it as compromised', async () => {
  const spare = new Authenticator(PUBLIC);
  await people.enrol(t.alice, spare);
  await people.vouch(t.ada, keys.ada, spare);
  const { retired, compromised } = await people.revokeLinks(t.ada, spare);
  expect((await people.open(retired)).html).toContain('retired');
  expect((await people.open(compromised)).html).toContain('compromised');
  expect(await people.press(retired, keys.ada)).toMatchObject({ done: true, title: 'Revoked' });
  expect(await people.showKeys(t.ada)).toContain('revoked');
});

test('once the signer’s passkey is compromised, free orders need a signature', async () => {
  await changeApprovalsRequired('2', t.bob, keys.bob);
  const { compromised } = await people.revokeLinks(t.ada, keys.bob);
  expect(await people.press(compromised, keys.ada)).toMatchObject({ done: true, title: 'Revoked' });
  await expectInvalidPolicy('revoked as compromised', 'deli.rest', 1);
  // Bob adds another passkey and signs the policy again.
  keys.bob = new Authenticator(PUBLIC);
  await people.enrol(t.bob, keys.bob);
  await people.vouch(t.ada, keys.ada, keys.bob);
  const address = await people.keyLink(t.bob, 'charter_sign');
  expect(await people.press(address, keys.bob)).toMatchObject({ done: true, title: 'Signed' });
  await t.demo.bot.catchUp();
  await until('a notice that the policy is valid again', () =>
    PLACES.every((channel) =>
      t.workspace.messages(channel).some((m) => textOf(m).includes('The signed policy is valid again')),
    ),
  );
  expect(await showPolicy()).not.toContain(NOTICE);
  await (await requestAuthCode('cafe.rest')).waitForResult('SUCCEEDED');
});

test('one rule’s approver approves with a click while another rule’s approver signs', async () => {
  const openPolicy = async (): Promise<Message> => {
    await showPolicy();
    const message = t.ada.ephemerals().at(-1);
    if (message === undefined) throw new Error('no policy was shown');
    return message;
  };
  const form = await actUntilOpened(t.workspace, t.ada, async () =>
    t.ada.click(await openPolicy(), 'policy_upload'),
  );
  const rules = `- {rule_name: by those who may not be known, tasks: [renew], names: ["*"], by: [S0NOBODY], decision: approve, approvers: [U0BOB], signed: true}
- {rule_name: by a click, tasks: [renew], names: ["*"], decision: approve, approvers: [U0CAROL]}`;
  await actAndReadReply(t.workspace, t.ada, async () =>
    expectFormClosed(await t.ada.submit(form, { rules })),
  );
  await actAndReadReply(t.workspace, t.ada, async () => t.ada.click(await openPolicy(), 'policy_publish'));
  const request = await waitForRequest('D0BOB', 'policy_confirm');
  const address = extractAddress(
    await people.replyAfter(t.bob, () => t.bob.click(request, 'policy_confirm')),
  );
  expect(await people.press(address, keys.bob)).toMatchObject({ done: true, title: 'Signed' });
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew ramen.rest');
  expect(buttonsOf(order.card)).toEqual(expect.arrayContaining(['order_sign', 'order_approve']));
  await t.carol.click(order.card, 'order_approve');
  const sign = extractAddress(await people.replyAfter(t.bob, () => t.bob.click(order.card, 'order_sign')));
  expect(await people.press(sign, keys.bob)).toMatchObject({ done: true, title: 'Signed' });
  await order.waitForResult('SUCCEEDED', 20_000);
});

test('a person with ten passkeys has to revoke one before adding another', async () => {
  for (let n = 0; n < 10; n += 1) await people.enrol(t.alice, new Authenticator(PUBLIC));
  const reply = await people.keyAnswer(t.alice, 'key_add');
  expect(reply).toContain('You have 10 passkeys, which is the limit. Revoke one you no longer use');
  expect(reply).not.toContain(PUBLIC.origin);
});
