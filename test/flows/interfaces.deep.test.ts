import type { View } from '@domain-steward/slack-workspace';
import { beforeAll, describe, expect, test } from 'vitest';
import { openForm, readCommandReply, textOf, useTestDemo } from '../support/demo.ts';
import { requestAndApprove, requestByCommand, requestsOf, waitForOrder } from '../support/orders.ts';
import { linkApplication, listFields, listOptions } from '../support/people.ts';

/* The fields of a request determine whether it uses JSON or XML, regardless of how the account signs in. */

describe('with both interfaces', () => {
  const t = useTestDemo();

  beforeAll(() => linkApplication(t.workspace, t.ada));

  const listRedirectRequests = () => t.service.requestsFor({ task: 'redirect.update' });

  test('a password account can use every documented redirect, and its form names the interface', async () => {
    const view = await openForm(t.workspace, t.alice, '/domain redirect hello@cafe.rest');
    expect(listFields(view)).toEqual([
      'source',
      'target',
      'type',
      'mode',
      'title',
      'backup',
      'reason',
      'send_at',
    ]);
    expect(listOptions(view, 'type')).toEqual(['DOMAIN', 'domain', 'email']);
    expect(listOptions(view, 'mode')).toEqual(['HTTP', 'frame', 'single']);
    expect(textOf(view)).toContain('Uses the service’s JSON interface.');

    const readForm = () => textOf(t.alice.openedViews().find(({ id }) => id === view.id) ?? view);
    await t.alice.changeInput(view, 'mode', 'single');
    await t.workspace.waitFor(
      () => readForm().includes('XML interface because of single mode') || undefined,
      {
        what: 'the form to show the XML interface',
      },
    );
    await t.alice.changeInput(view, 'type', 'email');
    await t.workspace.waitFor(() => readForm().includes('because of an email redirect') || undefined, {
      what: 'the form to show why it uses XML',
    });
    const values = { target: 'bob@team.example', type: 'email', mode: 'single', title: 'Hello' };
    const order = await waitForOrder(t.workspace, () => t.alice.submit(view, values));
    await order.waitForResult('SUCCEEDED');
    expect(listRedirectRequests().at(-1)).toMatchObject({
      interface: 'xml',
      body: expect.stringMatching(
        /<auth><user>alice<\/user><context>4<\/context><password>.*<redirect><type>email<\/type><mode>single<\/mode><title>Hello<\/title>/,
      ),
    });
  });

  test('a request that needs both interfaces is rejected with both reasons', async () => {
    const view = await openForm(t.workspace, t.alice, '/domain redirect www.cafe.rest');
    const values = {
      target: 'https://cafe.example/',
      type: 'DOMAIN',
      mode: 'HTTP',
      backup: 'https://b.example/',
    };
    expect(await t.alice.submit(view, values)).toMatchObject({
      errors: {
        mode: expect.stringMatching(/HTTP mode needs the JSON interface.*a backup target needs XML/),
      },
    });
    const order = await waitForOrder(t.workspace, () => t.alice.submit(view, { mode: 'HTTP', backup: '' }));
    await order.waitForResult('SUCCEEDED');
    expect(listRedirectRequests().at(-1)).toMatchObject({
      interface: 'json',
      body: { type: 'DOMAIN', mode: 'HTTP' },
    });
  });

  test('a trusted application authenticates XML requests with its name', async () => {
    const view = await openForm(t.workspace, t.ada, '/domain redirect shop.cafe.rest');
    const values = { target: 'https://shop.example/2', type: 'DOMAIN', mode: 'frame', title: 'Shop' };
    const order = await waitForOrder(t.workspace, () => t.ada.submit(view, values));
    await order.waitForResult('SUCCEEDED');
    expect(listRedirectRequests().at(-1)?.body).toMatch(
      /<authentication><trusted_application><uuid>.*<application><name>steward-sandbox<\/name><\/application>.*<type>domain<\/type><mode>frame<\/mode>/,
    );
  });

  /** The current content of an open form. */
  const getCurrentView = (view: View) => t.alice.openedViews().find(({ id }) => id === view.id) ?? view;
  const chooseXml = async (view: View) => {
    await t.alice.changeInput(view, 'interface', 'xml');
    await t.workspace.waitFor(
      () => textOf(getCurrentView(view)).includes('XML interface, as you chose') || undefined,
      { what: 'the form to show the XML interface' },
    );
    return getCurrentView(view);
  };

  test('the form for an SSL contact can use XML, which hides the JSON-only fields', async () => {
    const view = await openForm(t.workspace, t.alice, '/domain ssl-contact 501');
    expect(listFields(view)).toEqual(expect.arrayContaining(['fname', 'lname', 'interface']));
    expect(textOf(view)).toContain('Uses the service’s JSON interface');
    const xmlForm = await chooseXml(view);
    expect(listFields(xmlForm)).not.toContain('fname');
    expect(textOf(xmlForm)).toContain('so I put it first');
    const values = { address: '1 Quay\nGate 4', fax: '030 5550101' };
    const order = await waitForOrder(t.workspace, () => t.alice.submit(xmlForm, values));
    await order.waitForResult('SUCCEEDED');
    expect(textOf(order.card)).toContain('· XML ·');
    expect(t.service.requestsFor({ task: 'sslContact.update' }).at(-1)?.body).toMatch(
      /<auth><user>alice<.*<contact><id>501<\/id><address>1 Quay,Gate 4<\/address><fax>030 5550101<\/fax><\/contact>/,
    );
  });

  test('the form for a new user can use XML, which sends the parent user as the owner', async () => {
    const view = await openForm(t.workspace, t.alice, '/domain user');
    const xmlForm = await chooseXml(view);
    expect(listFields(xmlForm)).not.toContain('parent_status');
    expect(listFields(xmlForm)).toContain('user_mail_key');
    const values = {
      ...{ user: 'nora', context: '4', defaultEmail: 'nora@team.example' },
      ...{ parent_user: 'frontdesk', parent_context: '4' },
    };
    const order = await waitForOrder(t.workspace, () => t.alice.submit(xmlForm, values));
    await order.waitForResult('SUCCEEDED');
    expect(t.service.requestsFor({ task: 'user.create', name: 'nora' })).toMatchObject([
      {
        interface: 'xml',
        body: expect.stringMatching(/<owner><user>frontdesk<\/user><context>4<\/context><\/owner>/),
      },
    ]);
  });

  test('a mail key makes a new user’s request use XML, and the notice names the user', async () => {
    const view = await openForm(t.workspace, t.alice, '/domain user');
    expect(listFields(view)).toContain('user_mail_key');
    expect(textOf(view), 'the note that the position is a guess').toContain(
      'where it goes in the request, so I send it last.',
    );
    const values = {
      user: 'olga',
      context: '4',
      defaultEmail: 'olga@team.example',
      user_mail_key: 'welcome',
    };
    expect(
      await t.alice.submit(view, {
        ...values,
        parent_user: 'frontdesk',
        parent_context: '4',
        parent_defaultEmail: 'f@team.example',
      }),
    ).toMatchObject({
      errors: {
        parent_defaultEmail: expect.stringMatching(/email needs the JSON.*the mail key needs XML/),
      },
    });
    const order = await waitForOrder(t.workspace, () => t.alice.submit(view, { parent_defaultEmail: '' }));
    const reply = textOf(await order.waitForResult('SUCCEEDED'));
    expect(reply).toContain('*NOTICE* `MSG13003`');
    expect(reply).toContain('(user olga, 4)');
    expect(t.service.requestsFor({ task: 'user.create', name: 'olga' })).toMatchObject([
      {
        body: expect.stringMatching(
          /<owner><user>frontdesk<\/user>.*<user_mail_key>welcome<\/user_mail_key>/,
        ),
      },
    ]);
  });
});

