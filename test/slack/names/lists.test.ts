import { expect, test } from 'vitest';
import { shiftDay } from '../../../src/expiry/days.ts';
import type { ListedName } from '../../../src/expiry/expiry.ts';
import { createWatchedDomain } from '../../../src/expiry/newly-watched.ts';
import type { WatchedDomain } from '../../../src/expiry/ports.ts';
import { createFact, EARLIEST_TIME_MARK } from '../../../src/names/facts.ts';
import type { ListedIncident } from '../../../src/names/incident.ts';
import type { IncidentKind } from '../../../src/names/unexplained-changes.ts';
import { expiringMessage } from '../../../src/slack/expiry/expiring.view.ts';
import { lapseView } from '../../../src/slack/expiry/lapse.view.ts';
import type { Message } from '../../../src/slack/kit/blocks.ts';
import { formatDeadlines } from '../../../src/slack/money/price.view.ts';
import { type NamePage, nameMessage } from '../../../src/slack/names/name.view.ts';
import { namesMessage } from '../../../src/slack/names/portfolio.view.ts';
import { buttonsOf as buttonIds, textOf } from '../../support/demo.ts';
import { countPhoneLines, findUnreadableValues } from '../../support/reading.ts';
import { expectValidMessage, toWireBlocks } from '../kit/limits.ts';

/* Lists of names and the screen of one: one line per name, unusual facts always visible, and no technical values. */

const NOW = new Date('2027-06-14T09:00:00Z');
const TODAY = '2027-06-14';

function newListed(name: string, daysLeft: number, more: Partial<WatchedDomain> = {}): ListedName {
  const at = new Date(NOW.getTime() + daysLeft * 86_400_000);
  const expiryDay = shiftDay(TODAY, daysLeft);
  return {
    domain: {
      ...createWatchedDomain(name, 'U0ALICE', NOW),
      expiry: { at, source: 'rdap' },
      lastLookupAt: NOW,
      ...more,
    },
    expiryDay,
    daysLeft,
    deadline: { action: 'renew', phase: 'registered', until: expiryDay, daysLeft },
  };
}

const renewal = { amount: { currency: 'EUR', minor: 1_800 }, validFrom: '2026-11-01', source: '', times: 1 };
const calculateCost = () => [{ kind: 'renew' as const, until: '2027-06-30', renewal }];

/** A message's text, after checks that it is readable and within Slack's limits. */
function read(message: Message): string {
  expectValidMessage(message);
  expect(findUnreadableValues(message.text, toWireBlocks(message.blocks))).toEqual([]);
  return textOf({ text: message.text, blocks: toWireBlocks(message.blocks) });
}

const showExpiring = (names: readonly ListedName[]) =>
  expiringMessage(
    { names, deleted: 0, dated: names.length, undated: 0 },
    { days: 90, offset: 0, now: NOW },
    calculateCost,
    new Map(),
    { hasService: true, isAtOtherRegistrar: () => false },
  );

test('the expiring list has a line and a menu per name, and its notification names the first one', () => {
  const page = showExpiring(Array.from({ length: 20 }, (_, n) => newListed(`place${n}.rest`, n + 3)));
  const text = read(page);
  expect(page.text).toBe('20 names expiring within 90 days, first place0.rest: 3 days, about €18.00');
  expect(text).toContain('*place4.rest* · 7 days · renew by 20 Jun, about €18.00\n');
  expect(countPhoneLines(toWireBlocks(page.blocks))).toBeLessThanOrEqual(20 * 2 + 4);
  expect(buttonIds({ blocks: toWireBlocks(page.blocks) }).slice(0, 3)).toEqual([
    'reminder_renew',
    'reminder_snooze',
    'reminder_lapse',
  ]);
});

