import { beforeAll, describe, expect, test } from 'vitest';
import {
  DOMAINS,
  deliverSigned,
  openForm,
  performAndReadReply,
  performAndWaitForView,
  readCommandReply,
  textOf,
  until,
  useTestDemo,
} from '../support/demo.ts';
import { readDetails } from '../support/looking.ts';
import { requestByCommand, requestsOf, waitForOrder } from '../support/orders.ts';
import {
  buttonValue,
  CONTACTS_AND_NAMESERVERS,
  confirmByName,
  forgeClick,
  linkApplication,
  linkTwoFactor,
  listFields,
  listOptions,
  readFieldValues,
  requestAndConfirm,
  waitForEphemeral,
} from '../support/people.ts';

/* Each task from the command to the service's request, over both interfaces. */

const t = useTestDemo();

// Alice's password uses JSON, Carol's two factors XML; Ada uses a trusted application.
beforeAll(async () => {
  await linkTwoFactor(t.workspace, t.carol);
  await linkApplication(t.workspace, t.ada);
});

const REST = ['reason', 'send_at'];

describe('redirect', () => {
  test('has the fields and values of JSON, and is sent as documented', async () => {
    const view = await openForm(t.workspace, t.alice, '/domain redirect www.cafe.rest');
    expect(readFieldValues(view)).toMatchObject({ source: 'www.cafe.rest', type: 'DOMAIN', mode: 'HTTP' });

    const order = await waitForOrder(t.workspace, () =>
      t.alice.submit(view, { target: 'https://cafe.example/lunch' }),
    );
    const reply = await order.waitForResult('SUCCEEDED');
    expect(textOf(reply)).toContain('S0502');
    expect(requestsOf(t.service, order)).toMatchObject([
      {
        method: 'PUT',
        path: '/v1/redirect/www.cafe.rest',
        query: { ctid: [order.id] },
        body: { source: 'www.cafe.rest', target: 'https://cafe.example/lunch', type: 'DOMAIN', mode: 'HTTP' },
      },
    ]);

    const again = await openForm(t.workspace, t.alice, '/domain redirect shop.cafe.rest');
    expect(readFieldValues(again)).toMatchObject({
      source: 'shop.cafe.rest',
      target: 'https://cafe.example/lunch',
    });
    await t.alice.close(again);
  });

  test('also has a title and backup over XML, with frame or single mode', async () => {
    const view = await openForm(t.workspace, t.carol, '/domain redirect shop.cafe.rest');
    expect(listFields(view)).toEqual(['source', 'target', 'type', 'mode', 'title', 'backup', ...REST]);
    expect(listOptions(view, 'type')).toEqual(['domain', 'email']);
    expect(listOptions(view, 'mode')).toEqual(['frame', 'single']);

    const order = await waitForOrder(t.workspace, () =>
      t.carol.submit(view, {
        target: 'https://shop.example/new',
        type: 'domain',
        mode: 'frame',
        title: 'New <shop>',
        backup: 'https://backup.example/',
      }),
    );
    await order.waitForResult('SUCCEEDED');
    const [request] = t.service.requestsFor({ task: 'redirect.update', name: 'shop.cafe.rest' });
    expect(request?.body).toContain(
      '<redirect><type>domain</type><mode>frame</mode><title>New &lt;shop&gt;</title><source>shop.cafe.rest</source><target>https://shop.example/new</target><backup>https://backup.example/</backup></redirect>',
    );
  });
});

test('a renewal with an invalid last word is rejected, but first for the account’s limits', async () => {
  const line = '/domain renew cafe.rest bistro';
  expect(await readCommandReply(t.workspace, t.alice, line)).toContain(
    'The last word isn’t a full domain name',
  );
  expect(await readCommandReply(t.workspace, t.carol, line)).toContain('uses two-factor sign-in');
});

test('the period of a renewal can be written as “2 years”, at the end', async () => {
  expect(await readCommandReply(t.workspace, t.alice, '/domain renew 2 cafe.rest bistro.rest')).toContain(
    'Put the number of years last: `/domain renew cafe.rest bistro.rest 2`.',
  );
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest 2 years');
  expect(textOf(order.card)).toContain('Renew cafe.rest for 2 years');
  await t.alice.click(order.card, 'order_cancel');
  await order.waitForResult('CANCELLED');
});

