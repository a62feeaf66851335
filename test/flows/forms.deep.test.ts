import { SANDBOX_ACCOUNTS, SANDBOX_CONTACTS } from '@domain-steward/sandbox-service';
import type { Actor, View } from '@domain-steward/slack-workspace';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { generateToken } from '../../src/service/authenticator/signature.ts';
import { Secret } from '../../src/service/secret.ts';
import {
  DOMAINS,
  link,
  openForm,
  performAndReadReply,
  readCommandReply,
  textOf,
  useTestDemo,
} from '../support/demo.ts';
import { requestByCommand, waitForOrder } from '../support/orders.ts';
import {
  CONTACTS_AND_NAMESERVERS,
  chooseMethod,
  listFields,
  openLinkForm,
  readFieldValues,
} from '../support/people.ts';

/* Forms are prefilled, show errors at their fields, and survive a slow service. */

const t = useTestDemo({ linkedPeople: [] });

beforeAll(async () => {
  await link(t.workspace, t.alice, SANDBOX_ACCOUNTS.aliceDemoSystem);
  await link(t.workspace, t.alice);
});
afterEach(() => t.service.faults.clear());

const getTopView = (person: Actor): View => {
  const view = person.openedViews().at(-1);
  if (view === undefined) throw new Error(`${person.user.real_name} has no view open`);
  return view;
};

describe('initial values', () => {
  test('come from the command and from the person’s last use in this context', async () => {
    const first = await openForm(t.workspace, t.alice, '/domain create new.rest -- for Anna');
    expect(readFieldValues(first)).toEqual({ name: 'new.rest', reason: 'for Anna' });
    await waitForOrder(t.workspace, () => t.alice.submit(first, CONTACTS_AND_NAMESERVERS));

    const transfer = await openForm(t.workspace, t.alice, '/domain transfer bistro.rest');
    expect(readFieldValues(transfer), 'contacts of the last registration').toEqual({
      name: 'bistro.rest',
      ...CONTACTS_AND_NAMESERVERS,
    });
    const other = { ...CONTACTS_AND_NAMESERVERS, ownerc: String(SANDBOX_CONTACTS[3]) };
    await waitForOrder(t.workspace, () => t.alice.submit(transfer, { ...other, auth: 'code-of-bistro' }));

    const next = await openForm(t.workspace, t.alice, '/domain create another.rest');
    expect(readFieldValues(next), 'contacts of the latest order').toEqual({ name: 'another.rest', ...other });
    await t.alice.close(next);

    await readCommandReply(t.workspace, t.alice, '/domain use 1');
    const formInOtherContext = await openForm(t.workspace, t.alice, '/domain create another.rest');
    expect(readFieldValues(formInOtherContext), 'no contacts of another context').toEqual({
      name: 'another.rest',
    });
    await t.alice.close(formInOtherContext);
    await readCommandReply(t.workspace, t.alice, '/domain use 4');
  });

  test('are shown again for confirmation if the account has changed', async () => {
    const view = await openForm(t.workspace, t.alice, '/domain create switched.rest');
    await readCommandReply(t.workspace, t.alice, '/domain use 1');
    const before = t.workspace.messages(DOMAINS).length;
    expect(await t.alice.submit(view, CONTACTS_AND_NAMESERVERS)).toMatchObject({ outcome: 'updated' });
    const again = getTopView(t.alice);
    expect(textOf(again)).toMatch(/alice in context 1.*Nothing was requested/s);
    expect(readFieldValues(again)).toEqual({ name: 'switched.rest', ...CONTACTS_AND_NAMESERVERS });
    expect(t.workspace.messages(DOMAINS)).toHaveLength(before);
    const order = await waitForOrder(t.workspace, () => t.alice.submit(again));
    expect(textOf(order.card), 'the confirmed account').toContain('DEMO');
    await readCommandReply(t.workspace, t.alice, '/domain use 4');
  });
});

