import type { Actor, Message, View } from '@domain-steward/slack-workspace';
import { beforeAll, describe, expect, test } from 'vitest';
import { diffPrices } from '../../src/money/prices.ts';
import {
  buttonsOf,
  DOMAINS,
  performAndReadReply,
  performAndWaitForView,
  readCommandReply,
  textOf,
  until,
  useTestDemo,
} from '../support/demo.ts';
import { countChargesFor, orderOf, type VisibleOrder, waitForOrder } from '../support/orders.ts';
import { expectFormClosed, listFields } from '../support/people.ts';

/* Mandates, from the form until they end. The tests share one clock. */

const REMINDER_CHANNEL = 'C0EXPIRY';
const DAY_MS = 86_400_000;
const NAMESERVERS = ['ns1.dns.example', 'ns2.dns.example'];

const t = useTestDemo({ linkedPeople: ['alice', 'bob'] });

beforeAll(async () => {
  const renewalPrice = {
    zone: 'rest',
    task: 'renew',
    period: 1,
    validFrom: '2020-01-01',
    source: 'Contract 7',
  } as const;
  await t.demo.bot.prices.save(
    diffPrices([], [{ ...renewalPrice, amount: { currency: 'EUR', minor: 1_800 } }]),
    'U0ADA',
    new Date(),
  );
});

async function addWatchedName(name: string, daysUntilExpiry: number): Promise<void> {
  const noon = new Date(t.service.clock.registryTime() + daysUntilExpiry * DAY_MS).setUTCHours(12, 0, 0, 0);
  t.service.state.addDomain({ name, context: 4, expires: noon, nameServers: [...NAMESERVERS] });
  const { sandbox } = t.demo.dns;
  if (sandbox === undefined) throw new Error('the demo has no DNS');
  sandbox.world.serve(name, NAMESERVERS, []);
  sandbox.world.delegate(name, NAMESERVERS);
  expect(await readCommandReply(t.workspace, t.alice, `/domain watch ${name}`)).toContain(
    'according to the registry',
  );
}

const getDateAfter = (days: number) =>
  new Date(t.service.clock.registryTime() + days * DAY_MS).toISOString().slice(0, 10);

/** The id of the mandate that renewed two names. */
let mandateId = '';

const readHome = (person: Actor) => {
  const view = person.homeView();
  return view === undefined ? '' : textOf(view);
};
async function waitForHome(person: Actor, ...texts: readonly string[]): Promise<void> {
  await person.openHome();
  await until(`Home shows ${texts.join(', ')}`, () => texts.every((text) => readHome(person).includes(text)));
}

async function openMandateForm(): Promise<View> {
  await readCommandReply(t.workspace, t.alice, '/domain mandates');
  const mandatesReply = t.alice.ephemerals().at(-1);
  if (mandatesReply === undefined) throw new Error('the mandates were not shown');
  return performAndWaitForView(t.workspace, t.alice, () => t.alice.click(mandatesReply, 'mandate_add'));
}

const MANDATE_TERMS = {
  mandate_names: 'guest*.rest',
  max_price: '18.00',
  max_total: '54.00',
  span: 'year',
  notice: '10',
  account: 'mine',
};

async function requestMandate(terms: Record<string, string>): Promise<VisibleOrder> {
  const view = await openMandateForm();
  return waitForOrder(t.workspace, async () => expectFormClosed(await t.alice.submit(view, terms)), DOMAINS);
}

const listDailyMessages = () =>
  t.workspace
    .messages(REMINDER_CHANNEL)
    .filter((message) => /Mandates (?:will|can’t) renew|Renewals by mandates/.test(textOf(message)));

/** The latest daily message with a name. */
async function waitForDailyMessage(name: string): Promise<Message> {
  return t.workspace.waitFor(
    () => listDailyMessages().findLast((message) => textOf(message).includes(name)),
    {
      what: `a daily message with ${name}`,
    },
  );
}

/** The latest digest with a name. */
async function waitForDigest(name: string): Promise<Message> {
  const isDigest = ({ blocks }: Message) => blocks.some(({ block_id: id }) => id === 'due_0');
  return t.workspace.waitFor(
    () =>
      t.workspace
        .messages(REMINDER_CHANNEL)
        .findLast((message) => isDigest(message) && textOf(message).includes(`*${name}*`)),
    { what: `a digest with ${name}` },
  );
}

