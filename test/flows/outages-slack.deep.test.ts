import { SANDBOX_ACCOUNTS } from '@domain-steward/sandbox-service';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { Secret } from '../../src/service/secret.ts';
import { createSlackWeb, okResponseSchema } from '../../src/slack/outbound/web.ts';
import {
  answerTo,
  buttonsOf,
  DOMAINS,
  link,
  openForm,
  textOf,
  toldAfter,
  until,
  useTestDemo,
} from '../support/demo.ts';
import { approvedBy, ask, orderAfter, orderOf, requestsOf, type SeenOrder } from '../support/orders.ts';

/*
 * Slack limits, fails, loses responses, or refuses permanently. In every case the service gets one request, the result
 * arrives somewhere, nobody else waits, and at the end every card matches its order's row.
 */

const GENERAL = 'C0GENERAL';
const ALICES_DM = 'D0ALICE';

// Long waits pass here, without reminders.
const t = useTestDemo({
  settings: { SERVICE_TIMEOUT: '5s', APPROVAL_REMIND_AFTER: '90d', APPROVAL_TTL: '90d' },
});
let database: pg.Client;
/** A message that Slack swallows for as long as the bot waits; checked at the end. */
let swallowed: Promise<SeenOrder>;
let names = 0;

beforeAll(async () => {
  database = new pg.Client({ connectionString: t.databaseUrl });
  await database.connect();
  swallowed = (async () => {
    const order = await ask(t.workspace, t.alice, `/domain renew ${newName()}`, GENERAL);
    await until('its card is recorded', async () => (await rowOf(order)).shown === 1);
    t.workspace.faults.set({ method: 'chat.postMessage', channel: GENERAL, kind: 'timeout', times: 1 });
    await t.bob.click(order.card, 'order_approve');
    return order;
  })();
  await swallowed;
});
afterEach(() => t.workspace.faults.clear());
afterAll(() => database.end());

/** An unused name of Alice. */
function newName(): string {
  names += 1;
  const name = `slack-${names}.rest`;
  t.service.state.addDomain({ name, context: 4 });
  return name;
}

const row = z.object({ state: z.string(), version: z.number(), shown: z.number().nullable() });

async function rowOf(order: SeenOrder): Promise<z.infer<typeof row>> {
  const { rows } = await database.query(
    `SELECT o.state, n.version, n.shows::int AS shown FROM orders o JOIN notifications n
       ON n.subject_kind = 'order' AND n.subject_id = o.id AND n.purpose = 'plan' WHERE o.id = $1`,
    [order.id],
  );
  return row.parse(rows[0]);
}

/** Failed attempts to show an order, whose waits have passed. */
const waits = new Map<string, number>();

/** @param orderId all orders by default */
const failures = (orderId = '') =>
  t
    .logged()
    .split('\n')
    .filter((line) => line.includes(orderId) && line.includes('notifying people failed, will retry')).length;

/** Lets the bot's waits pass until Slack shows the order's current state. */
async function shown(order: SeenOrder): Promise<void> {
  const isShown = async () => {
    const { version, shown } = await rowOf(order);
    return version === shown;
  };
  for (let tries = 0; tries < 20; tries += 1) {
    await until(
      `order ${order.id} is shown, or it is tried again`,
      async () => (await isShown()) || failures(order.id) > (waits.get(order.id) ?? 0),
    );
    if (await isShown()) return;
    waits.set(order.id, failures(order.id));
    // Longer than any wait of the bot.
    await t.demo.moveTime(11 * 60_000);
  }
  throw new Error(`order ${order.id} is not shown as it is`);
}

const WORDS: Readonly<Record<string, RegExp>> = {
  PENDING: /Waiting for/,
  SUCCEEDED: /Renewed|Changed/,
  FAILED: /Failed/,
  UNKNOWN: /Outcome unknown/,
  CANCELLED: /Canceled, nothing was sent/,
};

