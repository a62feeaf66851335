import { expect, it } from 'vitest';
import { actUntilOpened, DOMAINS, useTestDemo } from '../support/demo.ts';
import { waitForOrder } from '../support/orders.ts';
import { listFields, readFieldValues } from '../support/people.ts';

/*
 * The shortcuts that open the menu of tasks: from a message with names, and from anywhere.
 */

const t = useTestDemo();

it('the message shortcut offers the message’s names and fills the form with the selected ones', async () => {
  const message = t.alice.say(
    DOMAINS,
    'deli.rest and <http://bar.rest|bar.rest> run out, soup.rest does not',
  );
  const menu = await actUntilOpened(t.workspace, t.alice, () => t.alice.shortcut('domain_here', message));
  expect(listFields(menu)).toEqual(['task', 'names']);
  const one = await t.alice.submit(menu, { task: 'restore' });
  expect(one).toMatchObject({
    outcome: 'errors',
    errors: { names: expect.stringContaining('Select only one') },
  });
  const next = await t.alice.submit(menu, { task: 'renew', names: ['deli.rest', 'bar.rest'] });
  if (next.outcome !== 'updated') throw new Error(JSON.stringify(next));
  expect(readFieldValues(next.view)).toMatchObject({ names: 'deli.rest\nbar.rest', period: '1' });
  const order = await waitForOrder(t.workspace, () => t.alice.submit(next.view));
  expect(order.card.thread_ts).toBe(message.ts);
});

it('the global shortcut posts the card in the chosen channel, or in the direct message', async () => {
  const menu = await actUntilOpened(t.workspace, t.alice, () => t.alice.globalShortcut('domain_task'));
  expect(listFields(menu)).toEqual(['task', 'channel']);
  const next = await t.alice.submit(menu, { task: 'renew', channel: DOMAINS });
  if (next.outcome !== 'updated') throw new Error(JSON.stringify(next));
  await waitForOrder(t.workspace, () => t.alice.submit(next.view, { names: 'cafe.rest' }), DOMAINS);
  const again = await actUntilOpened(t.workspace, t.alice, () => t.alice.globalShortcut('domain_task'));
  const alone = await t.alice.submit(again, { task: 'renew' });
  if (alone.outcome !== 'updated') throw new Error(JSON.stringify(alone));
  await waitForOrder(t.workspace, () => t.alice.submit(alone.view, { names: 'bistro.rest' }), 'D0ALICE');
});
