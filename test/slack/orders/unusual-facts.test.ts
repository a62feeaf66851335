import { describe, expect, test } from 'vitest';
import type { PendingRequirements } from '../../../src/approvals/approvers.ts';
import type { Briefing } from '../../../src/approvals/briefing.ts';
import type { OrderCost } from '../../../src/money/prices.ts';
import type { Impact, ImpactItem } from '../../../src/names/impact.ts';
import { updateIncidents } from '../../../src/names/incident.ts';
import type { Order } from '../../../src/orders/order.ts';
import { buildSigningFacts, toPlainText } from '../../../src/slack/approvals/signing/page-texts.view.ts';
import { findingLines } from '../../../src/slack/bulk/bulk.view.ts';
import { homeBlocks } from '../../../src/slack/home/home.view.ts';
import { orderCard, UNUSUAL_FACTS, type UnusualFact } from '../../../src/slack/orders/card.view.ts';
import { formatItemName, orderLineWithTimes, orderTitle } from '../../../src/slack/orders/order.view.ts';
import { orderDetailsView } from '../../../src/slack/orders/order-details.view.ts';
import { createOrderPlanner } from '../../../src/slack/orders/order-messages.ts';
import { listReadableFields } from '../../../src/slack/orders/statement.view.ts';
import type { NotificationSpec } from '../../../src/slack/outbound/notify.ts';
import { formatSigningPage } from '../../../src/web/page.view.ts';
import { ENDPOINTS, newBulk, newRequirements } from '../../orders/sample.ts';
import { newBriefing } from '../../support/briefing.ts';
import { contextWith } from '../../support/context.ts';
import { buttonsOf } from '../../support/demo.ts';
import { newOrderEvent } from '../../support/log.ts';
import { NO_POLICY } from '../../support/nothing-known.ts';
import { renderMrkdwn } from '../../support/reading.ts';
import { newTeamSettings } from '../../support/settings.ts';
import { slackContextWith } from '../../support/slack-context.ts';
import { buildSampleStatement, REQUESTED_AT, SAMPLE_INPUTS, sampleOrder } from './samples.ts';

/* Every surface on which an order can be approved shows each of its unusual facts. */

const NAMES = ['cafe.rest'];
const DAY_MS = 86_400_000;
const PENDING_REQUIREMENTS: PendingRequirements = {
  requirements: newRequirements(NAMES),
  isStricter: false,
  policyVersion: 3,
  decidedBy: [],
  standIns: new Map(),
};

function createCost(minor: number): OrderCost {
  const amount = { currency: 'EUR', minor };
  const quote = { amount, validFrom: '2026-11-01', source: 'Contract 7', times: 1 };
  return {
    names: minor === 0 ? [{ name: 'cafe.rest' }] : [{ name: 'cafe.rest', quote }],
    sums: minor === 0 ? [] : [amount],
    unknown: minor === 0 ? 1 : 0,
    mayCostMore: false,
    days: ['2026-11-01'],
    sources: ['Contract 7'],
  };
}

const OVERRUN = { tag: null, period: '2026-11', currency: 'EUR', leftMinor: 1_000, orderMinor: 3_600 };
const EXCEEDED_BUDGET = {
  reservation: { teamId: 'T1', day: '2026-11-21', items: [], agreedExcess: [], hasBudget: true },
  shares: [],
  exceeded: [OVERRUN],
};
const website: ImpactItem = { code: 'website', severity: 'stops', addresses: ['198.51.100.7'], hosts: ['@'] };
const createImpact = (...items: readonly ImpactItem[]): Impact => ({
  ...{ task: 'delete', seenAt: REQUESTED_AT, items, isInUse: 'yes', areNewNameserversReady: undefined },
});
const createOrderImpact = (atRequest: Impact, latest = atRequest) => ({
  ...{
    atRequest,
    latest,
    lastWarning: undefined,
    warningNotifiedAt: undefined,
    warnedFindings: [],
    isThorough: true,
  },
});

