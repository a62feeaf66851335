import { afterEach, describe, expect, test } from 'vitest';
import {
  openForm,
  performAndReadReply,
  performAndWaitForView,
  readCommandReply,
  textOf,
  useTestDemo,
} from '../support/demo.ts';
import { approveInDetails, readDetails } from '../support/looking.ts';
import {
  countChargesFor,
  requestAndApprove,
  requestByCommand,
  requestsOf,
  waitForOrder,
} from '../support/orders.ts';
import { waitForEphemeral } from '../support/people.ts';

/* How the service's responses are shown. */

const t = useTestDemo({ settings: { APPROVAL_TASKS: 'create,transfer,renew,restore' } });

afterEach(() => t.service.faults.clear());

describe('a contradictory response', () => {
  test.each([
    [
      'a success code with the type ERROR',
      'bakery.rest',
      { type: 'ERROR' },
      /`S0105` The domain was renewed/,
    ],
    ['the success code of another task', 'brunch.rest', { code: 'S0502' }, /`S0502` The domain was renewed/],
  ])('with %s leaves the order unknown and is shown', async (_what, name, status, shownStatus) => {
    t.service.faults.set({ kind: 'changed_status', ...status, times: 1, match: { name } });
    const order = await requestAndApprove(
      t.bob,
      requestByCommand(t.workspace, t.alice, `/domain renew ${name}`),
    );
    await order.waitForResult('UNKNOWN');
    const card = textOf(order.card);
    expect(card).toContain('doesn’t say clearly whether it was carried out');
    expect(card).toMatch(shownStatus);
    expect(requestsOf(t.service, order), 'sent once').toHaveLength(1);
    expect(countChargesFor(t.service, name)).toBe(1);
  });
});

