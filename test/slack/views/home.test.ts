import { expect, it } from 'vitest';
import type { ListedName } from '../../../src/expiry/expiry.ts';
import {
  type HomeData,
  homeBlocks,
  strangerBlocks,
  unavailableBlocks,
} from '../../../src/slack/views/home.ts';
import { expectBlocks } from './limits.ts';
import { ASKED_AT, sampleOrder } from './samples.ts';

function listed(name: string, day: string, daysLeft: number): ListedName {
  const domain = {
    name,
    version: 1,
    expiry: { at: new Date(day), source: 'rdap' as const },
    addedBy: 'U0ALICE',
    addedAt: ASKED_AT,
    registeredBy: undefined,
    renewed: undefined,
    record: undefined,
    recordBefore: undefined,
    trusted: undefined,
    deletedAt: undefined,
    checkedAt: ASKED_AT,
    nextCheckAt: ASKED_AT,
    checkProblem: undefined,
    snooze: undefined,
    lapse: undefined,
  };
  return { domain, day, daysLeft, deadline: { action: 'renew' as const, until: day, daysLeft } };
}

const FULL: HomeData = {
  account: {
    id: 'a1',
    teamId: 'T0STEWARD',
    userId: 'U0BOB',
    method: 'password',
    slot: '1',
    context: 1,
    login: 'bob',
    application: undefined,
    active: true,
    verifiedAt: ASKED_AT,
  },
  isAdmin: true,
  unreadableGroups: [],
  toDecide: [sampleOrder('PENDING', {}, ['cafe.rest', 'xn--bcher-kva.rest'])],
  toResolve: [sampleOrder('UNKNOWN')],
  toReview: [],
  standIn: undefined,
  standsInFor: [],
  open: [sampleOrder('EXECUTING')],
  next: [listed('tea.rest', '2026-11-20', -1), listed('cafe.rest', '2026-12-01', 10)],
  months: [
    { month: '2026-11', label: 'Nov 2026', count: 1 },
    { month: '2026-12', label: 'Dec 2026', count: 1 },
  ],
};

it('the Home tab of an admin who approves', () => {
  const blocks = homeBlocks(FULL);
  expectBlocks(blocks, 'home');
  expect(blocks).toMatchSnapshot();
});

it.each([
  ['renew', ' · costs money · *LIVE*'],
  ['authcode', ' · whether it costs money is not stated · *LIVE*'],
  ['owner-change', ' · whether it costs money is not stated · *LIVE*'],
  ['redirect', ' · whether it costs money is not stated · *LIVE*'],
  ['nameservers', '* · *LIVE*'],
] as const)('never says that a task is free of which nothing is stated: %s', (task, said) => {
  const changes = { task, ...(task === 'renew' ? {} : { input: {} }) };
  const text = JSON.stringify(homeBlocks({ ...FULL, toDecide: [sampleOrder('PENDING', changes)] }));
  expect(text).toContain(said);
  expect(text).not.toContain('costs nothing');
});

it('the Home tab of somebody new', () => {
  const blocks = homeBlocks({
    account: undefined,
    isAdmin: false,
    unreadableGroups: [],
    toDecide: undefined,
    toResolve: [],
    toReview: [],
    standIn: undefined,
    standsInFor: [],
    open: [],
    next: [],
    months: [],
  });
  expectBlocks(blocks, 'home');
  expect(blocks).toMatchSnapshot();
});

it('shows people without an account what waits for them, then the first steps, and little else', () => {
  const blocks = homeBlocks({ ...FULL, account: undefined, isAdmin: false });
  expectBlocks(blocks, 'home');
  const headers = blocks.flatMap((block) => (block.type === 'header' ? [block.text.text] : []));
  expect(headers).toEqual([
    'Domain Steward',
    'Waiting for your approval',
    'Outcome not known',
    'Your open orders',
    'First steps',
  ]);
  expect(blocks.map(({ type }) => type)).not.toContain('data_table');
  expect(JSON.stringify(blocks)).toContain('"action_id":"home_link"');
});

it('with a hundred orders in each part it stays within the limits and counts the rest', () => {
  const names = Array.from({ length: 50 }, (_, n) => `${n}${'x'.repeat(240)}.rest`);
  const many = Array.from({ length: 100 }, (_, n) =>
    sampleOrder('PENDING', { id: `order${n}`, reason: 'r'.repeat(1_000) }, names),
  );
  const blocks = homeBlocks({ ...FULL, toDecide: many, toResolve: many, open: many });
  expectBlocks(blocks, 'home');
  const text = JSON.stringify(blocks);
  expect(text.match(/And 90 more/g)).toHaveLength(3);
});

it('the Home tab of somebody from another workspace, and while it cannot be read', () => {
  for (const blocks of [strangerBlocks(), unavailableBlocks('ab12')]) {
    expectBlocks(blocks, 'home');
    expect(JSON.stringify(blocks)).not.toContain('button');
  }
});

it('what was spent and how the budgets stand is shown to admins, and nothing where there is neither', () => {
  const money = {
    month: '2026-11',
    spent: { names: 2, unknown: 1, sums: [{ currency: 'EUR', minor: 1_850 }] },
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
  expect(shown).toContain('Spent in November 2026: about 18,50\u00a0€, 1 name without a price, for 2 names.');
  expect(shown).toContain('the tag brand, November 2026: 40,00\u00a0€ of 100,00\u00a0€ ████░░░░░░ 40%');
  const nothing = { ...money, spent: { names: 0, unknown: 0, sums: [] }, budgets: [] };
  expect(homeBlocks({ ...FULL, money: nothing })).toEqual(homeBlocks(FULL));
});
