import {
  SANDBOX_ACCOUNTS,
  type Scene,
  type StoryStep,
  setScene,
  theft,
} from '@domain-steward/sandbox-service';
import type { Message } from '@domain-steward/slack-workspace';
import { beforeAll, expect, test } from 'vitest';
import {
  answerTo,
  buttonsOf,
  link,
  openedAfter,
  textOf,
  toldAfter,
  until,
  useTestDemo,
} from '../support/demo.ts';
import { ask, orderAfter } from '../support/orders.ts';
import { auditLog } from '../support/people.ts';

/*
 * What no order explains is told once, with what to do. One name is stolen step by step; the time of the demo goes on from
 * test to test.
 */

const ALERTS = 'C0EXPIRY';
/** A channel of the name itself. */
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
  const scene: Scene = { service: t.service, dns: sandbox, name: NAME };
  await setScene(scene);
  steps = theft(scene);
  await answerTo(t.workspace, t.alice, `/domain watch ${NAME}`);
  await until(
    'it was looked at',
    async () => {
      await t.demo.bot.catchUp();
      return (await screen()).includes('Nothing has changed');
    },
    25_000,
  );
}, 60_000);

const screen = () => answerTo(t.workspace, t.alice, `/domain name ${NAME}`);
const alarms = (channel = ALERTS): Message[] =>
  t.workspace.messages(channel).filter((message) => kindOf(message) !== undefined && !isReply(message));
const isReply = ({ ts, thread_ts }: Message) => thread_ts !== undefined && thread_ts !== ts;
const alarmOf = (kind: string, channel = ALERTS) =>
  alarms(channel).find((message) => kindOf(message) === kind);
const thread = (alarm: Message, channel = ALERTS) =>
  t.workspace.messages(channel).filter((reply) => isReply(reply) && reply.thread_ts === alarm.ts);

function kindOf({ metadata }: Message): unknown {
  if (metadata?.event_type !== 'domain_alarm') return undefined;
  return metadata.event_payload['kind'];
}

/** Lets days pass, with looks at the name, until an alarm of a kind stands in the channel. */
async function alarmAfter(days: number, kind: string): Promise<Message> {
  await t.demo.moveTime(days * DAY_MS);
  const now = () => t.service.clock.registry();
  const before = now();
  await until(
    `${kind} is told`,
    async () => {
      await t.demo.bot.catchUp();
      const next = (await t.demo.bot.expiry.find(NAME))?.nextRegistryAt.getTime() ?? 0;
      // Once a look is made, the second one is half an hour after it.
      if (alarmOf(kind) === undefined && next > now() && now() - before < DAY_MS)
        await t.demo.moveTime(HOUR_MS);
      return alarmOf(kind) !== undefined;
    },
    25_000,
  );
  const alarm = alarmOf(kind);
  if (alarm === undefined) throw new Error('it has gone');
  return alarm;
}

test('a lock that goes is told with what it was, and which orders were looked at', async () => {
  const order = await ask(t.workspace, t.alice, `/domain renew ${NAME}`);
  await t.bob.click(order.card, 'order_approve');
  await order.ends('SUCCEEDED');
  steps[0]?.run();
  const alarm = await alarmAfter(1, 'lock_gone');
  expect(textOf(alarm)).toMatch(/A lock that protected it is gone/);
  expect(textOf(alarm)).toMatch(/client delete prohibited, client transfer prohibited/);
  expect(textOf(alarm)).toContain(`Renewal, order \`${order.id}\`: it does not change this.`);
  expect(textOf(alarm)).toContain(`/domain name ${NAME}`);
  expect(buttonsOf(alarm)).toEqual(['alert_ours', 'alert_raise']);
  await until('the runbook stands in the thread', () => thread(alarm).length === 1);
  expect(textOf(thread(alarm)[0] ?? alarm)).toMatch(/What to do.*What not to do.*Whom to call/s);
  expect(alarms().map(kindOf)).toEqual(['lock_gone']);
});

test('a transfer shows when it goes through by itself, and raising it tells everybody once', async () => {
  steps[1]?.run();
  const alarm = await alarmAfter(1, 'pending_transfer');
  expect(textOf(alarm)).toMatch(/It goes through by itself.*at the earliest.*\d+ (day|hour)s?.* left/);
  await Promise.all([t.alice.click(alarm, 'alert_raise'), t.alice.click(alarm, 'alert_raise')]);
  await until('the thread says who was told', () => thread(alarm).length === 2);
  expect(textOf(thread(alarm)[1] ?? alarm)).toMatch(
    /<@U0ALICE> raised this\. I told <@U0ALICE>, <@U0ADA>, <@U0BOB>, <@U0CAROL>/,
  );
  expect(buttonsOf(alarmOf('pending_transfer') ?? alarm)).toEqual(['alert_ours']);
  expect(thread(alarm)).toHaveLength(2);
});

