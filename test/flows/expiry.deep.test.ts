import type { Message } from '@domain-steward/slack-workspace';
import ICAL from 'ical.js';
import { describe, expect, test } from 'vitest';
import {
  buttonsOf,
  DOMAINS,
  deliverSigned,
  openForm,
  performAndReadReply,
  performAndWaitForView,
  readCommandReply,
  textOf,
  until,
  useTestDemo,
} from '../support/demo.ts';
import { requestAndApprove, requestByCommand, waitForOrder } from '../support/orders.ts';

/* The tests share one clock, so each test has its own names. */

const EXPIRY_CHANNEL = 'C0EXPIRY';
const DAY_MS = 86_400_000;

const t = useTestDemo({ linkedPeople: ['alice', 'bob'] });

function sendCommand(text: string, person = t.alice): Promise<string> {
  return readCommandReply(t.workspace, person, text);
}

/** Registers a name that expires in some days, at noon. Its nameservers answer for it. */
function registerName(name: string, days: number): void {
  const noon = new Date(t.service.clock.registryTime() + days * DAY_MS).setUTCHours(12, 0, 0, 0);
  const { nameServers } = t.service.state.addDomain({ name, context: 4, expires: noon });
  t.demo.dns.sandbox?.world.serve(name, nameServers, []);
  t.demo.dns.syncDelegations();
}

async function registerAndWatch(name: string, days: number): Promise<void> {
  registerName(name, days);
  expect(await sendCommand(`/domain watch ${name}`)).toContain('according to the registry');
}

/** Advances by days. @returns the morning's digest, if there was one */
async function advanceDays(days = 1): Promise<Message | undefined> {
  const before = new Set(t.workspace.messages(EXPIRY_CHANNEL).map(({ ts }) => ts));
  await t.demo.moveTime(days * DAY_MS);
  // Incidents of these names are posted in the same channel.
  return t.workspace
    .messages(EXPIRY_CHANNEL)
    .find(({ ts, blocks }) => !before.has(ts) && blocks.some(({ block_id: id }) => id === 'due_0'));
}

async function advanceToDigest(days = 1): Promise<Message> {
  const posted = await advanceDays(days);
  if (posted === undefined) throw new Error('no digest was posted');
  return posted;
}

/** Acts, and waits for a new reply in a digest's thread. */
async function actAndWaitForReply(digestMessage: Message, act: () => Promise<unknown>): Promise<Message> {
  const thread = () =>
    t.workspace.messages(EXPIRY_CHANNEL).filter(({ thread_ts }) => thread_ts === digestMessage.ts);
  const before = thread().length;
  await act();
  return t.workspace.waitFor(() => thread()[before], { what: 'a reply in the thread of the digest' });
}

/** Waits until the watch list has the registry's date of a name, with this many days left. */
async function waitForExpiry(name: string, days: number): Promise<void> {
  const now = () => t.service.clock.registryTime();
  await until(`the list shows ${name} with ${days} days left`, async () => {
    const expiry = (await t.demo.bot.expiry.find(name))?.expiry;
    return expiry?.source === 'rdap' && Math.abs(expiry.at.getTime() - now() - days * DAY_MS) < 2 * DAY_MS;
  });
}

describe('the watch list', () => {
  test('uses the registry’s date, or else the person’s, and shows why a lookup failed', async () => {
    registerName('seen.rest', 300);
    expect(await sendCommand('/domain watch seen.rest 2030-01-01')).toMatch(
      /according to the registry.*I ignored your date/,
    );
    const unregistered = await sendCommand('/domain watch unseen.rest 2027-09-01');
    expect(unregistered).toMatch(/1 Sept? 2027 \(in \d+ days\).*no record/);
    const row = await sendCommand('/domain expiring 3000');
    expect(row).toMatch(
      /\*unseen\.rest\* · \d+ days · renew by 31 Aug.* · date entered manually\n:warning: The registry has no record/,
    );
    expect(await sendCommand('/domain unwatch unseen.rest')).toContain('no longer watched');
    expect(await sendCommand('/domain unwatch unseen.rest')).toContain('isn’t watched');
    expect(await sendCommand('/domain expiring 3000')).not.toContain('unseen.rest');
  });

  test('is filled by the import form, with a report, and gets its dates from the registry', async () => {
    for (const name of ['one.rest', 'two.rest']) registerName(name, 200);
    const form = await openForm(t.workspace, t.alice, '/domain import');
    const report = await performAndReadReply(t.workspace, t.alice, async () => {
      const names =
        'one.rest\ntwo.rest;2027-05-05\nthree.rest, 2029-03-01\none.rest\nnot a name\nfour.rest 31.02.2027';
      expect(await t.alice.submit(form, { names })).toMatchObject({ outcome: 'closed' });
    });
    expect(report).toMatch(/3 names added, 1 line repeated, 2 lines rejected/);
    expect(report).toMatch(/Line 6.*doesn’t exist/);
    await waitForExpiry('two.rest', 200);
    expect(await sendCommand('/domain expiring 3000')).toMatch(
      /\*three\.rest\* · \d+ days · renew by 28 Feb 2029.* · date entered manually/,
    );
  });
});

