import {
  SANDBOX_ACCOUNTS,
  type StoryContext,
  type StoryStep,
  setUpStory,
  theft,
} from '@domain-steward/sandbox-service';
import type { Message } from '@domain-steward/slack-workspace';
import { beforeAll, expect, test } from 'vitest';
import {
  actAndReadReply,
  actUntilOpened,
  buttonsOf,
  link,
  readCommandReply,
  textOf,
  until,
  useTestDemo,
} from '../support/demo.ts';
import { requestByCommand, type VisibleOrder, waitForOrder } from '../support/orders.ts';
import { downloadAuditLog } from '../support/people.ts';

/*
 * Each unexplained change is one incident, reported once, with what to do. One name is stolen step by step; the tests
 * share one clock.
 */

const ALERTS = 'C0EXPIRY';
/** The name's own channel. */
const OWN = 'C0GENERAL';
const NAME = 'stolen.rest';
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const t = useTestDemo({ linked: ['alice', 'bob'] });
let steps: readonly StoryStep[];

beforeAll(async () => {
  const { sandbox } = t.demo.dns;
  if (sandbox === undefined) throw new Error('the demo has no DNS');
  const expires = t.service.clock.registry() + 40 * DAY_MS;
  t.service.state.addDomain({
    name: NAME,
    context: 4,
    expires,
    nameServers: ['ns1.host.example', 'ns2.host.example'],
  });
  const scene: StoryContext = { service: t.service, dns: sandbox, name: NAME };
  await setUpStory(scene);
  steps = theft(scene);
  await readCommandReply(t.workspace, t.alice, `/domain watch ${NAME}`);
  await until(
    'a lookup',
    async () => {
      await t.demo.bot.catchUp();
      return (await showName()).includes('No changes since');
    },
    25_000,
  );
}, 60_000);

const showName = () => readCommandReply(t.workspace, t.alice, `/domain name ${NAME}`);
const isReply = ({ ts, thread_ts }: Message) => thread_ts !== undefined && thread_ts !== ts;
/** The messages of incidents, oldest first. */
const incidents = (channel = ALERTS): Message[] =>
  t.workspace
    .messages(channel)
    .filter((message) => message.metadata?.event_type === 'domain_incident' && !isReply(message));
const latest = (channel = ALERTS): Message => {
  const message = incidents(channel).at(-1);
  if (message === undefined) throw new Error('there is no incident');
  return message;
};
const kindsOf = (message: Message | undefined) =>
  String(message?.metadata?.event_payload['kinds'] ?? '').split(',');
const thread = (incident: Message, channel = ALERTS) =>
  t.workspace.messages(channel).filter((reply) => isReply(reply) && reply.thread_ts === incident.ts);

/** Advances by days, until the registry lookup after them. */
async function advanceAndLookUp(days: number): Promise<void> {
  await t.demo.moveTime(days * DAY_MS);
  await until('a registry lookup', async () => {
    await t.demo.bot.catchUp();
    const { nextRegistryLookupAt } = (await t.demo.bot.expiry.find(NAME)) ?? {};
    return nextRegistryLookupAt !== undefined && nextRegistryLookupAt.getTime() > t.service.clock.registry();
  });
}

/**
 * Approves a renewal and waits for the registry's new date. After that the registry is queried once a week.
 */
async function approveRenewal(order: VisibleOrder): Promise<void> {
  await t.bob.click(order.card, 'order_approve');
  await order.waitForResult('SUCCEEDED');
  // Facts have a precision of seconds.
  const secondsOf = (ms = 0) => Math.floor(ms / 1_000);
  const shown = secondsOf(t.service.state.publicDomain(NAME)?.expires);
  await until('the registry’s new date', async () => {
    const { expiry } = (await t.demo.bot.expiry.find(NAME)) ?? {};
    return expiry?.source === 'rdap' && secondsOf(expiry.at.getTime()) === shown;
  });
}

/** Advances by hours, with lookups of the name, until its latest incident has a change of a kind. */
async function waitForChange(hours: number, kind: string): Promise<Message> {
  await t.demo.moveTime(hours * HOUR_MS);
  const now = () => t.service.clock.registry();
  const before = now();
  const isNoticed = () => kindsOf(incidents().at(-1)).includes(kind);
  await until(
    `a report of ${kind}`,
    async () => {
      await t.demo.bot.catchUp();
      const next = (await t.demo.bot.expiry.find(NAME))?.nextRegistryLookupAt.getTime() ?? 0;
      // The second lookup follows the first one after half an hour.
      if (!isNoticed() && next > now() && now() - before < DAY_MS) await t.demo.moveTime(HOUR_MS);
      return isNoticed();
    },
    25_000,
  );
  return latest();
}