function openIncident() {
  const change = {
    ...{ kind: 'registrar' as const, fact: 'registrar' as const },
    ...{ before: ['name:Ours'], after: ['name:Theirs'] },
    ...{ beforeLastSeenAt: REQUESTED_AT, afterFirstSeenAt: REQUESTED_AT },
  };
  const unexplainedChanges = [{ change, orders: [] }];
  const update = updateIncidents([], {
    name: 'cafe.rest',
    unexplainedChanges,
    history: {},
    at: REQUESTED_AT,
  });
  if (update === undefined) throw new Error('no incident was opened');
  return { ...update.after, channelId: 'C0ALERTS' };
}

const renewal = (changes: Partial<Order> = {}, names = NAMES) => sampleOrder('PENDING', changes, names);
const deletion = () => sampleOrder('PENDING', { task: 'delete', input: SAMPLE_INPUTS.delete });
const standIns = new Map([['U0BOB', { userId: 'U0CAROL', until: REQUESTED_AT }]]);
const finding = { code: 'price_unknown' as const, names: ['a.rest'], count: 1 };
const lastChange = {
  order: { ...sampleOrder('SUCCEEDED'), closedAt: new Date(REQUESTED_AT.getTime() - 7 * DAY_MS) },
  cost: createCost(3_600),
};
const requestHistory = [newOrderEvent('requested', 'PENDING', { price: createCost(1_800) })];

/** A fact, an order that has it, and the expected text. */
type Case = readonly [fact: UnusualFact, order: Order, changes: Partial<Briefing>, expectedText: RegExp];
const CASES: readonly Case[] = [
  ['price', renewal(), { cost: createCost(0) }, /price unknown|Price\W+unknown/i],
  ['price_change', renewal(), { history: requestHistory }, /from €18\.00 to €36\.00/],
  [
    'budget',
    renewal(),
    { budgetComparison: EXCEEDED_BUDGET },
    /It exceeds the November 2026 budget for all names by €26/,
  ],
  ['account', renewal({ account: { ...renewal().account, isTeamAccount: true } }), {}, /the team’s account/],
  [
    'account',
    renewal({ retryOf: 'zr0gsgvnnxvt', earlierRequesters: ['U0DAVE'] }),
    {},
    /\(@U0DAVE\)|@U0DAVE’s/,
  ],
  ['retry', renewal({ retryOf: 'zr0gsgvnnxvt' }), {}, /zr0gsgvnnxvt/],
  [
    'zone',
    renewal({ input: { names: ['cafe.example'], period: 2 } }, ['cafe.example']),
    {},
    /No rules known for its zone|doesn’t cover this zone/,
  ],
  [
    'policy',
    renewal(),
    { pendingRequirements: { ...PENDING_REQUIREMENTS, isStricter: true } },
    /stricter since this was requested/,
  ],
  [
    'stand_in',
    renewal(),
    { pendingRequirements: { ...PENDING_REQUIREMENTS, standIns } },
    /@\w+ can approve for @\w+ until/,
  ],
  [
    'findings',
    renewal({ bulk: { ...newBulk(20), findings: [finding] } }),
    {},
    /1 name with an unknown price: a\.rest/,
  ],
  [
    'expiry_change',
    renewal(),
    { expiryChange: { task: 'renew', listedName: undefined, renewedUntil: undefined } },
    /isn’t watched/,
  ],
  ['incidents', renewal(), { incidents: [openIncident()] }, /cafe\.rest was transferred away.* since/],
  [
    'impact',
    deletion(),
    { impact: createOrderImpact(createImpact(website)) },
    /The website will stop working \(198\.51\.100\.7\)/,
  ],
  ['impact', deletion(), { impact: 'unseen' }, /still checking/i],
  [
    'impact',
    deletion(),
    { impact: createOrderImpact(createImpact(), createImpact(website)) },
    /New: The website will stop working/,
  ],
  ['last_change', deletion(), { lastChange }, /Renewed a week ago for about €36\.00/],
  ['restore', deletion(), { restoreCost: createCost(8_000) }, /Can be restored for 30 days, about €80\.00/],
];

const createBriefing = (order: Order, changes: Partial<Briefing>) =>
  newBriefing({
    statement: buildSampleStatement(order),
    pendingRequirements: PENDING_REQUIREMENTS,
    cost: createCost(3_600),
    now: REQUESTED_AT,
    ...changes,
  });

function renderText(blocks: readonly object[]): string {
  const texts: string[] = [];
  JSON.stringify(blocks, (key, value: unknown) => {
    if (key === 'text' && typeof value === 'string') texts.push(value);
    return value;
  });
  return renderMrkdwn(replaceMentions(texts.join('\n')));
}

