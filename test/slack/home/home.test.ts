import { expect, it } from 'vitest';
import type { Briefing } from '../../../src/approvals/briefing.ts';
import type { ListedName } from '../../../src/expiry/expiry.ts';
import type { OrderCost } from '../../../src/money/prices.ts';
import type { Impact } from '../../../src/names/impact.ts';
import { updateIncidents } from '../../../src/names/incident.ts';
import type { OrderImpact } from '../../../src/names/ports.ts';
import type { Order } from '../../../src/orders/order.ts';
import type { Requirements } from '../../../src/policy/evaluate.ts';
import {
  type HomeData,
  homeBlocks,
  nonMemberBlocks,
  unavailableBlocks,
} from '../../../src/slack/home/home.view.ts';
import { newBriefing } from '../../support/briefing.ts';
import { renderText } from '../../support/rendered.ts';
import { expectValidBlocks } from '../kit/limits.ts';
import { buildSampleStatement, REQUESTED_AT, SAMPLE_INPUTS, sampleOrder } from '../orders/samples.ts';

function newListed(name: string, expiryDay: string, daysLeft: number): ListedName {
  const domain = {
    name,
    version: 1,
    expiry: { at: new Date(expiryDay), source: 'rdap' as const },
    addedBy: 'U0ALICE',
    addedAt: REQUESTED_AT,
    registeredBy: undefined,
    expiryChange: undefined,
    unpublishedRenewal: undefined,
    trusted: undefined,
    deletedAt: undefined,
    lastLookupAt: REQUESTED_AT,
    deletionPhase: undefined,
    nextRegistryLookupAt: REQUESTED_AT,
    doubt: undefined,
    whois: undefined,
    snooze: undefined,
    lapse: undefined,
  };
  return {
    domain,
    expiryDay,
    daysLeft,
    deadline: { action: 'renew' as const, phase: 'registered' as const, until: expiryDay, daysLeft },
  };
}

const PENDING_ORDER = sampleOrder('PENDING', {}, ['cafe.rest', 'xn--bcher-kva.rest']);

const FULL: HomeData = {
  hasService: true,
  account: {
    id: 'a1',
    teamId: 'T0STEWARD',
    userId: 'U0BOB',
    method: 'password',
    slot: '1',
    context: 1,
    login: 'bob',
    application: undefined,
    isActive: true,
    verifiedAt: REQUESTED_AT,
  },
  isAdmin: true,
  incidents: [],
  unreadableGroups: [],
  ordersToDecide: [PENDING_ORDER],
  briefings: new Map([[PENDING_ORDER.id, newBriefing({ statement: buildSampleStatement(PENDING_ORDER) })]]),
  ordersToResolve: [sampleOrder('UNKNOWN')],
  emergencyReviews: [],
  standIn: undefined,
  coveredAbsences: [],
  openOrders: [sampleOrder('EXECUTING')],
  renewals: new Map(),
  expiringNames: [newListed('tea.rest', '2026-11-20', -1), newListed('cafe.rest', '2026-12-01', 10)],
  monthCounts: [
    { month: '2026-11', label: 'Nov 2026', count: 1 },
    { month: '2026-12', label: 'Dec 2026', count: 1 },
  ],
};

it('the Home tab of an admin who approves matches its snapshot', () => {
  const blocks = homeBlocks(FULL);
  expectValidBlocks(blocks, 'home');
  expect(renderText(blocks)).toMatchSnapshot();
});

it.each([
  ['renew', '* · costs money\\n'],
  ['authcode', '* · price unknown\\n'],
  ['owner-change', '* · price unknown\\n'],
  ['redirect', '* · price unknown\\n'],
  ['nameservers', '*\\n'],
] as const)('%s is never called free without a documented price', (task, said) => {
  const changes = { task, ...(task === 'renew' ? {} : { input: {} }) };
  const text = JSON.stringify(homeBlocks({ ...FULL, ordersToDecide: [sampleOrder('PENDING', changes)] }));
  expect(text).toContain(said);
});

it('unexplained changes of names come first, three at most', () => {
  const update = updateIncidents([], {
    name: 'cafe.rest',
    unexplainedChanges: [
      {
        change: {
          ...{ kind: 'registrar', fact: 'registrar', before: ['name:Ours'], after: ['name:Theirs'] },
          ...{ beforeLastSeenAt: REQUESTED_AT, afterFirstSeenAt: REQUESTED_AT },
        },
        orders: [],
      },
    ],
    history: {},
    at: REQUESTED_AT,
  });
  if (update === undefined) throw new Error('no incident was opened');
  const incident = { ...update.after, channelId: 'C0ALERTS' };
  for (const account of [FULL.account, undefined]) {
    const blocks = homeBlocks({ ...FULL, account, incidents: [incident] });
    expectValidBlocks(blocks, 'home');
    const text = JSON.stringify(blocks);
    expect(text).toContain(
      ':rotating_light: *cafe.rest was transferred away, and no one here ordered this* (<#C0ALERTS>). `/domain name cafe.rest`',
    );
    expect(text.indexOf('was transferred away')).toBeLessThan(text.indexOf('Waiting for your approval'));
  }
  const many = JSON.stringify(homeBlocks({ ...FULL, incidents: Array.from({ length: 5 }, () => incident) }));
  expect(many.match(/was transferred away/g)).toHaveLength(3);
  expect(many).toContain('2 more open incidents.');
  expect(many).toContain('"action_id":"incidents_all"');
});

