import { SANDBOX_ACCOUNTS, setUpStory } from '@domain-steward/sandbox-service';
import type { Actor, Message } from '@domain-steward/slack-workspace';
import { beforeAll, expect, test } from 'vitest';
import {
  buttonsOf,
  DOMAINS,
  link,
  openForm,
  performAndReadReply,
  performAndWaitForView,
  readCommandReply,
  textOf,
  until,
  useTestDemo,
} from '../support/demo.ts';
import { type VisibleOrder, waitForOrder } from '../support/orders.ts';
import { expectFormClosed } from '../support/people.ts';

/*
 * A private order explains changes of a name to people who can see the order. Everyone else sees only that a
 * private order exists. Carol is a member without access.
 */

const NAME = 'quiet.rest';
const ALICE_DM_CHANNEL = 'D0ALICE';
const HOUR_MS = 3_600_000;
const NEW_HOSTS = ['ns1.newhost.example', 'ns2.newhost.example'];

const t = useTestDemo({ settings: { APPROVERS: 'U0BOB' } });
const showName = (person: Actor) => readCommandReply(t.workspace, person, `/domain name ${NAME}`);

beforeAll(async () => {
  const { sandbox } = t.demo.dns;
  if (sandbox === undefined) throw new Error('the demo has no DNS');
  const expires = t.service.clock.registryTime() + 40 * 24 * HOUR_MS;
  const nameServers = ['ns1.host.example', 'ns2.host.example'];
  t.service.state.addDomain({ name: NAME, context: 4, expires, nameServers });
  await setUpStory({ service: t.service, dns: sandbox, name: NAME });
  await readCommandReply(t.workspace, t.alice, `/domain watch ${NAME}`);
  await lookUpUntil('the first lookup', async () => (await showName(t.alice)).includes('No changes since'));
}, 60_000);

/** Runs due lookups and moves the clock by hours until a condition holds. */
async function lookUpUntil(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  await until(
    what,
    async () => {
      await t.demo.bot.catchUp();
      if (await isTrue()) return true;
      await t.demo.moveTime(HOUR_MS);
      return false;
    },
    40_000,
  );
}

/** Alice requests new nameservers in a direct message. */
async function requestPrivately(): Promise<VisibleOrder> {
  const line = `/domain nameservers ${NAME} ${NEW_HOSTS.join(' ')}`;
  const before = t.alice.ephemerals().length;
  await t.alice.command(ALICE_DM_CHANNEL, line);
  const draft = await t.workspace.waitFor(
    () =>
      t.alice
        .ephemerals()
        .slice(before)
        .find((each) => buttonsOf(each).includes('order_confirm')),
    { what: 'the confirmation request' },
  );
  const confirm = () => t.alice.click(draft, 'order_confirm');
  const form = await performAndWaitForView(t.workspace, t.alice, confirm);
  return waitForOrder(t.workspace, () => t.alice.submit(form, { name: NAME }), ALICE_DM_CHANNEL);
}

test('a private order is named as a cause only to people who can see it, never in incidents', async () => {
  const order = await requestPrivately();
  await order.waitForResult('SUCCEEDED');
  t.demo.dns.sandbox?.world.delegate(NAME, NEW_HOSTS);
  t.service.registry.show(NAME, { nameServers: NEW_HOSTS });
  await lookUpUntil('the change in /domain name', async () =>
    (await showName(t.alice)).includes(`by order \`${order.id}\``),
  );
  for (const person of [t.bob, t.ada]) expect(await showName(person)).toContain(`by order \`${order.id}\``);
  const replyToCarol = await showName(t.carol);
  expect(replyToCarol).toContain('by a private order');
  expect(replyToCarol).not.toContain(order.id);

  t.service.registry.show(NAME, { statuses: ['active'] });
  const listIncidents = () =>
    t.workspace.messages('C0EXPIRY').filter(({ metadata }) => metadata?.event_type === 'domain_incident');
  await lookUpUntil('the incident', async () => listIncidents().length > 0);
  const incident = textOf(listIncidents()[0] ?? { blocks: [] });
  expect(incident).toContain('1 private order');
  expect(incident).not.toContain(order.id);
  expect(incident).not.toContain('Nameservers, order');
}, 120_000);

test('a conflict with an open private order doesn’t show its ID to others', async () => {
  const command = () => t.alice.command(ALICE_DM_CHANNEL, '/domain renew cafe.rest');
  const order = await waitForOrder(t.workspace, command, ALICE_DM_CHANNEL);
  const replyToAlice = await performAndReadReply(t.workspace, t.alice, () =>
    t.alice.command(DOMAINS, '/domain renew cafe.rest'),
  );
  expect(replyToAlice).toContain(order.id);
  await link(t.workspace, t.carol, SANDBOX_ACCOUNTS.frontdesk);
  const replyToCarol = await performAndReadReply(t.workspace, t.carol, () =>
    t.carol.command(DOMAINS, '/domain renew cafe.rest'),
  );
  expect(replyToCarol).toContain('A private order for this is already open');
  expect(replyToCarol).not.toContain(order.id);
  const form = await openForm(t.workspace, t.carol, '/domain bulk renew');
  const plan = await performAndReadReply(t.workspace, t.carol, () =>
    t.carol.submit(form, { rows: 'name,period\ncafe.rest,1' }),
  );
  expect(plan).not.toContain(order.id);
  await t.alice.click(order.card, 'order_cancel');
});

test('a dropped plan is deleted', async () => {
  const form = await openForm(t.workspace, t.alice, '/domain bulk renew');
  const before = t.alice.ephemerals().length;
  expectFormClosed(await t.alice.submit(form, { rows: `name,period\n${NAME},1` }));
  const plan = await t.workspace.waitFor((): Message | undefined => t.alice.ephemerals()[before], {
    what: 'the plan',
  });
  const id = /"value":"([0-9a-z]{12})"/.exec(JSON.stringify(plan.blocks))?.[1] ?? '';
  expect(id).not.toBe('');
  await t.alice.click(plan, 'bulk_drop');
  await until('the plan is deleted', async () => !(await t.dump()).includes(id));
  for (const person of [t.alice, t.carol, t.ada]) {
    expect(await readCommandReply(t.workspace, person, `/domain orders ${NAME}`)).not.toMatch(/Renew/);
    expect(await readCommandReply(t.workspace, person, `/domain order ${id}`)).toContain('doesn’t exist');
  }
});
