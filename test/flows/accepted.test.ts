import { SANDBOX_TRANSFERABLE_DOMAIN } from '@domain-steward/sandbox-service';
import { expect, test } from 'vitest';
import { openForm, readCommandReply, textOf, until, useTestDemo } from '../support/demo.ts';
import { requestAndApprove, requestByCommand, waitForOrder } from '../support/orders.ts';
import { CONTACTS_AND_NAMESERVERS, confirmByName } from '../support/people.ts';

/* The service first accepts a manual or slow task; it is done once the registry shows it. */

const t = useTestDemo({ settings: { APPROVAL_TASKS: 'create,transfer,renew,restore' } });

const DAY_MS = 86_400_000;
const formatDate = (at: number) =>
  new Date(at).toLocaleDateString('en-GB', {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    timeZone: 'UTC',
  });

test('a restore is accepted, and its thread reports when the registry shows it', async () => {
  // The registry shows nothing yet.
  t.service.faults.set({ kind: 'rdap_not_found', match: { name: 'gone.rest' } });
  const order = await requestAndApprove(
    t.bob,
    requestByCommand(t.workspace, t.alice, '/domain restore gone.rest'),
  );
  const reply = textOf(await order.waitForResult('SUCCEEDED'));
  expect(reply).toContain('accepted by the service, not done yet');
  expect(reply).toContain('It’s processed by hand; the service doesn’t say how long it takes');
  expect(textOf(order.card)).toContain('*Accepted by the service, not done yet*');
  expect(textOf(order.card)).not.toMatch(/\bDone\b/);
  expect(await readCommandReply(t.workspace, t.alice, '/domain orders gone.rest')).toContain('accepted');
  await t.demo.bot.catchUp();
  expect(order.replies()).toHaveLength(1);

  t.service.faults.clear();
  await t.demo.bot.catchUp();
  await t.demo.bot.catchUp();
  await until('a reply about the registry’s record', () => order.replies().length > 1);
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
  expect(order.replies(), 'reported once').toHaveLength(2);
  const history = await readCommandReply(t.workspace, t.alice, `/domain order ${order.id}`);
  expect(history.match(/seen at the registry/g)).toHaveLength(1);
});

test('a transfer is accepted, and its reply has the completion date', async () => {
  const view = await openForm(t.workspace, t.alice, `/domain transfer ${SANDBOX_TRANSFERABLE_DOMAIN.name}`);
  const order = await requestAndApprove(
    t.bob,
    waitForOrder(t.workspace, () =>
      t.alice.submit(view, { auth: SANDBOX_TRANSFERABLE_DOMAIN.authCode, ...CONTACTS_AND_NAMESERVERS }),
    ),
  );
  const reply = textOf(await order.waitForResult('SUCCEEDED'));
  expect(reply).toContain(`completes by *${formatDate(Date.now() + 5 * DAY_MS)}*`);
  await t.demo.bot.catchUp();
  expect(order.replies(), 'the registry still shows a pending transfer').toHaveLength(1);
  await t.demo.moveTime(6 * DAY_MS);
  await until('a reply about the registry’s record', () => order.replies().length > 1);
  expect(textOf(order.replies()[1] ?? { blocks: [] })).toContain(
    'the registry’s public record now shows this for bistro.rest',
  );
});

test('an owner change is accepted, and its reply has the end of the transfer lock', async () => {
  const draft = await readCommandReply(t.workspace, t.alice, '/domain owner-change tapas.rest');
  expect(draft).toContain('no field for the new owner');
  expect(draft).toContain('Ask the service how');
  const question = t.alice.ephemerals().at(-1);
  if (question === undefined) throw new Error('no confirmation was requested');
  const order = await waitForOrder(t.workspace, () =>
    confirmByName(t.workspace, t.alice, question, 'tapas.rest'),
  );
  const reply = textOf(await order.waitForResult('SUCCEEDED'));
  expect(reply).toMatch(/accepted by the service, not done yet.*the service doesn’t report when it’s done/s);
  expect(reply).toMatch(/No transfers until \*\d+ \w+ \d{4}\*/);
  expect(textOf(order.card)).toContain('price unknown');
});

test('a completed task isn’t reported as accepted', async () => {
  const order = await requestAndApprove(
    t.bob,
    requestByCommand(t.workspace, t.alice, '/domain renew tavern.rest'),
  );
  expect(textOf(await order.waitForResult('SUCCEEDED'))).not.toContain('accepted');
});

test('a restore that the registry doesn’t show is reported while the name can still be saved', async () => {
  const addDeletedName = () => {
    const deletedAt = t.service.clock.registryTime() - 2 * DAY_MS;
    t.service.state.addDomain({ name: 'lost.rest', context: 4, deletedAt });
  };
  addDeletedName();
  const order = await requestAndApprove(
    t.bob,
    requestByCommand(t.workspace, t.alice, '/domain restore lost.rest'),
  );
  await order.waitForResult('SUCCEEDED');
  // Simulates that the restore was never carried out.
  addDeletedName();
  await t.demo.moveTime(3 * DAY_MS + 3_600_000);
  await until('a reply about the missing restore', async () => {
    await t.demo.bot.catchUp();
    return order.replies().length > 1;
  });
  expect(textOf(order.replies()[1] ?? { blocks: [] })).toMatch(
    /the registry still shows \*?lost\.rest\*? as deleted, 3 days after the service accepted the restore/,
  );
  expect(await readCommandReply(t.workspace, t.alice, `/domain order ${order.id}`)).toContain(
    'still not visible at the registry',
  );
});