describe('errors', () => {
  test('are shown at their fields, all at once', async () => {
    const view = await openForm(t.workspace, t.alice, '/domain create');
    const result = await t.alice.submit(view, {
      ...{ name: 'under_score.rest', ownerc: '0', adminc: '99999999999' },
      ...{ techc: '1001', nameServers: 'ns1.dns.example\nno_host.example\nns1.dns.example' },
    });
    expect(result).toMatchObject({
      outcome: 'errors',
      errors: {
        name: expect.stringContaining('underscore'),
        ownerc: expect.stringContaining('above 0'),
        adminc: expect.stringContaining('too large'),
        nameServers: expect.stringContaining('no_host.example'),
      },
    });
    await t.alice.close(view);
  });

  test('in a command are shown in the form that it opens', async () => {
    const long = `${'a'.repeat(64)}.rest`;
    const create = await openForm(t.workspace, t.alice, `/domain create ${long} second.rest`);
    expect(textOf(create)).toMatch(/ignored the 3rd word of your command.*Domain name.*64 characters/s);
    // The error is above its field. Fields that the command doesn't fill have no error.
    expect(create.blocks.map(({ type }) => type).slice(0, 3)).toEqual(['section', 'context', 'input']);
    expect(create.blocks.filter(({ type }) => type === 'context')).toHaveLength(1);
    expect(readFieldValues(create)).toMatchObject({ name: long });
    await t.alice.close(create);
    const renew = await openForm(t.workspace, t.alice, '/domain renew 1,5');
    expect(textOf(renew)).toMatch(/Period in years.*whole years/s);
    await t.alice.close(renew);
    const good = await openForm(t.workspace, t.alice, '/domain create good.rest');
    expect(textOf(good)).not.toContain(':warning:');
    await t.alice.close(good);
  });

  test('in a name or an auth code don’t hide errors in the nameservers', async () => {
    const create = await openForm(t.workspace, t.alice, '/domain create');
    const nameServers = 'ns1.dns.example';
    const bad = { ...CONTACTS_AND_NAMESERVERS, name: 'under_score.rest', nameServers };
    expect(await t.alice.submit(create, bad)).toMatchObject({
      errors: {
        name: expect.stringContaining('underscore'),
        nameServers: expect.stringMatching(/A \.rest name needs 2 to 7/),
      },
    });
    await t.alice.close(create);
    const transfer = await openForm(t.workspace, t.alice, '/domain transfer');
    expect(await t.alice.submit(transfer, { ...bad, auth: ' ' })).toMatchObject({
      errors: {
        auth: expect.stringContaining('auth code'),
        name: expect.stringContaining('underscore'),
        nameServers: expect.stringMatching(/A \.rest name needs 2 to 7/),
      },
    });
    await t.alice.close(transfer);
  });

  test('that involve several fields are shown at the field to change', async () => {
    const create = await openForm(t.workspace, t.alice, '/domain create rules.rest');
    expect(
      await t.alice.submit(create, { ...CONTACTS_AND_NAMESERVERS, nameServers: 'ns1.dns.example' }),
    ).toMatchObject({
      errors: { nameServers: expect.stringContaining('2 to 7') },
    });
    await t.alice.close(create);
    const renew = await openForm(t.workspace, t.alice, '/domain renew');
    expect(readFieldValues(renew)).toEqual({ period: '1' });
    expect(await t.alice.submit(renew, { names: 'cafe.rest\nbad..rest', period: '2' })).toMatchObject({
      errors: { names: expect.stringContaining('bad..rest') },
    });
    expect(await t.alice.submit(renew, { names: 'cafe.rest', period: '11' })).toMatchObject({
      errors: { period: expect.stringContaining('1 to 10') },
    });
    await t.alice.close(renew);
  });
});

test('control characters are removed from a reason', async () => {
  const order = await requestByCommand(
    t.workspace,
    t.alice,
    '/domain renew cafe.rest 2 -- client\u0000paid \u0007today',
  );
  expect(textOf(order.card)).toContain('“client paid today”');
  await t.alice.click(order.card, 'order_cancel');
});