const replaceMentions = (mrkdwn: string) => mrkdwn.replace(/<@(\w+)>/g, '@$1');

interface Surface {
  readonly text: string;
  readonly canApprove: boolean;
}

function renderSlackSurface(blocks: readonly object[]): Surface {
  const buttons = buttonsOf({ blocks: JSON.parse(JSON.stringify(blocks)) });
  return { text: renderText(blocks), canApprove: buttons.includes('order_approve') };
}

function renderSigningPage(order: Order, briefing: Briefing): Surface {
  const facts = buildSigningFacts(order, briefing);
  const { html } = formatSigningPage(
    {
      kind: 'sign',
      content: { kind: 'order', order, statement: buildSampleStatement(order), userId: 'U0BOB' },
      options: { challenge: 'c' },
    },
    {
      formatTitle: orderTitle,
      formatFields: listReadableFields,
      formatItemName,
      formatFindings: ({ bulk }) => (bulk === undefined ? [] : findingLines(bulk).map(toPlainText)),
      formatNameChanges: () => [],
    },
    {
      displayNames: new Map(),
      orderFacts: {
        account: toPlainText(facts.account),
        facts: facts.facts.map(({ label, value }) => ({ label, lines: value.split('\n').map(toPlainText) })),
        unusualTexts: facts.unusual.map(toPlainText),
        changesSinceRequest: facts.changes.map(toPlainText),
        coverageTexts: [],
      },
      policyFile: '',
    },
  );
  return { text: renderMrkdwn(html.replace(/<[^>]*>/g, ' ').replaceAll('&#39;', "'")), canApprove: true };
}

const SURFACES: Readonly<Record<string, (order: Order, briefing: Briefing) => Surface>> = {
  'the card': (order, briefing) => renderSlackSurface(orderCard(order, briefing).blocks),
  Details: (order, briefing) =>
    renderSlackSurface(
      orderDetailsView({ order, briefing, canDecide: true, origin: { channelId: 'C1' }, page: 1 }).blocks,
    ),
  Home: (order, briefing) =>
    renderSlackSurface(
      homeBlocks({
        ...{
          account: undefined,
          isAdmin: false,
          incidents: [],
          unreadableGroups: [],
          ordersToDecide: [order],
        },
        ...{
          briefings: new Map([[order.id, briefing]]),
          ordersToResolve: [],
          emergencyReviews: [],
          openOrders: [],
          expiringNames: [],
        },
        ...{
          standIn: undefined,
          coveredAbsences: [],
          renewals: new Map(),
          monthCounts: [],
          hasService: true,
        },
      }),
    ),
  'the signing page': renderSigningPage,
};

test('every unusual fact has a case', () => {
  expect(new Set(CASES.map(([fact]) => fact))).toEqual(new Set(UNUSUAL_FACTS));
});

const SURFACE_CASES = Object.keys(SURFACES).flatMap((surface) =>
  CASES.map(
    ([fact, order, briefingChanges, expectedText]) =>
      [fact, surface, order, briefingChanges, expectedText] as const,
  ),
);
test.each(SURFACE_CASES)(
  'the fact %s is on %s (%#)',
  (_fact, surface, order, briefingChanges, expectedText) => {
    const renderSurface = SURFACES[surface];
    const { text, canApprove } = renderSurface?.(order, createBriefing(order, briefingChanges)) ?? {
      text: '',
      canApprove: true,
    };
    if (canApprove) expect(text).toMatch(expectedText);
    const usualSurface = renderSurface?.(renewal(), createBriefing(renewal(), {}));
    expect(usualSurface?.text, 'a usual order has the text, too').not.toMatch(expectedText);
  },
);

