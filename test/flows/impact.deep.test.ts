import type { Message } from '@domain-steward/slack-workspace';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  buttonsOf,
  openForm,
  performAndReadReply,
  performAndWaitForView,
  readCommandReply,
  textOf,
  until,
  useTestDemo,
} from '../support/demo.ts';
import { requestByCommand, requestsOf, type VisibleOrder, waitForOrder } from '../support/orders.ts';

/* The impact on a name is shown to the requester before the request, and to its approvers. */

const t = useTestDemo({ settings: { APPROVAL_TASKS: 'delete,nameservers,authcode,owner-change' } });
const NAMESERVERS = ['ns1.dns.example', 'ns2.dns.example'];

const getDns = () => {
  const { sandbox } = t.demo.dns;
  if (sandbox === undefined) throw new Error('the demo has no DNS');
  return sandbox;
};

const HOUR_MS = 3_600_000;
const MAIL_RECORDS = ['@ MX 10 mail.cafe.rest'];

/** Watches a name without a website or mail. */
async function watchUnusedName(name: string): Promise<void> {
  const expires = t.service.clock.registryTime() + 300 * 24 * HOUR_MS;
  t.service.state.addDomain({ name, context: 4, expires, nameServers: [...NAMESERVERS] });
  getDns().world.serve(name, NAMESERVERS, []);
  getDns().world.delegate(name, NAMESERVERS);
  await watchAndLookUp(name);
}

async function watchAndLookUp(name: string): Promise<void> {
  await readCommandReply(t.workspace, t.alice, `/domain watch ${name}`);
  await until(
    `a lookup of ${name}`,
    async () => {
      await t.demo.bot.catchUp();
      return (await readCommandReply(t.workspace, t.alice, `/domain name ${name}`)).includes(
        'No changes since',
      );
    },
    25_000,
  );
}

/** Confirms a draft by typing its name. */
async function confirmDraft(draft: Message, name: string): Promise<VisibleOrder> {
  const form = await openConfirmForm(draft);
  return waitForOrder(t.workspace, () => t.alice.submit(form, { name }));
}

const clickApprove = (order: VisibleOrder) =>
  performAndReadReply(t.workspace, t.bob, () => t.bob.click(order.card, 'order_approve'));

beforeAll(async () => {
  for (const host of ['ns1.new.example', 'ns2.new.example']) await getDns().addNameserver(host);
  // The mail server of bar.rest is below cafe.rest.
  for (const name of ['bar.rest', 'cafe.rest']) await watchAndLookUp(name);
}, 60_000);

async function requestDraft(line: string): Promise<Message> {
  await readCommandReply(t.workspace, t.alice, `/domain ${line}`);
  const draft = t.alice.ephemerals().at(-1);
  if (draft === undefined) throw new Error('no confirmation was requested');
  return draft;
}

const openConfirmForm = (draft: Message) =>
  performAndWaitForView(t.workspace, t.alice, () => t.alice.click(draft, 'order_confirm'));

describe('a deletion', () => {
  test('shows what will stop working, and accepts only the name of the order as confirmation', async () => {
    const draft = await requestDraft('delete cafe.rest');
    const text = textOf(draft);
    expect(text).toMatch(/Mail will stop working \(`mail\.cafe\.rest`\)/);
    expect(text).toMatch(/The website will stop working \(`198\.51\.100\.7`\)/);
    expect(text).toMatch(/bar\.rest will lose mail: it has mail servers under this name/);
    expect(buttonsOf(draft)).toEqual(['order_confirm']);

    const form = await openConfirmForm(draft);
    expect(form.callback_id).toBe('confirm');
    expect(textOf(form)).toMatch(/Mail will stop working/);
    expect(await t.alice.submit(form, { name: 'bar.rest' })).toMatchObject({
      outcome: 'errors',
      errors: { name: expect.stringContaining('Type cafe.rest') },
    });
    expect(t.service.requestsFor({ task: 'domain.delete' })).toEqual([]);

    const order = await waitForOrder(t.workspace, () => t.alice.submit(form, { name: ' CAFE.rest ' }));
    expect(textOf(order.card), 'the impact on the card').toMatch(/Mail will stop working.*bar\.rest/s);
    await t.bob.openHome();
    await t.workspace.waitFor(
      () => /Mail will stop working.*\d more/.test(textOf(t.bob.homeView() ?? { blocks: [] })) || undefined,
      { what: 'the worst impact in Bob’s Home tab' },
    );
    await t.alice.click(order.card, 'order_cancel');
    await order.waitForResult('CANCELLED');
  });
});