const cardsOf = (order: SeenOrder) => order.messages().filter(({ thread_ts }) => thread_ts === undefined);
const repliesOf = (order: SeenOrder) => order.messages().filter(({ thread_ts }) => thread_ts !== undefined);

/** Every card of the order matches its row. */
async function cardIsRight(order: SeenOrder, what: string): Promise<void> {
  const { state } = await rowOf(order);
  for (const card of cardsOf(order)) {
    expect(orderOf(card)?.state, `${what}: the card of an order that is ${state}`).toBe(state);
    expect(textOf(card), `${what}: the words of its card`).toMatch(WORDS[state] ?? /^$/);
  }
}

describe('limits one channel for 30 s', () => {
  afterEach(async () => {
    t.workspace.faults.clear();
    await t.demo.moveTime(31_000);
  });

  test('it is left alone for that long, everyone else continues, and then all messages arrive in order', async () => {
    const name = newName();
    const held = await ask(t.workspace, t.alice, `/domain renew ${name}`);
    await shown(held);
    const before = t.workspace.calls.length;
    t.workspace.faults.set({ method: '*', channel: DOMAINS, kind: 'ratelimited', retryAfter: 30 });
    await t.bob.click(held.card, 'order_approve');
    await until('the service has carried it out', () => requestsOf(t.service, held)[0]?.status === 200);
    const free = await approvedBy(t.bob, ask(t.workspace, t.alice, `/domain renew ${newName()}`, 'C0EXPIRY'));
    // Slack limits updates for the whole workspace, and posts for each channel.
    await until('its result is in the thread', () =>
      free.replies().some((reply) => orderOf(reply)?.state === 'SUCCEEDED'),
    );
    await until('its end is known', async () => (await rowOf(held)).state === 'SUCCEEDED');
    await t.demo.moveTime(20_000);
    const limited = t.workspace.calls.slice(before).filter(({ error }) => error === 'ratelimited');
    expect(limited.length, 'calls that Slack limited').toBeLessThanOrEqual(2);
    expect(held.state, 'meanwhile').not.toBe('SUCCEEDED');

    t.workspace.faults.clear();
    await t.demo.moveTime(11_000);
    await held.ends('SUCCEEDED');
    await cardIsRight(held, 'after the limit');
    expect(held.messages().map((message) => orderOf(message)?.state)).toEqual(['SUCCEEDED', 'SUCCEEDED']);
    expect(requestsOf(t.service, held)).toHaveLength(1);
  });

  test('a person who clicks there gets a direct message', async () => {
    const order = await ask(t.workspace, t.alice, `/domain renew ${newName()}`);
    await shown(order);
    t.workspace.faults.set({ method: '*', channel: DOMAINS, kind: 'ratelimited', retryAfter: 30 });
    t.workspace.faults.set({ method: 'response_url', kind: 'http_500' });
    await t.alice.click(order.card, 'order_approve');
    const told = await t.workspace.waitFor(
      () => t.workspace.messages(ALICES_DM).find(({ text }) => text.includes('You requested this')),
      { what: 'the refusal in Alice’s direct message' },
    );
    expect(textOf(told)).toMatch(/someone else|an approver has to approve/);
  });
});

