import { type Message, startWorkspace, type Workspace } from '@domain-steward/slack-workspace';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Order, OrderEvent } from '../../../src/orders/order.ts';
import type { NotificationStore } from '../../../src/outbox/notifications.ts';
import { Secret } from '../../../src/service/secret.ts';
import { adoptCard, createOrderPlanner } from '../../../src/slack/orders/order-messages.ts';
import { createDirectory } from '../../../src/slack/outbound/directory.ts';
import { notify } from '../../../src/slack/outbound/notify.ts';
import { createSlackWeb, postedResponseSchema, type SlackWeb } from '../../../src/slack/outbound/web.ts';
import { ENDPOINTS } from '../../orders/sample.ts';
import { newOrder, START_TIME, startRig } from '../../store/order-rig.ts';
import { contextWith } from '../../support/context.ts';
import { DOMAINS, textOf } from '../../support/demo.ts';
import { NO_PRICES_OR_BUDGETS } from '../../support/money.ts';
import { NO_NAME_FACTS, NO_POLICY } from '../../support/nothing-known.ts';
import { notifierDeps } from '../../support/notifier.ts';
import { orderOf } from '../../support/orders.ts';
import { newTeamSettings } from '../../support/settings.ts';
import { slackContextWith } from '../../support/slack-context.ts';
import { buildSampleStatement } from './samples.ts';

/* Cards and threads of orders that change between two reads. */

let rig: Awaited<ReturnType<typeof startRig>>;
let workspace: Workspace;
let web: SlackWeb;

beforeAll(async () => {
  [rig, workspace] = await Promise.all([startRig(), startWorkspace()]);
  web = createSlackWeb(new Secret(workspace.botToken), workspace.apiUrl);
});
beforeEach(() => workspace.faults.clear());
afterAll(async () => {
  await workspace.close();
  await rig.close();
});

/** A test's replacements for parts of the notifier. */
interface Changes {
  readonly web?: SlackWeb;
  readonly notifications?: NotificationStore;
  readonly leaseMs?: number;
}

function notifyOrder(
  { notifications = rig.notifications, leaseMs = 12_000, web: slack = web }: Changes,
  id: string,
) {
  const now = () => new Date();
  const settings = async () => newTeamSettings();
  const directory = createDirectory(slack, workspace.teamId);
  const context = slackContextWith({
    web: slack,
    directory,
    orders: contextWith({
      ...{ store: rig.store, directory, loadSettings: settings, ...NO_POLICY, ...NO_PRICES_OR_BUDGETS },
      ...{ findFirstExpiry: async () => undefined, serviceEndpoints: ENDPOINTS, now },
    }),
    loadSettings: settings,
    ...NO_NAME_FACTS,
    buildStatement: buildSampleStatement,
    adminsToNotify: async () => ['U0ADA'],
    now,
    log: pino({ level: 'silent' }),
  });
  return notify(
    notifierDeps({ notifications, web: slack, now, leaseMs }, { order: createOrderPlanner(context) }),
    { kind: 'order', id },
  );
}

const DONE = { summary: { code: 'done' }, code: 'S01', text: 'Domain renewed' } as const;
const apply = (order: Order, event: OrderEvent) => rig.apply(order.id, event, new Date());

/** An order whose first request is running. */
async function createSendingOrder(): Promise<Order> {
  const order = await rig.save(newOrder({ state: 'APPROVED', expiresAt: undefined, remindAt: undefined }));
  await apply(order, { type: 'claimed', workerId: 'w' });
  return apply(order, { type: 'sending', workerId: 'w', n: 1 });
}

const messagesOf = (order: Order): Message[] =>
  workspace.messages(DOMAINS).filter((message) => orderOf(message)?.id === order.id);
const cardsOf = (order: Order) => messagesOf(order).filter(({ thread_ts }) => thread_ts === undefined);
const repliesOf = (order: Order) => messagesOf(order).filter(({ thread_ts }) => thread_ts !== undefined);

/** The store, with an order that changes right after its first read. */
function changeAfterClaim(order: Order, event: OrderEvent): NotificationStore {
  return {
    ...rig.notifications,
    async claim(...lease) {
      const read = await rig.notifications.claim(...lease);
      await apply(order, event);
      return read;
    },
  };
}

test('a result is posted with its content, even if the order ended after it was read', async () => {
  const order = await createSendingOrder();
  const ended = { type: 'answered', n: 1, outcome: 'SUCCEEDED', result: DONE } as const;
  await notifyOrder({ notifications: changeAfterClaim(order, ended) }, order.id);
  const [reply, ...others] = repliesOf(order);
  expect(others).toEqual([]);
  expect(textOf(reply ?? { blocks: [] })).toMatch(/Domain renewed/);
  expect(cardsOf(order).map((card) => orderOf(card)?.state)).toEqual(['SUCCEEDED']);
});

test('a draft whose confirmation and sending the database lost is posted as unknown', async () => {
  const order = await rig.save(newOrder({ state: 'DRAFT', remindAt: undefined }));
  await notifyOrder({}, order.id);
  expect(messagesOf(order), 'while it is a draft').toEqual([]);
  const lostRequest = { n: 1, sentAt: START_TIME, attempts: 1, outcome: 'SUCCEEDED', result: DONE } as const;
  await apply(order, { type: 'invalidated', summary: { code: 'database_restored' }, lostRequest });
  await notifyOrder({}, order.id);
  expect(cardsOf(order).map((card) => orderOf(card)?.state)).toEqual(['UNKNOWN']);
  expect(repliesOf(order).map(textOf).join('\n')).toMatch(/outcome unknown/);
  expect(cardsOf(order).map(textOf).join('\n'), 'the known result').toMatch(/Domain renewed/);
});

test('a card posted by a bot that died is adopted when its button is clicked', async () => {
  const order = await rig.save(newOrder());
  await notifyOrder({}, order.id);
  const [known] = cardsOf(order);
  if (known === undefined) throw new Error('there is no card');
  const { blocks, text, metadata } = known;
  const { ts } = await web.call(
    'chat.postMessage',
    { channel: DOMAINS, text, blocks, metadata },
    postedResponseSchema,
  );
  const stores = { notifications: rig.notifications, orders: rig.store, now: () => new Date() };
  const readerId = 'U0BOB';
  await adoptCard(stores, order.id, { channelId: DOMAINS, ts: known.ts, readerId });
  await adoptCard(stores, 'no-such-order', { channelId: DOMAINS, ts, readerId });
  expect((await rig.notifications.loadSubject({ kind: 'order', id: order.id }))?.notifications).toHaveLength(
    1,
  );
  await adoptCard(stores, order.id, { channelId: DOMAINS, ts, readerId });
  await apply(order, { type: 'cancelled', by: 'U0ALICE' });
  await notifyOrder({}, order.id);
  expect(cardsOf(order).map((card) => orderOf(card)?.state)).toEqual(['CANCELLED', 'CANCELLED']);
});
