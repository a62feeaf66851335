import { type Message, startWorkspace, type Workspace } from '@domain-steward/slack-workspace';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readConfig, type TeamSettings } from '../../../src/config/environment.ts';
import { applySavedSettings } from '../../../src/config/settings.ts';
import type { OrdersContext } from '../../../src/orders/context.ts';
import type { Order } from '../../../src/orders/order.ts';
import { Secret } from '../../../src/service/secret.ts';
import type { AdminsToNotify } from '../../../src/slack/context.ts';
import { createOrderPlanner } from '../../../src/slack/orders/order-messages.ts';
import { createDirectory } from '../../../src/slack/outbound/directory.ts';
import { notify as notifySubject } from '../../../src/slack/outbound/notify.ts';
import { createSlackWeb, type SlackWeb } from '../../../src/slack/outbound/web.ts';
import { Prisma } from '../../../src/store/database.ts';
import { ENDPOINTS, SUFFICIENT_APPROVAL } from '../../orders/sample.ts';
import { newOrder, startRig } from '../../store/order-rig.ts';
import { contextWith } from '../../support/context.ts';
import { buttonsOf, textOf } from '../../support/demo.ts';
import { NO_PRICES_OR_BUDGETS } from '../../support/money.ts';
import { NO_NAME_FACTS, NO_POLICY } from '../../support/nothing-known.ts';
import { notifierDeps } from '../../support/notifier.ts';
import { orderOf } from '../../support/orders.ts';
import { slackContextWith } from '../../support/slack-context.ts';
import { buildSampleStatement } from '../orders/samples.ts';

/* The direct messages about a pending order: their recipients and times. Bob lives in London, Carol in New York. */

let rig: Awaited<ReturnType<typeof startRig>>;
let workspace: Workspace;
let web: SlackWeb;

beforeAll(async () => {
  [rig, workspace] = await Promise.all([startRig(), startWorkspace()]);
  web = createSlackWeb(new Secret(workspace.botToken), workspace.apiUrl);
});
afterAll(async () => {
  await workspace.close();
  await rig.close();
});

const { defaultSettings } = readConfig({
  SLACK_BOT_TOKEN: 'xoxb-1',
  SLACK_SIGNING_SECRET: 'secret-secret',
  SERVICE_JSON_URL: 'https://service.example/v1',
  CREDENTIALS_KEYS: `k1:${Buffer.alloc(32).toString('base64')}`,
  APPROVERS: 'U0BOB,S0APPROVERS',
});

const RESERVED = { teamId: 'T0STEWARD', day: '2026-11-24', items: [], agreedExcess: [] };
const at = (moment: string) => new Date(moment);
const NIGHT_IN_LONDON = at('2026-11-24T02:00:00Z');
const MORNING_IN_LONDON = at('2026-11-24T07:00:00Z');

/** Parts of the context that a test replaces. */
interface Changes {
  readonly orders?: Partial<OrdersContext>;
  readonly adminsToNotify?: AdminsToNotify;
}

function notify(
  order: Order,
  now: Date,
  { orders = {}, adminsToNotify = async () => ['U0ADA'] }: Changes = {},
  changed: Partial<TeamSettings> = {},
): Promise<void> {
  const directory = createDirectory(web, workspace.teamId);
  const loadSettings = async () => ({ ...applySavedSettings(defaultSettings, {}), ...changed });
  const planner = createOrderPlanner(
    slackContextWith({
      web,
      directory,
      orders: contextWith({
        ...{ store: rig.store, directory, loadSettings, ...NO_POLICY, ...NO_PRICES_OR_BUDGETS },
        ...{ findFirstExpiry: async () => undefined, serviceEndpoints: ENDPOINTS, now: () => now },
        ...orders,
      }),
      loadSettings,
      ...NO_NAME_FACTS,
      buildStatement: buildSampleStatement,
      adminsToNotify,
      now: () => now,
      log: pino({ level: 'silent' }),
    }),
  );
  return notifySubject(
    notifierDeps({ notifications: rig.notifications, web, now: () => now }, { order: planner }),
    { kind: 'order', id: order.id },
  );
}

const savePending = (changes: Partial<Order> = {}) =>
  rig.save(
    newOrder({
      channelId: 'D0ALICE',
      isPrivate: true,
      createdAt: at('2026-11-23T20:00:00Z'),
      remindAt: at('2026-11-24T00:00:00Z'),
      escalateAt: at('2026-11-24T01:00:00Z'),
      expiresAt: at('2026-11-26T20:00:00Z'),
      ...changes,
    }),
  );

