import type { Message } from '@domain-steward/slack-workspace';
import { beforeAll, describe, expect, test } from 'vitest';
import { answerTo, buttonsOf, openedAfter, textOf, until, useTestDemo } from '../support/demo.ts';
import { ask, orderAfter, requestsOf } from '../support/orders.ts';

/*
 * What hangs on a name is seen before it is asked for, and by who decides.
 */

const t = useTestDemo({ settings: { APPROVAL_TASKS: 'delete,nameservers,authcode,owner-change' } });
const SERVERS = ['ns1.dns.example', 'ns2.dns.example'];

const dns = () => {
  const { sandbox } = t.demo.dns;
  if (sandbox === undefined) throw new Error('the demo has no DNS');
  return sandbox;
};

beforeAll(async () => {
  for (const host of ['ns1.new.example', 'ns2.new.example']) await dns().addNameserver(host);
  // Its mail goes to a server under cafe.rest.
  await answerTo(t.workspace, t.alice, '/domain watch bar.rest');
  await answerTo(t.workspace, t.alice, '/domain watch cafe.rest');
  for (const name of ['bar.rest', 'cafe.rest']) {
    await until(
      `${name} was looked at`,
      async () => {
        await t.demo.bot.catchUp();
        return (await answerTo(t.workspace, t.alice, `/domain name ${name}`)).includes('Nothing has changed');
      },
      25_000,
    );
  }
}, 60_000);

async function draftOf(line: string): Promise<Message> {
  await answerTo(t.workspace, t.alice, `/domain ${line}`);
  const draft = t.alice.ephemerals().at(-1);
  if (draft === undefined) throw new Error('nothing was asked');
  return draft;
}

const formAfter = (draft: Message) =>
  openedAfter(t.workspace, t.alice, () => t.alice.click(draft, 'order_confirm'));

describe('a delete', () => {
  test('shows what stops, asks for the name, and takes no other one', async () => {
    const draft = await draftOf('delete cafe.rest');
    const said = textOf(draft);
    expect(said).toMatch(/Mail stops: it goes to `mail\.cafe\.rest`/);
    expect(said).toMatch(/Its website stops, at `198\.51\.100\.7`/);
    expect(said).toMatch(/1 other watched name has mail servers under it and would get no mail: bar\.rest/);
    expect(buttonsOf(draft)).toEqual(['order_confirm']);

    const form = await formAfter(draft);
    expect(form.callback_id).toBe('confirm');
    expect(textOf(form)).toMatch(/Mail stops/);
    expect(await t.alice.submit(form, { name: 'bar.rest' })).toMatchObject({
      outcome: 'errors',
      errors: { name: expect.stringContaining('Type cafe.rest') },
    });
    expect(t.service.requestsFor({ task: 'domain.delete' })).toEqual([]);

    const order = await orderAfter(t.workspace, () => t.alice.submit(form, { name: ' CAFE.rest ' }));
    expect(textOf(order.card), 'the card shows it to who decides').toMatch(/Mail stops.*bar\.rest/s);
    await t.bob.openHome();
    await t.workspace.waitFor(
      () => /Mail stops.*The card says/.test(textOf(t.bob.homeView() ?? { blocks: [] })) || undefined,
      { what: 'the worst of it in the Home tab of Bob' },
    );
    await t.alice.click(order.card, 'order_cancel');
    await order.ends('CANCELLED');
  });

  test('of a name that cannot be seen says so, and never that nothing is there', async () => {
    dns().faults.set({ kind: 'silence', match: { name: 'deli.rest' } });
    const said = textOf(await draftOf('delete deli.rest'));
    dns().faults.clear();
    expect(said).toMatch(/Not seen: .*Mail servers.*Something may be there/s);
    expect(said).not.toContain('Nothing was seen that lives on it');
  });
});

describe('new nameservers', () => {
  test('that do not know a name on which something lives ask for the name', async () => {
    const draft = await draftOf('nameservers cafe.rest ns1.new.example ns2.new.example');
    expect(textOf(draft)).toMatch(
      /`ns1\.new\.example`, `ns2\.new\.example` answer, but do not know this name/,
    );
    const form = await formAfter(draft);
    expect(form.callback_id).toBe('confirm');
  });

  test('that answer with the same records are confirmed with the button alone', async () => {
    const lines = ['@ A 198.51.100.8', 'www A 198.51.100.8', '@ MX 10 mail.cafe.rest'];
    dns().world.serve('bar.rest', ['ns1.new.example', 'ns2.new.example'], lines);
    const draft = await draftOf('nameservers bar.rest ns1.new.example ns2.new.example');
    expect(textOf(draft)).toMatch(/The new nameservers answer for the name, with what the DNS shows now/);
    const order = await orderAfter(t.workspace, () => t.alice.click(draft, 'order_confirm'));
    await t.bob.click(order.card, 'order_approve');
    await order.ends('SUCCEEDED');
    expect(requestsOf(t.service, order)).toHaveLength(1);
  });

  test('that change between asking and approving are told on the card', async () => {
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
    expect(textOf(draft)).toMatch(/The new nameservers answer for the name/);
    dns().world.drop('cafe.rest', ['ns2.new.example']);
    const order = await orderAfter(t.workspace, () => t.alice.click(draft, 'order_confirm'));
    await until('the card says what has changed', () =>
      /This has changed since it was asked for.*New: `ns2\.new\.example` answers, but does not know this name/s.test(
        textOf(order.card),
      ),
    );
    dns().world.serve('cafe.rest', SERVERS, lines);
  });
});

test('an auth code has its impact on the card, which is there first', async () => {
  const order = await ask(t.workspace, t.alice, '/domain authcode cafe.rest');
  await until('the card says what hangs on it', () =>
    /Mail runs over it.*No lock keeps it from being transferred/s.test(textOf(order.card)),
  );
  expect(textOf(order.card)).not.toContain('Not looked at yet');
});

test('what nothing hangs on has no such part', async () => {
  const order = await ask(t.workspace, t.alice, '/domain renew bar.rest');
  expect(textOf(order.card)).not.toContain('What hangs on it');
});
