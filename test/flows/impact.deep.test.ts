import type { Message } from '@domain-steward/slack-workspace';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  actUntilOpened,
  answerTo,
  buttonsOf,
  openForm,
  textOf,
  toldAfter,
  until,
  useTestDemo,
} from '../support/demo.ts';
import { ask, orderAfter, requestsOf, type SeenOrder } from '../support/orders.ts';

/* The impact on a name is shown before the request, and to its approvers. */

const t = useTestDemo({ settings: { APPROVAL_TASKS: 'delete,nameservers,authcode,owner-change' } });
const SERVERS = ['ns1.dns.example', 'ns2.dns.example'];

const dns = () => {
  const { sandbox } = t.demo.dns;
  if (sandbox === undefined) throw new Error('the demo has no DNS');
  return sandbox;
};

const HOUR_MS = 3_600_000;
const MAIL = ['@ MX 10 mail.cafe.rest'];

/** A watched, unused name, by the latest lookup. */
async function watchUnused(name: string): Promise<void> {
  const expires = t.service.clock.registry() + 300 * 24 * HOUR_MS;
  t.service.state.addDomain({ name, context: 4, expires, nameServers: [...SERVERS] });
  dns().world.serve(name, SERVERS, []);
  dns().world.delegate(name, SERVERS);
  await watch(name);
}

async function watch(name: string): Promise<void> {
  await answerTo(t.workspace, t.alice, `/domain watch ${name}`);
  await until(
    `a lookup of ${name}`,
    async () => {
      await t.demo.bot.catchUp();
      return (await answerTo(t.workspace, t.alice, `/domain name ${name}`)).includes('No changes since');
    },
    25_000,
  );
}

/** An order whose name was typed. */
async function confirmed(draft: Message, name: string): Promise<SeenOrder> {
  const form = await formAfter(draft);
  return orderAfter(t.workspace, () => t.alice.submit(form, { name }));
}

const pressApprove = (order: SeenOrder) =>
  toldAfter(t.workspace, t.bob, () => t.bob.click(order.card, 'order_approve'));

beforeAll(async () => {
  for (const host of ['ns1.new.example', 'ns2.new.example']) await dns().addNameserver(host);
  // Its mail goes to a server below cafe.rest.
  for (const name of ['bar.rest', 'cafe.rest']) await watch(name);
}, 60_000);

async function draftOf(line: string): Promise<Message> {
  await answerTo(t.workspace, t.alice, `/domain ${line}`);
  const draft = t.alice.ephemerals().at(-1);
  if (draft === undefined) throw new Error('nothing was asked');
  return draft;
}

const formAfter = (draft: Message) =>
  actUntilOpened(t.workspace, t.alice, () => t.alice.click(draft, 'order_confirm'));

describe('a delete', () => {
  test('shows what stops, asks for the name, and accepts no other one', async () => {
    const draft = await draftOf('delete cafe.rest');
    const said = textOf(draft);
    expect(said).toMatch(/Mail will stop working \(`mail\.cafe\.rest`\)/);
    expect(said).toMatch(/The website will stop working \(`198\.51\.100\.7`\)/);
    expect(said).toMatch(/bar\.rest will lose mail: it has mail servers under this name/);
    expect(buttonsOf(draft)).toEqual(['order_confirm']);

    const form = await formAfter(draft);
    expect(form.callback_id).toBe('confirm');
    expect(textOf(form)).toMatch(/Mail will stop working/);
    expect(await t.alice.submit(form, { name: 'bar.rest' })).toMatchObject({
      outcome: 'errors',
      errors: { name: expect.stringContaining('Type cafe.rest') },
    });
    expect(t.service.requestsFor({ task: 'domain.delete' })).toEqual([]);

    const order = await orderAfter(t.workspace, () => t.alice.submit(form, { name: ' CAFE.rest ' }));
    expect(textOf(order.card), 'the card shows it to who decides').toMatch(
      /Mail will stop working.*bar\.rest/s,
    );
    await t.bob.openHome();
    await t.workspace.waitFor(
      () => /Mail will stop working.*\d more/.test(textOf(t.bob.homeView() ?? { blocks: [] })) || undefined,
      { what: 'the worst of it in the Home tab of Bob' },
    );
    await t.alice.click(order.card, 'order_cancel');
    await order.ends('CANCELLED');
  });
});