test('a name at another registrar is no renewed one: it is told, and reminders go on', async () => {
  const expiryDay = async () => /Expires (\d{1,2} \w{3} \d{4})/.exec(await screen())?.[1];
  const day = await expiryDay();
  steps[2]?.run();
  const alarm = await alarmAfter(5, 'registrar');
  expect(textOf(alarm)).toMatch(/It is at another registrar/);
  expect(textOf(alarm)).toMatch(/Its expiry moved with it.*That is a transfer, not a renewal/);
  expect(textOf(alarm)).toMatch(/Sandbox Registrar Ltd.*Elsewhere Registrar Inc\./s);
  // The watch list reads the registry by itself, up to a week later than the look that raised the alarm.
  await until(
    'the watch list does not believe the date',
    async () => {
      await t.demo.bot.catchUp();
      const listed = await answerTo(t.workspace, t.alice, '/domain expiring 500');
      const isSeen = listed.includes('together with the registrar');
      if (!isSeen) await t.demo.moveTime(DAY_MS);
      return isSeen;
    },
    25_000,
  );
  expect(day, 'the date was there before').toBeDefined();
  expect(await expiryDay(), 'it is still known as it was').toBe(day);
  expect(await screen(), 'the screen of the name begins with it').toMatch(
    /^.*\n.*\n:rotating_light: \*It is at another registrar\.\* No order explains it/,
  );
  expect(await screen()).not.toContain(':white_check_mark: *Expires');
});

test('only approvers and admins say that it was ours, with a reason, and then its date is believed', async () => {
  const alarm = alarmOf('registrar');
  if (alarm === undefined) throw new Error('there is none');
  expect(await toldAfter(t.workspace, t.alice, () => t.alice.click(alarm, 'alert_ours'))).toMatch(
    /Only approvers and admins/,
  );
  const form = await openedAfter(t.workspace, t.bob, () => t.bob.click(alarm, 'alert_ours'));
  expect(form.callback_id).toBe('alert_ours');
  await t.bob.submit(form, { reason: 'We moved it to the new registrar' });
  await until('the message says so', () =>
    textOf(alarmOf('registrar') ?? alarm).includes('We moved it to the new registrar'),
  );
  expect(buttonsOf(alarmOf('registrar') ?? alarm)).toEqual([]);
  await until('the thread says so', () =>
    /<@U0BOB> says that this is ours/.test(thread(alarm).map(textOf).join()),
  );
  await until('the date of the registry is believed', async () => {
    await t.demo.bot.catchUp();
    return !(await answerTo(t.workspace, t.alice, '/domain expiring 900')).includes(
      'together with the registrar',
    );
  });
  const { csv } = await auditLog(t.workspace, '/domain audit');
  expect(csv, 'the audit log').toMatch(/,alarm_raised,Domain Steward,,,alarm,.*registrar: registrar from "/);
  expect(csv).toMatch(/,alarm_explained,Bob \(U0BOB\),,,alarm,.*We moved it to the new registrar/);
});

test('an order in the demo system explains no change of the live name', async () => {
  const hosts = ['ns1.newhost.example', 'ns2.newhost.example'];
  const nameServers = ['ns1.host.example', 'ns2.host.example'];
  t.service.state.addDomain({
    name: NAME,
    context: 1,
    expires: t.service.clock.registry() + DAY_MS,
    nameServers,
  });
  await link(t.workspace, t.alice, SANDBOX_ACCOUNTS.aliceDemoSystem);
  await answerTo(t.workspace, t.alice, '/domain use 1');
  await answerTo(t.workspace, t.alice, `/domain nameservers ${NAME} ${hosts.join(' ')}`);
  const draft = t.alice.ephemerals().at(-1);
  if (draft === undefined) throw new Error('nothing was asked');
  const form = await openedAfter(t.workspace, t.alice, () => t.alice.click(draft, 'order_confirm'));
  const order = await orderAfter(t.workspace, () => t.alice.submit(form, { name: NAME }));
  await order.ends('SUCCEEDED');
  t.service.registry.show(NAME, { nameServers: hosts });
  const alarm = await alarmAfter(1, 'nameservers');
  expect(textOf(alarm)).toMatch(/ns1\.newhost\.example/);
  expect(textOf(alarm), 'it is none of the orders that could have caused it').not.toContain(order.id);
});

test('a channel of the name has its alarms besides the common one, and both are kept up to date', async () => {
  const shown = t.alice.ephemerals().findLast((message) => buttonsOf(message).includes('name_edit'));
  if (shown === undefined) throw new Error('the name has no button for its details');
  const details = await openedAfter(t.workspace, t.alice, () => t.alice.click(shown, 'name_edit'));
  await t.alice.submit(details, { channel: OWN });
  t.service.registry.show(NAME, { owner: { name: 'Mallory', organization: 'Thief Ltd' } });
  const alarm = await alarmAfter(1, 'owner');
  await until('it stands in the channel of the name', () => alarmOf('owner', OWN) !== undefined);
  const copy = alarmOf('owner', OWN) ?? alarm;
  await until(
    'both threads say what to do',
    () => thread(alarm).length === 1 && thread(copy, OWN).length === 1,
  );

  await t.alice.click(copy, 'alert_raise');
  await until('both threads say who was told', () =>
    [thread(alarm), thread(copy, OWN)].every((replies) => /raised this/.test(replies.map(textOf).join())),
  );
  const form = await openedAfter(t.workspace, t.bob, () => t.bob.click(alarm, 'alert_ours'));
  await t.bob.submit(form, { reason: 'We asked the registrar for it' });
  await until('both say so', () =>
    [alarmOf('owner'), alarmOf('owner', OWN)].every(
      (message) => message !== undefined && textOf(message).includes('We asked the registrar'),
    ),
  );
  expect([alarmOf('owner'), alarmOf('owner', OWN)].map((message) => message && buttonsOf(message))).toEqual([
    [],
    [],
  ]);
  expect(alarms(OWN), 'those of before it had the channel stay where they are').toHaveLength(1);
});