it('the Home tab of a new person matches its snapshot', () => {
  const blocks = homeBlocks({
    hasService: true,
    account: undefined,
    isAdmin: false,
    incidents: [],
    unreadableGroups: [],
    ordersToDecide: undefined,
    ordersToResolve: [],
    emergencyReviews: [],
    standIn: undefined,
    coveredAbsences: [],
    openOrders: [],
    expiringNames: [],
    renewals: new Map(),
    monthCounts: [],
    briefings: new Map(),
  });
  expectValidBlocks(blocks, 'home');
  expect(renderText(blocks)).toMatchSnapshot();
});

it('people without an account see what is pending for them, then the first steps, and little else', () => {
  const blocks = homeBlocks({ ...FULL, account: undefined, isAdmin: false });
  expectValidBlocks(blocks, 'home');
  const headers = blocks.flatMap((block) => (block.type === 'header' ? [block.text.text] : []));
  expect(headers).toEqual([
    'Domain Steward',
    'Waiting for your approval',
    'Outcome unknown',
    'Your open orders',
    'First steps',
  ]);
  expect(blocks.map(({ type }) => type)).not.toContain('data_table');
  expect(JSON.stringify(blocks)).toContain('"action_id":"home_link"');
});

const APPROVED_BY: Requirements = {
  outcome: 'approve',
  list: [
    {
      rule: { kind: 'rule', version: 3, index: 0, name: 'transfers of the brand' },
      names: ['cafe.rest'],
      needed: 2,
      approvers: ['S0LEGAL', 'U0CFO'],
      silent: [],
      signed: false,
    },
  ],
  refusedBy: [],
  ttlMs: 1,
  remindAfterMs: 1,
  escalateAfterMs: 1,
  escalateTo: [],
  escalateToAdmins: false,
  breakGlass: false,
};
const COST: OrderCost = {
  names: [],
  sums: [{ currency: 'EUR', minor: 3_600 }],
  unknown: 0,
  mayCostMore: false,
  days: ['2026-11-01'],
  sources: [],
};
const IMPACT: Impact = {
  task: 'delete',
  seenAt: new Date('2026-11-22T09:00:00Z'),
  items: [
    { severity: 'stops', code: 'mail', servers: ['mail.cafe.rest'] },
    { severity: 'stops', code: 'website', addresses: ['198.51.100.7'], hosts: ['@'] },
    { severity: 'note', code: 'signed' },
  ],
  isInUse: 'yes',
  areNewNameserversReady: undefined,
};

function buildOrderImpact(impact: Impact): OrderImpact {
  const unwarned = { lastWarning: undefined, warningNotifiedAt: undefined, warnedFindings: [] };
  return { atRequest: impact, latest: impact, ...unwarned, isThorough: true };
}

function renderHome(order: Order, found: Pick<Briefing, 'cost' | 'impact'>): string {
  const briefings = new Map([[order.id, newBriefing({ statement: buildSampleStatement(order), ...found })]]);
  return JSON.stringify(homeBlocks({ ...FULL, ordersToDecide: [order], briefings }));
}

it('without a domain service, names with problems are counted, too', () => {
  const postureCounts = { danger: 1, warning: 2, unchecked: 0, fine: 3 };
  const text = JSON.stringify(homeBlocks({ ...FULL, hasService: false, postureCounts }));
  expect(text).toContain('*Posture*: 3 fine, 1 at risk, 2 with warnings');
});

it('an approver sees the price, the rule, and the worst impact on the name', () => {
  const order = sampleOrder('PENDING', {
    task: 'delete',
    input: SAMPLE_INPUTS.delete,
    requirements: APPROVED_BY,
  });
  const text = renderHome(order, { cost: COST, impact: buildOrderImpact(IMPACT) });
  expect(text).toContain('* · about €36.00');
  expect(text).toContain(
    'Needs 2 approvals from members of <!subteam^S0LEGAL> or <@U0CFO>: rule “transfers of the brand” of policy version 3',
  );
  expect(text).toContain(':x: Mail will stop working (`mail.cafe.rest`). And 2 more.');
  expect(text).not.toContain('198.51.100.7');

  const unknown = renderHome(order, { cost: { ...COST, sums: [], unknown: 1 }, impact: 'unseen' });
  expect(unknown).toContain(':warning: This costs money (price unknown)');
  expect(unknown).toContain('Still checking what would stop working');
  expect(
    renderHome(order, { cost: undefined, impact: buildOrderImpact({ ...IMPACT, items: [], isInUse: 'no' }) }),
  ).toContain('No website or mail found');
});