describe('the form', () => {
  test('shows errors at its fields', async () => {
    await addWatchedName('first.rest', 200);
    const view = await openMandateForm();
    expect(view.callback_id).toBe('mandate');
    expect(listFields(view)).toEqual([
      'mandate_names',
      'max_price',
      'max_total',
      'span',
      'until',
      'notice',
      'account',
      'reason',
    ]);
    const invalidTerms = {
      ...MANDATE_TERMS,
      mandate_names: 'nothing.example',
      max_price: '0',
      max_total: '10.001',
      until: getDateAfter(500),
      account: 'team',
    };
    expect(await t.alice.submit(view, invalidTerms)).toMatchObject({
      outcome: 'errors',
      errors: {
        max_price: expect.stringContaining('an amount above 0'),
        max_total: expect.stringContaining('decimals'),
        until: expect.stringContaining('400 days'),
        account: expect.stringContaining('This account isn’t linked'),
      },
    });
    const termsWithoutNames = {
      ...MANDATE_TERMS,
      mandate_names: 'nothing.example',
      until: getDateAfter(300),
    };
    expect(await t.alice.submit(view, termsWithoutNames)).toMatchObject({
      outcome: 'errors',
      errors: { mandate_names: expect.stringContaining('matches no watched name') },
    });
    await t.alice.close(view);
  });
});