test('a removed lock is reported with its former value and the orders that were checked', async () => {
  const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${NAME}`);
  await approveRenewal(order);
  steps[0]?.run();
  const incident = await waitForChange(8 * 24, 'lock');
  expect(textOf(incident)).toMatch(/lost its lock, and no one here ordered this/);
  expect(textOf(incident)).toMatch(/client delete prohibited.*client transfer prohibited/);
  expect(textOf(incident)).toContain(`Renewal \`${order.id}\``);
  expect(buttonsOf(incident)).toEqual(['alert_raise', 'alert_ours']);
  await until('the runbook in the thread', () => thread(incident).length === 1);
  const [runbook = incident] = thread(incident);
  expect(textOf(runbook)).toMatch(/<@U0ALICE>.*What to do.*What not to do/s);
  expect(textOf(runbook)).toContain(`Renewal, order \`${order.id}\`: can’t cause this change.`);
  expect(incidents()).toHaveLength(1);
  await t.alice.openHome();
  await until('the incident in Home', () => {
    const home = t.alice.homeView();
    return (
      home !== undefined && textOf(home).includes(`*${NAME} lost its lock, and no one here ordered this*`)
    );
  });
});

test('an approver of an order for the name must click twice, after seeing the incident', async () => {
  const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${NAME}`);
  const before = t.bob.ephemerals().length;
  await Promise.all([t.bob.click(order.card, 'order_approve'), t.bob.click(order.card, 'order_approve')]);
  await until('replies to both clicks', () => t.bob.ephemerals().length === before + 2);
  expect(textOf(t.bob.ephemerals()[before] ?? order.card)).toMatch(/unexplained change/);
  expect(order.state).toBe('PENDING');
  await until('the incident on the card', () => /lost its lock\* since/.test(textOf(order.card)));
  await approveRenewal(order);
});

test('unwatching the name during the incident needs a second person', async () => {
  expect(await readCommandReply(t.workspace, t.bob, `/domain unwatch ${NAME}`)).toContain(
    'Another person must confirm this change',
  );
  expect(await showName()).toContain('No one here ordered this');
});

test('a transfer joins the incident, and raising the alarm notifies everyone once', async () => {
  steps[1]?.run();
  const incident = await waitForChange(5, 'pending_transfer');
  expect(incidents()).toHaveLength(1);
  expect(textOf(incident)).toMatch(/completes .*\d+ (day|hour)s?.* left/);
  await until('another alert in the thread', () =>
    /It’s being transferred to another registrar.*<@U0ALICE>/s.test(thread(incident).map(textOf).join()),
  );
  const before = thread(incident).length;
  await Promise.all([t.alice.click(incident, 'alert_raise'), t.alice.click(incident, 'alert_raise')]);
  await until('the recipients in the thread', () => thread(incident).length === before + 1);
  expect(textOf(thread(incident).at(-1) ?? incident)).toMatch(
    /<@U0ALICE> raised the alarm\. I notified <@U0ALICE>, <@U0ADA>, <@U0BOB> and <@U0CAROL>/,
  );
  expect(buttonsOf(latest())).toEqual(['alert_ours']);
});

test('a transfer to another registrar is reported, and isn’t taken for a renewal', async () => {
  const expiryDay = async () => /Expires (\d{1,2} \w{3,4} \d{4})/.exec(await showName())?.[1];
  const day = await expiryDay();
  const early = await actUntilOpened(t.workspace, t.bob, () => t.bob.click(latest(), 'alert_ours'));
  expect(textOf(early)).not.toContain('Elsewhere Registrar');
  steps[2]?.run();
  const incident = await waitForChange(5, 'registrar');
  const outcome = await t.bob.submit(early, { reason: 'We know of the transfer' });
  if (outcome.outcome !== 'updated') throw new Error(`the form was accepted: ${JSON.stringify(outcome)}`);
  expect(textOf(outcome.view), 'the change since the form was opened').toMatch(
    /incident changed.*Elsewhere Registrar Inc\./s,
  );
  expect(incidents(), 'the theft is one incident').toHaveLength(1);
  expect(textOf(incident)).toMatch(/was transferred away/);
  expect(textOf(incident)).toMatch(/Sandbox Registrar Ltd.*Elsewhere Registrar Inc\./s);
  await until('the note in the thread that it is no renewal', () =>
    /The transfer also changed the expiry date.*The name wasn’t renewed/.test(
      thread(incident).map(textOf).join(),
    ),
  );
  expect(textOf(thread(incident)[0] ?? incident), 'no advice that can’t work anymore').not.toMatch(
    /reject the transfer/,
  );
  expect(await readCommandReply(t.workspace, t.alice, '/domain expiring 900')).toContain(
    'That’s a transfer, not a renewal',
  );
  expect(day, 'the expiry day before').toBeDefined();
  expect(await expiryDay(), 'the expiry day after the transfer').toBe(day);
  expect(await showName()).toMatch(
    /:rotating_light: ?\*?It was transferred to another registrar\.\* No one here ordered this/,
  );
  expect(await showName()).not.toContain(':white_check_mark: *Expires');
});

test('only approvers and admins can mark a change as ours, and then the new date counts', async () => {
  const incident = latest();
  expect(await actAndReadReply(t.workspace, t.alice, () => t.alice.click(incident, 'alert_ours'))).toMatch(
    /Only approvers and admins/,
  );
  const form = await actUntilOpened(t.workspace, t.bob, () => t.bob.click(incident, 'alert_ours'));
  expect(form.callback_id).toBe('alert_ours');
  await t.bob.submit(form, { reason: 'We moved it to the new registrar' });
  await until('the reason', () => textOf(latest()).includes('We moved it to the new registrar'));
  expect(buttonsOf(latest())).toEqual([]);
  await until('the reply in the thread', () =>
    /<@U0BOB> says it was us/.test(thread(incident).map(textOf).join()),
  );
  await until('the registry’s date in the list', async () => {
    await t.demo.bot.catchUp();
    return !(await readCommandReply(t.workspace, t.alice, '/domain expiring 900')).includes(
      'That’s a transfer, not a renewal',
    );
  });
  const { csv } = await downloadAuditLog(t.workspace, '/domain audit');
  expect(csv, 'the audit log').toMatch(/,incident_opened,Domain Steward,,,incident,.*lock: statuses from /);
  expect(csv).toMatch(/,incident_joined,Domain Steward,,,incident,.*registrar: registrar from "/);
  expect(csv).toMatch(/,incident_ours,Bob \(U0BOB\),,,incident,.*We moved it to the new registrar/);
});

test('an order in the demo system doesn’t explain a change of the live name', async () => {
  const hosts = ['ns1.newhost.example', 'ns2.newhost.example'];
  const nameServers = ['ns1.host.example', 'ns2.host.example'];
  t.service.state.addDomain({
    name: NAME,
    context: 1,
    expires: t.service.clock.registry() + DAY_MS,
    nameServers,
  });
  await link(t.workspace, t.alice, SANDBOX_ACCOUNTS.aliceDemoSystem);
  await readCommandReply(t.workspace, t.alice, '/domain use 1');
  await readCommandReply(t.workspace, t.alice, `/domain nameservers ${NAME} ${hosts.join(' ')}`);
  const draft = t.alice.ephemerals().at(-1);
  if (draft === undefined) throw new Error('no confirmation was requested');
  const form = await actUntilOpened(t.workspace, t.alice, () => t.alice.click(draft, 'order_confirm'));
  const order = await waitForOrder(t.workspace, () => t.alice.submit(form, { name: NAME }));
  await order.waitForResult('SUCCEEDED');
  t.service.registry.show(NAME, { nameServers: hosts });
  const incident = await waitForChange(8 * 24, 'nameservers');
  expect(incidents(), 'a second incident after 72 hours').toHaveLength(2);
  expect(textOf(incident)).toMatch(/ns1\.newhost\.example/);
  expect(thread(incident).map(textOf).join(), 'orders that could have caused it').not.toContain(order.id);
});

test('an incident is closed with a reply when everything is back to normal', async () => {
  const incident = latest();
  t.service.registry.show(NAME, { nameServers: ['ns1.host.example', 'ns2.host.example'] });
  await until(
    'the incident is over',
    async () => {
      await t.demo.moveTime(HOUR_MS);
      await t.demo.bot.catchUp();
      return /is back to normal/.test(textOf(latest()));
    },
    25_000,
  );
  expect(incidents()).toHaveLength(2);
  expect(buttonsOf(latest())).toEqual([]);
  await until('the reply in the thread', () =>
    /Everything has been back to normal/.test(thread(incident).map(textOf).join()),
  );
});

test('an incident is posted in the alert channel and the name’s channel, and both are updated', async () => {
  const shown = t.alice.ephemerals().findLast((message) => buttonsOf(message).includes('name_edit'));
  if (shown === undefined) throw new Error('the name has no button for its details');
  const details = await actUntilOpened(t.workspace, t.alice, () => t.alice.click(shown, 'name_edit'));
  await t.alice.submit(details, { channel: OWN });
  // The confirmed transfer would explain a new owner for three weeks.
  await advanceAndLookUp(15);
  t.service.registry.show(NAME, { owner: { name: 'Mallory', organization: 'Thief Ltd' } });
  const incident = await waitForChange(8 * 24, 'owner');
  await until('the incident in the name’s channel', () => incidents(OWN).length === 1);
  const copy = latest(OWN);
  await until(
    'the runbook in both threads',
    () => thread(incident).length === 1 && thread(copy, OWN).length === 1,
  );
  await t.alice.click(copy, 'alert_raise');
  await until('the recipients in both threads', () =>
    [thread(incident), thread(copy, OWN)].every((replies) =>
      /raised the alarm\. I notified/.test(replies.map(textOf).join()),
    ),
  );
  const form = await actUntilOpened(t.workspace, t.bob, () => t.bob.click(incident, 'alert_ours'));
  await t.bob.submit(form, { reason: 'We asked the registrar for it' });
  await until('the reason in both messages', () =>
    [latest(), latest(OWN)].every((message) => textOf(message).includes('We asked the registrar')),
  );
  expect([latest(), latest(OWN)].map(buttonsOf)).toEqual([[], []]);
  expect(incidents(OWN), 'earlier incidents stay where they are').toHaveLength(1);
});
