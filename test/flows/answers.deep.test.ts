import { afterEach, describe, expect, test } from 'vitest';
import { actUntilOpened, answerTo, openForm, textOf, toldAfter, useTestDemo } from '../support/demo.ts';
import { approveWhereItStands, detailsOf } from '../support/looking.ts';
import { approvedBy, ask, chargesFor, orderAfter, requestsOf } from '../support/orders.ts';
import { ephemeral } from '../support/people.ts';

/* The service's responses, as people see them. */

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
  ])('with %s settles no charge, and is shown', async (_what, name, status, said) => {
    t.service.faults.set({ kind: 'changed_status', ...status, times: 1, match: { name } });
    const order = await approvedBy(t.bob, ask(t.workspace, t.alice, `/domain renew ${name}`));
    await order.ends('UNKNOWN');
    const card = textOf(order.card);
    expect(card).toContain('doesn’t say clearly whether it was carried out');
    expect(card).toMatch(said);
    expect(requestsOf(t.service, order), 'it is not sent again').toHaveLength(1);
    expect(chargesFor(t.service, name)).toBe(1);
  });
});

describe('everything in a response', () => {
  test('a redirect’s record is in Details, and the whole response behind a button', async () => {
    const view = await openForm(t.workspace, t.alice, '/domain redirect www.cafe.rest');
    const order = await orderAfter(t.workspace, () =>
      t.alice.submit(view, { target: 'https://cafe.example/<menu>' }),
    );
    const reply = await order.ends('SUCCEEDED');
    expect(textOf(reply)).toContain('`S0502` The redirect was updated. · SUCCESS');
    const details = await detailsOf(t.workspace, t.alice, order.card);
    expect(details).toContain('For: Redirect www.cafe.rest, 1 record');
    expect(details, 'moments as people write them').toMatch(/• Created: <!date/);

    const all = await actUntilOpened(t.workspace, t.bob, () => t.bob.click(reply, 'order_data'));
    const [request] = requestsOf(t.service, order);
    expect(textOf(all)).toContain('"stid": "');
    expect(textOf(all)).toContain('"type": "SUCCESS"');
    expect(textOf(all)).toContain('"mode": "HTTP"');
    expect(request?.answerCode).toBe('S0502');
    await t.bob.close(all);

    const later = await answerTo(t.workspace, t.alice, `/domain order ${order.id}`);
    expect(later).toContain('• Domain: cafe.rest');
    expect(later).toContain('• Target: https://cafe.example/&lt;menu&gt;');
    const shown = await ephemeral(t.workspace, t.alice, 'the order', ({ text }) => text.includes('redirect'));
    const again = await actUntilOpened(t.workspace, t.alice, () => t.alice.click(shown, 'order_data'));
    expect(textOf(again)).toContain('"source": "www.cafe.rest"');
    await t.alice.close(again);
  });

  test('a renewal’s dates', async () => {
    const order = await approvedBy(t.bob, ask(t.workspace, t.alice, '/domain renew catering.rest'));
    expect(textOf(await order.ends('SUCCEEDED'))).toMatch(
      /catering\.rest for 1 year\*, until \d+ \w+ \d{4}\./,
    );
    expect(await detailsOf(t.workspace, t.alice, order.card)).toMatch(
      /For: Domain catering\.rest\n.*• Expires: (?:<!date|\d+ \w+ \d{4})/s,
    );
  });

  test('the dates of several names, each under its name', async () => {
    const order = await approvedBy(t.bob, ask(t.workspace, t.alice, '/domain renew gelato.rest grill.rest'));
    await order.ends('SUCCEEDED');
    const later = await answerTo(t.workspace, t.alice, `/domain order ${order.id}`);
    expect(later).toMatch(
      /\*gelato\.rest\*\nFor: Domain gelato.*Expires: .*\*grill\.rest\*\nFor: Domain grill/s,
    );
  });

  test('a user’s reference, and its notice, which doesn’t read like a success', async () => {
    const view = await openForm(t.workspace, t.alice, '/domain user');
    const order = await orderAfter(t.workspace, () =>
      t.alice.submit(view, { user: 'nora', context: '4', defaultEmail: 'nora@team.example' }),
    );
    const reply = textOf(await order.ends('SUCCEEDED'));
    expect(reply).toContain('*NOTICE* `MSG13004`');
    const details = await detailsOf(t.workspace, t.alice, order.card);
    expect(details).toContain('For: User nora, 4');
    expect(details, 'what the notice is about, masked').toContain('(password [secret])');
  });

  test('a refusal’s details besides its status', async () => {
    t.service.faults.set({ kind: 'changed_status', type: 'NOTICE', times: 1, match: { name: 'chef.rest' } });
    const order = await approvedBy(t.bob, ask(t.workspace, t.alice, '/domain renew chef.rest'));
    expect(textOf(await order.ends('SUCCEEDED'))).toContain('The domain was renewed. · *NOTICE*');
  });

  test('an auth code is in no stored response', async () => {
    const order = await ask(t.workspace, t.alice, '/domain authcode curry.rest');
    const reply = await order.ends('SUCCEEDED');
    const code = t.service.state.domain('curry.rest', 4)?.authCode ?? '';
    expect(code).not.toBe('');
    const all = await actUntilOpened(t.workspace, t.bob, () => t.bob.click(reply, 'order_data'));
    expect(textOf(all)).toContain('S0107');
    expect(textOf(all)).not.toContain(code);
    expect(await t.dump()).not.toContain(code);
    await t.bob.close(all);
  });

  test.each([
    ['that contradicts itself', 'dessert.rest', { type: 'ERROR' }],
    ['of another task', 'diner.rest', { code: 'S0502' }],
  ])('nor if the status is %s', async (_what, name, status) => {
    t.service.faults.set({ kind: 'changed_status', ...status, times: 1, match: { name } });
    const order = await ask(t.workspace, t.alice, `/domain authcode ${name}`);
    await order.ends('UNKNOWN');
    const code = t.service.state.domain(name, 4)?.authCode ?? '';
    expect(await t.dump()).not.toContain(code);
    expect(t.logged()).not.toContain(code);
  });

  test('a response that is longer than a view comes as a file', async () => {
    const many = t.service.state.data.domains
      .filter(({ context, deletedAt }) => context === 4 && deletedAt === undefined)
      .map(({ name }) => name)
      .filter(
        (name) => name.endsWith('.rest') && !['bistro.rest', 'bakery.rest', 'brunch.rest'].includes(name),
      )
      .slice(0, 40);
    const order = await ask(t.workspace, t.alice, `/domain renew ${many.join(' ')}`);
    await approveWhereItStands(t.workspace, t.bob, order.card);
    const reply = await order.ends('SUCCEEDED', 20_000);
    const before = t.workspace.messages('D0BOB').length;
    const sent = await toldAfter(t.workspace, t.bob, () => t.bob.click(reply, 'order_data'));
    expect(sent).toMatch(/is too long to show here\. I sent you a file/);
    const file = await t.workspace.waitFor(
      () =>
        t.workspace
          .messages('D0BOB')
          .slice(before)
          .find(({ files }) => files !== undefined)?.files?.[0],
      { what: 'the file with all answers' },
    );
    expect(file.name).toBe(`domain-steward-order-${order.id}.json`);
    const text = await (await fetch(new URL(file.url_private_download, t.workspace.url))).text();
    expect(JSON.parse(text)).toHaveLength(many.length);
    for (const name of many) expect(text).toContain(name);

    t.workspace.faults.set({ method: 'files.getUploadURLExternal', kind: 'error', code: 'missing_scope' });
    const told = await toldAfter(t.workspace, t.bob, () => t.bob.click(reply, 'order_data'));
    t.workspace.faults.clear();
    expect(told, 'nothing of orders').toMatch(
      /^I can’t send you the file\. My app lacks a required permission[^`]*$/,
    );
  });

  test('a search and a link that fail name their transaction', async () => {
    t.service.faults.set({ kind: 'refuse', code: 'EF00512', text: 'No such filter', times: 1 });
    expect(await answerTo(t.workspace, t.alice, '/domain prereg table-001')).toMatch(
      /It says: EF00512 No such filter.*transaction `\d{8}-/s,
    );
    const view = await openForm(t.workspace, t.bob, '/domain link');
    const typed = { user: 'bob', context: '4', password: 'wrong-password' };
    expect(await t.bob.submit(view, typed)).toMatchObject({
      errors: { password: expect.stringMatching(/It says: EF00803 .*\(server transaction \d{8}-/) },
    });
    await t.bob.close(view);
  });
});