describe('new nameservers', () => {
  test('that don’t know a used name ask for the name', async () => {
    const draft = await draftOf('nameservers cafe.rest ns1.new.example ns2.new.example');
    expect(textOf(draft)).toMatch(/`ns1\.new\.example`, `ns2\.new\.example` don’t answer for this name/);
    const form = await formAfter(draft);
    expect(form.callback_id).toBe('confirm');
  });

  test('that answer with the same records need only the button', async () => {
    const lines = ['@ A 198.51.100.8', 'www A 198.51.100.8', '@ MX 10 mail.cafe.rest'];
    dns().world.serve('bar.rest', ['ns1.new.example', 'ns2.new.example'], lines);
    const draft = await draftOf('nameservers bar.rest ns1.new.example ns2.new.example');
    expect(textOf(draft)).toMatch(/The new nameservers answer for the name with the current DNS records/);
    const order = await orderAfter(t.workspace, () => t.alice.click(draft, 'order_confirm'));
    await t.bob.click(order.card, 'order_approve');
    await order.ends('SUCCEEDED');
    expect(requestsOf(t.service, order)).toHaveLength(1);
  });

  test('that change between the request and the approval are reported on the card', async () => {
    const lines = [
      '@ A 198.51.100.7',
      'www A 198.51.100.7',
      '@ MX 10 mail.cafe.rest',
      'mail A 198.51.100.25',
    ];
    dns().world.serve(
      'cafe.rest',
      ['ns1.new.example', 'ns2.new.example'],
      [...lines, '@ TXT "v=spf1 mx -all"', '_dmarc TXT "v=DMARC1; p=reject"'],
    );
    const draft = await draftOf('nameservers cafe.rest ns1.new.example ns2.new.example');
    expect(textOf(draft)).toContain('don’t have its DNSSEC key');
    dns().world.drop('cafe.rest', ['ns2.new.example']);
    const order = await confirmed(draft, 'cafe.rest');
    await until('the card says what has changed', () =>
      /hanged since it was requested.*\*New:\* `ns2\.new\.example` doesn’t answer for this name/s.test(
        textOf(order.card),
      ),
    );
    dns().world.serve('cafe.rest', SERVERS, lines);
  });
});

test('an auth code has its impact on the card, which is posted first', async () => {
  const order = await ask(t.workspace, t.alice, '/domain authcode cafe.rest');
  await until('the card shows the impact', () => textOf(order.card).includes('No transfer lock'));
  expect(textOf(order.card)).not.toContain('couldn’t be checked');
});

describe('a new finding between the request and the approval', () => {
  test('needs another click, once', async () => {
    const name = 'quarter.rest';
    await watchUnused(name);
    const draft = await draftOf(`delete ${name}`);
    expect(textOf(draft)).toContain('No website or mail found');
    const order = await confirmed(draft, name);
    await until('the card has looked', () => textOf(order.card).includes('No website or mail found'));
    dns().world.serve(name, SERVERS, [...MAIL, '@ A 198.51.100.77']);
    await t.demo.moveTime(15 * 60_000);
    expect(await pressApprove(order)).toMatch(/changed since it was requested.*approve again/);
    await until('the card shows it', () =>
      /New:\* Mail will stop working.*New:\* The website will stop working/s.test(textOf(order.card)),
    );
    expect(requestsOf(t.service, order)).toEqual([]);
    await t.bob.click(order.card, 'order_approve');
    await order.ends('SUCCEEDED');
    expect(requestsOf(t.service, order)).toHaveLength(1);
  });

  test('days-old findings count as unknown while new nameservers are slow', async () => {
    await watchUnused('slow.rest');
    const hosts = ['ns1.new.example', 'ns2.new.example'];
    dns().world.serve('slow.rest', hosts, []);
    const draft = await draftOf(`nameservers slow.rest ${hosts.join(' ')}`);
    const order = await orderAfter(t.workspace, () => t.alice.click(draft, 'order_confirm'));
    await until('the card has looked', () => textOf(order.card).includes('The new nameservers answer'));
    await t.demo.moveTime(2.5 * 24 * HOUR_MS);
    for (const server of hosts) dns().faults.set({ kind: 'silence', match: { server } });
    expect(await pressApprove(order)).toMatch(/impact of this order changed since it was requested/);
    await until('the card says so', () =>
      /don’t answer|no answer|couldn’t be asked|Couldn’t check|weren’t asked/.test(textOf(order.card)),
    );
    expect(requestsOf(t.service, order)).toEqual([]);
    dns().faults.clear();
    await t.alice.click(order.card, 'order_cancel');
    await order.ends('CANCELLED');
  });
});

describe('who confirms', () => {
  test('is about the current use of the name, not the latest lookup’s', async () => {
    await watchUnused('evening.rest');
    await t.demo.moveTime(4.5 * HOUR_MS);
    dns().world.serve('evening.rest', SERVERS, MAIL);
    expect(textOf(await draftOf('delete evening.rest'))).toMatch(/Mail will stop working/);
  });

  test('is shown in the form if it appeared since the request', async () => {
    await watchUnused('minute.rest');
    const draft = await draftOf('delete minute.rest');
    expect(textOf(draft)).toContain('No website or mail found');
    dns().world.serve('minute.rest', SERVERS, MAIL);
    expect(textOf(await formAfter(draft))).toMatch(/Mail will stop working/);
  });
});

describe('names that point to another one', () => {
  test('by a redirect of the bot depend on it', async () => {
    const form = await openForm(t.workspace, t.alice, '/domain redirect www.cafe.rest');
    const target = 'https://Target.rest/menu';
    await watchUnused('target.rest');
    const order = await orderAfter(t.workspace, () =>
      t.alice.submit(form, { target, type: 'DOMAIN', mode: 'HTTP' }),
    );
    await order.ends('SUCCEEDED');
    const said = textOf(await draftOf('delete target.rest'));
    expect(said).toMatch(/www\.cafe\.rest will break: it redirects to this name/);
    expect(said).not.toContain('No website or mail found');
  });
});
