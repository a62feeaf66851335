import { SANDBOX_TRANSFERABLE_DOMAIN } from '@domain-steward/sandbox-service';
import { describe, expect, test } from 'vitest';
import {
  buttonsOf,
  openForm,
  performAndReadReply,
  performAndWaitForView,
  textOf,
  useTestDemo,
} from '../support/demo.ts';
import { requestByCommand, requestsOf, waitForOrder } from '../support/orders.ts';
import {
  CONTACTS_AND_NAMESERVERS,
  forgeClick,
  readFieldValues,
  revealOrderSecret,
} from '../support/people.ts';

/* A secret result is revealed once, within an hour, only to the requester and only in a view. */

const t = useTestDemo();

const getAuthCode = (name: string) => t.service.state.findDomain(name, 4)?.authCode ?? '';

/** Searches everything except views, because secrets are revealed there. */
async function expectSecretHidden(secret: string): Promise<void> {
  expect(secret.length).toBeGreaterThan(10);
  const calls = t.workspace.calls.filter(({ method }) => !method.startsWith('views.'));
  const places = {
    messages: JSON.stringify(['C0DOMAINS', 'D0ALICE', 'D0BOB'].map((id) => t.workspace.messages(id))),
    ephemerals: JSON.stringify([...t.alice.ephemerals(), ...t.bob.ephemerals()]),
    calls: JSON.stringify(calls),
    log: t.getLog(),
    database: await t.dump(),
  };
  for (const [place, text] of Object.entries(places))
    expect(text.includes(secret), `secret in the ${place}`).toBe(false);
}

describe('an auth code', () => {
  test('is shown once, only to the requester', async () => {
    const order = await requestByCommand(t.workspace, t.alice, '/domain authcode tavern.rest');
    const reply = await order.waitForResult('SUCCEEDED');
    const code = getAuthCode('tavern.rest');
    await expectSecretHidden(code);

    expect(await performAndReadReply(t.workspace, t.bob, () => t.bob.click(reply, 'order_reveal'))).toContain(
      'Only the requester',
    );
    expect(t.bob.openedViews()).toEqual([]);

    const view = await revealOrderSecret(t.workspace, t.alice, order);
    expect(textOf(view)).toContain(code);
    await t.alice.close(view);
    expect(
      await performAndReadReply(t.workspace, t.alice, () => t.alice.click(reply, 'order_reveal')),
    ).toContain('already shown');
    expect(t.alice.openedViews()).toEqual([]);
    await expectSecretHidden(code);
  });
});

test('a generated password is shown once, but a password entered in the form is never shown', async () => {
  const view = await openForm(t.workspace, t.alice, '/domain user');
  const order = await waitForOrder(t.workspace, () =>
    t.alice.submit(view, { user: 'table-1', defaultEmail: 'table-1@team.example' }),
  );
  const reply = await order.waitForResult('SUCCEEDED');
  expect(textOf(reply)).toContain('MSG13004');
  const password = t.service.state.findUser('table-1', 4)?.password ?? '';
  await expectSecretHidden(password);
  expect(
    await performAndReadReply(t.workspace, t.bob, () =>
      forgeClick(t.workspace, 'U0BOB', 'order_reveal', order.id),
    ),
  ).toContain('Only the requester');
  const passwordView = await revealOrderSecret(t.workspace, t.alice, order);
  expect(textOf(passwordView)).toContain(password);
  await t.alice.close(passwordView);

  const typedPassword = ' blanks & `ticks` count ';
  const secondForm = await openForm(t.workspace, t.alice, '/domain user');
  const orderWithPassword = await waitForOrder(t.workspace, () =>
    t.alice.submit(secondForm, {
      user: 'table-2',
      defaultEmail: 'table-2@team.example',
      password: typedPassword,
    }),
  );
  const replyWithoutSecret = await orderWithPassword.waitForResult('SUCCEEDED');
  expect(buttonsOf(replyWithoutSecret)).not.toContain('order_reveal');
  expect(t.service.state.findUser('table-2', 4)?.password, 'the password as typed').toBe(typedPassword);
  await expectSecretHidden(typedPassword);
});