test.each<[what: string, more: Partial<WatchedDomain>, expected: RegExp]>([
  [
    'that the date is estimated',
    { expiry: { at: NOW, source: 'order' } },
    /^:warning: The date is estimated from the last order$/m,
  ],
  ['that a person entered the date', { expiry: { at: NOW, source: 'person' } }, / · date entered manually/],
  [
    'that a person wants to let the name lapse',
    { lapse: { reason: 'old', requestedBy: 'U0BOB', confirmed: undefined } },
    /^:warning: <@U0BOB> wants to let it lapse: “old”\. Not confirmed yet$/m,
  ],
  [
    'that the name is snoozed',
    { snooze: { until: new Date('2027-06-20T09:00:00Z'), by: 'U0BOB', reason: undefined } },
    / · snoozed until 20 Jun/,
  ],
  [
    'that the registry doesn’t show a renewal yet',
    { unpublishedRenewal: { until: NOW, at: NOW } },
    /renewed, but the registry doesn’t show it yet/,
  ],
  ['that there was no lookup', { lastLookupAt: undefined }, / · not looked up yet/],
])('the expiring list says %s', (_what, more, expected) => {
  expect(read(showExpiring([newListed('cafe.rest', 9, more)]))).toMatch(expected);
  expect(read(showExpiring([newListed('cafe.rest', 9)]))).not.toMatch(expected);
});

test('the names list has one line per name, two buttons and a menu', () => {
  const names = Array.from({ length: 50 }, (_, n) => ({
    name: `place${n}.rest`,
    expiresAt: NOW,
    expirySource: 'rdap',
    owner: n === 0 ? 'U0ADA' : undefined,
    tags: n === 0 ? ['brand'] : [],
    channel: undefined,
    note: undefined,
    registrar: undefined,
    deletedAt: undefined,
    expiry: { day: '20 Jun', daysLeft: 6 },
    renewalPrice: n === 1 ? undefined : renewal.amount,
  }));
  const page = namesMessage({
    hasService: true,
    ...{ filter: 'zone:rest', actionValue: '{"filter":"zone:rest","offset":0}', total: 50, offset: 0, names },
    ...{ renewalCost: { sums: [{ currency: 'EUR', minor: 88_200 }], unpricedCount: 1 }, deletedCount: 0 },
    ...{ previousPageState: undefined, nextPageState: undefined, locale: 'en-GB' },
  });
  const text = read(page);
  expect(page.text).toBe('50 names matching zone:rest, about €882.00 a year');
  expect(text).toContain('*place0.rest* · 20 Jun (6 days) · €18.00 · <@U0ADA> · `brand`\n');
  expect(text).toContain('*place1.rest* · 20 Jun (6 days) · no price\n');
  expect(countPhoneLines(toWireBlocks(page.blocks))).toBeLessThanOrEqual(2 * 50 + 12);
  expect(buttonIds({ blocks: toWireBlocks(page.blocks) })).toEqual([
    'names_renew',
    'names_edit',
    'names_export',
    'names_import',
  ]);
  const rows = page.blocks.flatMap((block) => (block.type === 'actions' ? [block.elements.length] : []));
  expect(Math.max(...rows)).toBeLessThanOrEqual(3);
});

function fact(values: readonly string[]) {
  const created = createFact(values);
  const value = created.state === 'seen' ? created.value : [];
  return {
    current: { value, since: NOW, firstSeen: NOW, lastSeen: NOW },
    past: [],
    candidate: undefined,
    unseen: undefined,
  };
}

/** A name without unusual facts. */
function usualName(): NamePage {
  return {
    hasService: true,
    name: 'cafe.rest',
    listedName: newListed('cafe.rest', 60),
    knownName: {
      history: {
        ...{ registration: fact(['registered']), registrar: fact(['name:Sandbox Registrar Ltd']) },
        ...{ statuses: fact(['active']), nameservers: fact(['ns1.dns.example', 'ns2.dns.example']) },
        ...{
          a: fact(['198.51.100.7']),
          www_a: fact(['198.51.100.7']),
          aaaa: fact([]),
          www_aaaa: fact([]),
        },
        ...{ mx: fact(['10 mail.cafe.rest']), spf: fact(['v=spf1']), dmarc: fact(['v=DMARC1']) },
        ...{ caa: fact(['0 issue letsencrypt.org']), ds: fact([]) },
      },
      knownChanges: [],
      isFirstLookup: false,
    },
    details: { owner: 'U0ADA', tags: ['brand'], channel: undefined, note: undefined },
    orders: [],
    visibleOrderIds: new Set(),
    incidents: [],
    pendingChangeBlocks: [],
    assessment: { findings: [], unseen: [] },
    renewWithinDays: 60,
    delayStages: calculateCost(),
    today: TODAY,
  };
}