describe('the digest', () => {
  test('renews a name, posts its card in the reminder channel and stops the reminders', async () => {
    await registerAndWatch('renew.rest', 8);
    const message = await advanceToDigest();
    expect(textOf(message)).toMatch(/renew\.rest.* expires in 7 days/);
    const form = await performAndWaitForView(t.workspace, t.alice, () =>
      t.alice.click(message, 'reminder_renew', { value: 'renew.rest' }),
    );
    expect(form).toMatchObject({ callback_id: 'renew' });
    const order = await waitForOrder(t.workspace, () => t.alice.submit(form), EXPIRY_CHANNEL);
    expect(textOf(order.card)).toContain('Renew renew.rest for 1 year');
    await t.bob.click(order.card, 'order_approve');
    await order.waitForResult('SUCCEEDED');
    await waitForExpiry('renew.rest', 372);
    const reply = await performAndReadReply(t.workspace, t.alice, () =>
      t.alice.click(message, 'reminder_renew', { value: 'renew.rest' }),
    );
    expect(reply, 'a click on the old button').toMatch(
      /was renewed after this reminder and now expires .*\/domain renew renew\.rest/,
    );
    // Three days are left, then one.
    for (const days of [4, 2]) {
      const next = await advanceDays(days);
      expect(next === undefined ? '' : textOf(next)).not.toContain('renew.rest');
    }
  });

  test('renews the selected names as one order', async () => {
    for (const name of ['many1.rest', 'many2.rest', 'many3.rest']) await registerAndWatch(name, 4);
    const message = await advanceToDigest();
    const form = await performAndWaitForView(t.workspace, t.alice, () =>
      t.alice.click(message, 'reminder_renew_many'),
    );
    expect(form).toMatchObject({ callback_id: 'renew_many' });
    for (const name of ['many1.rest', 'many2.rest', 'many3.rest']) {
      expect(JSON.stringify(form.blocks)).toContain(`"value":"${name}"`);
    }
    expect(JSON.stringify(form.blocks)).toContain('An order can have at most 50 names.');
    const values = { names: ['many1.rest', 'many3.rest'], period: '2' };
    const order = await waitForOrder(t.workspace, () => t.alice.submit(form, values), EXPIRY_CHANNEL);
    await t.bob.click(order.card, 'order_approve');
    await order.waitForResult('SUCCEEDED');
    for (const name of ['many1.rest', 'many3.rest']) await waitForExpiry(name, 733);
    // Renewed names are no longer offered.
    const again = await performAndWaitForView(t.workspace, t.alice, () =>
      t.alice.click(message, 'reminder_renew_many'),
    );
    expect(JSON.stringify(again.blocks)).toContain('many2.rest');
    expect(JSON.stringify(again.blocks)).not.toContain('many1.rest');
    await t.alice.close(again);
    await sendCommand('/domain unwatch many2.rest');
  });

  test('reports a renewal that the registry doesn’t show, and offers no second renewal', async () => {
    await registerAndWatch('lost.rest', 40);
    t.service.faults.set({ kind: 'rdap_not_found', match: { name: 'lost.rest' } });
    const order = await requestAndApprove(
      t.bob,
      requestByCommand(t.workspace, t.alice, '/domain renew lost.rest'),
    );
    await order.waitForResult('SUCCEEDED');
    t.service.faults.clear();
    registerName('lost.rest', 40);
    for (const name of ['due1.rest', 'due2.rest']) await registerAndWatch(name, 46);
    await advanceDays(15);
    await until('a lookup has shown the old date', async () => {
      const { doubt } = (await t.demo.bot.expiry.find('lost.rest')) ?? {};
      return doubt?.code === 'renewal_not_shown';
    });
    // The other names are due today, so there is a digest even if an earlier one reported the renewal.
    const message = await advanceToDigest();
    expect(t.workspace.messages(EXPIRY_CHANNEL).map(textOf).join('\n--\n')).toMatch(
      /Renewed here, but not at the registry[^-]*lost\.rest/,
    );
    const form = await performAndWaitForView(t.workspace, t.alice, () =>
      t.alice.click(message, 'reminder_renew_many'),
    );
    expect(JSON.stringify(form.blocks)).toContain('"value":"due1.rest"');
    expect(JSON.stringify(form.blocks)).not.toContain('lost.rest');
    await t.alice.close(form);
    for (const name of ['lost.rest', 'due1.rest', 'due2.rest']) await sendCommand(`/domain unwatch ${name}`);
  });

  test('lets a name lapse with a reason, once a second person confirms', async () => {
    await registerAndWatch('lapse.rest', 8);
    const message = await advanceToDigest();
    const form = await performAndWaitForView(t.workspace, t.alice, () =>
      t.alice.click(message, 'reminder_lapse', { value: 'lapse.rest' }),
    );
    expect(JSON.stringify(form.blocks), 'the name').toContain('lapse.rest');
    expect(textOf(form), 'the impact').toMatch(/Impact.*No website or mail found/s);
    expect(await t.alice.submit(form, { reason: ' ' })).toMatchObject({ outcome: 'errors' });
    const question = await actAndWaitForReply(message, () =>
      t.alice.submit(form, { reason: 'campaign is over' }),
    );
    expect(textOf(question)).toMatch(/campaign is over/);
    expect(textOf(question), 'the impact').toMatch(/Impact.*No website or mail found/s);
    const refusal = await performAndReadReply(t.workspace, t.alice, () =>
      t.alice.click(question, 'lapse_confirm', { value: 'lapse.rest' }),
    );
    expect(refusal).toContain('someone else');
    const decision = await actAndWaitForReply(message, () =>
      t.bob.click(question, 'lapse_confirm', { value: 'lapse.rest' }),
    );
    expect(textOf(decision)).toMatch(/lapse\.rest.* will lapse.*campaign is over/s);
    expect(await sendCommand('/domain expiring 30')).toMatch(
      /\*lapse\.rest\* · .* · set to lapse: “campaign is over”/,
    );
    for (const days of [4, 2, 2]) {
      const next = await advanceDays(days);
      expect(next === undefined ? '' : textOf(next)).not.toContain('lapse.rest');
    }
  });

  test('continues in its thread after 20 names', async () => {
    const names = Array.from({ length: 45 }, (_, index) => `long${index}.rest`);
    for (const name of names) registerName(name, 8);
    const form = await openForm(t.workspace, t.alice, '/domain import');
    await performAndReadReply(t.workspace, t.alice, () => t.alice.submit(form, { names: names.join('\n') }));
    await until('all names have the registry’s date', async () =>
      (await t.demo.bot.expiry.findMany(names)).every(({ expiry }) => expiry?.source === 'rdap'),
    );
    const message = await advanceToDigest();
    const thread = t.workspace.messages(EXPIRY_CHANNEL).filter(({ thread_ts }) => thread_ts === message.ts);
    const buttons = [message, ...thread].map(
      (each) => buttonsOf(each).filter((id) => id === 'reminder_renew').length,
    );
    // The thread also has the chart of months and delegation faults.
    expect(buttons.filter((names) => names > 0)).toEqual([20, 20, 5]);
  });
});