describe('fails once at each step', () => {
  const KINDS = [
    { kind: 'ratelimited', retryAfter: 1 },
    { kind: 'http_500' },
    { kind: 'error', code: 'internal_error' },
    { kind: 'error', code: 'an_error_of_tomorrow' },
    { kind: 'lost_answer' },
  ] as const;
  const STEPS = [
    { step: 'posting the card', method: 'chat.postMessage', when: 'asking' },
    { step: 'updating the card', method: 'chat.update', when: 'deciding' },
    { step: 'posting the result', method: 'chat.postMessage', when: 'deciding' },
  ] as const;
  const cases = STEPS.flatMap((step) =>
    KINDS.map((fault) => ({ ...step, fault, what: 'code' in fault ? fault.code : fault.kind })),
  );

  test.each(cases)('$step: $what', async ({ method, when, fault, what }) => {
    const name = newName();
    if (when === 'asking') t.workspace.faults.set({ method, channel: DOMAINS, times: 1, ...fault });
    const asking = ask(t.workspace, t.alice, `/domain renew ${name}`, DOMAINS, name);
    if (when === 'asking') {
      await until('Slack has failed', () =>
        t.workspace.calls.some(({ args }) => JSON.stringify(args).includes(name)),
      );
      await t.demo.moveTime(2_000);
    }
    const order = await asking;
    waits.set(order.id, failures(order.id));
    await shown(order);
    if (when === 'deciding') t.workspace.faults.set({ method, channel: DOMAINS, times: 1, ...fault });
    await t.bob.click(order.card, 'order_approve');
    await until('its end is known', async () => (await rowOf(order)).state === 'SUCCEEDED');
    await shown(order);

    const lost = fault.kind === 'lost_answer' ? 1 : 0;
    const extraCards = lost === 1 && when === 'asking' ? 1 : 0;
    const extraReplies = lost === 1 && method === 'chat.postMessage' && when === 'deciding' ? 1 : 0;
    expect(cardsOf(order), 'cards').toHaveLength(1 + extraCards);
    expect(
      repliesOf(order).map((reply) => orderOf(reply)?.state),
      'replies',
    ).toEqual(Array.from({ length: 1 + extraReplies }, () => 'SUCCEEDED'));
    // Of two copies, the clicked one is known as well.
    await cardIsRight(order, what);
    expect(requestsOf(t.service, order)).toHaveLength(1);
  });
});

test('answers with an HTML page: the card is retried, and arrives complete', async () => {
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
      // Before that the wait would begin only after the clock has moved.
      await until(`attempt ${tries} has failed and is put off`, () => failures() >= failed + tries);
      await t.demo.moveTime(11 * 60_000);
    }
  };
  const order = await orderAfter(t.workspace, askAndWait, DOMAINS, name);
  await shown(order);
  expect(posts().map(({ error }) => error)).toEqual([...Array(4).fill('no_json'), undefined]);
  const shapes = posts().map(({ args }) => JSON.stringify(args['blocks']).replace(/\d/g, '').length);
  expect(Math.min(...shapes), 'its blocks at each attempt').toBeGreaterThan(Math.max(...shapes) / 2);
  expect(buttonsOf(order.card)).toContain('order_approve');
  const metrics = await (await fetch(`${t.botUrl}/metrics`)).text();
  expect(metrics).toMatch(/slack_calls_total\{method="chat.postMessage",outcome="unreachable"\} [4-9]/);
  expect(metrics).not.toContain('gateway');
});

describe.each(['token_revoked', 'invalid_auth', 'account_inactive', 'token_expired'])(
  'refuses the bot’s token (%s)',
  (code) => {
    const readiness = async () => {
      const response = await fetch(`${t.botUrl}/readyz`);
      return `${response.status} ${await response.text()}`;
    };
    const complaints = () => t.logged().split('Slack refuses SLACK_BOT_TOKEN').length - 1;

    test('the bot isn’t ready and says why; once Slack accepts it again, the bot is ready', async () => {
      const before = complaints();
      t.workspace.faults.set({ method: '*', kind: 'error', code });
      await until('it is not ready', async () => (await readiness()).startsWith('503'));
      expect(await readiness()).toContain(`"slack":"refuses SLACK_BOT_TOKEN (${code})"`);
      expect(complaints(), 'lines that say what to do').toBe(before + 1);
      t.workspace.faults.clear();
      await until('it is ready', async () => (await readiness()).startsWith('200'));
      expect(t.logged()).toContain('Slack accepts SLACK_BOT_TOKEN again');
    });
  },
);

