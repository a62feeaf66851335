import { SANDBOX_ACCOUNTS } from '@domain-steward/sandbox-service';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { Secret } from '../../src/service/secret.ts';
import { createSlackWeb, okResponseSchema } from '../../src/slack/outbound/web.ts';
import {
  actAndReadReply,
  buttonsOf,
  DOMAINS,
  link,
  openForm,
  readCommandReply,
  textOf,
  until,
  useTestDemo,
} from '../support/demo.ts';
import {
  approveRequested,
  orderOf,
  requestByCommand,
  requestsOf,
  type VisibleOrder,
  waitForOrder,
} from '../support/orders.ts';

/*
 * Slack rate limits, fails, loses responses, or refuses permanently. In every case the service gets one request, the
 * result is delivered, other orders aren't delayed, and every card ends up matching its order's row.
 */

const GENERAL = 'C0GENERAL';
const ALICES_DM = 'D0ALICE';

// The clock advances far, so reminders are off.
const t = useTestDemo({
  settings: { SERVICE_TIMEOUT: '5s', APPROVAL_REMIND_AFTER: '90d', APPROVAL_TTL: '90d' },
});
let database: pg.Client;
/** An order whose reply Slack never responds to; checked at the end. */
let unanswered: Promise<VisibleOrder>;
let names = 0;

beforeAll(async () => {
  database = new pg.Client({ connectionString: t.databaseUrl });
  await database.connect();
  unanswered = (async () => {
    const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${newName()}`, GENERAL);
    await until('the card is recorded', async () => (await rowOf(order)).shown === 1);
    t.workspace.faults.set({ method: 'chat.postMessage', channel: GENERAL, kind: 'timeout', times: 1 });
    await t.bob.click(order.card, 'order_approve');
    return order;
  })();
  await unanswered;
});
afterEach(() => t.workspace.faults.clear());
afterAll(() => database.end());

function newName(): string {
  names += 1;
  const name = `slack-${names}.rest`;
  t.service.state.addDomain({ name, context: 4 });
  return name;
}

const row = z.object({ state: z.string(), version: z.number(), shown: z.number().nullable() });

async function rowOf(order: VisibleOrder): Promise<z.infer<typeof row>> {
  const { rows } = await database.query(
    `SELECT o.state, n.version, n.shows::int AS shown FROM orders o JOIN notifications n
       ON n.subject_kind = 'order' AND n.subject_id = o.id AND n.purpose = 'plan' WHERE o.id = $1`,
    [order.id],
  );
  return row.parse(rows[0]);
}

/** Failed attempts to update an order's messages that were already waited for. */
const handledFailures = new Map<string, number>();

/** @param orderId all orders by default */
const failures = (orderId = '') =>
  t
    .logged()
    .split('\n')
    .filter((line) => line.includes(orderId) && line.includes('notifying people failed, will retry')).length;

/** Advances past the bot's retries until Slack shows the order's current state. */
async function waitUntilShown(order: VisibleOrder): Promise<void> {
  const isShown = async () => {
    const { version, shown } = await rowOf(order);
    return version === shown;
  };
  for (let tries = 0; tries < 20; tries += 1) {
    await until(
      `order ${order.id} is shown or retried`,
      async () => (await isShown()) || failures(order.id) > (handledFailures.get(order.id) ?? 0),
    );
    if (await isShown()) return;
    handledFailures.set(order.id, failures(order.id));
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
  const { state } = await rowOf(order);
  for (const card of cardsOf(order)) {
    expect(orderOf(card)?.state, `${what}: the card of an order that is ${state}`).toBe(state);
    expect(textOf(card), `${what}: the text of its card`).toMatch(CARD_TEXTS[state] ?? /^$/);
  }
}

describe('a channel that is rate limited for 30 s', () => {
  afterEach(async () => {
    t.workspace.faults.clear();
    await t.demo.moveTime(31_000);
  });

  test('gets no calls meanwhile, doesn’t delay others, then gets all messages in order', async () => {
    const name = newName();
    const held = await requestByCommand(t.workspace, t.alice, `/domain renew ${name}`);
    await waitUntilShown(held);
    const before = t.workspace.calls.length;
    t.workspace.faults.set({ method: '*', channel: DOMAINS, kind: 'ratelimited', retryAfter: 30 });
    await t.bob.click(held.card, 'order_approve');
    await until('the service is done', () => requestsOf(t.service, held)[0]?.status === 200);
    const free = await approveRequested(
      t.bob,
      requestByCommand(t.workspace, t.alice, `/domain renew ${newName()}`, 'C0EXPIRY'),
    );
    // Slack rate limits updates per workspace and posts per channel.
    await until('the other order’s result in the thread', () =>
      free.replies().some((reply) => orderOf(reply)?.state === 'SUCCEEDED'),
    );
    await until('the order has succeeded', async () => (await rowOf(held)).state === 'SUCCEEDED');
    await t.demo.moveTime(20_000);
    const limited = t.workspace.calls.slice(before).filter(({ error }) => error === 'ratelimited');
    expect(limited.length, 'rate limited calls').toBeLessThanOrEqual(2);
    expect(held.state, 'meanwhile').not.toBe('SUCCEEDED');

    t.workspace.faults.clear();
    await t.demo.moveTime(11_000);
    await held.waitForResult('SUCCEEDED');
    await expectCardMatches(held, 'after the limit');
    expect(held.messages().map((message) => orderOf(message)?.state)).toEqual(['SUCCEEDED', 'SUCCEEDED']);
    expect(requestsOf(t.service, held)).toHaveLength(1);
  });

  test('sends the reply to a click there as a direct message', async () => {
    const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${newName()}`);
    await waitUntilShown(order);
    t.workspace.faults.set({ method: '*', channel: DOMAINS, kind: 'ratelimited', retryAfter: 30 });
    t.workspace.faults.set({ method: 'response_url', kind: 'http_500' });
    await t.alice.click(order.card, 'order_approve');
    const reply = await t.workspace.waitFor(
      () => t.workspace.messages(ALICES_DM).find(({ text }) => text.includes('You requested this')),
      { what: 'the refusal in Alice’s direct message' },
    );
    expect(textOf(reply)).toMatch(/someone else|an approver has to approve/);
  });
});