test('a long import is carried out even if Slack is slow to identify its requester', async () => {
  const form = await openForm(t.workspace, t.alice, '/domain import');
  const names = Array.from({ length: 1_001 }, (_, index) => `late${index}.rest`).join('\n');
  // The bot hasn't looked up Ada yet, so her submission is slow. The view must be open in Slack.
  t.workspace.faults.set({ kind: 'slow', delayMs: 2_300, method: 'users.info', times: 1 });
  const payload = {
    type: 'view_submission',
    team: { id: t.workspace.teamId },
    user: { id: 'U0ADA', team_id: t.workspace.teamId },
    view: {
      id: form.id,
      callback_id: 'import',
      private_metadata: JSON.stringify({ channelId: DOMAINS }),
      state: { values: { names: { names: { value: names } } } },
    },
  };
  const answer = await performAndReadReply(t.workspace, t.ada, () =>
    deliverSigned(
      t,
      'application/x-www-form-urlencoded',
      new URLSearchParams({ payload: JSON.stringify(payload) }).toString(),
    ),
  );
  expect(answer).toContain('1001');
  await t.alice.close(form);
});

test('a newly registered name is watched automatically', async () => {
  const form = await openForm(t.workspace, t.alice, '/domain create fresh.rest');
  const values = {
    ownerc: '1001',
    adminc: '1002',
    techc: '1003',
    nameServers: 'ns1.dns.example\nns2.dns.example',
  };
  const order = await waitForOrder(t.workspace, () => t.alice.submit(form, values));
  await t.bob.click(order.card, 'order_approve');
  await order.waitForResult('SUCCEEDED');
  await waitForExpiry('fresh.rest', 365);
});

