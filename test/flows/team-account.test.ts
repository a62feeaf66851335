import { SANDBOX_ACCOUNTS } from '@domain-steward/sandbox-service';
import type { Actor, InputValue } from '@domain-steward/slack-workspace';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Policy, PolicyRule } from '../../src/policy/policy.ts';
import { openForm, performAndReadReply, readCommandReply, textOf, useTestDemo } from '../support/demo.ts';
import { readDetails } from '../support/looking.ts';
import { requestByCommand, requestsOf, waitForOrder } from '../support/orders.ts';
import {
  chooseMethod,
  downloadAuditLog,
  expectFormClosed,
  giveReason,
  listFields,
  openLinkForm,
  requestAndConfirm,
  revealOrderSecret,
} from '../support/people.ts';

/*
 * The team's account: an admin links a trusted application, and people without their own account can request orders.
 * Only approved orders use it.
 */

const APPLICATION = SANDBOX_ACCOUNTS.trustedApplication;

const FREE: PolicyRule = {
  name: 'redirects and nameservers are free',
  tasks: ['redirect', 'nameservers'],
  names: ['*'],
  by: [],
  over: undefined,
  decision: 'free',
  approvers: [],
  silent: [],
  needed: 1,
  ttlMs: undefined,
  remindAfterMs: undefined,
  escalateAfterMs: undefined,
  escalateTo: [],
  breakGlass: false,
  signed: false,
};
const policy: Policy = { version: 2, rules: [FREE] };
const t = useTestDemo({ policy: { loadCurrentPolicy: async () => policy } });

const replyAfter = (person: Actor, act: () => Promise<unknown>) =>
  performAndReadReply(t.workspace, person, act);

/** Fills in the form for the team's account. */
async function linkTeam(person: Actor, values: Readonly<Record<string, InputValue>> = {}) {
  const view = await openLinkForm(t.workspace, person, 'trusted_application');
  return person.submit(view, { ...APPLICATION, team: ['true'], ...values });
}

/** Searches everything that people, operators or other programs can read. */
async function expectSecretHidden(secret: string): Promise<void> {
  const places = {
    messages: JSON.stringify(
      ['C0DOMAINS', 'D0ADA', 'D0BOB', 'D0CAROL', 'D0ALICE'].map((id) => t.workspace.messages(id)),
    ),
    ephemerals: JSON.stringify([t.ada, t.bob, t.carol, t.alice].map((person) => person.ephemerals())),
    calls: JSON.stringify(t.workspace.calls),
    log: t.getLog(),
    database: await t.dump(),
    audit: (await downloadAuditLog(t.workspace)).csv,
  };
  for (const [place, text] of Object.entries(places))
    expect(text.includes(secret), `secret in the ${place}`).toBe(false);
}

describe('before a team account is linked', () => {
  test('people without an account are asked to link one, and admins also to link the team’s', async () => {
    expect(await readCommandReply(t.workspace, t.carol, '/domain renew cafe.rest')).toMatch(
      /^You have no linked account yet\. Use \/domain link first, then try again\.\n[^\n]*$/,
    );
    expect(await readCommandReply(t.workspace, t.ada, '/domain renew cafe.rest')).toContain(
      'As an admin, you can also let people without an account make requests',
    );
    expect(await readCommandReply(t.workspace, t.ada, '/domain unlink team')).toContain('nothing to delete');
    expect(await readCommandReply(t.workspace, t.carol, '/domain whoami')).not.toContain('team');
  });

  test('the option is shown only to admins, and only for a trusted application', async () => {
    const form = await openForm(t.workspace, t.ada, '/domain link');
    expect(listFields(form)).not.toContain('team');
    const chosen = await chooseMethod(t.workspace, t.ada, form, 'trusted_application');
    expect(listFields(chosen)).toEqual(['method', 'uuid', 'application', 'password', 'team']);
    await t.ada.close(chosen);
    const others = await openLinkForm(t.workspace, t.carol, 'trusted_application');
    expect(listFields(others)).toEqual(['method', 'uuid', 'application', 'password']);
    await t.carol.close(others);
  });

  test('only an admin can link it, even with a forged form', async () => {
    await t.workspace.changePerson('U0BOB', { is_admin: true });
    const view = await openLinkForm(t.workspace, t.bob, 'trusted_application');
    expect(listFields(view)).toContain('team');
    await t.workspace.changePerson('U0BOB', { is_admin: false });
    const result = await t.bob.submit(view, { ...APPLICATION, team: ['true'] });
    expect(result).toMatchObject({
      outcome: 'errors',
      errors: { team: expect.stringContaining('Only admins') },
    });
    await t.bob.close(view);
    expect(await t.dump()).not.toContain(APPLICATION.uuid);
    expect(await readCommandReply(t.workspace, t.carol, '/domain unlink team')).toContain('Only admins');
  });
});

