import { SANDBOX_ACCOUNTS } from '@domain-steward/sandbox-service';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { Secret } from '../../src/service/secret.ts';
import { createSlackWeb, okResponseSchema } from '../../src/slack/outbound/web.ts';
import {
  buttonsOf,
  DOMAINS,
  link,
  openForm,
  performAndReadReply,
  readCommandReply,
  textOf,
  until,
  useTestDemo,
} from '../support/demo.ts';
import {
  orderOf,
  requestAndApprove,
  requestByCommand,
  requestsOf,
  type VisibleOrder,
  waitForOrder,
} from '../support/orders.ts';

/*
 * Slack rate limits calls, fails, loses responses or refuses permanently. In every case the service gets one
 * request, the result is delivered, other orders aren't delayed, and every card finally matches its order in
 * the database.
 */

const GENERAL_CHANNEL = 'C0GENERAL';
const ALICE_DM_CHANNEL = 'D0ALICE';

// The clock advances far, so reminders are off.
const t = useTestDemo({
  settings: { SERVICE_TIMEOUT: '5s', APPROVAL_REMIND_AFTER: '90d', APPROVAL_TTL: '90d' },
});
let database: pg.Client;
/** Slack never responds when the bot posts the result of this order. The last test checks it. */
let unansweredOrder: Promise<VisibleOrder>;
let nameCount = 0;

