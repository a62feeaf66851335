import type { Actor, Message, View } from '@domain-steward/slack-workspace';
import { afterEach, expect, test } from 'vitest';
import {
  buttonsOf,
  DOMAINS,
  openForm,
  performAndWaitForView,
  readCommandReply,
  textOf,
  useTestDemo,
} from '../support/demo.ts';
import {
  forgeApproval,
  getCurrentView,
  openDetails,
  readAllPages,
  removeEscapes,
} from '../support/looking.ts';
import { requestByCommand, requestsOf, VisibleOrder, waitForOrder } from '../support/orders.ts';
import { expectFormClosed, forgeClick, waitForEphemeral } from '../support/people.ts';

/* An order that doesn't fit on its card must be viewed in full before it can be approved. */

const t = useTestDemo({
  settings: { APPROVAL_TASKS: 'renew,nameservers,redirect' },
  linkedPeople: ['alice', 'bob'],
});

afterEach(() => t.workspace.faults.clear());

/** Creates names. @returns CSV rows that give each name its own nameservers */
function createRows(label: string, count: number): string[] {
  const rows = Array.from({ length: count }, (_, index) => `${label}-${index + 1}`);
  for (const row of rows) t.service.state.addDomain({ name: `${row}.rest`, context: 4 });
  return rows.map((row) => `${row}.rest,ns1.${row}.example ns2.${row}.example`);
}

/** Alice requests new nameservers for many names. */
async function requestBulkNameservers(
  label: string,
  count: number,
  channel = DOMAINS,
): Promise<VisibleOrder> {
  const form = await openForm(t.workspace, t.alice, '/domain bulk nameservers', channel);
  const before = t.alice.ephemerals().length;
  const file = t.alice.upload('names.csv', ['name,nameservers', ...createRows(label, count)].join('\n'));
  expectFormClosed(await t.alice.submit(form, { file: [file] }));
  const plan = await waitForEphemeral(t.workspace, t.alice, 'the plan', (message) => {
    return t.alice.ephemerals().indexOf(message) >= before && buttonsOf(message).includes('order_confirm');
  });
  return waitForOrder(t.workspace, () => t.alice.click(plan, 'order_confirm'), channel);
}

async function openHome(person: Actor, expectedText: string): Promise<View> {
  await person.openHome();
  return t.workspace.waitFor(
    () => {
      const view = person.homeView();
      return view !== undefined && JSON.stringify(view.blocks).includes(expectedText) ? view : undefined;
    },
    { what: `the Home tab to show ${expectedText}` },
  );
}

function listHomeButtons(view: View, order: VisibleOrder): string[] {
  return buttonsOf({ blocks: view.blocks.filter(({ block_id: id }) => id === `home_${order.id}`) });
}

function waitForCopy(order: VisibleOrder, channel: string): Promise<Message> {
  const copy = new VisibleOrder(t.workspace, order.id, channel);
  return t.workspace.waitFor(() => copy.messages()[0], { what: `a copy of ${order.id} in ${channel}` });
}

function listReceivedRequests(order: VisibleOrder) {
  return requestsOf(t.service, order).map(({ path, body }) => ({ path, body }));
}

test('an order for 25 names can be approved only in the view that shows every nameserver', async () => {
  const order = await requestBulkNameservers('home', 25);
  await t.advanceClockUntil(order.waitForState('PENDING'));
  const home = await openHome(t.bob, order.id);
  expect(listHomeButtons(home, order)).toEqual(['order_look', 'order_deny']);
  expect(buttonsOf(order.card)).not.toContain('order_approve');
  const view = await openDetails(t.workspace, t.bob, home, order.id);
  expect(textOf(view), 'names to check first').toMatch(
    /Check these names first.*25 names.*not on the watch list/s,
  );
  const pages = (await readAllPages(t.workspace, t.bob, view)).map(removeEscapes).join('\n');
  for (let n = 1; n <= 25; n += 1) {
    const row = pages.slice(pages.indexOf(`${n}. home-${n}.rest`));
    expect(row).toMatch(
      new RegExp(
        `^${n}\\. home-${n}\\.rest\\*\\n\\*Nameservers\\*: ns1\\.home-${n}\\.example\\nns2\\.home-${n}\\.example\\n`,
      ),
    );
    expect(row).toContain(`PUT /domain/home-${n}.rest · ${order.id}.${n}`);
  }
  await t.bob.click(getCurrentView(t.bob, view), 'order_approve');
  await t.advanceClockUntil(order.waitForResult('SUCCEEDED'));
  expect(listReceivedRequests(order)).toHaveLength(25);
  for (const { path, body } of listReceivedRequests(order)) {
    const [, label = ''] = /\/(home-\d+)\.rest$/.exec(path) ?? [];
    expect(body).toEqual({
      nameServers: [{ name: `ns1.${label}.example` }, { name: `ns2.${label}.example` }],
    });
  }
  await t.workspace.waitFor(
    () => (textOf(getCurrentView(t.bob, view)).includes('Approved') ? true : undefined),
    {
      what: 'the view to show the approval',
    },
  );
});

test('a redirect target of 2,000 characters is shown and sent in full', async () => {
  const start = 'https://cafe.example/menu?a=1&b=_2_&c=*3*&';
  const target = `${start}${'d=4&'.repeat(500)}`.slice(0, 1_995).concat('tail!');
  const form = await openForm(t.workspace, t.alice, '/domain redirect www.cafe.rest');
  const order = await waitForOrder(t.workspace, () => t.alice.submit(form, { target }));
  expect(buttonsOf(order.card)).not.toContain('order_approve');
  const home = await openHome(t.bob, order.id);
  expect(listHomeButtons(home, order)).toEqual(['order_look', 'order_deny']);
  const view = await openDetails(t.workspace, t.bob, home, order.id);
  expect(removeEscapes(textOf(view)).replaceAll('\n', '')).toContain(target);
  await t.bob.click(view, 'order_approve');
  await order.waitForResult('SUCCEEDED');
  expect(requestsOf(t.service, order)).toMatchObject([{ body: { target } }]);
});