describe('the link form', () => {
  test('shows the fields of the chosen method, and keeps typed values', async () => {
    const view = await openLinkForm(t.workspace, t.ada, 'password');
    expect(listFields(view)).toEqual(['method', 'user', 'context', 'password']);
    expect(readFieldValues(view)).toEqual({ method: 'password', context: '4' });
    await t.ada.changeInput(view, 'user', 'frontdesk');
    const twoFactor = await chooseMethod(t.workspace, t.ada, view, 'two_factor');
    expect(listFields(twoFactor)).toEqual(['method', 'user', 'context', 'password', 'token', 'totpSecret']);
    expect(readFieldValues(twoFactor)).toMatchObject({
      method: 'two_factor',
      user: 'frontdesk',
      context: '4',
    });
    const application = await chooseMethod(t.workspace, t.ada, view, 'trusted_application');
    expect(listFields(application)).toEqual(['method', 'uuid', 'application', 'password', 'team']);
    await chooseMethod(t.workspace, t.ada, view, 'password');
    await t.ada.close(view);
  });

  test('asks for a token or the shared secret', async () => {
    const view = await openLinkForm(t.workspace, t.ada, 'two_factor');
    const { user, password } = SANDBOX_ACCOUNTS.tina;
    expect(await t.ada.submit(view, { user, password })).toMatchObject({
      errors: { token: expect.stringContaining('token or the shared secret') },
    });
    expect(await t.ada.submit(view, { token: '12345', totpSecret: 'too-short' })).toMatchObject({
      errors: { token: expect.stringContaining('six digits'), totpSecret: expect.any(String) },
    });
    await t.ada.close(view);
  });

  test('links with only a token until the session ends, then shows how to link again', async () => {
    const { user, context, password, totpSecret } = SANDBOX_ACCOUNTS.tina;
    const { token } = generateToken(new Secret(totpSecret), Date.now());
    const view = await openLinkForm(t.workspace, t.bob, 'two_factor');
    const values = { user, context: String(context), password, token: token.reveal() };
    expect(await t.bob.submit(view, values)).toEqual({ outcome: 'closed' });
    const search = () => readCommandReply(t.workspace, t.bob, '/domain prereg table-001');
    await t.workspace.waitFor(() => t.bob.ephemerals()[0], { what: 'the confirmation to Bob' });
    expect(await search()).toContain('table-001.rest');
    t.service.sessions.endAll();
    expect(await search()).toMatch(/refused your linked account.*\/domain link/s);
  });

  test('shows that it is checking while the service is slow, then shows the result', async () => {
    const view = await openLinkForm(t.workspace, t.ada, 'password');
    t.service.faults.set({ kind: 'slow', delayMs: 2_300, times: 1, match: { task: 'session.create' } });
    const { user, password } = SANDBOX_ACCOUNTS.frontdesk;
    expect(await t.ada.submit(view, { user, password })).toMatchObject({ outcome: 'updated' });
    expect(textOf(getTopView(t.ada))).toContain('Checking');
    await t.workspace.waitFor(
      () => (textOf(getTopView(t.ada)).includes('Linked: `frontdesk') ? true : undefined),
      { what: 'the view to show the result' },
    );
    await t.ada.close(getTopView(t.ada));
  });

  test('is shown again with all values but the secrets if a slow service refuses them', async () => {
    const view = await openLinkForm(t.workspace, t.ada, 'password');
    t.service.faults.set({ kind: 'slow', delayMs: 2_300, times: 1, match: { task: 'session.create' } });
    const values = { user: 'frontdesk', context: '7', password: 'not-the-password' };
    expect(await t.ada.submit(view, values)).toMatchObject({ outcome: 'updated' });
    const again = await t.workspace.waitFor(
      () => (listFields(getTopView(t.ada)).includes('password') ? getTopView(t.ada) : undefined),
      { what: 'the form with an error' },
    );
    expect(textOf(again)).toContain('didn’t accept these credentials');
    expect(readFieldValues(again)).toEqual({ method: 'password', user: 'frontdesk', context: '7' });
    expect(JSON.stringify(t.workspace.calls)).not.toContain('not-the-password');
    const { context, password } = SANDBOX_ACCOUNTS.frontdesk;
    const reply = await performAndReadReply(t.workspace, t.ada, () =>
      t.ada.submit(again, { context: String(context), password }),
    );
    expect(reply).toContain('Linked: `frontdesk');
  });

  test('names the account that it replaces', async () => {
    const reply = await performAndReadReply(t.workspace, t.ada, () =>
      link(t.workspace, t.ada, SANDBOX_ACCOUNTS.bob),
    );
    expect(reply).toMatch(/Linked: `bob in context 4`.*replaces `frontdesk in context 4` \(password\)/s);
    const again = await performAndReadReply(t.workspace, t.ada, () =>
      link(t.workspace, t.ada, SANDBOX_ACCOUNTS.bob),
    );
    expect(again, 'linking the same account again').not.toContain('replaces');
  });
});

describe('/domain help', () => {
  test('is short, and its button replaces it with the full help', async () => {
    expect(await readCommandReply(t.workspace, t.alice, '/domain help')).toMatch(/renew NAME.*create NAME/s);
    const shortHelp = t.alice.ephemerals(DOMAINS).at(-1);
    if (shortHelp === undefined) throw new Error('no help was shown');
    await t.alice.click(shortHelp, 'help_all');
    const fullHelp = await t.workspace.waitFor(
      () => t.alice.ephemerals(DOMAINS).find((each) => textOf(each).includes('/domain unwatch NAME')),
      { what: 'the full help' },
    );
    expect(textOf(fullHelp)).toMatch(
      /Everyday.*Search and lists.*Watch.*People and money.*For admins.*settings/s,
    );
    expect(t.alice.ephemerals(DOMAINS), 'the short help is replaced').not.toContain(shortHelp);
  });

  test('lists every command with `all`, and `/domain NAME` gets a suggestion', async () => {
    expect(await readCommandReply(t.workspace, t.alice, '/domain help all')).toMatch(
      /For admins.*audit \[FROM\]/s,
    );
    expect(await readCommandReply(t.workspace, t.alice, '/domain cafe.rest')).toContain(
      'Did you mean `/domain name cafe.rest`?',
    );
  });
});
