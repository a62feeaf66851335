import type { View } from '@domain-steward/slack-workspace';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  buttonsOf,
  performAndReadReply,
  performAndWaitForView,
  readCommandReply,
  textOf,
  useTestDemo,
} from '../support/demo.ts';
import { readDetails } from '../support/looking.ts';
import { requestAndApprove, requestByCommand } from '../support/orders.ts';
import {
  expectFormClosed,
  forgeClick,
  listFields,
  readFieldValues,
  waitForEphemeral,
} from '../support/people.ts';

const t = useTestDemo();
const TODAY = new Date().toISOString().slice(0, 10);

/** Opens the form of a button in the reply to `/domain prices`. */
async function openPriceForm(button: string, value?: string): Promise<View> {
  await readCommandReply(t.workspace, t.ada, '/domain prices');
  const list = t.ada.ephemerals().at(-1);
  if (list === undefined) throw new Error('the price list was not shown');
  const clickOptions = value === undefined ? {} : { value };
  return performAndWaitForView(t.workspace, t.ada, () => t.ada.click(list, button, clickOptions));
}

async function addPrice(overrides: Readonly<Record<string, string>>): Promise<string> {
  const form = await openPriceForm('price_add');
  const values = { zone: 'rest', task: 'renew', period: '1', valid_from: TODAY, source: 'Contract 7' };
  return performAndReadReply(t.workspace, t.ada, async () => {
    expectFormClosed(await t.ada.submit(form, { ...values, ...overrides }));
  });
}

async function importPrices(rows: string) {
  return t.ada.submit(await openPriceForm('prices_import'), { rows });
}

it('orders can be approved without a price list, although the price is unknown', async () => {
  expect(await readCommandReply(t.workspace, t.alice, '/domain prices')).toContain('The price list is empty');
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew bar.rest');
  expect(textOf(order.card)).toContain('This costs money (price unknown)');
  await t.bob.click(order.card, 'order_approve');
  await order.waitForResult('SUCCEEDED');
});

describe('the price list', () => {
  it('is edited only by admins, in a form with the fields of its CSV file', async () => {
    const form = await openPriceForm('price_add');
    expect(form.callback_id).toBe('price');
    expect(listFields(form)).toEqual(['zone', 'task', 'period', 'amount', 'valid_from', 'source']);
    const result = await t.ada.submit(form, {
      zone: 'two words',
      task: 'restore',
      period: '2',
      amount: '18,00',
      valid_from: 'soon',
      source: ' ',
    });
    expect(result).toMatchObject({
      outcome: 'errors',
      errors: {
        zone: expect.stringContaining('such as rest'),
        period: expect.stringContaining('one price'),
        amount: expect.stringContaining('18.00'),
        valid_from: expect.stringContaining('YYYY-MM-DD'),
        source: expect.stringContaining('Enter the price’s source'),
      },
    });
    await t.ada.close(form);
    const reply = await performAndReadReply(t.workspace, t.alice, () =>
      forgeClick(t.workspace, 'U0ALICE', 'price_add', 'new'),
    );
    expect(reply).toContain('Only admins can do this.');
    expect(t.alice.openedViews().map(({ callback_id }) => callback_id)).not.toContain('price');
  });

  it('is shown to everyone, with edit buttons only for admins', async () => {
    expect(await addPrice({ amount: '18.00' })).toContain('1 price added.');
    const reply = await readCommandReply(t.workspace, t.alice, '/domain prices');
    expect(reply).toContain('€18.00');
    expect(reply).toContain('Contract 7');
    const priceListMessage = t.alice.ephemerals().at(-1);
    expect(buttonsOf(priceListMessage ?? { blocks: [] })).toEqual(['prices_export']);
  });

  it('opens a form with the values of a price, and saves the new price in its place', async () => {
    const [firstPrice] = await t.demo.bot.prices.list();
    const form = await openPriceForm('price_edit', firstPrice?.id);
    expect(readFieldValues(form)).toMatchObject({ zone: 'rest', amount: '18.00', valid_from: TODAY });
    const reply = await performAndReadReply(t.workspace, t.ada, async () => {
      expectFormClosed(await t.ada.submit(form, { amount: '17.50' }));
    });
    expect(reply).toContain('1 price changed.');
    expect((await t.demo.bot.prices.list()).map(({ amount }) => amount.minor)).toEqual([1_750]);
  });

  it('is imported from CSV completely or not at all, and every error has its line', async () => {
    const header = 'zone,task,period,amount,valid_from,source';
    const result = await importPrices(
      [
        header,
        `rest,restore,1,80.00,${TODAY},Contract 7`,
        'rest,renew,1,x,1.1.26,C',
        `a b,renew,1,1.00,${TODAY},C`,
      ].join('\n'),
    );
    expect(result).toMatchObject({ outcome: 'errors' });
    const errors = JSON.stringify(result);
    for (const part of ['Line 3: “amount”', 'Line 3: “valid_from”', 'Line 4: “zone”', 'Nothing was imported'])
      expect(errors).toContain(part);
    expect(errors, 'errors without words about orders').not.toContain('requested');
    expect(await t.demo.bot.prices.list()).toHaveLength(1);
    expectFormClosed(await importPrices(`${header}\nrest,restore,1,80.00,${TODAY},"=Contract; 7"`));
    await waitForEphemeral(t.workspace, t.ada, 'the message that a price was added', (message) =>
      textOf(message).includes('1 price added.'),
    );
    expect(await t.demo.bot.prices.list()).toHaveLength(2);
  });

  it('is exported as a CSV file that it can import', async () => {
    const sentFiles = () => t.workspace.messages('D0ALICE').filter(({ files }) => files !== undefined);
    await readCommandReply(t.workspace, t.alice, '/domain prices');
    const list = t.alice.ephemerals().at(-1);
    if (list === undefined) throw new Error('the price list was not shown');
    await performAndReadReply(t.workspace, t.alice, () => t.alice.click(list, 'prices_export'));
    const file = sentFiles()[0]?.files?.[0];
    if (file === undefined) throw new Error('no file was sent');
    const csv = await (await fetch(new URL(file.url_private_download, t.workspace.url))).text();
    expect(csv.split('\r\n')).toEqual([
      'zone,task,period,amount,valid_from,source,currency',
      `rest,renew,1,17.50,${TODAY},Contract 7,EUR`,
      `rest,restore,1,80.00,${TODAY},"'=Contract; 7",EUR`,
      '',
    ]);
    expectFormClosed(await importPrices(csv));
    await waitForEphemeral(t.workspace, t.ada, 'the message that nothing changed', (message) =>
      textOf(message).includes('Nothing changed'),
    );
  });
});