test('an approver of a private bulk order must see every row before the approval counts', async () => {
  const order = await requestBulkNameservers('private', 30, 'D0ALICE');
  const copy = await waitForCopy(order, 'D0BOB');
  expect(buttonsOf(copy)).not.toContain('order_approve');
  expect(buttonsOf(copy)).toContain('order_look');
  const view = await performAndWaitForView(t.workspace, t.bob, () => forgeApproval(t.workspace, t.bob, copy));
  expect(textOf(view)).toContain('nothing changed');
  expect(t.service.requests.filter(({ ctid }) => ctid?.startsWith(order.id))).toEqual([]);
  expect(order.state).toBe('PENDING');
  const allPages = (await readAllPages(t.workspace, t.bob, view)).join('\n');
  for (let n = 1; n <= 30; n += 1) expect(allPages).toContain(`ns2.private-${n}.example`);
  t.bob.close(view);
  await forgeApproval(t.workspace, t.bob, copy);
  await t.advanceClockUntil(order.waitForResult('SUCCEEDED'));
});

test('a bulk order can be approved on its card, unless Slack refuses its file of rows', async () => {
  const order = await requestBulkNameservers('file', 2);
  await forgeApproval(t.workspace, t.bob, order.card);
  await t.advanceClockUntil(order.waitForResult('SUCCEEDED'));

  t.workspace.faults.set({ method: 'files.getUploadURLExternal', kind: 'error', code: 'access_denied' });
  const refusedOrder = await requestBulkNameservers('refused', 2);
  await t.workspace.waitFor(
    () =>
      t.workspace
        .messages(DOMAINS)
        .find(
          ({ thread_ts: thread, text }) => thread === refusedOrder.card.ts && text.includes('can’t share'),
        ),
    { what: 'the reply that the file can’t be shared' },
  );
  const view = await performAndWaitForView(t.workspace, t.bob, () =>
    forgeApproval(t.workspace, t.bob, refusedOrder.card),
  );
  expect(refusedOrder.state).toBe('PENDING');
  await t.bob.click(view, 'order_approve');
  await t.advanceClockUntil(refusedOrder.waitForResult('SUCCEEDED'));
});

test('many rows are split into pages, with buttons for the next and the previous page', async () => {
  const order = await requestBulkNameservers('page', 110);
  const view = await openDetails(t.workspace, t.bob, order.card);
  expect(JSON.parse(view.private_metadata)).toEqual({ channelId: DOMAINS, subject: order.id, page: 1 });
  const pages = await readAllPages(t.workspace, t.bob, view);
  expect(pages.length).toBeGreaterThan(1);
  await t.bob.click(getCurrentView(t.bob, view), 'order_look_previous');
  await t.workspace.waitFor(() => (textOf(getCurrentView(t.bob, view)) === pages.at(-2) ? true : undefined), {
    what: 'the previous page',
  });
  const deny = await performAndWaitForView(t.workspace, t.bob, () =>
    t.bob.click(getCurrentView(t.bob, view), 'order_deny'),
  );
  expectFormClosed(await t.bob.submit(deny, { reason: 'not these' }));
  await order.waitForResult('DENIED');
  expect(
    t.bob.openedViews().map(({ id }) => id),
    'open views after the denial',
  ).not.toContain(view.id);
});

test('everyone who can see an order can view it, but only approvers get buttons there', async () => {
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest 2 -- client paid');
  expect(buttonsOf(order.card)).toEqual(
    expect.arrayContaining(['order_approve', 'order_deny', 'order_look', 'order_ask', 'order_cancel']),
  );
  const viewOfAlice = await openDetails(t.workspace, t.alice, order.card);
  expect(buttonsOf(viewOfAlice)).toEqual([]);
  const details = removeEscapes(textOf(viewOfAlice));
  expect(details).toContain('*Account*: alice (signs in with a password)\n*Context*: 4');
  expect(details).toContain(`*Service*: ${t.service.jsonUrl}, JSON interface`);
  expect(details).toContain(`*1. cafe.rest*\n*Period*: 2 years\nPOST /domain/cafe.rest/_renew · ${order.id}`);
  expect(details, 'the context of the order').toMatch(/Price\W+unknown.*History/s);
  await readCommandReply(t.workspace, t.alice, `/domain order ${order.id}`);
  const orderReply = t.alice.ephemerals().at(-1);
  expect(orderReply && buttonsOf(orderReply)).toContain('order_look');
  await t.bob.click(await openDetails(t.workspace, t.bob, order.card), 'order_approve');
  await order.waitForResult('SUCCEEDED');
  expect(buttonsOf(order.card)).toContain('order_look');
});

test('people who can’t see a private order can’t open its view', async () => {
  const order = await waitForOrder(
    t.workspace,
    () => t.bob.command('D0BOB', '/domain renew bistro.rest'),
    'D0BOB',
  );
  await openDetails(t.workspace, t.bob, order.card);
  const before = t.alice.openedViews().length;
  await forgeClick(t.workspace, 'U0ALICE', 'order_look', order.id);
  await t.workspace.waitFor(
    () =>
      t.workspace.messages('D0ALICE').find((message) => textOf(message).includes('This order doesn’t exist')),
    { what: 'a message to Alice' },
  );
  expect(t.alice.openedViews()).toHaveLength(before);
});