describe('a mandate', () => {
  test('for a whole zone has a short card, and lists all covered names in its details', async () => {
    const names = ['a', 'b', 'c', 'd', 'e'].map((letter) => `booth-${letter}.rest`);
    for (const name of names) await addWatchedName(name, 200);
    const order = await requestMandate({
      ...MANDATE_TERMS,
      mandate_names: '*.rest',
      until: getDateAfter(300),
    });
    expect(order.card.text).toMatch(/^Mandate to renew \*\.rest: waiting for approval$/);
    expect(textOf(order.card)).toMatch(/per calendar year · Until: \d+ \w+ \d{4} · Renews: 10 days early/);
    expect(textOf(order.card)).toMatch(/Covers \d+ names · about €\S+ a year/);
    const details = await performAndWaitForView(t.workspace, t.bob, () =>
      t.bob.click(order.card, 'order_look'),
    );
    for (const name of names) expect(textOf(details)).toContain(name);
    await t.alice.click(order.card, 'order_cancel');
    await order.waitForState('CANCELLED');
  });

  test('is approved by another person, renews names within its limits, and can be ended', async () => {
    for (const name of ['a', 'b', 'c', 'd'])
      await addWatchedName(`guest-${name}.rest`, name === 'd' ? 60 : 12);
    const order = await requestMandate({
      ...MANDATE_TERMS,
      mandate_names: 'guest-a.rest guest-b.rest guest-c.rest guest-d.rest',
      // Enough for all four, even if a new year begins in between.
      max_total: '72.00',
      until: getDateAfter(300),
    });
    const card = textOf(order.card);
    expect(orderOf(order.card)).toMatchObject({ task: 'mandate', state: 'PENDING' });
    expect(card).toContain('18.00 EUR');
    expect(card).toMatch(/Covers 4 names/);
    expect(card).toMatch(/about €72\.00 a year/);
    expect(
      await performAndReadReply(t.workspace, t.alice, () => t.alice.click(order.card, 'order_approve')),
    ).toMatch(/an approver has to approve it/);
    await t.bob.click(order.card, 'order_approve');
    await order.waitForState('SUCCEEDED');
    await t.workspace.waitFor(() => order.replies().find((reply) => textOf(reply).includes('in force')), {
      what: 'a reply that the mandate is in force',
    });
    expect(textOf(order.card)).toMatch(
      /In force until \d+ \w+ \d{4}\* · requested by <@U0ALICE>, approved by/,
    );
    for (const person of [t.alice, t.bob])
      await waitForHome(
        person,
        'At most €18.00 per name and year',
        `\`${order.id}\``,
        'Mandates you requested or approved',
      );
    await t.carol.openHome();
    await until('Carol’s Home', () => t.carol.homeView() !== undefined);
    expect(readHome(t.carol), 'Home of another person').not.toContain(order.id);

    await t.demo.moveTime(3 * DAY_MS);
    const dailyMessage = await waitForDailyMessage('guest-a.rest');
    expect(textOf(dailyMessage)).toMatch(/Mandates will renew 3 names starting tomorrow/);
    expect(textOf(dailyMessage)).toMatch(
      /\*guest-a\.rest\* · expires .* · a mandate renews it on \d+ \w+ \d+, about €18\.00, unless it’s stopped/,
    );
    expect(buttonsOf(dailyMessage).filter((button) => button === 'order_stop')).toHaveLength(3);
    expect(buttonsOf(dailyMessage)).toContain('mandate_stop_all');
    const listMandateOrders = () =>
      t.workspace
        .messages(REMINDER_CHANNEL)
        .filter((message) => message.metadata?.event_payload['mandate'] === order.id);
    await until(
      'the cards of the mandate’s orders in the day’s thread',
      async () => listMandateOrders().length >= 3,
    );
    expect(listMandateOrders().every(({ thread_ts }) => thread_ts === dailyMessage.ts)).toBe(true);
    const digest = await waitForDigest('guest-a.rest');
    expect(textOf(digest)).toMatch(
      /\*guest-a\.rest\* · \d+ days · a mandate renews it on \d+ \w+, about €18\.00\n/,
    );
    expect(digest.text).toMatch(/^Mandates renew 4 names\. First: guest-/);
    expect(textOf(digest)).not.toContain('No one is handling');
    expect(await readCommandReply(t.workspace, t.alice, '/domain expiring')).toMatch(
      /\*guest-b\.rest\* · \d+ days · a mandate renews it on/,
    );

    // An approver stops one order; the others are sent a day later.
    await t.bob.click(dailyMessage, 'order_stop', {
      value: String(listMandateOrders()[0]?.metadata?.event_payload['order_id']),
    });
    await t.demo.moveTime(2 * DAY_MS);
    // Names whose registry lookup is pending are retried a little later.
    await t.demo.moveTime(DAY_MS / 24);
    const countCharges = () =>
      ['guest-a.rest', 'guest-b.rest', 'guest-c.rest'].map((name) => countChargesFor(t.service, name));
    await until(
      'two of the three are renewed',
      async () => countCharges().reduce((sum, each) => sum + each) === 2,
    );
    expect(countCharges().sort()).toEqual([0, 1, 1]);
    mandateId = order.id;

    const overview = await readCommandReply(t.workspace, t.alice, '/domain mandates');
    expect(overview).toMatch(/€36\.00 spent, €0\.00 reserved, \*€36\.00 left/);

    const spent = await readCommandReply(t.workspace, t.alice, '/domain spend');
    expect(spent).toContain('By mandate');
    expect(spent).toContain(order.id);
    const orderText = await readCommandReply(t.workspace, t.alice, `/domain order ${order.id}`);
    expect(orderText).toContain('Mandate to renew');
    expect(orderText).toMatch(/: in force/);
    expect(orderText).not.toMatch(/\bdone\b|ended/);
    expect(await readCommandReply(t.workspace, t.alice, '/domain name guest-d.rest')).toContain(
      `A mandate (\`${order.id}\`) renews it 10 days before expiry for at most €18.00`,
    );
    const calendar = await readCommandReply(t.workspace, t.alice, '/domain calendar');
    const address = /http:\/\/[^`\s]+\.ics/.exec(calendar)?.[0] ?? '';
    const feed = await (await fetch(address.replace(/^http:\/\/[^/]+/, t.botUrl))).text();
    expect(feed).toContain('guest-d.rest expires (a mandate renews it)');
    expect(feed).toMatch(/SUMMARY:first\.rest expires\r/);

    await readCommandReply(t.workspace, t.alice, '/domain mandates');
    const mandatesReply = t.alice.ephemerals().at(-1);
    if (mandatesReply === undefined) throw new Error('the mandates were not shown');
    expect(
      await performAndReadReply(t.workspace, t.alice, () =>
        t.alice.click(mandatesReply, 'mandate_end', { value: order.id }),
      ),
    ).toContain(`You ended the mandate \`${order.id}\` and stopped its unsent orders.`);
    await t.workspace.waitFor(
      () => order.replies().find((reply) => textOf(reply).includes('ended the mandate')),
      { what: 'a reply that the mandate has ended' },
    );
    expect(await readCommandReply(t.workspace, t.alice, '/domain mandates')).toContain(
      'No mandate is in force',
    );
    await t.bob.openHome();
    await until('no ended mandate in Home', () => !readHome(t.bob).includes(order.id));
  }, 60_000);
});