beforeAll(async () => {
  database = new pg.Client({ connectionString: t.databaseUrl });
  await database.connect();
  unansweredOrder = (async () => {
    const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${addName()}`, GENERAL_CHANNEL);
    await until('the card is recorded', async () => (await readRow(order)).shown === 1);
    t.workspace.faults.set({
      method: 'chat.postMessage',
      channel: GENERAL_CHANNEL,
      kind: 'timeout',
      times: 1,
    });
    await t.bob.click(order.card, 'order_approve');
    return order;
  })();
  await unansweredOrder;
});
afterEach(() => t.workspace.faults.clear());
afterAll(() => database.end());

function addName(): string {
  nameCount += 1;
  const name = `slack-${nameCount}.rest`;
  t.service.state.addDomain({ name, context: 4 });
  return name;
}

const rowSchema = z.object({ state: z.string(), version: z.number(), shown: z.number().nullable() });

async function readRow(order: VisibleOrder): Promise<z.infer<typeof rowSchema>> {
  const { rows } = await database.query(
    `SELECT o.state, n.version, n.shows::int AS shown FROM orders o JOIN notifications n
       ON n.subject_kind = 'order' AND n.subject_id = o.id AND n.purpose = 'plan' WHERE o.id = $1`,
    [order.id],
  );
  return rowSchema.parse(rows[0]);
}

/** By order, how many failed attempts to update its messages the tests have already handled. */
const handledFailures = new Map<string, number>();

/** @param orderId counts all orders by default */
const countFailures = (orderId = '') =>
  t
    .getLog()
    .split('\n')
    .filter((line) => line.includes(orderId) && line.includes('notifying people failed, will retry')).length;

/** Advances past the bot's retries until Slack shows the order's current state. */
async function waitUntilShown(order: VisibleOrder): Promise<void> {
  const isShown = async () => {
    const { version, shown } = await readRow(order);
    return version === shown;
  };
  for (let tries = 0; tries < 20; tries += 1) {
    await until(
      `order ${order.id} is shown or retried`,
      async () => (await isShown()) || countFailures(order.id) > (handledFailures.get(order.id) ?? 0),
    );
    if (await isShown()) return;
    handledFailures.set(order.id, countFailures(order.id));
    // Longer than any retry delay of the bot.
    await t.demo.moveTime(11 * 60_000);
  }
  throw new Error(`order ${order.id} isn’t shown in its current state`);
}

const CARD_TEXTS: Readonly<Record<string, RegExp>> = {
  PENDING: /Waiting for/,
  SUCCEEDED: /Renewed|Changed/,
  FAILED: /Failed/,
  UNKNOWN: /Outcome unknown/,
  CANCELLED: /Canceled, nothing was sent/,
};

const cardsOf = (order: VisibleOrder) => order.messages().filter(({ thread_ts }) => thread_ts === undefined);
const repliesOf = (order: VisibleOrder) =>
  order.messages().filter(({ thread_ts }) => thread_ts !== undefined);

async function expectCardMatches(order: VisibleOrder, what: string): Promise<void> {
  const { state } = await readRow(order);
  for (const card of cardsOf(order)) {
    expect(orderOf(card)?.state, `${what}: the card of an order that is ${state}`).toBe(state);
    expect(textOf(card), `${what}: the text of its card`).toMatch(CARD_TEXTS[state] ?? /^$/);
  }
}

describe('while a channel is rate limited for 30 s', () => {
  afterEach(async () => {
    t.workspace.faults.clear();
    await t.demo.moveTime(31_000);
  });

  test('it gets at most two calls, others aren’t delayed, and all messages follow in order', async () => {
    const name = addName();
    const limitedOrder = await requestByCommand(t.workspace, t.alice, `/domain renew ${name}`);
    await waitUntilShown(limitedOrder);
    const before = t.workspace.calls.length;
    t.workspace.faults.set({ method: '*', channel: DOMAINS, kind: 'ratelimited', retryAfterSeconds: 30 });
    await t.bob.click(limitedOrder.card, 'order_approve');
    await until('the service is done', () => requestsOf(t.service, limitedOrder)[0]?.status === 200);
    const otherOrder = await requestAndApprove(
      t.bob,
      requestByCommand(t.workspace, t.alice, `/domain renew ${addName()}`, 'C0EXPIRY'),
    );
    // Slack rate limits updates per workspace and posts per channel.
    await until('the other order’s result in the thread', () =>
      otherOrder.replies().some((reply) => orderOf(reply)?.state === 'SUCCEEDED'),
    );
    await until('the order has succeeded', async () => (await readRow(limitedOrder)).state === 'SUCCEEDED');
    await t.demo.moveTime(20_000);
    const rateLimitedCalls = t.workspace.calls.slice(before).filter(({ error }) => error === 'ratelimited');
    expect(rateLimitedCalls.length, 'rate limited calls').toBeLessThanOrEqual(2);
    expect(limitedOrder.state, 'the state on the card during the limit').not.toBe('SUCCEEDED');

    t.workspace.faults.clear();
    await t.demo.moveTime(11_000);
    await limitedOrder.waitForResult('SUCCEEDED');
    await expectCardMatches(limitedOrder, 'after the limit');
    expect(limitedOrder.messages().map((message) => orderOf(message)?.state)).toEqual([
      'SUCCEEDED',
      'SUCCEEDED',
    ]);
    expect(requestsOf(t.service, limitedOrder)).toHaveLength(1);
  });

  test('the reply to a click in the channel is sent as a direct message', async () => {
    const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${addName()}`);
    await waitUntilShown(order);
    t.workspace.faults.set({ method: '*', channel: DOMAINS, kind: 'ratelimited', retryAfterSeconds: 30 });
    t.workspace.faults.set({ method: 'response_url', kind: 'http_500' });
    await t.alice.click(order.card, 'order_approve');
    const reply = await t.workspace.waitFor(
      () => t.workspace.messages(ALICE_DM_CHANNEL).find(({ text }) => text.includes('You requested this')),
      { what: 'the refusal in Alice’s direct message' },
    );
    expect(textOf(reply)).toMatch(/someone else|an approver has to approve/);
  });
});