describe('a failure of Slack while', () => {
  const KINDS = [
    { kind: 'ratelimited', retryAfter: 1 },
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
    const name = newName();
    if (when === 'requesting') t.workspace.faults.set({ method, channel: DOMAINS, times: 1, ...fault });
    const requesting = requestByCommand(t.workspace, t.alice, `/domain renew ${name}`, DOMAINS, name);
    if (when === 'requesting') {
      await until('Slack has failed', () =>
        t.workspace.calls.some(({ args }) => JSON.stringify(args).includes(name)),
      );
      await t.demo.moveTime(2_000);
    }
    const order = await requesting;
    handledFailures.set(order.id, failures(order.id));
    await waitUntilShown(order);
    if (when === 'approving') t.workspace.faults.set({ method, channel: DOMAINS, times: 1, ...fault });
    await t.bob.click(order.card, 'order_approve');
    await until('the order has succeeded', async () => (await rowOf(order)).state === 'SUCCEEDED');
    await waitUntilShown(order);

    const lost = fault.kind === 'lost_answer' ? 1 : 0;
    const extraCards = lost === 1 && when === 'requesting' ? 1 : 0;
    const extraReplies = lost === 1 && method === 'chat.postMessage' && when === 'approving' ? 1 : 0;
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
  const name = newName();
  const before = t.workspace.calls.length;
  t.workspace.faults.set({ method: 'chat.postMessage', channel: DOMAINS, kind: 'no_json', times: 4 });
  const posts = () =>
    t.workspace.calls
      .slice(before)
      .filter(({ method, args }) => method === 'chat.postMessage' && JSON.stringify(args).includes(name));
  const askAndWait = async () => {
    const failed = failures();
    await t.alice.command(DOMAINS, `/domain renew ${name}`);
    for (let tries = 1; tries <= 4; tries += 1) {
      // The retry delay must start before the clock moves.
      await until(`attempt ${tries} has failed and is rescheduled`, () => failures() >= failed + tries);
      await t.demo.moveTime(11 * 60_000);
    }
  };
  const order = await waitForOrder(t.workspace, askAndWait, DOMAINS, name);
  await waitUntilShown(order);
  expect(posts().map(({ error }) => error)).toEqual([...Array(4).fill('no_json'), undefined]);
  const shapes = posts().map(({ args }) => JSON.stringify(args['blocks']).replace(/\d/g, '').length);
  expect(Math.min(...shapes), 'size of the blocks at each attempt').toBeGreaterThan(Math.max(...shapes) / 2);
  expect(buttonsOf(order.card)).toContain('order_approve');
  const metrics = await (await fetch(`${t.botUrl}/metrics`)).text();
  expect(metrics).toMatch(/slack_calls_total\{method="chat.postMessage",outcome="unreachable"\} [4-9]/);
  expect(metrics).not.toContain('gateway');
});

describe.each(['token_revoked', 'invalid_auth', 'account_inactive', 'token_expired'])(
  'while Slack refuses the bot’s token (%s)',
  (code) => {
    const readiness = async () => {
      const response = await fetch(`${t.botUrl}/readyz`);
      return `${response.status} ${await response.text()}`;
    };
    const complaints = () => t.logged().split('Slack refuses SLACK_BOT_TOKEN').length - 1;

    test('the bot isn’t ready and shows why, until Slack accepts the token again', async () => {
      const before = complaints();
      t.workspace.faults.set({ method: '*', kind: 'error', code });
      await until('the bot isn’t ready', async () => (await readiness()).startsWith('503'));
      expect(await readiness()).toContain(`"slack":"refuses SLACK_BOT_TOKEN (${code})"`);
      expect(complaints(), 'log lines that explain what to do').toBe(before + 1);
      t.workspace.faults.clear();
      await until('the bot is ready', async () => (await readiness()).startsWith('200'));
      expect(t.logged()).toContain('Slack accepts SLACK_BOT_TOKEN again');
    });
  },
);

test('an unknown error code of Slack doesn’t become a metric’s label', async () => {
  const code = 'a_word_that_nobody_knows';
  t.workspace.faults.set({ method: 'chat.postEphemeral', kind: 'error', code });
  t.workspace.faults.set({ method: 'response_url', kind: 'http_500' });
  const before = t.workspace.messages(ALICES_DM).length;
  await t.alice.command(DOMAINS, '/domain whoami');
  await until('a direct message to Alice', () => t.workspace.messages(ALICES_DM).length > before);
  // The metrics are cached for a second.
  await until('the refusal is counted', async () => {
    const metrics = await (await fetch(`${t.botUrl}/metrics`)).text();
    expect(metrics).not.toContain(code);
    return metrics.includes('slack_calls_total{method="chat.postEphemeral",outcome="refused"}');
  });
});

describe('a permanent refusal of Slack', () => {
  const directMessagesAbout = (order: VisibleOrder) =>
    t.workspace.messages(ALICES_DM).filter((message) => orderOf(message)?.id === order.id);

  test.each(['is_archived', 'not_in_channel', 'channel_not_found', 'restricted_action_thread_locked'])(
    'to post in the channel (%s) sends the result to the requester as a direct message',
    async (code) => {
      const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${newName()}`);
      await waitUntilShown(order);
      t.workspace.faults.set({ method: 'chat.update', channel: DOMAINS, kind: 'error', code });
      t.workspace.faults.set({ method: 'chat.postMessage', channel: DOMAINS, kind: 'error', code });
      await t.bob.click(order.card, 'order_approve');
      await until('the direct message', () => directMessagesAbout(order).length > 0);
      await waitUntilShown(order);
      const states = directMessagesAbout(order).map((message) => orderOf(message)?.state);
      // The card and its reply.
      expect(states).toEqual(['SUCCEEDED', 'SUCCEEDED']);
    },
  );

  test('with an unknown code sends the result as a direct message after some retries', async () => {
    const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${newName()}`);
    await waitUntilShown(order);
    t.workspace.faults.set({
      method: 'chat.postMessage',
      channel: DOMAINS,
      kind: 'error',
      code: 'no_such_luck',
    });
    await t.bob.click(order.card, 'order_approve');
    await until('the order has succeeded', async () => (await rowOf(order)).state === 'SUCCEEDED');
    expect(directMessagesAbout(order), 'at first').toEqual([]);
    await waitUntilShown(order);
    expect(directMessagesAbout(order).map((message) => orderOf(message)?.state)).toEqual(['SUCCEEDED']);
    await expectCardMatches(order, 'after the refusal');
  });

  test('to update the card doesn’t delay the result in the thread', async () => {
    const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${newName()}`);
    await waitUntilShown(order);
    t.workspace.faults.set({ method: 'chat.update', channel: DOMAINS, kind: 'error', code: 'no_such_luck' });
    await t.bob.click(order.card, 'order_approve');
    await order.reply('SUCCEEDED');
    t.workspace.faults.clear();
    await waitUntilShown(order);
    await expectCardMatches(order, 'in the end');
    expect(repliesOf(order)).toHaveLength(1);
  });

  test('because the card was deleted posts it again, with the result in its thread', async () => {
    const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${newName()}`);
    await waitUntilShown(order);
    const { ts } = order.card;
    await t.bob.click(order.card, 'order_approve');
    const web = createSlackWeb(new Secret(t.workspace.botToken), t.workspace.apiUrl);
    await web.call('chat.delete', { channel: DOMAINS, ts }, okResponseSchema);
    await until('the order has succeeded', async () => (await rowOf(order)).state === 'SUCCEEDED');
    await waitUntilShown(order);
    await order.waitForResult('SUCCEEDED');
    expect(cardsOf(order)).toHaveLength(1);
    expect(order.card.ts).not.toBe(ts);
    expect(repliesOf(order).map(({ thread_ts }) => thread_ts)).toEqual([order.card.ts]);
  });

  test('of the bot’s token for an hour doesn’t stop orders, and all messages follow', async () => {
    const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${newName()}`);
    await waitUntilShown(order);
    // Slow enough for the card to show it as running.
    t.service.faults.set({ kind: 'slow', delayMs: 1_500, times: 1, match: { task: 'domain.renew' } });
    // The click needs Slack for the approvers, so Slack fails only afterwards.
    await t.bob.click(order.card, 'order_approve');
    await until('the request is sent', () => requestsOf(t.service, order).length === 1);
    await order.waitForState('EXECUTING');
    t.workspace.faults.set({ method: '*', kind: 'error', code: 'token_revoked' });
    await until('the order has succeeded', async () => (await rowOf(order)).state === 'SUCCEEDED');
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
    { kind: 'ratelimited', retryAfter: 30 },
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
    const answer = await actAndReadReply(t.workspace, t.carol, () =>
      t.carol.submit(view, { user: 'bob', context: '4', password: 'bob-sandbox-password' }),
    );
    expect(answer).toMatch(/bob/);
  });

  test('when opening a form is retried while the trigger is valid', async () => {
    t.workspace.faults.set({ method: 'views.open', kind: 'ratelimited', retryAfter: 1, times: 1 });
    const view = await openForm(t.workspace, t.alice, '/domain renew');
    expect(view.callback_id).toBe('renew');
    await t.alice.close(view);
  });

  test('when publishing Home is retried with the current state', async () => {
    t.workspace.faults.set({ method: 'views.publish', kind: 'ratelimited', retryAfter: 1, times: 1 });
    const before = t.workspace.calls.length;
    await t.ada.openHome();
    await until('Slack has rate limited it', () =>
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
  const order = await unanswered;
  await order.waitForResult('SUCCEEDED', 15_000);
  expect(repliesOf(order)).toHaveLength(1);
  await expectCardMatches(order, 'after the timeout');
});