describe('the calendar feed', () => {
  async function fetchFeed(address: string): Promise<Response> {
    const { port } = t.demo.bot;
    return fetch(`http://127.0.0.1:${port}${new URL(address).pathname}`);
  }
  const findAddress = (text: string) => /https?:\/\/\S+\.ics/.exec(text)?.[0] ?? '';

  test('is valid iCalendar, contains nothing private, and its address can be reset', async () => {
    await registerAndWatch('calendar.rest', 40);
    const address = findAddress(await sendCommand('/domain calendar'));
    expect(findAddress(await sendCommand('/domain calendar')), 'the same address each time').toBe(address);
    const response = await fetchFeed(address);
    expect(response.headers.get('content-type')).toBe('text/calendar; charset=utf-8');
    const text = await response.text();
    const calendar = new ICAL.Component(ICAL.parse(text));
    const events = calendar.getAllSubcomponents('vevent').map((each) => new ICAL.Event(each));
    const event = events.find(({ uid }) => uid === 'calendar.rest@domain-steward');
    const day = new Date(t.service.clock.registryTime() + 40 * DAY_MS).toISOString().slice(0, 10);
    expect(event?.startDate.toString()).toBe(day);
    expect(events.length).toBeGreaterThan(30);
    expect(text).not.toMatch(/U0[A-Z]+/);

    const newAddress = findAddress(await sendCommand('/domain calendar reset'));
    expect(newAddress).not.toBe(address);
    expect((await fetchFeed(address)).status).toBe(404);
    expect((await fetchFeed(newAddress)).status).toBe(200);
    const token = /([^/]+)\.ics$/.exec(newAddress)?.[1] ?? 'no token';
    expect(token.length).toBeGreaterThanOrEqual(43);
    expect(t.getLog()).not.toContain(token);
    expect(await t.dump()).not.toContain(token);
  });

  test('has a different address for each person', async () => {
    expect(findAddress(await sendCommand('/domain calendar', t.bob))).not.toBe(
      findAddress(await sendCommand('/domain calendar')),
    );
    expect((await fetchFeed(`http://x/calendar/${'a'.repeat(43)}.ics`)).status).toBe(404);
  });
});

describe('a long list of expirations', () => {
  test('is shown in pages', async () => {
    const first = await sendCommand('/domain expiring 3600');
    expect(first).toMatch(/\d\d names expiring within 3600 days/);
    const list = t.alice.ephemerals(DOMAINS).at(-1);
    if (list === undefined) throw new Error('the list was not shown');
    expect(buttonsOf(list).filter((id) => id.startsWith('expiring'))).toEqual(['expiring_next']);
    await t.alice.click(list, 'expiring_next');
    const page = await t.workspace.waitFor(
      () => t.alice.ephemerals(DOMAINS).find((message) => JSON.stringify(message.blocks).includes('21–40')),
      { what: 'the next page' },
    );
    expect(buttonsOf(page).filter((id) => id.startsWith('expiring'))).toEqual([
      'expiring_previous',
      'expiring_next',
    ]);
  });
});