test('people who can’t see a private mandate see only that it exists', async () => {
  await addWatchedName('secret.rest', 100);
  const before = t.bob.ephemerals().length;
  await t.bob.command('D0BOB', '/domain mandates');
  const mandatesReply = await t.workspace.waitFor(() => t.bob.ephemerals()[before], { what: 'the mandates' });
  const view = await performAndWaitForView(t.workspace, t.bob, () =>
    t.bob.click(mandatesReply, 'mandate_add'),
  );
  const terms = {
    ...MANDATE_TERMS,
    mandate_names: 'secret.rest',
    max_total: '55.55',
    until: getDateAfter(300),
  };
  const order = await waitForOrder(
    t.workspace,
    async () => expectFormClosed(await t.bob.submit(view, terms)),
    'D0BOB',
  );
  const listMandates = (person: Actor) => readCommandReply(t.workspace, person, '/domain mandates');
  expect(await listMandates(t.carol)).toContain(`Waiting for approval: \`${order.id}\``);
  expect(await listMandates(t.alice)).not.toContain(order.id);
  const copy = await t.workspace.waitFor(
    () => t.workspace.messages('D0CAROL').find((message) => orderOf(message)?.id === order.id),
    { what: 'the card for an approver' },
  );
  await t.carol.click(copy, 'order_approve');
  await order.waitForState('SUCCEEDED');
  for (const person of [t.bob, t.carol, t.ada]) expect(await listMandates(person)).toContain('secret.rest');
  expect(await listMandates(t.alice)).toMatch(/mandates? in force/);
  expect(await listMandates(t.alice)).toContain('You can’t see 1 private mandate.');
  expect(await listMandates(t.alice)).not.toContain('secret');
  const showName = (person: Actor) => readCommandReply(t.workspace, person, '/domain name secret.rest');
  for (const person of [t.bob, t.carol, t.ada]) expect(await showName(person)).toContain(order.id);
  const aliceReplies: string[] = [];
  for (const line of [
    'name secret.rest',
    'expiring 300',
    'orders',
    'orders secret.rest',
    'names',
    'spend',
    'mandates',
  ])
    aliceReplies.push(await readCommandReply(t.workspace, t.alice, `/domain ${line}`));
  expect(aliceReplies[0]).toContain('A private mandate renews it.');
  await t.alice.openHome();
  const visibleToAlice = [
    ...aliceReplies,
    readHome(t.alice),
    ...t.workspace.messages(REMINDER_CHANNEL).map(textOf),
  ].join('\n');
  expect(visibleToAlice).not.toContain(order.id);
  expect(visibleToAlice).not.toContain('55.55');
}, 60_000);

test('the monthly reports have the mandate’s renewals', async () => {
  // Two renewals around midnight may be in different months.
  const reportedRenewals = () => {
    const reports = t.workspace.messages(REMINDER_CHANNEL).map(textOf).join('\n');
    const found = reports.matchAll(/through mandate `(\w+)`: about €(\d+)\.00, for (\d+) name/g);
    const own = [...found].filter(([, mandate]) => mandate === mandateId);
    return own.map(([, , euros, names]) => ({ euros: Number(euros), names: Number(names) }));
  };
  const countReportedNames = () => reportedRenewals().reduce((sum, each) => sum + each.names, 0);
  for (let moves = 0; moves < 25 && countReportedNames() < 2; moves += 1) await t.demo.moveTime(3 * DAY_MS);
  await until('two names in the reports', () => countReportedNames() === 2);
  for (const each of reportedRenewals()) expect(each.euros).toBe(18 * each.names);
}, 60_000);
