import { SANDBOX_TRANSFER } from '@domain-steward/sandbox-service';
import { describe, expect, test } from 'vitest';
import {
  actAndReadReply,
  actUntilOpened,
  buttonsOf,
  openForm,
  textOf,
  useTestDemo,
} from '../support/demo.ts';
import { requestByCommand, requestsOf, waitForOrder } from '../support/orders.ts';
import { clickAs, DELEGATION, readFieldValues, revealOrderSecret } from '../support/people.ts';

/* Secret results are revealed once, to the requester, in a view, within an hour, and nowhere else. */

const t = useTestDemo();

const authCodeOf = (name: string) => t.service.state.domain(name, 4)?.authCode ?? '';

/** Searches everything but the views, where secrets are revealed. */
async function expectSecretHidden(secret: string): Promise<void> {
  expect(secret.length).toBeGreaterThan(10);
  const calls = t.workspace.calls.filter(({ method }) => !method.startsWith('views.'));
  const places = {
    messages: JSON.stringify(['C0DOMAINS', 'D0ALICE', 'D0BOB'].map((id) => t.workspace.messages(id))),
    ephemerals: JSON.stringify([...t.alice.ephemerals(), ...t.bob.ephemerals()]),
    calls: JSON.stringify(calls),
    log: t.logged(),
    database: await t.dump(),
  };
  for (const [place, text] of Object.entries(places))
    expect(text.includes(secret), `secret in the ${place}`).toBe(false);
}

describe('an auth code', () => {
  test('is shown once, only to the requester', async () => {
    const order = await requestByCommand(t.workspace, t.alice, '/domain authcode tavern.rest');
    const reply = await order.waitForResult('SUCCEEDED');
    const code = authCodeOf('tavern.rest');
    await expectSecretHidden(code);

    expect(await actAndReadReply(t.workspace, t.bob, () => t.bob.click(reply, 'order_reveal'))).toContain(
      'Only the requester',
    );
    expect(t.bob.openedViews()).toEqual([]);

    const view = await revealOrderSecret(t.workspace, t.alice, order);
    expect(textOf(view)).toContain(code);
    await t.alice.close(view);
    expect(await actAndReadReply(t.workspace, t.alice, () => t.alice.click(reply, 'order_reveal'))).toContain(
      'already shown',
    );
    expect(t.alice.openedViews()).toEqual([]);
    await expectSecretHidden(code);
  });
});

test('a generated password is shown once, a password from the form never', async () => {
  const view = await openForm(t.workspace, t.alice, '/domain user');
  const order = await waitForOrder(t.workspace, () =>
    t.alice.submit(view, { user: 'table-1', defaultEmail: 'table-1@team.example' }),
  );
  const reply = await order.waitForResult('SUCCEEDED');
  expect(textOf(reply)).toContain('MSG13004');
  const password = t.service.state.user('table-1', 4)?.password ?? '';
  await expectSecretHidden(password);
  expect(
    await actAndReadReply(t.workspace, t.bob, () => clickAs(t.workspace, 'U0BOB', 'order_reveal', order.id)),
  ).toContain('Only the requester');
  const shown = await revealOrderSecret(t.workspace, t.alice, order);
  expect(textOf(shown)).toContain(password);
  await t.alice.close(shown);

  const own = ' blanks & `ticks` count ';
  const second = await openForm(t.workspace, t.alice, '/domain user');
  const given = await waitForOrder(t.workspace, () =>
    t.alice.submit(second, { user: 'table-2', defaultEmail: 'table-2@team.example', password: own }),
  );
  const done = await given.waitForResult('SUCCEEDED');
  expect(buttonsOf(done)).not.toContain('order_reveal');
  expect(t.service.state.user('table-2', 4)?.password, 'the password as typed').toBe(own);
  await expectSecretHidden(own);
});

test('retrying a transfer opens its form with everything but the auth code', async () => {
  const form = await openForm(
    t.workspace,
    t.alice,
    `/domain transfer ${SANDBOX_TRANSFER.name} -- they asked`,
  );
  expect(await t.alice.submit(form, { ...DELEGATION, auth: '  ' })).toMatchObject({
    errors: { auth: expect.stringContaining('current registrar') },
  });
  const order = await waitForOrder(t.workspace, () => t.alice.submit(form, { auth: 'a-mistyped-auth-code' }));
  await t.bob.click(order.card, 'order_approve');
  const reply = await order.waitForResult('FAILED');
  await expectSecretHidden('a-mistyped-auth-code');

  expect(await actAndReadReply(t.workspace, t.bob, () => t.bob.click(reply, 'order_retry'))).toContain(
    'Only the requester',
  );
  const again = await actUntilOpened(t.workspace, t.alice, () => t.alice.click(reply, 'order_retry'));
  expect(readFieldValues(again)).toEqual({
    name: SANDBOX_TRANSFER.name,
    ...DELEGATION,
    reason: 'they asked',
  });
  const retried = await waitForOrder(t.workspace, () =>
    t.alice.submit(again, { auth: SANDBOX_TRANSFER.authCode }),
  );
  expect(textOf(retried.card), 'the order that is retried').toContain(order.id);
  await t.bob.click(retried.card, 'order_approve');
  await retried.waitForResult('SUCCEEDED');
  expect(requestsOf(t.service, retried)).toMatchObject([{ path: '/v1/domain/_transfer' }]);
  await expectSecretHidden(SANDBOX_TRANSFER.authCode);
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
  ])('isn’t repeated in the reply, calls or log: %s', async (line, expected) => {
    const calls = t.workspace.calls.length;
    const logged = t.logged().length;
    const known = new Set(t.alice.openedViews().map(({ id }) => id));
    const before = t.alice.ephemerals().length;
    await t.alice.command('C0DOMAINS', line.replace('S', SECRET));
    const shown = await t.workspace.waitFor(
      () => t.alice.openedViews().find(({ id }) => !known.has(id)) ?? t.alice.ephemerals()[before],
      { what: 'a form or a reply' },
    );
    const texts = `${JSON.stringify(shown)}${JSON.stringify(t.workspace.calls.slice(calls))}${t.logged().slice(logged)}`;
    expect(texts).toContain(expected);
    for (const secret of ['hunter2', 'Example!']) expect(texts).not.toContain(secret);
    if ('callback_id' in shown) await t.alice.close(shown);
  });
});
