import { startWorkspace, type Workspace } from '@domain-steward/slack-workspace';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Order } from '../../../src/orders/order.ts';
import { Secret } from '../../../src/service/secret.ts';
import { createOrderPlanner } from '../../../src/slack/orders/order-messages.ts';
import { createDirectory } from '../../../src/slack/outbound/directory.ts';
import { notify } from '../../../src/slack/outbound/notify.ts';
import { createSlackWeb, type SlackWeb } from '../../../src/slack/outbound/web.ts';
import { ENDPOINTS, newBulk } from '../../orders/sample.ts';
import { newOrder, START_TIME, startRig } from '../../store/order-rig.ts';
import { contextWith } from '../../support/context.ts';
import { DOMAINS, textOf } from '../../support/demo.ts';
import { NO_PRICES_OR_BUDGETS } from '../../support/money.ts';
import { NO_NAME_FACTS } from '../../support/nothing-known.ts';
import { notifierDeps } from '../../support/notifier.ts';
import { newTeamSettings } from '../../support/settings.ts';
import { slackContextWith } from '../../support/slack-context.ts';
import { buildSampleStatement } from '../orders/samples.ts';

/* How often messages about an order that changes constantly are updated. */

let rig: Awaited<ReturnType<typeof startRig>>;
let workspace: Workspace;
let web: SlackWeb;
let now: Date;

beforeAll(async () => {
  [rig, workspace] = await Promise.all([startRig(), startWorkspace()]);
  web = createSlackWeb(new Secret(workspace.botToken), workspace.apiUrl);
});
beforeEach(() => {
  workspace.faults.clear();
  now = START_TIME;
});
afterAll(async () => {
  await workspace.close();
  await rig.close();
});

const context = () =>
  slackContextWith({
    web,
    directory: createDirectory(web, workspace.teamId),
    orders: contextWith({
      store: rig.store,
      ...NO_PRICES_OR_BUDGETS,
      serviceEndpoints: ENDPOINTS,
      now: () => now,
    }),
    loadSettings: async () => newTeamSettings(),
    ...NO_NAME_FACTS,
    buildStatement: buildSampleStatement,
    adminsToNotify: async () => ['U0ADA'],
    now: () => now,
    log: pino({ level: 'silent' }),
  });

const notifyOrder = (id: string) =>
  notify(
    notifierDeps(
      { notifications: rig.notifications, web, now: () => now },
      { order: createOrderPlanner(context()) },
    ),
    { kind: 'order', id },
  );

const advance = (ms: number) => {
  now = new Date(now.getTime() + ms);
};
const send = async ({ id }: Order, n: number) => {
  await rig.apply(id, { type: 'sending', workerId: 'w', n }, now);
  const result = { summary: { code: 'done' } } as const;
  return rig.apply(id, { type: 'answered', n, outcome: 'SUCCEEDED', result }, now);
};
const countUpdates = () => workspace.calls.filter(({ method }) => method === 'chat.update').length;
const readProgress = (order: Order) => {
  const [card] = workspace.messages(DOMAINS).filter((message) => textOf(message).includes(order.id));
  const found = workspace
    .messages(DOMAINS)
    .filter(({ thread_ts: thread, text }) => thread === card?.ts && text.includes('%'));
  expect(found).toHaveLength(1);
  return found[0]?.text;
};

async function startBulkOrder(label: string): Promise<Order> {
  const names = [1, 2, 3, 4].map((n) => `${label}-${n}.rest`);
  const { items, ...kept } = newOrder(
    { state: 'APPROVED', expiresAt: undefined, remindAt: undefined, bulk: newBulk(20) },
    names,
  );
  const rows = items.map((item) => ({ ...item, input: { names: [item.name], period: 1 } }));
  const order = await rig.save({ ...kept, items: rows });
  await rig.apply(order.id, { type: 'claimed', workerId: 'w' }, now);
  return send(order, 1);
}

test('the messages of a bulk order are updated at most every 3 seconds, up to its last state', async () => {
  const order = await startBulkOrder('often');
  const total = order.items.length;
  await notifyOrder(order.id);
  expect(readProgress(order)).toContain(`1 done · ${total - 1} waiting`);

  const before = countUpdates();
  await send(order, 2);
  advance(1_000);
  await notifyOrder(order.id);
  expect(countUpdates(), 'a second later').toBe(before);
  advance(2_000);
  await notifyOrder(order.id);
  expect(countUpdates(), 'the card and the progress').toBe(before + 2);
  expect(readProgress(order)).toContain(`2 done · ${total - 2} waiting`);

  for (let n = 3; n <= total; n += 1) await send(order, n);
  await notifyOrder(order.id);
  expect(readProgress(order), 'right after an update').not.toContain('100%');
  advance(3_000);
  await notifyOrder(order.id);
  expect(readProgress(order)).toContain('100%');
});