const remind = (order: Order, now: Date) => rig.apply(order.id, { type: 'reminded' }, now);
const escalate = (order: Order, now: Date, to: readonly string[]) =>
  rig.apply(order.id, { type: 'escalated', to, toAdmins: to.length === 0 }, now);

const messagesOf = (order: Order, channel: string): Message[] =>
  workspace.messages(channel).filter((message) => orderOf(message)?.id === order.id);
const reminders = (order: Order, channel: string): string[] =>
  messagesOf(order, channel)
    .map(textOf)
    .filter((text) => /still waiting|has been waiting for approval since/.test(text));

test('approvers who have the card in a direct message are reminded there, at 7:00 local time', async () => {
  const order = await savePending();
  await notify(order, NIGHT_IN_LONDON);
  expect([...messagesOf(order, 'D0BOB'), ...messagesOf(order, 'D0CAROL')], 'sent at once').toHaveLength(2);
  await remind(order, NIGHT_IN_LONDON);
  await notify(order, NIGHT_IN_LONDON);
  expect(reminders(order, 'D0BOB'), 'at 2:00 in London').toEqual([]);
  expect(reminders(order, 'D0CAROL'), 'at 21:00 in New York').toHaveLength(1);
  expect((await rig.findDueTimes(order.id)).notifications).toEqual(MORNING_IN_LONDON);

  expect(await rig.notifications.claimDueSubjects(at('2026-11-24T06:59:59Z'), 1, 10)).not.toContainEqual({
    kind: 'order',
    id: order.id,
  });
  await notify(order, MORNING_IN_LONDON);
  const [card, reminder, ...more] = messagesOf(order, 'D0BOB');
  expect(more).toEqual([]);
  expect(reminder?.thread_ts).toBe(card?.ts);
  expect(reminders(order, 'D0CAROL'), 'already reminded').toHaveLength(1);
  expect((await rig.findDueTimes(order.id)).notifications).toBeUndefined();
});

test('a person whose approval is in the log isn’t reminded, even if the rows differ', async () => {
  const order = await savePending();
  await notify(order, NIGHT_IN_LONDON);
  const approved = {
    type: 'approved',
    ...SUFFICIENT_APPROVAL,
    by: 'U0CAROL',
    validApprovers: ['U0CAROL'],
  } as const;
  const isApproved = false;
  await rig.apply(
    order.id,
    { ...approved, progress: { ...SUFFICIENT_APPROVAL.progress, isApproved } },
    NIGHT_IN_LONDON,
  );
  await rig.database.run(Prisma.sql`UPDATE approvals SET user_id = 'U0BOB' WHERE order_id = ${order.id}`);
  await remind(order, MORNING_IN_LONDON);
  await notify(order, MORNING_IN_LONDON);
  expect([reminders(order, 'D0BOB').length, reminders(order, 'D0CAROL').length]).toEqual([1, 0]);
});

const OVERRUN = { tag: null, period: '2026-11', currency: 'EUR', leftMinor: 0, orderMinor: 1_800 };

test('an order over a budget is sent to the admins, except for its requester', async () => {
  const comparison = { shares: [], exceeded: [OVERRUN], reservation: { ...RESERVED, hasBudget: true } };
  const changes = {
    adminsToNotify: async () => ['U0ADA', 'U0ALICE', 'U0DAVE'],
    orders: { compareBudgets: async () => comparison },
  };
  const order = await savePending();
  await rig.apply(
    order.id,
    {
      type: 'approved',
      ...SUFFICIENT_APPROVAL,
      by: 'U0CAROL',
      validApprovers: ['U0CAROL'],
      budget: { exceeded: [OVERRUN], admins: [] },
    },
    NIGHT_IN_LONDON,
  );
  await notify(order, NIGHT_IN_LONDON, changes);
  const [card, ...more] = messagesOf(order, 'D0ADA');
  expect(card && buttonsOf(card)).toContain('order_approve');
  expect(more).toEqual([]);
  const thread = messagesOf(order, 'D0ALICE').map(textOf).join('\n');
  expect(thread).toContain('<@U0ADA> or <@U0DAVE> also has to approve it.');

  const noon = at('2026-11-24T12:00:00Z');
  await remind(order, noon);
  await notify(order, noon, changes);
  expect(reminders(order, 'D0ADA')).toHaveLength(1);
  expect([...reminders(order, 'D0BOB'), ...reminders(order, 'D0CAROL')], 'no more are needed').toEqual([]);
  expect(messagesOf(order, 'D0ALICE').map(textOf).join('\n')).toContain(
    'still waiting for approval. <@U0ADA>, <@U0DAVE>',
  );

  const crowded = await savePending();
  const many = Array.from({ length: 20 }, (_, n) => `U0NOBODY${n}`);
  await notify(crowded, noon, {
    ...changes,
    orders: {
      ...changes.orders,
      directory: { listGroupMembers: async () => many, findMembership: async () => 'member' },
    },
  });
  expect(messagesOf(crowded, 'D0ADA'), 'despite as many approvers as get a message').toHaveLength(1);

  const withinBudget = await savePending();
  await notify(withinBudget, NIGHT_IN_LONDON, {
    ...changes,
    orders: { compareBudgets: async () => ({ ...comparison, exceeded: [] }) },
  });
  expect(messagesOf(withinBudget, 'D0ADA')).toEqual([]);
});

