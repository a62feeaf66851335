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
  buttonsOf,
  link,
  performAndReadReply,
  performAndWaitForView,
  readCommandReply,
  textOf,
  until,
  useTestDemo,
} from '../support/demo.ts';
import { requestByCommand, type VisibleOrder, waitForOrder } from '../support/orders.ts';
import { downloadAuditLog } from '../support/people.ts';

/*
 * Each unexplained change is reported once, as an incident with a runbook. A thief takes over one name step
 * by step. The tests share one clock and build on each other.
 */

const ALERT_CHANNEL = 'C0EXPIRY';
const NAME_CHANNEL = 'C0GENERAL';
const NAME = 'stolen.rest';
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const t = useTestDemo({ linkedPeople: ['alice', 'bob'] });
let theftSteps: readonly StoryStep[];

beforeAll(async () => {
  const { sandbox } = t.demo.dns;
  if (sandbox === undefined) throw new Error('the demo has no DNS');
  const expires = t.service.clock.registryTime() + 40 * DAY_MS;
  t.service.state.addDomain({
    name: NAME,
    context: 4,
    expires,
    nameServers: ['ns1.host.example', 'ns2.host.example'],
  });
  const story: StoryContext = { service: t.service, dns: sandbox, name: NAME };
  await setUpStory(story);
  theftSteps = theft(story);
  await readCommandReply(t.workspace, t.alice, `/domain watch ${NAME}`);
  await until(
    'the first lookup',
    async () => {
      await t.demo.bot.catchUp();
      return (await showName()).includes('No changes since');
    },
    25_000,
  );
}, 60_000);

const showName = () => readCommandReply(t.workspace, t.alice, `/domain name ${NAME}`);
const isReply = ({ ts, thread_ts }: Message) => thread_ts !== undefined && thread_ts !== ts;
/** Oldest first. */
const listIncidents = (channel = ALERT_CHANNEL): Message[] =>
  t.workspace
    .messages(channel)
    .filter((message) => message.metadata?.event_type === 'domain_incident' && !isReply(message));
const getLatestIncident = (channel = ALERT_CHANNEL): Message => {
  const message = listIncidents(channel).at(-1);
  if (message === undefined) throw new Error('there is no incident');
  return message;
};
const changeKindsOf = (message: Message | undefined) =>
  String(message?.metadata?.event_payload['kinds'] ?? '').split(',');
const listReplies = (incident: Message, channel = ALERT_CHANNEL) =>
  t.workspace.messages(channel).filter((reply) => isReply(reply) && reply.thread_ts === incident.ts);