describe('ssl-contact', () => {
  test('is sent over JSON with the address as a list and without empty fields', async () => {
    const view = await openForm(t.workspace, t.alice, '/domain ssl-contact 501');
    expect(listFields(view)).toEqual([
      ...['id', 'fname', 'lname', 'title', 'organization', 'address', 'pcode', 'city', 'country', 'state'],
      ...['phone', 'fax', 'email', 'interface', ...REST],
    ]);
    expect(await t.alice.submit(view, { country: 'Germany', phone: '030 555' })).toMatchObject({
      errors: { country: expect.any(String), phone: expect.stringContaining('+49') },
    });
    const order = await waitForOrder(t.workspace, () =>
      t.alice.submit(view, { address: '2 Market Street\nBack door', country: 'de', phone: '+49-30-5550199' }),
    );
    await order.waitForResult('SUCCEEDED');
    expect(requestsOf(t.service, order)).toMatchObject([
      {
        method: 'PUT',
        path: '/v1/sslcontact/501',
        body: { address: ['2 Market Street', 'Back door'], country: 'DE', phone: '+49-30-5550199' },
      },
    ]);
    const same = await openForm(t.workspace, t.alice, '/domain ssl-contact 501');
    expect(readFieldValues(same)).toMatchObject({ address: '2 Market Street\nBack door', country: 'DE' });
    await t.alice.close(same);
    const other = await openForm(t.workspace, t.alice, '/domain ssl-contact 502');
    expect(readFieldValues(other), 'no values of another contact').toEqual({ id: '502' });
    await t.alice.close(other);
  });

  test('is sent over XML without first and last name, with the address joined by commas', async () => {
    const view = await openForm(t.workspace, t.carol, '/domain ssl-contact');
    expect(listFields(view)).not.toContain('fname');
    const order = await waitForOrder(t.workspace, () =>
      t.carol.submit(view, { id: '502', address: '1 Quay\nGate 4', pcode: '20457' }),
    );
    await order.waitForResult('SUCCEEDED');
    const [request] = t.service.requestsFor({ task: 'sslContact.update', name: '502' });
    expect(request?.body).toContain('<address>1 Quay,Gate 4</address><postal_code>20457</postal_code>');
  });
});

describe('user', () => {
  test('a user below another user is sent with the parent user, as each interface documents it', async () => {
    const view = await openForm(t.workspace, t.alice, '/domain user');
    expect(readFieldValues(view), 'the context of the account').toEqual({ context: '4' });
    expect(
      await t.alice.submit(view, {
        user: 'table-9',
        defaultEmail: 'table-9@team.example',
        parent_user: 'frontdesk',
      }),
    ).toMatchObject({ errors: { parent_context: expect.any(String) } });
    const order = await waitForOrder(t.workspace, () =>
      t.alice.submit(view, { parent_context: '4', parent_status: '1', language: 'EN', status: '1' }),
    );
    await order.waitForResult('SUCCEEDED');
    expect(requestsOf(t.service, order)).toMatchObject([
      {
        path: '/v1/user',
        body: {
          user: 'table-9',
          context: 4,
          defaultEmail: 'table-9@team.example',
          status: 1,
          language: 'en',
          parent: { context: 4, status: 1, authType: 'PASSWORD', lock: 'NONE', user: 'frontdesk' },
        },
      },
    ]);

    const xml = await openForm(t.workspace, t.carol, '/domain user');
    expect(listFields(xml)).not.toContain('parent_status');
    const second = await waitForOrder(t.workspace, () =>
      t.carol.submit(xml, {
        user: 'table-10',
        defaultEmail: 'table-10@team.example',
        parent_user: 'frontdesk',
        parent_context: '4',
      }),
    );
    await second.waitForResult('SUCCEEDED');
    const [request] = t.service.requestsFor({ task: 'user.create', name: 'table-10' });
    expect(request?.body).toContain('<owner><user>frontdesk</user><context>4</context></owner>');
  });
});

