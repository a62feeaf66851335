import { SANDBOX_TRANSFER } from '@domain-steward/sandbox-service';
import { expect, test } from 'vitest';
import { answerTo, openForm, textOf, until, useTestDemo } from '../support/demo.ts';
import { approvedBy, ask, orderAfter } from '../support/orders.ts';
import { confirmByName, DELEGATION } from '../support/people.ts';

/* Manual or slow tasks are accepted first, and done when the registry shows it. */

const t = useTestDemo({ settings: { APPROVAL_TASKS: 'create,transfer,renew,restore' } });

const DAY_MS = 86_400_000;
const inWords = (at: number) =>
  new Date(at).toLocaleDateString('en-GB', {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    timeZone: 'UTC',
  });

test('a restore is accepted, and its thread says when the registry shows it', async () => {
  // The registry shows nothing yet.
  t.service.faults.set({ kind: 'rdap_not_found', match: { name: 'gone.rest' } });
  const order = await approvedBy(t.bob, ask(t.workspace, t.alice, '/domain restore gone.rest'));
  const reply = textOf(await order.ends('SUCCEEDED'));
  expect(reply).toContain('accepted by the service, not done yet');
  expect(reply).toContain('It’s processed by hand; the service doesn’t say how long it takes');
  expect(textOf(order.card)).toContain('*Accepted by the service, not done yet*');
  expect(textOf(order.card)).not.toMatch(/\bDone\b/);
  expect(await answerTo(t.workspace, t.alice, '/domain orders gone.rest')).toContain('accepted');
  await t.demo.bot.catchUp();
  expect(order.replies()).toHaveLength(1);

  t.service.faults.clear();
  await t.demo.bot.catchUp();
  await t.demo.bot.catchUp();
  await until('the thread says what the registry shows', () => order.replies().length > 1);
  expect(
    order
      .replies()
      .map((each) => textOf(each))
      .slice(1),
  ).toEqual([
    expect.stringContaining(
      '*Restore gone.rest*: the registry’s public record now shows this for gone.rest.',
    ),
  ]);
  await t.demo.bot.catchUp();
  await t.demo.bot.catchUp();
  expect(order.replies(), 'it is said once').toHaveLength(2);
  const history = await answerTo(t.workspace, t.alice, `/domain order ${order.id}`);
  expect(history.match(/seen at the registry/g)).toHaveLength(1);
});

test('a transfer is accepted with the day of its completion', async () => {
  const view = await openForm(t.workspace, t.alice, `/domain transfer ${SANDBOX_TRANSFER.name}`);
  const order = await approvedBy(
    t.bob,
    orderAfter(t.workspace, () => t.alice.submit(view, { auth: SANDBOX_TRANSFER.authCode, ...DELEGATION })),
  );
  const reply = textOf(await order.ends('SUCCEEDED'));
  expect(reply).toContain(`completes by *${inWords(Date.now() + 5 * DAY_MS)}*`);
  await t.demo.bot.catchUp();
  expect(order.replies(), 'the registry shows a transfer that is pending').toHaveLength(1);
  await t.demo.moveTime(6 * DAY_MS);
  await until('the thread says what the registry shows', () => order.replies().length > 1);
  expect(textOf(order.replies()[1] ?? { blocks: [] })).toContain(
    'the registry’s public record now shows this for bistro.rest',
  );
});

test('an owner change is a started process, with the end of its lock', async () => {
  const draft = await answerTo(t.workspace, t.alice, '/domain owner-change tapas.rest');
  expect(draft).toContain('no field for the new owner');
  expect(draft).toContain('Ask the service how');
  const question = t.alice.ephemerals().at(-1);
  if (question === undefined) throw new Error('nothing was asked');
  const order = await orderAfter(t.workspace, () =>
    confirmByName(t.workspace, t.alice, question, 'tapas.rest'),
  );
  const reply = textOf(await order.ends('SUCCEEDED'));
  expect(reply).toMatch(/accepted by the service, not done yet.*the service doesn’t report when it’s done/s);
  expect(reply).toMatch(/No transfers until \*\d+ \w+ \d{4}\*/);
  expect(textOf(order.card)).toContain('price unknown');
});

test('a task that is really done says so', async () => {
  const order = await approvedBy(t.bob, ask(t.workspace, t.alice, '/domain renew tavern.rest'));
  expect(textOf(await order.ends('SUCCEEDED'))).not.toContain('accepted');
});

test('a restore that the registry doesn’t show is reported in its thread, while the name can still be saved', async () => {
  const deleted = () => {
    const deletedAt = t.service.clock.registry() - 2 * DAY_MS;
    t.service.state.addDomain({ name: 'lost.rest', context: 4, deletedAt });
  };
  deleted();
  const order = await approvedBy(t.bob, ask(t.workspace, t.alice, '/domain restore lost.rest'));
  await order.ends('SUCCEEDED');
  // Nobody has carried it out.
  deleted();
  await t.demo.moveTime(3 * DAY_MS + 3_600_000);
  await until('the thread says so', async () => {
    await t.demo.bot.catchUp();
    return order.replies().length > 1;
  });
  expect(textOf(order.replies()[1] ?? { blocks: [] })).toMatch(
    /the registry still shows \*?lost\.rest\*? as deleted, 3 days after the service accepted the restore/,
  );
  expect(await answerTo(t.workspace, t.alice, `/domain order ${order.id}`)).toContain(
    'still not visible at the registry',
  );
});