/** Moves the clock by days and waits for the next registry lookup. */
async function advanceAndLookUp(days: number): Promise<void> {
  await t.demo.moveTime(days * DAY_MS);
  await until('a registry lookup', async () => {
    await t.demo.bot.catchUp();
    const { nextRegistryLookupAt } = (await t.demo.bot.expiry.find(NAME)) ?? {};
    return (
      nextRegistryLookupAt !== undefined && nextRegistryLookupAt.getTime() > t.service.clock.registryTime()
    );
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
  const registryExpiry = secondsOf(t.service.state.findPublicDomain(NAME)?.expires);
  await until('the registry’s new date', async () => {
    const { expiry } = (await t.demo.bot.expiry.find(NAME)) ?? {};
    return expiry?.source === 'rdap' && secondsOf(expiry.at.getTime()) === registryExpiry;
  });
}

/** Moves the clock and runs lookups until the latest incident includes this kind of change. */
async function waitForReportedChange(hours: number, kind: string): Promise<Message> {
  await t.demo.moveTime(hours * HOUR_MS);
  const now = () => t.service.clock.registryTime();
  const startedAt = now();
  const isNoticed = () => changeKindsOf(listIncidents().at(-1)).includes(kind);
  await until(
    `a report of ${kind}`,
    async () => {
      await t.demo.bot.catchUp();
      const next = (await t.demo.bot.expiry.find(NAME))?.nextRegistryLookupAt.getTime() ?? 0;
      // The second lookup follows the first one after half an hour.
      if (!isNoticed() && next > now() && now() - startedAt < DAY_MS) await t.demo.moveTime(HOUR_MS);
      return isNoticed();
    },
    25_000,
  );
  return getLatestIncident();
}

test('the report of a removed lock shows the former statuses and the orders that were checked', async () => {
  const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${NAME}`);
  await approveRenewal(order);
  theftSteps[0]?.run();
  const incident = await waitForReportedChange(8 * 24, 'lock');
  expect(textOf(incident)).toMatch(/lost its lock, and no one here ordered this/);
  expect(textOf(incident)).toMatch(/client delete prohibited.*client transfer prohibited/);
  expect(textOf(incident)).toContain(`Renewal \`${order.id}\``);
  expect(buttonsOf(incident)).toEqual(['alert_raise', 'alert_ours']);
  await until('the runbook in the thread', () => listReplies(incident).length === 1);
  const [runbook = incident] = listReplies(incident);
  expect(textOf(runbook)).toMatch(/<@U0ALICE>.*What to do.*What not to do/s);
  expect(textOf(runbook)).toContain(`Renewal, order \`${order.id}\`: can’t cause this change.`);
  expect(listIncidents()).toHaveLength(1);
  await t.alice.openHome();
  await until('the incident in Home', () => {
    const home = t.alice.homeView();
    return (
      home !== undefined && textOf(home).includes(`*${NAME} lost its lock, and no one here ordered this*`)
    );
  });
});

test('an approval of an order for the name counts only after the approver saw the incident', async () => {
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

test('a pending transfer joins the incident, and raising the alarm notifies everyone once', async () => {
  theftSteps[1]?.run();
  const incident = await waitForReportedChange(5, 'pending_transfer');
  expect(listIncidents()).toHaveLength(1);
  expect(textOf(incident)).toMatch(/completes .*\d+ (day|hour)s?.* left/);
  await until('another alert in the thread', () =>
    /It’s being transferred to another registrar.*<@U0ALICE>/s.test(listReplies(incident).map(textOf).join()),
  );
  const before = listReplies(incident).length;
  await Promise.all([t.alice.click(incident, 'alert_raise'), t.alice.click(incident, 'alert_raise')]);
  await until('the recipients in the thread', () => listReplies(incident).length === before + 1);
  expect(textOf(listReplies(incident).at(-1) ?? incident)).toMatch(
    /<@U0ALICE> raised the alarm\. I notified <@U0ALICE>, <@U0ADA>, <@U0BOB> and <@U0CAROL>/,
  );
  expect(buttonsOf(getLatestIncident())).toEqual(['alert_ours']);
});

test('a completed transfer is reported, and its new expiry date doesn’t count as a renewal', async () => {
  const expiryDay = async () => /Expires (\d{1,2} \w{3,4} \d{4})/.exec(await showName())?.[1];
  const day = await expiryDay();
  const staleForm = await performAndWaitForView(t.workspace, t.bob, () =>
    t.bob.click(getLatestIncident(), 'alert_ours'),
  );
  expect(textOf(staleForm)).not.toContain('Elsewhere Registrar');
  theftSteps[2]?.run();
  const incident = await waitForReportedChange(5, 'registrar');
  const result = await t.bob.submit(staleForm, { reason: 'We know of the transfer' });
  if (result.outcome !== 'updated') throw new Error(`the form was accepted: ${JSON.stringify(result)}`);
  expect(textOf(result.view), 'the change since the form was opened').toMatch(
    /incident changed.*Elsewhere Registrar Inc\./s,
  );
  expect(listIncidents(), 'the theft is one incident').toHaveLength(1);
  expect(textOf(incident)).toMatch(/was transferred away/);
  expect(textOf(incident)).toMatch(/Sandbox Registrar Ltd.*Elsewhere Registrar Inc\./s);
  await until('the note in the thread that the transfer isn’t a renewal', () =>
    /The transfer also changed the expiry date.*The name wasn’t renewed/.test(
      listReplies(incident).map(textOf).join(),
    ),
  );
  expect(textOf(listReplies(incident)[0] ?? incident), 'advice for a pending transfer').not.toMatch(
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

test('only approvers and admins can mark a change as ours; the new expiry date then counts', async () => {
  const incident = getLatestIncident();
  expect(
    await performAndReadReply(t.workspace, t.alice, () => t.alice.click(incident, 'alert_ours')),
  ).toMatch(/Only approvers and admins/);
  const form = await performAndWaitForView(t.workspace, t.bob, () => t.bob.click(incident, 'alert_ours'));
  expect(form.callback_id).toBe('alert_ours');
  await t.bob.submit(form, { reason: 'We moved it to the new registrar' });
  await until('the reason', () => textOf(getLatestIncident()).includes('We moved it to the new registrar'));
  expect(buttonsOf(getLatestIncident())).toEqual([]);
  await until('the reply in the thread', () =>
    /<@U0BOB> says it was us/.test(listReplies(incident).map(textOf).join()),
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
    expires: t.service.clock.registryTime() + DAY_MS,
    nameServers,
  });
  await link(t.workspace, t.alice, SANDBOX_ACCOUNTS.aliceDemoSystem);
  await readCommandReply(t.workspace, t.alice, '/domain use 1');
  await readCommandReply(t.workspace, t.alice, `/domain nameservers ${NAME} ${hosts.join(' ')}`);
  const draft = t.alice.ephemerals().at(-1);
  if (draft === undefined) throw new Error('no confirmation was requested');
  const form = await performAndWaitForView(t.workspace, t.alice, () => t.alice.click(draft, 'order_confirm'));
  const order = await waitForOrder(t.workspace, () => t.alice.submit(form, { name: NAME }));
  await order.waitForResult('SUCCEEDED');
  t.service.registry.show(NAME, { nameServers: hosts });
  const incident = await waitForReportedChange(8 * 24, 'nameservers');
  expect(listIncidents(), 'a second incident after 72 hours').toHaveLength(2);
  expect(textOf(incident)).toMatch(/ns1\.newhost\.example/);
  expect(listReplies(incident).map(textOf).join(), 'orders that could have caused it').not.toContain(
    order.id,
  );
});

test('an incident is closed with a reply when everything is back to normal', async () => {
  const incident = getLatestIncident();
  t.service.registry.show(NAME, { nameServers: ['ns1.host.example', 'ns2.host.example'] });
  await until(
    'the incident is over',
    async () => {
      await t.demo.moveTime(HOUR_MS);
      await t.demo.bot.catchUp();
      return /is back to normal/.test(textOf(getLatestIncident()));
    },
    25_000,
  );
  expect(listIncidents()).toHaveLength(2);
  expect(buttonsOf(getLatestIncident())).toEqual([]);
  await until('the reply in the thread', () =>
    /Everything has been back to normal/.test(listReplies(incident).map(textOf).join()),
  );
});

test('an incident is posted in the alert channel and the name’s channel, and both are updated', async () => {
  const nameReply = t.alice.ephemerals().findLast((message) => buttonsOf(message).includes('name_edit'));
  if (nameReply === undefined) throw new Error('the name has no button for its details');
  const details = await performAndWaitForView(t.workspace, t.alice, () =>
    t.alice.click(nameReply, 'name_edit'),
  );
  await t.alice.submit(details, { channel: NAME_CHANNEL });
  // For three weeks, the confirmed transfer explains a new owner.
  await advanceAndLookUp(15);
  t.service.registry.show(NAME, { owner: { name: 'Mallory', organization: 'Thief Ltd' } });
  const incident = await waitForReportedChange(8 * 24, 'owner');
  await until('the incident in the name’s channel', () => listIncidents(NAME_CHANNEL).length === 1);
  const copy = getLatestIncident(NAME_CHANNEL);
  await until(
    'the runbook in both threads',
    () => listReplies(incident).length === 1 && listReplies(copy, NAME_CHANNEL).length === 1,
  );
  await t.alice.click(copy, 'alert_raise');
  await until('the recipients in both threads', () =>
    [listReplies(incident), listReplies(copy, NAME_CHANNEL)].every((replies) =>
      /raised the alarm\. I notified/.test(replies.map(textOf).join()),
    ),
  );
  const form = await performAndWaitForView(t.workspace, t.bob, () => t.bob.click(incident, 'alert_ours'));
  await t.bob.submit(form, { reason: 'We asked the registrar for it' });
  await until('the reason in both messages', () =>
    [getLatestIncident(), getLatestIncident(NAME_CHANNEL)].every((message) =>
      textOf(message).includes('We asked the registrar'),
    ),
  );
  expect([getLatestIncident(), getLatestIncident(NAME_CHANNEL)].map(buttonsOf)).toEqual([[], []]);
  expect(
    listIncidents(NAME_CHANNEL),
    'incidents in the name’s channel, without the earlier ones',
  ).toHaveLength(1);
});