describe('tasks with a confirmation', () => {
  test('delete: there is no card or request until the requester confirms, once', async () => {
    const cards = t.workspace.messages(DOMAINS).length;
    await t.alice.command(DOMAINS, '/domain delete deli.rest -- closed');
    const draft = await waitForEphemeral(t.workspace, t.alice, 'the confirmation request', ({ text }) =>
      text.includes('deli.rest'),
    );
    expect(textOf(draft)).toMatch(/Can be restored for 30 days/s);
    expect(t.workspace.messages(DOMAINS)).toHaveLength(cards);
    expect(t.service.requestsFor({ task: 'domain.delete' })).toEqual([]);

    const order = await waitForOrder(t.workspace, () =>
      confirmByName(t.workspace, t.alice, draft, 'deli.rest'),
    );
    const answer = await performAndReadReply(t.workspace, t.alice, () =>
      t.alice.click(draft, 'order_confirm'),
    );
    expect(answer).toContain('nothing left to confirm');
    await order.waitForResult('SUCCEEDED');
    expect(textOf(order.card)).toContain('Deleted deli.rest');
    expect(t.service.requestsFor({ task: 'domain.delete' })).toMatchObject([
      { method: 'DELETE', path: '/v1/domain/deli.rest', ctid: order.id },
    ]);
  });

  test('owner-change: another person’s forged confirmation is refused', async () => {
    await t.alice.command(DOMAINS, '/domain owner-change bar.rest');
    const draft = await waitForEphemeral(t.workspace, t.alice, 'the confirmation request', ({ text }) =>
      text.includes('bar.rest'),
    );
    expect(textOf(draft)).toMatch(/registrant are notified.*60 days/s);
    await t.demo.moveTime(14 * 60_000);
    const order = await waitForOrder(t.workspace, () =>
      confirmByName(t.workspace, t.alice, draft, 'bar.rest'),
    );
    await order.waitForResult('SUCCEEDED');
    expect(requestsOf(t.service, order)).toMatchObject([{ path: '/v1/domain/bar.rest/_ownerChange' }]);

    await t.alice.command(DOMAINS, '/domain owner-change cafe.rest');
    const own = await waitForEphemeral(t.workspace, t.alice, 'the confirmation request', ({ text }) =>
      text.includes('for cafe.rest?'),
    );
    const value = buttonValue(own, 'order_confirm');
    const answer = await performAndReadReply(t.workspace, t.bob, () =>
      forgeClick(t.workspace, 'U0BOB', 'order_confirm', value),
    );
    expect(answer).toContain('Only the requester');
    expect(t.service.requestsFor({ name: 'cafe.rest', task: 'domain.ownerChange' })).toEqual([]);
  });
});

test('nameservers in a command are sent once they are confirmed', async () => {
  const order = await requestAndConfirm(
    t.workspace,
    t.alice,
    '/domain nameservers cafe.rest NS1.other.example, ns2.other.example',
    'cafe.rest',
  );
  await order.waitForResult('SUCCEEDED');
  expect(requestsOf(t.service, order)).toMatchObject([
    {
      method: 'PUT',
      path: '/v1/domain/cafe.rest',
      body: { nameServers: [{ name: 'ns1.other.example' }, { name: 'ns2.other.example' }] },
    },
  ]);
  const answer = await readCommandReply(
    t.workspace,
    t.alice,
    '/domain nameservers cafe.rest ns1.other.example',
  );
  expect(answer).toContain('2 to 7 nameservers');
});

test.each([
  ['as confirmed by default', {}, true, '*Sent as confirmed*: yes'],
  ['as not confirmed without the tick', { confirmOrder: [] }, false, '*Sent as confirmed*: no'],
])('a registration is sent %s', async (_how, tick, confirmOrder, shown) => {
  const name = confirmOrder ? 'ticked.rest' : 'unticked.rest';
  const view = await openForm(t.workspace, t.alice, `/domain create ${name}`);
  const ticked = JSON.stringify(view.blocks.find(({ block_id: id }) => id === 'confirmOrder'));
  expect(ticked).toMatch(/"initial_options":.*Send it as confirmed.*doesn’t say what happens/);
  const order = await waitForOrder(t.workspace, () =>
    t.alice.submit(view, { ...CONTACTS_AND_NAMESERVERS, ...tick }),
  );
  expect(await readDetails(t.workspace, t.bob, order.card)).toContain(shown);
  await t.bob.click(order.card, 'order_approve');
  // The sandbox refuses unconfirmed registrations; the documentation doesn’t say what the service does.
  await order.waitForResult(confirmOrder ? 'SUCCEEDED' : 'FAILED');
  expect(requestsOf(t.service, order)).toMatchObject([{ body: { name, confirmOrder } }]);
});