test('refuses with an unknown code: it doesn’t become a metric’s label', async () => {
  const code = 'a_word_that_nobody_knows';
  t.workspace.faults.set({ method: 'chat.postEphemeral', kind: 'error', code });
  t.workspace.faults.set({ method: 'response_url', kind: 'http_500' });
  const before = t.workspace.messages(ALICES_DM).length;
  await t.alice.command(DOMAINS, '/domain whoami');
  await until('a direct message to her', () => t.workspace.messages(ALICES_DM).length > before);
  // The metrics are cached for a second.
  await until('the refusal is counted', async () => {
    const metrics = await (await fetch(`${t.botUrl}/metrics`)).text();
    expect(metrics).not.toContain(code);
    return metrics.includes('slack_calls_total{method="chat.postEphemeral",outcome="refused"}');
  });
});

describe('refuses permanently', () => {
  const directly = (order: SeenOrder) =>
    t.workspace.messages(ALICES_DM).filter((message) => orderOf(message)?.id === order.id);

  test.each(['is_archived', 'not_in_channel', 'channel_not_found', 'restricted_action_thread_locked'])(
    'to post in the channel (%s) after the card: the requester gets a direct message',
    async (code) => {
      const order = await ask(t.workspace, t.alice, `/domain renew ${newName()}`);
      await shown(order);
      t.workspace.faults.set({ method: 'chat.update', channel: DOMAINS, kind: 'error', code });
      t.workspace.faults.set({ method: 'chat.postMessage', channel: DOMAINS, kind: 'error', code });
      await t.bob.click(order.card, 'order_approve');
      await until('the direct message', () => directly(order).length > 0);
      await shown(order);
      const told = directly(order).map((message) => orderOf(message)?.state);
      // The card and its reply.
      expect(told).toEqual(['SUCCEEDED', 'SUCCEEDED']);
    },
  );

  test('with an unknown code: after a while the requester gets a direct message', async () => {
    const order = await ask(t.workspace, t.alice, `/domain renew ${newName()}`);
    await shown(order);
    t.workspace.faults.set({
      method: 'chat.postMessage',
      channel: DOMAINS,
      kind: 'error',
      code: 'no_such_luck',
    });
    await t.bob.click(order.card, 'order_approve');
    await until('its end is known', async () => (await rowOf(order)).state === 'SUCCEEDED');
    expect(directly(order), 'at first').toEqual([]);
    await shown(order);
    expect(directly(order).map((message) => orderOf(message)?.state)).toEqual(['SUCCEEDED']);
    await cardIsRight(order, 'all the same');
  });

  test('to change the card with an unknown code: the thread has the result at once', async () => {
    const order = await ask(t.workspace, t.alice, `/domain renew ${newName()}`);
    await shown(order);
    t.workspace.faults.set({ method: 'chat.update', channel: DOMAINS, kind: 'error', code: 'no_such_luck' });
    await t.bob.click(order.card, 'order_approve');
    await order.reply('SUCCEEDED');
    t.workspace.faults.clear();
    await shown(order);
    await cardIsRight(order, 'in the end');
    expect(repliesOf(order)).toHaveLength(1);
  });

  test('because a person deleted the card: it is posted again, with the result in its thread', async () => {
    const order = await ask(t.workspace, t.alice, `/domain renew ${newName()}`);
    await shown(order);
    const { ts } = order.card;
    await t.bob.click(order.card, 'order_approve');
    const web = createSlackWeb(new Secret(t.workspace.botToken), t.workspace.apiUrl);
    await web.call('chat.delete', { channel: DOMAINS, ts }, okResponseSchema);
    await until('its end is known', async () => (await rowOf(order)).state === 'SUCCEEDED');
    await shown(order);
    await order.ends('SUCCEEDED');
    expect(cardsOf(order)).toHaveLength(1);
    expect(order.card.ts).not.toBe(ts);
    expect(repliesOf(order).map(({ thread_ts }) => thread_ts)).toEqual([order.card.ts]);
  });

  test('the bot’s token, for an hour: orders continue, and all messages follow', async () => {
    const order = await ask(t.workspace, t.alice, `/domain renew ${newName()}`);
    await shown(order);
    // Long enough to be shown as running.
    t.service.faults.set({ kind: 'slow', delayMs: 1_500, times: 1, match: { task: 'domain.renew' } });
    // Slack is asked for the approvers: that comes before.
    await t.bob.click(order.card, 'order_approve');
    await until('the request is under way', () => requestsOf(t.service, order).length === 1);
    await order.becomes('EXECUTING');
    t.workspace.faults.set({ method: '*', kind: 'error', code: 'token_revoked' });
    await until('its end is known', async () => (await rowOf(order)).state === 'SUCCEEDED');
    await t.demo.moveTime(60 * 60_000);
    expect(order.state, 'nothing can be shown').toBe('EXECUTING');
    t.workspace.faults.clear();
    await shown(order);
    await order.ends('SUCCEEDED');
    expect(cardsOf(order)).toHaveLength(1);
    expect(requestsOf(t.service, order)).toHaveLength(1);
  });
});