describe('the bot', () => {
  test('shows a redirect’s record in Details and the full response behind a button', async () => {
    const view = await openForm(t.workspace, t.alice, '/domain redirect www.cafe.rest');
    const order = await waitForOrder(t.workspace, () =>
      t.alice.submit(view, { target: 'https://cafe.example/<menu>' }),
    );
    const reply = await order.waitForResult('SUCCEEDED');
    expect(textOf(reply)).toContain('`S0502` The redirect was updated. · SUCCESS');
    const details = await readDetails(t.workspace, t.alice, order.card);
    expect(details).toContain('For: Redirect www.cafe.rest, 1 record');
    expect(details, 'timestamps are formatted').toMatch(/• Created: <!date/);

    const responseView = await performAndWaitForView(t.workspace, t.bob, () =>
      t.bob.click(reply, 'order_data'),
    );
    const [request] = requestsOf(t.service, order);
    expect(textOf(responseView)).toContain('"stid": "');
    expect(textOf(responseView)).toContain('"type": "SUCCESS"');
    expect(textOf(responseView)).toContain('"mode": "HTTP"');
    expect(request?.answerCode).toBe('S0502');
    await t.bob.close(responseView);

    const orderReply = await readCommandReply(t.workspace, t.alice, `/domain order ${order.id}`);
    expect(orderReply).toContain('• Domain: cafe.rest');
    expect(orderReply).toContain('• Target: https://cafe.example/&lt;menu&gt;');
    const message = await waitForEphemeral(t.workspace, t.alice, 'the order’s details', ({ text }) =>
      text.includes('redirect'),
    );
    const reopenedView = await performAndWaitForView(t.workspace, t.alice, () =>
      t.alice.click(message, 'order_data'),
    );
    expect(textOf(reopenedView)).toContain('"source": "www.cafe.rest"');
    await t.alice.close(reopenedView);
  });

  test('shows a renewal’s dates', async () => {
    const order = await requestAndApprove(
      t.bob,
      requestByCommand(t.workspace, t.alice, '/domain renew catering.rest'),
    );
    expect(textOf(await order.waitForResult('SUCCEEDED'))).toMatch(
      /catering\.rest for 1 year\*, until \d+ \w+ \d{4}\./,
    );
    expect(await readDetails(t.workspace, t.alice, order.card)).toMatch(
      /For: Domain catering\.rest\n.*• Expires: (?:<!date|\d+ \w+ \d{4})/s,
    );
  });

  test('lists the dates of several names by name', async () => {
    const order = await requestAndApprove(
      t.bob,
      requestByCommand(t.workspace, t.alice, '/domain renew gelato.rest grill.rest'),
    );
    await order.waitForResult('SUCCEEDED');
    const orderReply = await readCommandReply(t.workspace, t.alice, `/domain order ${order.id}`);
    expect(orderReply).toMatch(
      /\*gelato\.rest\*\nFor: Domain gelato.*Expires: .*\*grill\.rest\*\nFor: Domain grill/s,
    );
  });

  test('shows a new user’s reference and labels a notice', async () => {
    const view = await openForm(t.workspace, t.alice, '/domain user');
    const order = await waitForOrder(t.workspace, () =>
      t.alice.submit(view, { user: 'nora', context: '4', defaultEmail: 'nora@team.example' }),
    );
    const reply = textOf(await order.waitForResult('SUCCEEDED'));
    expect(reply).toContain('*NOTICE* `MSG13004`');
    const details = await readDetails(t.workspace, t.alice, order.card);
    expect(details).toContain('For: User nora, 4');
    expect(details, 'the password is masked').toContain('(password [secret])');
  });

  test('labels the notice of a renewal', async () => {
    t.service.faults.set({ kind: 'changed_status', type: 'NOTICE', times: 1, match: { name: 'chef.rest' } });
    const order = await requestAndApprove(
      t.bob,
      requestByCommand(t.workspace, t.alice, '/domain renew chef.rest'),
    );
    expect(textOf(await order.waitForResult('SUCCEEDED'))).toContain('The domain was renewed. · *NOTICE*');
  });

  test('keeps an auth code out of stored responses', async () => {
    const order = await requestByCommand(t.workspace, t.alice, '/domain authcode curry.rest');
    const reply = await order.waitForResult('SUCCEEDED');
    const code = t.service.state.findDomain('curry.rest', 4)?.authCode ?? '';
    expect(code).not.toBe('');
    const responseView = await performAndWaitForView(t.workspace, t.bob, () =>
      t.bob.click(reply, 'order_data'),
    );
    expect(textOf(responseView)).toContain('S0107');
    expect(textOf(responseView)).not.toContain(code);
    expect(await t.dump()).not.toContain(code);
    await t.bob.close(responseView);
  });

  test.each([
    ['contradictory', 'dessert.rest', { type: 'ERROR' }],
    ['for another task', 'diner.rest', { code: 'S0502' }],
  ])('keeps an auth code out of stored responses if the status is %s', async (_what, name, status) => {
    t.service.faults.set({ kind: 'changed_status', ...status, times: 1, match: { name } });
    const order = await requestByCommand(t.workspace, t.alice, `/domain authcode ${name}`);
    await order.waitForResult('UNKNOWN');
    const code = t.service.state.findDomain(name, 4)?.authCode ?? '';
    expect(await t.dump()).not.toContain(code);
    expect(t.getLog()).not.toContain(code);
  });

  test('sends a response that is too long for a view as a file', async () => {
    const names = t.service.state.data.domains
      .filter(({ context, deletedAt }) => context === 4 && deletedAt === undefined)
      .map(({ name }) => name)
      .filter(
        (name) => name.endsWith('.rest') && !['bistro.rest', 'bakery.rest', 'brunch.rest'].includes(name),
      )
      .slice(0, 40);
    const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${names.join(' ')}`);
    await approveInDetails(t.workspace, t.bob, order.card);
    const reply = await order.waitForResult('SUCCEEDED', 20_000);
    const before = t.workspace.messages('D0BOB').length;
    const fileReply = await performAndReadReply(t.workspace, t.bob, () => t.bob.click(reply, 'order_data'));
    expect(fileReply).toMatch(/is too long to show here\. I sent you a file/);
    const file = await t.workspace.waitFor(
      () =>
        t.workspace
          .messages('D0BOB')
          .slice(before)
          .find(({ files }) => files !== undefined)?.files?.[0],
      { what: 'the file with all responses' },
    );
    expect(file.name).toBe(`domain-steward-order-${order.id}.json`);
    const text = await (await fetch(new URL(file.url_private_download, t.workspace.url))).text();
    expect(JSON.parse(text)).toHaveLength(names.length);
    for (const name of names) expect(text).toContain(name);

    t.workspace.faults.set({ method: 'files.getUploadURLExternal', kind: 'error', code: 'missing_scope' });
    const answer = await performAndReadReply(t.workspace, t.bob, () => t.bob.click(reply, 'order_data'));
    t.workspace.faults.clear();
    expect(answer, 'the reply has no order details').toMatch(
      /^I can’t send you the file\. My app lacks a required permission[^`]*$/,
    );
  });

  test('shows the transaction of a failed search and a failed link', async () => {
    t.service.faults.set({ kind: 'refuse', code: 'EF00512', text: 'No such filter', times: 1 });
    expect(await readCommandReply(t.workspace, t.alice, '/domain prereg table-001')).toMatch(
      /It says: EF00512 No such filter.*transaction `\d{8}-/s,
    );
    const view = await openForm(t.workspace, t.bob, '/domain link');
    const credentials = { user: 'bob', context: '4', password: 'wrong-password' };
    expect(await t.bob.submit(view, credentials)).toMatchObject({
      errors: { password: expect.stringMatching(/It says: EF00803 .*\(server transaction \d{8}-/) },
    });
    await t.bob.close(view);
  });
});