test('a registration without a checkbox value is sent as confirmed', async () => {
  const view = await openForm(t.workspace, t.alice, '/domain create untouched.rest');
  const values = Object.entries(CONTACTS_AND_NAMESERVERS).map(([field, value]) => [
    field,
    { [field]: { value } },
  ]);
  const name = { name: { name: { value: 'untouched.rest' } } };
  const payload = {
    type: 'view_submission',
    team: { id: 'T0STEWARD' },
    user: { id: 'U0ALICE', team_id: 'T0STEWARD' },
    trigger_id: 'untouched',
    view: { ...view, state: { values: { ...name, ...Object.fromEntries(values) } } },
  };
  const body = new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
  const order = await waitForOrder(t.workspace, () =>
    deliverSigned(t, 'application/x-www-form-urlencoded', body),
  );
  await t.bob.click(order.card, 'order_approve');
  await order.waitForResult('SUCCEEDED');
  expect(requestsOf(t.service, order)).toMatchObject([{ body: { confirmOrder: true } }]);
});

describe('a two-factor account', () => {
  const DOMAIN_COMMANDS = [
    'renew cafe.rest 1',
    'renew',
    'nameservers',
    'authcode cafe.rest',
    'owner-change cafe.rest',
  ];

  // Registry lookups of newly registered names run meanwhile.
  const sent = () => t.service.requests.filter(({ interface: via }) => via !== 'rdap');

  test.each(DOMAIN_COMMANDS)('learns what it can do instead of /domain %s', async (line) => {
    const requests = sent().length;
    const answer = await readCommandReply(t.workspace, t.carol, `/domain ${line}`);
    expect(answer).toMatch(
      /tina in context 4.*users, redirects, SSL contacts and preregistrations.*\/domain link/s,
    );
    expect(t.carol.openedViews()).toEqual([]);
    expect(sent()).toHaveLength(requests);
  });

  test('is offered only the tasks it can do by the message shortcut', async () => {
    const message = t.alice.say(DOMAINS, 'where does the shop lead?');
    const menu = await performAndWaitForView(t.workspace, t.carol, () =>
      t.carol.shortcut('domain_here', message),
    );
    expect(listOptions(menu, 'task')).toEqual(['redirect', 'ssl-contact', 'user', 'prereg']);
    const next = await t.carol.submit(menu, { task: 'redirect' });
    expect(next.outcome).toBe('updated');
    const view = t.carol.openedViews()[0];
    if (view === undefined) throw new Error('the redirect form is not open');
    const order = await waitForOrder(t.workspace, () =>
      t.carol.submit(view, {
        source: 'shop.cafe.rest',
        target: 'https://b.example',
        type: 'domain',
        mode: 'single',
      }),
    );
    await order.waitForResult('SUCCEEDED');
    expect(order.card.thread_ts, 'the thread of the card').toBe(message.ts);
  });
});

describe('a trusted application', () => {
  test('is shown as not used until the service has accepted it', async () => {
    const before = await readCommandReply(t.workspace, t.ada, '/domain whoami');
    expect(before).toContain('not used yet');
    const order = await requestAndConfirm(
      t.workspace,
      t.ada,
      '/domain nameservers tapas.rest ns1.a.example ns2.a.example',
    );
    await order.waitForResult('SUCCEEDED');
    expect(requestsOf(t.service, order)).toMatchObject([{ way: 'trusted_application', context: null }]);
    await until('the check in whoami', async () =>
      (await readCommandReply(t.workspace, t.ada, '/domain whoami')).includes('checked'),
    );
  });

  test('with invalid credentials is reported at its first use', async () => {
    const uuid = '11111111-2222-4333-8444-555555555555';
    await linkApplication(t.workspace, t.bob, { uuid, application: 'typo', password: 'wrong-password' });
    const order = await requestAndConfirm(
      t.workspace,
      t.bob,
      '/domain nameservers pasta.rest ns1.a.example ns2.a.example',
    );
    const reply = await order.waitForResult('FAILED');
    expect(textOf(reply)).toMatch(/refused the linked account.*\/domain link/s);
    const answer = await readCommandReply(t.workspace, t.bob, '/domain whoami');
    expect(answer).toContain('not used yet');
  });
});
