import type { Actor } from '@domain-steward/slack-workspace';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { buttonsOf, DOMAINS, link, openForm, readCommandReply, textOf, until } from '../support/demo.ts';
import { type BotEnvironment, SHORT_LEASE_BOT, startBotEnvironment } from '../support/harness.ts';
import {
  countChargesFor,
  requestAndApprove,
  requestByCommand,
  requestsOf,
  type VisibleOrder,
  waitForOrder,
} from '../support/orders.ts';
import { CONTACTS_AND_NAMESERVERS, downloadAuditLog, giveReason } from '../support/people.ts';
import { REGISTRY_CA_ENV, SecureRegistry } from '../support/registry.ts';

/*
 * Registry records over HTTPS are proof of some results and hints about others. The bot is a separate process, because
 * Node reads its certificate authorities at startup.
 */

const MAX_WAIT_MS = 60_000;

let s: BotEnvironment;
let registry: SecureRegistry;
let alice: Actor;
let bob: Actor;

beforeAll(async () => {
  s = await startBotEnvironment();
  registry = await new SecureRegistry(s.service).start();
  await s.start(SHORT_LEASE_BOT, {
    ...REGISTRY_CA_ENV,
    RDAP_BOOTSTRAP_URL: registry.bootstrapUrl,
    SERVICE_TIMEOUT: '4s',
  });
  alice = s.workspace.as('U0ALICE');
  bob = s.workspace.as('U0BOB');
  await link(s.workspace, alice);
}, MAX_WAIT_MS);
afterEach(() => s.service.faults.clear());
afterAll(async () => {
  await s.stop();
  registry.stop();
});

/** Imports a name, which makes the bot query the registries now. */
async function queryRegistries(): Promise<void> {
  const form = await openForm(s.workspace, alice, '/domain import');
  await alice.submit(form, { names: 'soup.rest' });
}
async function requestUnansweredRegistration(name: string): Promise<VisibleOrder> {
  s.service.faults.set({ kind: 'drop_after', times: 1, match: { task: 'domain.create', name } });
  const form = await openForm(s.workspace, alice, `/domain create ${name}`);
  const submit = () => alice.submit(form, CONTACTS_AND_NAMESERVERS);
  const order = await requestAndApprove(bob, waitForOrder(s.workspace, submit, DOMAINS, name));
  await order.waitForResult('UNKNOWN');
  return order;
}
const waitForHint = (order: VisibleOrder) =>
  s.workspace.waitFor(
    () => (textOf(order.card).includes('Public records (not proof)') ? textOf(order.card) : undefined),
    {
      what: `the hint on the card of order ${order.id}`,
      timeoutMs: 15_000,
    },
  );

test(
  'a registration with the requested nameservers is settled as done automatically',
  async () => {
    const order = await requestUnansweredRegistration('brand-new.rest');
    await queryRegistries();
    const reply = await order.waitForResult('SUCCEEDED', 15_000);
    expect(textOf(reply)).toMatch(
      /I marked this as done\. The registry shows.*registered at the time this was sent, with the requested nameservers/s,
    );
    expect(countChargesFor(s.service, 'brand-new.rest')).toBe(1);
    expect(requestsOf(s.service, order)).toHaveLength(1);
    const { csv } = await downloadAuditLog(s.workspace);
    const lines = csv.split('\r\n').filter((line) => line.includes(order.id) && line.includes(',resolved,'));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/,resolved,Registry record \(RDAP\),.*registered at the time this was sent/);
  },
  MAX_WAIT_MS,
);

test(
  'a registration with other nameservers is only a hint, and a person settles it',
  async () => {
    const nameservers = [{ objectClassName: 'nameserver', ldhName: 'ns1.parked.example' }];
    registry.overrides.set('snatched.rest', { nameservers });
    const order = await requestUnansweredRegistration('snatched.rest');
    await queryRegistries();
    expect(await waitForHint(order)).toMatch(
      /with other nameservers: ns1\.parked\.example\. Source: `localhost:\d+`/,
    );
    expect(order.state).toBe('UNKNOWN');
    const form = await giveReason(
      s.workspace,
      bob,
      order.card,
      'order_resolve_failed',
      'Another person’s renewal',
    );
    expect(textOf(form)).toMatch(/Public records \(not proof\).*other nameservers/s);
    expect(textOf(await order.waitForResult('FAILED'))).toMatch(/<@U0BOB> marked this as failed/);
  },
  MAX_WAIT_MS,
);

test(
  'each of several names is settled separately, by a record or a person, and named in the thread',
  async () => {
    const names = ['bar.rest', 'cafe.rest', 'deli.rest'];
    for (const name of names) await readCommandReply(s.workspace, alice, `/domain watch ${name}`);
    s.service.faults.set({ kind: 'drop_after', times: 1, match: { name: 'bar.rest', task: 'domain.renew' } });
    s.service.faults.set({
      kind: 'drop_before',
      times: 1,
      match: { name: 'cafe.rest', task: 'domain.renew' },
    });
    const order = await requestAndApprove(
      bob,
      requestByCommand(s.workspace, alice, `/domain renew ${names.join(' ')}`),
    );
    expect(textOf(await order.waitForResult('UNKNOWN'))).toMatch(/unknown for 2 of 3 names/);
    await queryRegistries();
    const first = await s.workspace.waitFor(
      () => order.replies().find((reply) => textOf(reply).includes('marked this as done')),
      { what: 'the reply that bar.rest is settled', timeoutMs: 15_000 },
    );
    expect(textOf(first)).toMatch(/\*bar\.rest\* \(Renew 3 names for 1 year\): .*marked this as done/);
    expect(textOf(first)).toMatch(
      /expiry date at the registry moved by the requested number of years, from .* to /,
    );
    expect(await waitForHint(order)).toMatch(/cafe\.rest: No renewal found/);
    expect(order.state, 'while cafe.rest is open').toBe('UNKNOWN');
    expect(buttonsOf(order.card)).toEqual(['order_resolve_done', 'order_resolve_failed', 'order_look']);
    await giveReason(s.workspace, bob, first, 'order_resolve_failed', 'Not on the invoice');
    const last = await order.waitForResult('FAILED');
    expect(textOf(last)).toMatch(/\*cafe\.rest\*.*: <@U0BOB> marked this as failed/);
    const retryOrder = await waitForOrder(s.workspace, () => alice.click(last, 'order_retry'));
    await bob.click(retryOrder.card, 'order_approve');
    await retryOrder.waitForResult('SUCCEEDED');
    await until('each name is charged once', () =>
      names.every((name) => countChargesFor(s.service, name) === 1),
    );
  },
  MAX_WAIT_MS,
);