test('the name screen says that a date without a time zone may be a day later', () => {
  const usual = usualName();
  const readWithDate = (values: readonly string[]) =>
    read(
      nameMessage({
        ...usual,
        knownName: { ...usual.knownName, history: { ...usual.knownName.history, expires_at: fact(values) } },
      }),
    );
  const date = '2027-08-13T10:00:00.000Z';
  expect(readWithDate([date])).not.toContain('or a day later');
  expect(readWithDate([date, EARLIEST_TIME_MARK])).toContain(
    'Expires 13 Aug 2027* (in 60 days), or a day later: the registry gives no time zone.',
  );
});

const incidentOf = (id: number, kind: IncidentKind): ListedIncident => ({
  ...{ id: `i${id}`, name: 'cafe.rest', version: 1, state: 'open', openedAt: NOW, changes: [changeOf(kind)] },
  ...{ proposedExplanation: undefined, explanation: undefined, raisedBy: undefined, overAt: undefined },
  channelId: undefined,
});
const changeOf = (kind: IncidentKind): ListedIncident['changes'][number] => ({
  ...{ kind, fact: 'registrar', before: ['name:Ours'], after: ['name:Theirs'], expiry: undefined },
  ...{ beforeLastSeenAt: NOW, afterFirstSeenAt: NOW, noticedAt: NOW },
});

test('the name screen offers no renewal during a registrar incident, and links to all open incidents', () => {
  const listButtons = (...incidents: ListedIncident[]) =>
    buttonIds({ blocks: toWireBlocks(nameMessage({ ...usualName(), incidents }).blocks) });
  expect(listButtons()).toContain('reminder_renew');
  expect(listButtons(incidentOf(1, 'lock'))).toContain('reminder_renew');
  expect(listButtons(incidentOf(1, 'registrar'))).not.toContain('reminder_renew');
  const many = Array.from({ length: 6 }, (_, n) => incidentOf(n, 'ds'));
  expect(listButtons(...many)).toContain('incidents_all');
  expect(read(nameMessage({ ...usualName(), incidents: many }))).toContain('2 more open incidents.');
  expect(listButtons(...many.slice(2))).not.toContain('incidents_all');
});

test('the name screen fits on a phone if nothing is unusual', () => {
  const message = nameMessage(usualName());
  const text = read(message);
  expect(message.text).toBe('cafe.rest, about €18.00: Expires 13 Aug 2027 (in 60 days).');
  for (const usual of ['registry', 'Delegation', 'Not seen', 'History', ':white_check_mark:'])
    expect(text.split('\n').slice(0, -1).join('\n')).not.toContain(usual);
  expect(countPhoneLines(toWireBlocks(message.blocks))).toBeLessThanOrEqual(26);
});

test('the lapse question is short, and has the impact, the deadlines and their costs', () => {
  const waiting = formatDeadlines(calculateCost(), TODAY);
  const details = { owner: undefined, tags: [], channel: undefined, note: undefined };
  const decision = { kind: 'lapse_confirmed', reason: 'it is over', askedBy: 'U0ALICE' } as const;
  const names = [{ name: 'cafe.rest', before: details, after: details, decision }];
  const proposal = {
    ...({ id: 'p1', kind: 'lapse', subject: 'cafe.rest', payload: { names } } as const),
    ...{ hash: 'hash', version: 0 },
    ...{ proposer: 'U0ALICE', proposedAt: NOW, expiresAt: undefined, origin: undefined },
    ...({ confirmations: [], state: 'proposed', endedBy: undefined } as const),
  };
  const briefing = {
    impactLines: [':x: Mail will stop working, now delivered to `mail.cafe.rest`'],
    deadlinesText: waiting,
    priceSuffix: ', about €18.00',
  };
  const message = lapseView(proposal, briefing).question({ userId: '', locale: 'en-GB', progress: [] });
  const text = read(message);
  expect(message.text).toBe('cafe.rest, about €18.00: let it lapse? Requested by <@U0ALICE>: “it is over”');
  expect(text).toContain('*Let* *cafe.rest* *lapse?*\n');
  expect(text).toContain('Deadlines and costs: renew by 30 Jun, about €18.00');
  expect(countPhoneLines(toWireBlocks(message.blocks))).toBeLessThanOrEqual(14);
});