test('an escalation messages the rule’s people and group members once, but not the requester', async () => {
  const order = await savePending({ channelId: 'C0DOMAINS', isPrivate: false });
  const noon = at('2026-11-24T15:00:00Z');
  await escalate(order, noon, ['U0ADA', 'U0ALICE', 'S0APPROVERS']);
  await notify(order, noon);
  await notify(order, noon);
  expect(reminders(order, 'D0ADA')).toHaveLength(1);
  expect(reminders(order, 'D0ADA')[0]).toMatch(
    /has been waiting for approval since .*\. Requested by <@U0ALICE>\. <@U0BOB> or a member of <!subteam\^S0APPROVERS> can approve it\. To see it, use `\/domain order/,
  );
  expect(reminders(order, 'D0CAROL')).toHaveLength(1);
  expect([...reminders(order, 'D0ALICE'), ...reminders(order, 'D0BOB')]).toEqual([]);
  expect(reminders(order, 'C0DOMAINS')).toHaveLength(1);
  expect(messagesOf(order, 'C0DOMAINS').map(textOf).join('\n')).toContain(
    'still waiting for approval. Escalated to <@U0ADA>, <@U0ALICE>, <!subteam^S0APPROVERS>. I messaged <@U0ADA> and <@U0CAROL>.',
  );
});

test('an escalation goes to the admins if the rule names no one', async () => {
  const order = await savePending({ channelId: 'C0DOMAINS', isPrivate: false });
  const noon = at('2026-11-24T15:00:00Z');
  await escalate(order, noon, []);
  await notify(order, noon);
  expect(reminders(order, 'D0ADA')).toHaveLength(1);
  expect(messagesOf(order, 'C0DOMAINS').map(textOf).join('\n')).toContain('I messaged <@U0ADA>.');
});

test('the thread names no one if Slack returns no admin, or accepts no message to one', async () => {
  const noon = at('2026-11-24T15:00:00Z');
  for (const adminsToNotify of [async () => [], async () => ['U0GONE']]) {
    const order = await savePending({ channelId: 'C0DOMAINS', isPrivate: false });
    await escalate(order, noon, []);
    await notify(order, noon, { adminsToNotify });
    const thread = messagesOf(order, 'C0DOMAINS').map(textOf).join('\n');
    expect(thread).toContain('I couldn’t reach any admin.');
    expect(thread).not.toContain('I messaged');
  }
});

test('an escalation reaches everyone else despite an unreachable person and a Slack outage', async () => {
  const order = await savePending({ channelId: 'C0DOMAINS', isPrivate: false });
  const noon = at('2026-11-24T15:00:00Z');
  await escalate(order, noon, ['U0BOB', 'U0CAROL', 'U0ADA']);
  workspace.faults.set({
    method: 'chat.postMessage',
    channel: 'D0BOB',
    kind: 'error',
    code: 'user_disabled',
  });
  workspace.faults.set({ method: 'chat.postMessage', channel: 'D0CAROL', kind: 'http_500' });
  await notify(order, noon);
  workspace.faults.clear();
  expect(reminders(order, 'D0ADA')).toHaveLength(1);
  await notify(order, at('2026-11-24T15:01:00Z'));
  expect(reminders(order, 'D0CAROL')).toHaveLength(1);
  expect(reminders(order, 'D0ADA')).toHaveLength(1);
});