it('an order that must be signed or doesn’t fit has a Details button', () => {
  const list = APPROVED_BY.list.map((requirement) => ({ ...requirement, signed: true }));
  const names = Array.from({ length: 50 }, (_, n) => `${n}${'x'.repeat(60)}.rest`);
  for (const order of [
    sampleOrder('PENDING', { requirements: { ...APPROVED_BY, list } }, names),
    sampleOrder('PENDING', { requirements: APPROVED_BY }, names),
    sampleOrder('PENDING', { requirements: { ...APPROVED_BY, list } }),
  ])
    expect(renderHome(order, { cost: undefined, impact: 'none' })).toMatch(/"home_[^\]]*"order_look"/);
});

it('a name with a mandate needs no decision', () => {
  const expiringNames = [newListed('cafe.rest', '2026-12-01', 10), newListed('tea.rest', '2026-12-02', 11)];
  const text = JSON.stringify(
    homeBlocks({ ...FULL, expiringNames, renewals: new Map([['cafe.rest', '2026-11-28']]) }),
  );
  expect(text).toMatch(/"cafe\.rest".*"A mandate renews it".*"1 Dec 2026".*"tea\.rest".*"Renew"/);
});

it('an order with the team’s account has a warning line', () => {
  const account = { ...PENDING_ORDER.account, isTeamAccount: true };
  const text = renderHome(sampleOrder('PENDING', { account }), { cost: undefined, impact: 'none' });
  expect(text).toContain(':warning: Uses *the team’s account*');
});

it('the Home tab stays within Slack’s limits if every part is full and every line long', () => {
  const names = Array.from({ length: 50 }, (_, n) => `${n}${'x'.repeat(60)}.rest`);
  const approvers = Array.from({ length: 60 }, (_, n) => `U${String(n).padStart(10, '0')}`);
  const [requirement] = APPROVED_BY.list;
  if (requirement === undefined) throw new Error('the sample has no requirement');
  const rule = { kind: 'rule' as const, version: 3, index: 0, name: 'r'.repeat(200) };
  const list = Array.from({ length: 9 }, (_, n) => ({
    ...requirement,
    rule: { ...rule, index: n },
    approvers,
  }));
  const orders = Array.from({ length: 100 }, (_, n) =>
    sampleOrder(
      'PENDING',
      { id: `order${n}`, reason: 'r'.repeat(1_000), requirements: { ...APPROVED_BY, list } },
      names,
    ),
  );
  const impact: Impact = {
    ...IMPACT,
    items: [{ severity: 'stops', code: 'dependents', by: 'mail', count: 50, privateCount: 0, names }],
  };
  const blocks = homeBlocks({
    ...FULL,
    ordersToDecide: orders,
    briefings: new Map(
      orders.map((order) => [
        order.id,
        newBriefing({ statement: buildSampleStatement(order), cost: COST, impact: buildOrderImpact(impact) }),
      ]),
    ),
    ordersToResolve: orders.map((order) => ({ ...order, state: 'UNKNOWN' })),
    emergencyReviews: orders.map((order) => ({
      order: { ...order, state: 'SUCCEEDED', emergencyApprovedBy: 'U0ADA' },
      canSignOff: true,
    })),
    openOrders: orders,
    standIn: { userId: 'U0CAROL', until: REQUESTED_AT },
    unreadableGroups: ['S0APPROVERS'],
    money: {
      month: '2026-11',
      spendTotal: { nameCount: 2, unpricedCount: 0, sums: [{ currency: 'EUR', minor: 1_850 }] },
      budgets: [],
      locale: 'en-GB',
    },
  });
  expectValidBlocks(blocks, 'home');
  expect(JSON.stringify(blocks)).toContain('`order0`');
  expect(JSON.stringify(blocks)).toMatch(/There are \d+ more\. To list all, use `\/domain orders pending`/);
});

it('the Home tab has no buttons for people from another workspace, or if it can’t be loaded', () => {
  for (const blocks of [nonMemberBlocks(), unavailableBlocks('ab12')]) {
    expectValidBlocks(blocks, 'home');
    expect(JSON.stringify(blocks)).not.toContain('button');
  }
});

it('admins see spending and budgets, if there are any', () => {
  const money = {
    month: '2026-11',
    spendTotal: { nameCount: 2, unpricedCount: 1, sums: [{ currency: 'EUR', minor: 1_850 }] },
    budgets: [
      {
        budget: {
          id: 'b',
          tag: 'brand',
          span: 'month' as const,
          amount: { currency: 'EUR', minor: 10_000 },
        },
        period: '2026-11',
        booked: 1_850n,
        reserved: 2_150n,
      },
    ],
    locale: 'de-DE',
  };
  const shown = JSON.stringify(homeBlocks({ ...FULL, money }));
  expect(shown).toContain(
    'Spent in November 2026: about 18,50\u00a0€ plus 1 name without a price, for 2 names',
  );
  expect(shown).toContain('names tagged brand, November 2026: 40,00\u00a0€ of 100,00\u00a0€ ████░░░░░░ 40%');
  const nothing = { ...money, spendTotal: { nameCount: 0, unpricedCount: 0, sums: [] }, budgets: [] };
  expect(homeBlocks({ ...FULL, money: nothing })).toEqual(homeBlocks(FULL));
});