describe('the team’s account', () => {
  beforeAll(async () => {
    const reply = await replyAfter(t.ada, async () => expectFormClosed(await linkTeam(t.ada)));
    expect(reply).toContain('Saved as the *team’s account*');
  });

  test('is shown to everyone by whoami, with who linked it and whether they use it', async () => {
    const carols = await readCommandReply(t.workspace, t.carol, '/domain whoami');
    expect(carols).toContain('You have no linked account');
    expect(carols).toContain(`*The team’s account*: \`application ${APPLICATION.uuid}\``);
    expect(carols).toContain('linked by <@U0ADA>');
    expect(carols).toContain('You use it, because you have no account');
    expect(await readCommandReply(t.workspace, t.alice, '/domain whoami')).toContain(
      'You use your own account.',
    );
    expect(await readCommandReply(t.workspace, t.ada, '/domain whoami'), 'not Ada’s own account').toContain(
      'You have no linked account',
    );
  });

  test('is used for the approved order of a person without an account, and named on the card', async () => {
    const order = await requestByCommand(t.workspace, t.carol, '/domain renew cafe.rest 2');
    expect(order.state).toBe('PENDING');
    expect(textOf(order.card)).toContain('Uses *the team’s account*');
    expect(requestsOf(t.service, order)).toEqual([]);
    await t.bob.click(order.card, 'order_approve');
    await order.waitForResult('SUCCEEDED');
    const [request, ...more] = requestsOf(t.service, order);
    expect(more).toEqual([]);
    expect(request).toMatchObject({ user: APPLICATION.uuid, task: 'domain.renew' });
    expect(textOf(order.card)).toContain('the team’s account');
    expect(await readCommandReply(t.workspace, t.ada, `/domain order ${order.id}`)).toContain(
      'the team’s account',
    );
  });

  test('isn’t used for a person with an account', async () => {
    const order = await requestByCommand(t.workspace, t.alice, '/domain renew tavern.rest');
    expect(textOf(order.card)).not.toContain('team’s account');
    await t.bob.click(order.card, 'order_approve');
    await order.waitForResult('SUCCEEDED');
    expect(requestsOf(t.service, order)).toMatchObject([{ user: 'alice' }]);
  });

  test('needs an approval even if a rule makes the task free', async () => {
    const servers = 'ns1.example.net ns2.example.net';
    const before = t.carol.ephemerals().length;
    const order = await requestAndConfirm(t.workspace, t.carol, `/domain nameservers soup.rest ${servers}`);
    const asked = t.carol.ephemerals().slice(before).map(textOf).join('\n');
    expect(asked, 'the confirmation request').toContain('*the team’s account*');
    expect(order.state).toBe('PENDING');
    const details = await readDetails(t.workspace, t.bob, order.card);
    expect(details).toContain('the rule for the team’s account');
    await giveReason(t.workspace, t.bob, order.card, 'order_deny', 'not now');
    await order.waitForResult('DENIED');
    expect(requestsOf(t.service, order)).toEqual([]);
  });

  test('reveals an auth code only to the requester', async () => {
    const order = await requestByCommand(t.workspace, t.carol, '/domain authcode sushi.rest');
    expect(order.state).toBe('PENDING');
    await t.bob.click(order.card, 'order_approve');
    const reply = await order.waitForResult('SUCCEEDED');
    expect(await replyAfter(t.ada, () => t.ada.click(reply, 'order_reveal'))).toContain('Only the requester');
    const code = t.service.state.findDomain('sushi.rest', 4)?.authCode ?? '';
    expect(code.length).toBeGreaterThan(10);
    const view = await revealOrderSecret(t.workspace, t.carol, order);
    expect(textOf(view)).toContain(code);
    await t.carol.close(view);
  });

  test('isn’t used for searches, which aren’t orders', async () => {
    const before = t.service.requests.length;
    expect(await readCommandReply(t.workspace, t.carol, '/domain prereg cafe')).toContain(
      'The team’s account is only for approved orders',
    );
    expect(t.service.requests).toHaveLength(before);
  });

  test('lets people without an account open and submit forms', async () => {
    const form = await openForm(t.workspace, t.carol, '/domain redirect www.curry.rest');
    const order = await waitForOrder(t.workspace, () =>
      t.carol.submit(form, { target: 'https://example.com', type: 'DOMAIN', mode: 'HTTP' }),
    );
    expect(order.state).toBe('PENDING');
    await t.carol.click(order.card, 'order_cancel');
    await order.waitForResult('CANCELLED');
  });

  test('stays when the admin who linked it leaves, and admins are notified', async () => {
    await t.workspace.changePerson('U0ADA', { is_admin: true });
    const order = await requestByCommand(t.workspace, t.carol, '/domain renew bakery.rest');
    await t.workspace.changePerson('U0BOB', { is_admin: true });
    expect(await replyAfter(t.bob, async () => expectFormClosed(await linkTeam(t.bob)))).toContain(
      'Saved as',
    );
    await t.workspace.changePerson('U0BOB', { deleted: true });
    await t.workspace.waitFor(
      () => t.workspace.messages('D0ADA').find((message) => textOf(message).includes('left the workspace')),
      { what: 'the message to the admins' },
    );
    await t.workspace.changePerson('U0BOB', { deleted: false, is_admin: false });
    await t.bob.click(order.card, 'order_approve');
    await order.waitForResult('SUCCEEDED');
  });

  test('isn’t used after it is unlinked: a pending order fails on approval', async () => {
    const order = await requestByCommand(t.workspace, t.carol, '/domain renew oven.rest');
    expect(await readCommandReply(t.workspace, t.ada, '/domain unlink team')).toContain(
      'Deleted: the team’s account',
    );
    await t.bob.click(order.card, 'order_approve');
    expect(textOf(await order.waitForResult('FAILED'))).toContain('The team’s account is no longer linked');
    expect(requestsOf(t.service, order)).toEqual([]);
    expect(await readCommandReply(t.workspace, t.carol, '/domain renew ramen.rest')).toContain(
      'You have no linked account yet',
    );
  });
});

describe('after all of this', () => {
  test('the password of the team’s account isn’t visible anywhere', async () => {
    await expectSecretHidden(APPLICATION.password);
    await expectSecretHidden(Buffer.from(`${APPLICATION.uuid}:${APPLICATION.password}`).toString('base64'));
  });
});
