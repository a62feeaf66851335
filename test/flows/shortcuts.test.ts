import { expect, it } from 'vitest';
import { DOMAINS, performAndWaitForView, useTestDemo } from '../support/demo.ts';
import { waitForOrder } from '../support/orders.ts';
import { listFields, readFieldValues } from '../support/people.ts';

/* Two shortcuts open the menu of tasks: one from a message with names, one from anywhere. */

const t = useTestDemo();

it('the message shortcut offers the message’s names and fills the form with the selected ones', async () => {
  const message = t.alice.say(
    DOMAINS,
    'deli.rest and <http://bar.rest|bar.rest> run out, soup.rest does not',
  );
  const menu = await performAndWaitForView(t.workspace, t.alice, () =>
    t.alice.shortcut('domain_here', message),
  );
  expect(listFields(menu)).toEqual(['task', 'names']);
  const rejected = await t.alice.submit(menu, { task: 'restore' });
  expect(rejected).toMatchObject({
    outcome: 'errors',
    errors: { names: expect.stringContaining('Select only one') },
  });
  const next = await t.alice.submit(menu, { task: 'renew', names: ['deli.rest', 'bar.rest'] });
  if (next.outcome !== 'updated') throw new Error(JSON.stringify(next));
  expect(readFieldValues(next.view)).toMatchObject({ names: 'deli.rest\nbar.rest', period: '1' });
  const order = await waitForOrder(t.workspace, () => t.alice.submit(next.view));
  expect(order.card.thread_ts).toBe(message.ts);
});

it('the global shortcut posts the card in the chosen channel, or else in a direct message', async () => {
  const menu = await performAndWaitForView(t.workspace, t.alice, () => t.alice.globalShortcut('domain_task'));
  expect(listFields(menu)).toEqual(['task', 'channel']);
  const next = await t.alice.submit(menu, { task: 'renew', channel: DOMAINS });
  if (next.outcome !== 'updated') throw new Error(JSON.stringify(next));
  await waitForOrder(t.workspace, () => t.alice.submit(next.view, { names: 'cafe.rest' }), DOMAINS);
  const secondMenu = await performAndWaitForView(t.workspace, t.alice, () =>
    t.alice.globalShortcut('domain_task'),
  );
  const nextWithoutChannel = await t.alice.submit(secondMenu, { task: 'renew' });
  if (nextWithoutChannel.outcome !== 'updated') throw new Error(JSON.stringify(nextWithoutChannel));
  await waitForOrder(
    t.workspace,
    () => t.alice.submit(nextWithoutChannel.view, { names: 'bistro.rest' }),
    'D0ALICE',
  );
});