test('retrying a transfer opens its form with everything but the auth code', async () => {
  const form = await openForm(
    t.workspace,
    t.alice,
    `/domain transfer ${SANDBOX_TRANSFERABLE_DOMAIN.name} -- they asked`,
  );
  expect(await t.alice.submit(form, { ...CONTACTS_AND_NAMESERVERS, auth: '  ' })).toMatchObject({
    errors: { auth: expect.stringContaining('current registrar') },
  });
  const order = await waitForOrder(t.workspace, () => t.alice.submit(form, { auth: 'a-mistyped-auth-code' }));
  await t.bob.click(order.card, 'order_approve');
  const reply = await order.waitForResult('FAILED');
  await expectSecretHidden('a-mistyped-auth-code');

  expect(await performAndReadReply(t.workspace, t.bob, () => t.bob.click(reply, 'order_retry'))).toContain(
    'Only the requester',
  );
  const retryForm = await performAndWaitForView(t.workspace, t.alice, () =>
    t.alice.click(reply, 'order_retry'),
  );
  expect(readFieldValues(retryForm)).toEqual({
    name: SANDBOX_TRANSFERABLE_DOMAIN.name,
    ...CONTACTS_AND_NAMESERVERS,
    reason: 'they asked',
  });
  const retryOrder = await waitForOrder(t.workspace, () =>
    t.alice.submit(retryForm, { auth: SANDBOX_TRANSFERABLE_DOMAIN.authCode }),
  );
  expect(textOf(retryOrder.card), 'the id of the failed order').toContain(order.id);
  await t.bob.click(retryOrder.card, 'order_approve');
  await retryOrder.waitForResult('SUCCEEDED');
  expect(requestsOf(t.service, retryOrder)).toMatchObject([{ path: '/v1/domain/_transfer' }]);
  await expectSecretHidden(SANDBOX_TRANSFERABLE_DOMAIN.authCode);
});

describe('a secret in a command', () => {
  const SECRET = 'hunter2-Example!';

  test.each([
    ['/domain transfer in3.rest S', 'I ignored the 3rd word of your command'],
    ['/domain transfer in3.rest four words and S', 'I ignored the 3rd to 6th words of your command'],
    ['/domain transfer S in3.rest', 'I ignored the 2nd and 3rd words of your command'],
    ['/domain transfer in3.rest,S', 'I ignored the 2nd word of your command'],
    ['/domain transfer S', 'I ignored the 2nd word of your command'],
    ['/domain create in3.rest S', 'I ignored the 3rd word of your command'],
    ['/domain authcode cafe.rest S', 'I ignored the 3rd word of your command'],
    ['/domain authcode cafe.rest,S', 'I ignored the 3rd word of your command'],
    ['/domain redirect cafe.rest S', 'I ignored the 3rd word of your command'],
    ['/domain user bob S', 'I ignored the 2nd and 3rd words of your command'],
    ['/domain renew cafe.rest hunter2', 'The last word isn’t a full domain name'],
    ['/domain link alice 4 S', 'Link an account'],
    ['/domain use S', 'No such account is linked'],
    ['/domain unlink S', 'No such account is linked'],
    ['/domain tranfer in3.rest S', 'Did you mean /domain transfer?'],
    ['/domain S', 'I don’t know this command'],
    ['/domain help S', 'I don’t know this command'],
    ['/domain policy test transfer in3.rest S', 'Transfer'],
  ])('isn’t repeated in the reply, calls to Slack or log: %s', async (line, expected) => {
    const callCount = t.workspace.calls.length;
    const logLength = t.getLog().length;
    const knownViewIds = new Set(t.alice.openedViews().map(({ id }) => id));
    const ephemeralCount = t.alice.ephemerals().length;
    await t.alice.command('C0DOMAINS', line.replace('S', SECRET));
    const shown = await t.workspace.waitFor(
      () =>
        t.alice.openedViews().find(({ id }) => !knownViewIds.has(id)) ?? t.alice.ephemerals()[ephemeralCount],
      { what: 'a form or a reply' },
    );
    const texts = `${JSON.stringify(shown)}${JSON.stringify(t.workspace.calls.slice(callCount))}${t.getLog().slice(logLength)}`;
    expect(texts).toContain(expected);
    for (const secret of ['hunter2', 'Example!']) expect(texts).not.toContain(secret);
    if ('callback_id' in shown) await t.alice.close(shown);
  });
});