describe('fails at views', () => {
  test.each([
    { kind: 'ratelimited', retryAfter: 30 },
    { kind: 'http_500' },
    { kind: 'lost_answer' },
    { kind: 'error', code: 'internal_error' },
    { kind: 'error', code: 'expired_trigger_id' },
  ] as const)('opening one: $kind $code is reported', async (fault) => {
    t.workspace.faults.set({ method: 'views.open', times: 1, ...fault });
    const told = await answerTo(t.workspace, t.alice, '/domain renew');
    expect(told).toMatch('code' in fault && fault.code === 'expired_trigger_id' ? /too long/ : /Reference/);
    for (const view of t.alice.openedViews()) await t.alice.close(view);
  });

  test('changing one that says it is checking: the outcome is posted in the channel', async () => {
    t.service.faults.set({ kind: 'slow', delayMs: 2_300, times: 1, match: { task: 'session.create' } });
    const view = await openForm(t.workspace, t.carol, '/domain link');
    t.workspace.faults.set({ method: 'views.update', kind: 'http_500' });
    const told = await toldAfter(t.workspace, t.carol, () =>
      t.carol.submit(view, { user: 'bob', context: '4', password: 'bob-sandbox-password' }),
    );
    expect(told).toMatch(/bob/);
  });

  test('opening one is limited for a second: it opens while its trigger is valid', async () => {
    t.workspace.faults.set({ method: 'views.open', kind: 'ratelimited', retryAfter: 1, times: 1 });
    const view = await openForm(t.workspace, t.alice, '/domain renew');
    expect(view.callback_id).toBe('renew');
    await t.alice.close(view);
  });

  test('publishing the Home tab is limited for a second: then it shows the current state', async () => {
    t.workspace.faults.set({ method: 'views.publish', kind: 'ratelimited', retryAfter: 1, times: 1 });
    const before = t.workspace.calls.length;
    await t.ada.openHome();
    await until('Slack has limited it', () =>
      t.workspace.calls.slice(before).some(({ error }) => error === 'ratelimited'),
    );
    await link(t.workspace, t.ada, SANDBOX_ACCOUNTS.bob);
    const home = await t.workspace.waitFor(() => t.ada.homeView(), { what: 'Ada’s Home tab' });
    expect(textOf(home)).toContain('Your account: `bob');
    const published = t.workspace.calls.slice(before).filter(({ method }) => method === 'views.publish');
    expect(published.map(({ ok }) => ok)).toEqual([false, true]);
  });

  test('publishing the Home tab: the next time it works', async () => {
    t.workspace.faults.set({ method: 'views.publish', kind: 'http_500', times: 1 });
    await t.carol.openHome();
    await t.carol.openHome();
    await t.workspace.waitFor(() => t.carol.homeView(), { what: 'Carol’s Home tab' });
  });
});

test('never responds: the message is posted again after the bot’s timeout', async () => {
  const order = await swallowed;
  await order.ends('SUCCEEDED', 15_000);
  expect(repliesOf(order)).toHaveLength(1);
  await cardIsRight(order, 'after the silence');
});