describe('new nameservers', () => {
  test('that don’t serve a used name must be confirmed by typing the name', async () => {
    const draft = await requestDraft('nameservers cafe.rest ns1.new.example ns2.new.example');
    expect(textOf(draft)).toMatch(/`ns1\.new\.example`, `ns2\.new\.example` don’t answer for this name/);
    const form = await openConfirmForm(draft);
    expect(form.callback_id).toBe('confirm');
  });

  test('that serve the same records need only a click to confirm', async () => {
    const lines = ['@ A 198.51.100.8', 'www A 198.51.100.8', '@ MX 10 mail.cafe.rest'];
    getDns().world.serve('bar.rest', ['ns1.new.example', 'ns2.new.example'], lines);
    const draft = await requestDraft('nameservers bar.rest ns1.new.example ns2.new.example');
    expect(textOf(draft)).toMatch(/The new nameservers answer for the name with the current DNS records/);
    const order = await waitForOrder(t.workspace, () => t.alice.click(draft, 'order_confirm'));
    await t.bob.click(order.card, 'order_approve');
    await order.waitForResult('SUCCEEDED');
    expect(requestsOf(t.service, order)).toHaveLength(1);
  });

  test('that stop answering before the request is confirmed are reported on the card', async () => {
    const lines = [
      '@ A 198.51.100.7',
      'www A 198.51.100.7',
      '@ MX 10 mail.cafe.rest',
      'mail A 198.51.100.25',
    ];
    getDns().world.serve(
      'cafe.rest',
      ['ns1.new.example', 'ns2.new.example'],
      [...lines, '@ TXT "v=spf1 mx -all"', '_dmarc TXT "v=DMARC1; p=reject"'],
    );
    const draft = await requestDraft('nameservers cafe.rest ns1.new.example ns2.new.example');
    expect(textOf(draft)).toContain('don’t have its DNSSEC key');
    getDns().world.drop('cafe.rest', ['ns2.new.example']);
    const order = await confirmDraft(draft, 'cafe.rest');
    await until('the change on the card', () =>
      /hanged since it was requested.*\*New:\* `ns2\.new\.example` doesn’t answer for this name/s.test(
        textOf(order.card),
      ),
    );
    getDns().world.serve('cafe.rest', NAMESERVERS, lines);
  });
});

test('the impact of an auth code is added to the posted card', async () => {
  const order = await requestByCommand(t.workspace, t.alice, '/domain authcode cafe.rest');
  await until('the card shows the impact', () => textOf(order.card).includes('No transfer lock'));
  expect(textOf(order.card)).not.toContain('couldn’t be checked');
});

describe('a new finding between the request and the approval', () => {
  test('needs a second click on Approve', async () => {
    const name = 'quarter.rest';
    await watchUnusedName(name);
    const draft = await requestDraft(`delete ${name}`);
    expect(textOf(draft)).toContain('No website or mail found');
    const order = await confirmDraft(draft, name);
    await until('the impact on the card', () => textOf(order.card).includes('No website or mail found'));
    getDns().world.serve(name, NAMESERVERS, [...MAIL_RECORDS, '@ A 198.51.100.77']);
    await t.demo.moveTime(15 * 60_000);
    expect(await clickApprove(order)).toMatch(/changed since it was requested.*approve again/);
    await until('the new findings on the card', () =>
      /New:\* Mail will stop working.*New:\* The website will stop working/s.test(textOf(order.card)),
    );
    expect(requestsOf(t.service, order)).toEqual([]);
    await t.bob.click(order.card, 'order_approve');
    await order.waitForResult('SUCCEEDED');
    expect(requestsOf(t.service, order)).toHaveLength(1);
  });

  test('about silent nameservers stops the approval and is shown on the card', async () => {
    await watchUnusedName('slow.rest');
    const hosts = ['ns1.new.example', 'ns2.new.example'];
    getDns().world.serve('slow.rest', hosts, []);
    const draft = await requestDraft(`nameservers slow.rest ${hosts.join(' ')}`);
    const order = await waitForOrder(t.workspace, () => t.alice.click(draft, 'order_confirm'));
    await until('the impact on the card', () => textOf(order.card).includes('The new nameservers answer'));
    await t.demo.moveTime(2.5 * 24 * HOUR_MS);
    for (const server of hosts) getDns().faults.set({ kind: 'silence', match: { server } });
    expect(await clickApprove(order)).toMatch(/impact of this order changed since it was requested/);
    await until('the failed check on the card', () =>
      /don’t answer|no answer|couldn’t be asked|Couldn’t check|weren’t asked/.test(textOf(order.card)),
    );
    expect(requestsOf(t.service, order)).toEqual([]);
    getDns().faults.clear();
    await t.alice.click(order.card, 'order_cancel');
    await order.waitForResult('CANCELLED');
  });
});

describe('the impact shown for confirmation', () => {
  test('is from a new lookup, not the latest stored one', async () => {
    await watchUnusedName('evening.rest');
    await t.demo.moveTime(4.5 * HOUR_MS);
    getDns().world.serve('evening.rest', NAMESERVERS, MAIL_RECORDS);
    expect(textOf(await requestDraft('delete evening.rest'))).toMatch(/Mail will stop working/);
  });

  test('is updated in the form if it has changed since the request', async () => {
    await watchUnusedName('minute.rest');
    const draft = await requestDraft('delete minute.rest');
    expect(textOf(draft)).toContain('No website or mail found');
    getDns().world.serve('minute.rest', NAMESERVERS, MAIL_RECORDS);
    expect(textOf(await openConfirmForm(draft))).toMatch(/Mail will stop working/);
  });
});

describe('a name that redirects to another name', () => {
  test('is in the impact of deleting the other name', async () => {
    const form = await openForm(t.workspace, t.alice, '/domain redirect www.cafe.rest');
    const target = 'https://Target.rest/menu';
    await watchUnusedName('target.rest');
    const order = await waitForOrder(t.workspace, () =>
      t.alice.submit(form, { target, type: 'DOMAIN', mode: 'HTTP' }),
    );
    await order.waitForResult('SUCCEEDED');
    const text = textOf(await requestDraft('delete target.rest'));
    expect(text).toMatch(/www\.cafe\.rest will break: it redirects to this name/);
    expect(text).not.toContain('No website or mail found');
  });
});