describe('an order’s card', () => {
  beforeAll(async () => {
    await addPrice({ amount: '18.00' });
  });

  it('shows the total, and its details with each price, its date and its source', async () => {
    const order = await requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest bistro.example 2');
    expect(textOf(order.card)).toContain('about €36.00');
    expect(textOf(order.card)).toContain('Price unknown for 1 name');
    const text = await readDetails(t.workspace, t.bob, order.card);
    expect(text).toContain('about €36.00 for 1 of 2 names (price list of ');
    expect(text).toContain('price unknown for 1 name');
    expect(text).toContain('This is 2 times the 1-year price');
    expect(text).toContain('A premium name may cost more.');
    expect(text, 'details without a second note about premium names').not.toContain('Short or generic names');
    expect(text).toContain('Source: “Contract 7”.');
    expect(text).toContain('cafe.rest · €36.00');
    expect(text).toContain('bistro.example · unknown');
    const form = await performAndWaitForView(t.workspace, t.bob, () => t.bob.click(order.card, 'order_deny'));
    expect(textOf(form)).toContain('*Renew 2 names for 2 years · about €36.00*');
    await t.bob.close(form);
    await t.alice.click(order.card, 'order_cancel');
    await order.waitForState('CANCELLED');
  });

  it('shows a price change while the order is pending, as does the thread after the approval', async () => {
    const order = await requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest');
    expect(textOf(order.card)).toContain('about €18.00');
    expect(await readDetails(t.workspace, t.bob, order.card)).toContain('about €18.00 (price list of ');
    await addPrice({ amount: '20.00' });
    await t.workspace.waitFor(() => (textOf(order.card).includes('about €20.00') ? true : undefined), {
      what: 'the card to show the new price',
    });
    const change = 'The price has changed from €18.00 to €20.00 since the request.';
    expect(textOf(order.card)).toContain(change);
    await requestAndApprove(t.bob, Promise.resolve(order));
    await order.waitForResult('SUCCEEDED');
    expect(order.replies().map(textOf).join('\n')).toContain(change);
    await addPrice({ amount: '99.00' });
    await t.waitUntilSlackIsCurrent();
    expect(textOf(order.card)).toContain('about €20.00');
  });
});

it('a price list can be imported from an attached file, and errors are shown at the file', async () => {
  const form = await openPriceForm('prices_import');
  const invalidResult = await t.ada.submit(form, {
    file: [t.ada.upload('prices.csv', 'zone,amount\nrest,1')],
  });
  expect(invalidResult).toMatchObject({ outcome: 'errors', errors: { file: expect.any(String) } });
  const unreadable = t.ada.upload('prices.csv', 'zone,amount\nrest\0');
  expect(await t.ada.submit(form, { file: [unreadable] })).toMatchObject({
    errors: {
      file: 'Line 2 has an unreadable character. Save the file as “CSV UTF-8” and send it again.',
    },
  });
  const header = 'zone,task,period,amount,valid_from,source';
  const file = t.ada.upload('prices.csv', `${header}\nattached,create,1,9.00,2026-01-01,A file\n`);
  expect(await t.ada.submit(await openPriceForm('prices_import'), { file: [file] })).toMatchObject({
    outcome: 'closed',
  });
  expect((await t.demo.bot.prices.list()).map(({ zone }) => zone)).toContain('attached');
});