describe('the scheduled time of an order', () => {
  const sendAfter = new Date('2026-11-22T02:00:00Z');
  const createScheduledOrder = (changes: Partial<Order>) => renewal({ sendAfter, ...changes });
  const renderOn = (surface: string, order: Order) =>
    SURFACES[surface]?.(order, createBriefing(order, {})).text.replace(/\s+/g, ' ') ?? '';

  test.each(Object.keys(SURFACES))('is on %s, even if the order needs approval again', (surface) => {
    expect(renderOn(surface, createScheduledOrder({}))).toMatch(
      /Will be sent\*?:? (<!date|2026-11-22 02:00)/,
    );
    const reopened = renderOn(surface, createScheduledOrder({ approvalRound: 1 }));
    expect(reopened).toMatch(
      /Will be sent\*?:? right after approval \(was scheduled for (<!date|2026-11-22 02:00)/,
    );
    expect(reopened, 'another time is shown').not.toMatch(
      /(Will be sent|will be sent|sends)\*?:? (<!date|2026)/,
    );
  });

  test.each(['Details', 'the signing page'])(
    'is shown as past on %s once the order is being sent',
    (surface) => {
      expect(renderOn(surface, createScheduledOrder({ state: 'EXECUTING' }))).toMatch(
        /Scheduled for\*?:? (<!date|2026-11-22 02:00)/,
      );
    },
  );

  test('is in the requester’s list, unless the order needs approval again', () => {
    expect(orderLineWithTimes(createScheduledOrder({}))).toMatch(/scheduled for <!date/);
    expect(orderLineWithTimes(createScheduledOrder({ approvalRound: 1 }))).not.toContain('sends');
  });
});

test('an order with findings in its rows can only be approved in Details and on the signing page', () => {
  const [, order, briefingChanges] = CASES.find(([fact]) => fact === 'findings') ?? [];
  if (order === undefined) throw new Error('no case for findings');
  const surfaces = Object.keys(SURFACES).filter(
    (surface) => SURFACES[surface]?.(order, createBriefing(order, briefingChanges ?? {})).canApprove,
  );
  expect(surfaces).toEqual(['Details', 'the signing page']);
});

test('copies in the approval channel and in direct messages equal the card', async () => {
  const order = deletion();
  const sendCards = async (approvalChannel: string | undefined) => {
    const sentNotifications: NotificationSpec[] = [];
    const directory = {
      listGroupMembers: async () => [],
      findMembership: async () => 'member' as const,
      openDirectMessage: async () => 'D0BOB',
    };
    const settings = async () => newTeamSettings({ approvalChannel });
    const planner = createOrderPlanner(
      slackContextWith({
        orders: contextWith({
          store: {
            loadWithHistory: async () => ({ order, history: requestHistory }),
            list: async () => [lastChange.order],
            loadHistory: async () => [],
            recordShownOverruns: async () => undefined,
          },
          ...{
            directory,
            loadSettings: settings,
            ...NO_POLICY,
            serviceEndpoints: ENDPOINTS,
            now: () => REQUESTED_AT,
          },
          priceOrder: async () => createCost(0),
          compareBudgets: async () => EXCEEDED_BUDGET,
        }),
        names: {
          impacts: { loadForCard: async () => createOrderImpact(createImpact(), createImpact(website)) },
          orderIncidents: { listOpen: async () => [openIncident()] },
        },
        expiry: { findListedName: async () => undefined },
        ...{ directory, loadSettings: settings, adminsToNotify: async () => ['U0ADA'] },
        now: () => REQUESTED_AT,
      }),
    );
    const claim = { kind: 'order', id: order.id, version: 1, isBackground: false, attempts: 0 } as const;
    await planner({ ...claim, notifications: [], refusalCode: undefined }, async (each) => {
      sentNotifications.push(each);
      // The card is in a direct message, so approvers get copies of it.
      return { state: 'current', message: { channelId: 'D0ALICE', ts: '1.0' } };
    });
    return sentNotifications.filter(({ purpose }) => purpose.startsWith('card'));
  };
  for (const [channel, purposes] of [
    ['C0APPROVALS', ['card', 'card:in:C0APPROVALS']],
    [undefined, ['card', 'card:to:U0ADA', 'card:to:U0BOB']],
  ] as const) {
    const cards = await sendCards(channel);
    expect(cards.map(({ purpose }) => purpose)).toEqual(purposes);
    const [card, ...copies] = await Promise.all(cards.map(({ message }) => message(0)));
    for (const copy of copies) expect(copy).toEqual(card);
    const text = renderText(card?.blocks ?? []);
    for (const expectedText of [
      /was transferred away/,
      /It exceeds/,
      /New: The website/,
      /Renewed a week ago/,
    ])
      expect(text).toMatch(expectedText);
  }
});