describe('without an XML address', () => {
  const t = useTestDemo({ settings: { SERVICE_XML_URL: '' } });

  test('forms offer the JSON fields and explain how to get the others', async () => {
    const view = await openForm(t.workspace, t.alice, '/domain redirect www.cafe.rest');
    expect(listFields(view)).toEqual(['source', 'target', 'type', 'mode', 'reason', 'send_at']);
    expect(textOf(view)).toMatch(/Email redirects.*need the XML interface.*SERVICE_XML_URL/);
    await t.alice.close(view);
    expect(listFields(await openForm(t.workspace, t.alice, '/domain user'))).not.toContain('user_mail_key');
    expect(listFields(await openForm(t.workspace, t.alice, '/domain ssl-contact'))).not.toContain(
      'interface',
    );
  });
});

describe('with sessions on both interfaces', () => {
  const t = useTestDemo({
    settings: {
      SERVICE_AUTH: 'session',
      SERVICE_XML_AUTH: 'session',
      SERVICE_SESSION_PLACE: 'cookie',
      SERVICE_SESSION_TIMEOUT: '7',
    },
  });

  test('the session is in a cookie over JSON and in the body over XML', async () => {
    const renewal = await requestAndApprove(
      t.bob,
      requestByCommand(t.workspace, t.alice, '/domain renew pasta.rest'),
    );
    await renewal.waitForResult('SUCCEEDED');
    expect(t.service.requestsFor({ task: 'session.create' }).at(-1)).toMatchObject({
      path: '/v1/login',
      query: { timeout: ['7'] },
    });
    const [request] = requestsOf(t.service, renewal);
    expect(request?.headers).toHaveProperty('cookie');
    expect(request?.headers).not.toHaveProperty('x-service-sessionid');

    const view = await openForm(t.workspace, t.alice, '/domain redirect shop.cafe.rest');
    const values = { target: 'https://shop.example/3', type: 'domain', mode: 'frame' };
    const order = await waitForOrder(t.workspace, () => t.alice.submit(view, values));
    await order.waitForResult('SUCCEEDED');
    expect(t.service.requestsFor({ task: 'redirect.update' }).at(-1)?.body).toContain('<auth_session><hash>');
    expect(await readCommandReply(t.workspace, t.alice, '/domain prereg table-001')).toContain(
      'table-001.rest',
    );
  });
});