describe('a failure of Slack while', () => {
  const KINDS = [
    { kind: 'ratelimited', retryAfterSeconds: 1 },
    { kind: 'http_500' },
    { kind: 'error', code: 'internal_error' },
    { kind: 'error', code: 'an_error_of_tomorrow' },
    { kind: 'lost_answer' },
  ] as const;
  const STEPS = [
    { step: 'posting the card', method: 'chat.postMessage', when: 'requesting' },
    { step: 'updating the card', method: 'chat.update', when: 'approving' },
    { step: 'posting the result', method: 'chat.postMessage', when: 'approving' },
  ] as const;
  const cases = STEPS.flatMap((step) =>
    KINDS.map((fault) => ({ ...step, fault, what: 'code' in fault ? fault.code : fault.kind })),
  );

  test.each(cases)('$step ($what) is retried', async ({ method, when, fault, what }) => {
    const name = addName();
    if (when === 'requesting') t.workspace.faults.set({ method, channel: DOMAINS, times: 1, ...fault });
    const orderRequest = requestByCommand(t.workspace, t.alice, `/domain renew ${name}`, DOMAINS, name);
    if (when === 'requesting') {
      await until('Slack has failed', () =>
        t.workspace.calls.some(({ args }) => JSON.stringify(args).includes(name)),
      );
      await t.demo.moveTime(2_000);
    }
    const order = await orderRequest;
    handledFailures.set(order.id, countFailures(order.id));
    await waitUntilShown(order);
    if (when === 'approving') t.workspace.faults.set({ method, channel: DOMAINS, times: 1, ...fault });
    await t.bob.click(order.card, 'order_approve');
    await until('the order has succeeded', async () => (await readRow(order)).state === 'SUCCEEDED');
    await waitUntilShown(order);

    const lostCount = fault.kind === 'lost_answer' ? 1 : 0;
    const extraCards = lostCount === 1 && when === 'requesting' ? 1 : 0;
    const extraReplies = lostCount === 1 && method === 'chat.postMessage' && when === 'approving' ? 1 : 0;
    expect(cardsOf(order), 'cards').toHaveLength(1 + extraCards);
    expect(
      repliesOf(order).map((reply) => orderOf(reply)?.state),
      'replies',
    ).toEqual(Array.from({ length: 1 + extraReplies }, () => 'SUCCEEDED'));
    // If there are two cards, the clicked one is updated too.
    await expectCardMatches(order, what);
    expect(requestsOf(t.service, order)).toHaveLength(1);
  });
});

test('a card is retried and posted in full after Slack responds with HTML', async () => {
  const name = addName();
  const before = t.workspace.calls.length;
  t.workspace.faults.set({ method: 'chat.postMessage', channel: DOMAINS, kind: 'no_json', times: 4 });
  const listPosts = () =>
    t.workspace.calls
      .slice(before)
      .filter(({ method, args }) => method === 'chat.postMessage' && JSON.stringify(args).includes(name));
  const requestAndWaitForFailures = async () => {
    const failuresBefore = countFailures();
    await t.alice.command(DOMAINS, `/domain renew ${name}`);
    for (let tries = 1; tries <= 4; tries += 1) {
      // The retry delay must start before the clock moves.
      await until(
        `attempt ${tries} has failed and is rescheduled`,
        () => countFailures() >= failuresBefore + tries,
      );
      await t.demo.moveTime(11 * 60_000);
    }
  };
  const order = await waitForOrder(t.workspace, requestAndWaitForFailures, DOMAINS, name);
  await waitUntilShown(order);
  expect(listPosts().map(({ error }) => error)).toEqual([...Array(4).fill('no_json'), undefined]);
  const blockSizes = listPosts().map(({ args }) => JSON.stringify(args['blocks']).replace(/\d/g, '').length);
  expect(Math.min(...blockSizes), 'size of the blocks at each attempt').toBeGreaterThan(
    Math.max(...blockSizes) / 2,
  );
  expect(buttonsOf(order.card)).toContain('order_approve');
  const metrics = await (await fetch(`${t.botUrl}/metrics`)).text();
  expect(metrics).toMatch(/slack_calls_total\{method="chat.postMessage",outcome="unreachable"\} [4-9]/);
  expect(metrics).not.toContain('gateway');
});

describe.each(['token_revoked', 'invalid_auth', 'account_inactive', 'token_expired'])(
  'while Slack refuses the bot’s token (%s)',
  (code) => {
    const readReadiness = async () => {
      const response = await fetch(`${t.botUrl}/readyz`);
      return `${response.status} ${await response.text()}`;
    };
    const countTokenErrors = () => t.getLog().split('Slack refuses SLACK_BOT_TOKEN').length - 1;

    test('the bot isn’t ready and shows why, until Slack accepts the token again', async () => {
      const before = countTokenErrors();
      t.workspace.faults.set({ method: '*', kind: 'error', code });
      await until('the bot isn’t ready', async () => (await readReadiness()).startsWith('503'));
      expect(await readReadiness()).toContain(`"slack":"refuses SLACK_BOT_TOKEN (${code})"`);
      expect(countTokenErrors(), 'log lines that explain what to do').toBe(before + 1);
      t.workspace.faults.clear();
      await until('the bot is ready', async () => (await readReadiness()).startsWith('200'));
      expect(t.getLog()).toContain('Slack accepts SLACK_BOT_TOKEN again');
    });
  },
);

test('an unknown error code of Slack doesn’t become a metric’s label', async () => {
  const code = 'a_word_that_nobody_knows';
  t.workspace.faults.set({ method: 'chat.postEphemeral', kind: 'error', code });
  t.workspace.faults.set({ method: 'response_url', kind: 'http_500' });
  const before = t.workspace.messages(ALICE_DM_CHANNEL).length;
  await t.alice.command(DOMAINS, '/domain whoami');
  await until('a direct message to Alice', () => t.workspace.messages(ALICE_DM_CHANNEL).length > before);
  // The metrics are cached for a second.
  await until('the refusal is counted', async () => {
    const metrics = await (await fetch(`${t.botUrl}/metrics`)).text();
    expect(metrics).not.toContain(code);
    return metrics.includes('slack_calls_total{method="chat.postEphemeral",outcome="refused"}');
  });
});

describe('if Slack refuses', () => {
  const directMessagesAbout = (order: VisibleOrder) =>
    t.workspace.messages(ALICE_DM_CHANNEL).filter((message) => orderOf(message)?.id === order.id);

  test.each(['is_archived', 'not_in_channel', 'channel_not_found', 'restricted_action_thread_locked'])(
    'to post in the channel (%s), the requester gets the result as a direct message',
    async (code) => {
      const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${addName()}`);
      await waitUntilShown(order);
      t.workspace.faults.set({ method: 'chat.update', channel: DOMAINS, kind: 'error', code });
      t.workspace.faults.set({ method: 'chat.postMessage', channel: DOMAINS, kind: 'error', code });
      await t.bob.click(order.card, 'order_approve');
      await until('the direct message', () => directMessagesAbout(order).length > 0);
      await waitUntilShown(order);
      const states = directMessagesAbout(order).map((message) => orderOf(message)?.state);
      // One message for the card and one for the reply.
      expect(states).toEqual(['SUCCEEDED', 'SUCCEEDED']);
    },
  );

  test('a post with an unknown code, the result is sent as a direct message after some retries', async () => {
    const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${addName()}`);
    await waitUntilShown(order);
    t.workspace.faults.set({
      method: 'chat.postMessage',
      channel: DOMAINS,
      kind: 'error',
      code: 'no_such_luck',
    });
    await t.bob.click(order.card, 'order_approve');
    await until('the order has succeeded', async () => (await readRow(order)).state === 'SUCCEEDED');
    expect(directMessagesAbout(order), 'direct messages before the retries').toEqual([]);
    await waitUntilShown(order);
    expect(directMessagesAbout(order).map((message) => orderOf(message)?.state)).toEqual(['SUCCEEDED']);
    await expectCardMatches(order, 'after the refusal');
  });

  test('to update the card, the result in the thread isn’t delayed', async () => {
    const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${addName()}`);
    await waitUntilShown(order);
    t.workspace.faults.set({ method: 'chat.update', channel: DOMAINS, kind: 'error', code: 'no_such_luck' });
    await t.bob.click(order.card, 'order_approve');
    await order.waitForReply('SUCCEEDED');
    t.workspace.faults.clear();
    await waitUntilShown(order);
    await expectCardMatches(order, 'in the end');
    expect(repliesOf(order)).toHaveLength(1);
  });

  test('to update a deleted card, the card is posted again, with the result in its thread', async () => {
    const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${addName()}`);
    await waitUntilShown(order);
    const { ts } = order.card;
    await t.bob.click(order.card, 'order_approve');
    const web = createSlackWeb(new Secret(t.workspace.botToken), t.workspace.apiUrl);
    await web.call('chat.delete', { channel: DOMAINS, ts }, okResponseSchema);
    await until('the order has succeeded', async () => (await readRow(order)).state === 'SUCCEEDED');
    await waitUntilShown(order);
    await order.waitForResult('SUCCEEDED');
    expect(cardsOf(order)).toHaveLength(1);
    expect(order.card.ts).not.toBe(ts);
    expect(repliesOf(order).map(({ thread_ts }) => thread_ts)).toEqual([order.card.ts]);
  });

  test('the bot’s token for an hour, orders continue, and all messages follow', async () => {
    const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${addName()}`);
    await waitUntilShown(order);
    // Slow enough for the card to show that the order is running.
    t.service.faults.set({ kind: 'slow', delayMs: 1_500, times: 1, match: { task: 'domain.renew' } });
    // The click loads the approvers from Slack, so Slack refuses the token only afterwards.
    await t.bob.click(order.card, 'order_approve');
    await until('the request is sent', () => requestsOf(t.service, order).length === 1);
    await order.waitForState('EXECUTING');
    t.workspace.faults.set({ method: '*', kind: 'error', code: 'token_revoked' });
    await until('the order has succeeded', async () => (await readRow(order)).state === 'SUCCEEDED');
    await t.demo.moveTime(60 * 60_000);
    expect(order.state, 'the state on the card while Slack refuses').toBe('EXECUTING');
    t.workspace.faults.clear();
    await waitUntilShown(order);
    await order.waitForResult('SUCCEEDED');
    expect(cardsOf(order)).toHaveLength(1);
    expect(requestsOf(t.service, order)).toHaveLength(1);
  });
});

describe('a failure of Slack’s views API', () => {
  test.each([
    { kind: 'ratelimited', retryAfterSeconds: 30 },
    { kind: 'http_500' },
    { kind: 'lost_answer' },
    { kind: 'error', code: 'internal_error' },
    { kind: 'error', code: 'expired_trigger_id' },
  ] as const)('when opening a form is reported: $kind $code', async (fault) => {
    t.workspace.faults.set({ method: 'views.open', times: 1, ...fault });
    const answer = await readCommandReply(t.workspace, t.alice, '/domain renew');
    expect(answer).toMatch('code' in fault && fault.code === 'expired_trigger_id' ? /too long/ : /Reference/);
    for (const view of t.alice.openedViews()) await t.alice.close(view);
  });

  test('when updating a form that is being checked posts the result in the channel', async () => {
    t.service.faults.set({ kind: 'slow', delayMs: 2_300, times: 1, match: { task: 'session.create' } });
    const view = await openForm(t.workspace, t.carol, '/domain link');
    t.workspace.faults.set({ method: 'views.update', kind: 'http_500' });
    const answer = await performAndReadReply(t.workspace, t.carol, () =>
      t.carol.submit(view, { user: 'bob', context: '4', password: 'bob-sandbox-password' }),
    );
    expect(answer).toMatch(/bob/);
  });

  test('when opening a form is retried while the trigger is valid', async () => {
    t.workspace.faults.set({ method: 'views.open', kind: 'ratelimited', retryAfterSeconds: 1, times: 1 });
    const view = await openForm(t.workspace, t.alice, '/domain renew');
    expect(view.callback_id).toBe('renew');
    await t.alice.close(view);
  });

  test('when publishing Home is retried with the current state', async () => {
    t.workspace.faults.set({ method: 'views.publish', kind: 'ratelimited', retryAfterSeconds: 1, times: 1 });
    const before = t.workspace.calls.length;
    await t.ada.openHome();
    await until('Slack has rate limited the call', () =>
      t.workspace.calls.slice(before).some(({ error }) => error === 'ratelimited'),
    );
    await link(t.workspace, t.ada, SANDBOX_ACCOUNTS.bob);
    const home = await t.workspace.waitFor(() => t.ada.homeView(), { what: 'Ada’s Home tab' });
    expect(textOf(home)).toContain('Your account: `bob');
    const published = t.workspace.calls.slice(before).filter(({ method }) => method === 'views.publish');
    expect(published.map(({ ok }) => ok)).toEqual([false, true]);
  });

  test('when publishing Home doesn’t affect the next time it is opened', async () => {
    t.workspace.faults.set({ method: 'views.publish', kind: 'http_500', times: 1 });
    await t.carol.openHome();
    await t.carol.openHome();
    await t.workspace.waitFor(() => t.carol.homeView(), { what: 'Carol’s Home tab' });
  });
});

test('a message that Slack never responds to is posted again after the bot’s timeout', async () => {
  const order = await unansweredOrder;
  await order.waitForResult('SUCCEEDED', 15_000);
  expect(repliesOf(order)).toHaveLength(1);
  await expectCardMatches(order, 'after the timeout');
});
