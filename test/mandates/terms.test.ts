import { describe, expect, test } from 'vitest';
import { DAY_MS, MINUTE_MS } from '../../src/lib/duration.ts';
import {
  computeEarliestSendTime,
  type DueOrderFacts,
  decideSend,
  type FinalCheckFacts,
  findSendHoldReason,
  isRenewalDue,
  isSameRegistrationPeriod,
  MAX_RENEWALS_PER_DAY,
  planSending,
  type UsedAmounts,
  willActInTime,
} from '../../src/mandates/acting.ts';
import { findApplicableMandate, readMandate } from '../../src/mandates/mandate.ts';
import { addPlannedAmount, getPeriodBounds, groupUpcomingNames } from '../../src/mandates/overview.ts';
import { type MandateTerms, parseTerms, type TermsInput } from '../../src/mandates/terms.ts';
import { newOrder } from '../orders/sample.ts';

/* A mandate's terms: reading them from the form, and the decisions that follow from them. */

const INPUT: TermsInput = {
  mandate_names: '*.rest, tag:Brand\nCAFÉ.rest',
  max_price: '20.00',
  max_total: '600',
  span: 'year',
  until: '2027-03-01',
  notice: '',
};
const read = (changes: Partial<TermsInput> = {}) => parseTerms({ ...INPUT, ...changes }, 'EUR', '2026-03-01');
const listIssues = (changes: Partial<TermsInput>) => {
  const terms = read(changes);
  return terms.ok ? [] : terms.issues;
};

test('terms use defaults for empty optional fields', () => {
  expect(read()).toEqual({
    ok: true,
    terms: {
      mandate_names: ['*.rest', 'tag:brand', 'xn--caf-dma.rest'],
      max_price: { currency: 'EUR', minor: 2_000 },
      max_total: { currency: 'EUR', minor: 60_000 },
      span: 'year',
      until: '2027-03-01',
      notice: 14,
    },
  });
});

describe('reading the terms', () => {
  test.each([
    [{ mandate_names: ' ' }, { field: 'mandate_names', code: 'no_names' }],
    [{ mandate_names: '*' }, { field: 'mandate_names', code: 'matches_everything' }],
    [
      { mandate_names: 'not a name!' },
      { field: 'mandate_names', code: 'unreadable_pattern', pattern: 'not' },
    ],
    [{ max_price: '0.00' }, { field: 'max_price', code: 'zero' }],
    [{ max_total: '0' }, { field: 'max_total', code: 'zero' }],
    [{ max_price: '20.00 USD' }, { field: 'max_price', code: 'wrong_currency', currency: 'EUR' }],
    [{ max_price: '20.001' }, { field: 'max_price', code: 'too_precise' }],
    [{ max_price: 'much' }, { field: 'max_price', code: 'not_an_amount' }],
    [{ max_total: '99999999999999' }, { field: 'max_total', code: 'too_large' }],
    [{ max_total: '10' }, { field: 'max_total', code: 'below_max_price' }],
    [
      { mandate_names: Array.from({ length: 51 }, (_, n) => `n${n}.rest`).join() },
      { field: 'mandate_names', code: 'too_many_names', max: 50 },
    ],
    [{ span: 'week' }, { field: 'span', code: 'span_unknown' }],
    [{ until: 'soon' }, { field: 'until', code: 'invalid_date' }],
    [{ until: '01/03/2027' }, { field: 'until', code: 'invalid_date' }],
    [{ until: '2026-03-01' }, { field: 'until', code: 'date_in_past' }],
    [{ until: '2027-04-06' }, { field: 'until', code: 'too_far_ahead', max: 400 }],
    [{ notice: '2' }, { field: 'notice', code: 'notice_out_of_range', min: 3, max: 30 }],
    [{ notice: '31' }, { field: 'notice', code: 'notice_out_of_range', min: 3, max: 30 }],
  ] as const)('reports %j as %j', (changes, issue) => {
    expect(listIssues(changes)).toContainEqual(issue);
  });

  test.each([
    { max_total: '20' },
    { mandate_names: Array.from({ length: 50 }, (_, n) => `n${n}.rest`).join() },
    { notice: '3' },
    { notice: '30' },
    { until: '2026-03-02' },
  ])('accepts %j', (changes) => {
    expect(listIssues(changes)).toEqual([]);
  });

  test('accepts an end in 400 days, and an amount with the team’s currency', () => {
    expect(listIssues({ until: '2027-04-05', max_price: '20 eur' })).toEqual([]);
  });
});

const NOW = new Date('2026-03-01T09:00:00Z');
const later = (ms: number) => new Date(NOW.getTime() + ms);
/** How long after its earliest time cafe.rest is sent: up to a day, by its name. */
const spread = computeEarliestSendTime('cafe.rest', NOW).getTime() - NOW.getTime() - DAY_MS;

function newMandate(id: string, names: readonly string[], changes: Partial<MandateTerms> = {}, since = NOW) {
  const terms = read();
  if (!terms.ok) throw new Error('invalid sample terms');
  const input = { ...terms.terms, mandate_names: [...names], ...changes };
  const mandate = readMandate(
    newOrder(names, { id, task: 'mandate', state: 'SUCCEEDED', input, closedAt: since }),
  );
  if (mandate === undefined) throw new Error('the sample order isn’t a mandate');
  return mandate;
}

test('the oldest of overlapping mandates acts, unless it has ended', () => {
  const old = newMandate('b', ['tag:brand'], {}, new Date(NOW.getTime() - 1));
  const young = newMandate('a', ['*.rest']);
  expect(findApplicableMandate([young, old], 'cafe.rest', ['brand'], NOW)?.id).toBe('b');
  expect(findApplicableMandate([young, old], 'cafe.rest', [], NOW)?.id).toBe('a');
  const end = { at: NOW, cause: 'expired' } as const;
  expect(findApplicableMandate([young, { ...old, end }], 'cafe.rest', ['brand'], NOW)?.id).toBe('a');
  expect(findApplicableMandate([young, old], 'cafe.example', [], NOW)).toBeUndefined();
});

test('of mandates that began at the same time, the one with the first ID acts', () => {
  const [a, b] = [newMandate('a', ['*.rest']), newMandate('b', ['*.rest'])];
  for (const mandates of [
    [a, b],
    [b, a],
  ])
    expect(findApplicableMandate(mandates, 'cafe.rest', [], NOW)?.id).toBe('a');
});

describe('planning when to send', () => {
  const mandate = newMandate('a', ['*.rest']);
  const endIn = (days: number) => {
    const at = new Date(NOW.getTime() + days * DAY_MS);
    return { name: 'cafe.rest', expiresAt: at, renewableUntil: at };
  };
  const price = { currency: 'EUR', minor: 2_000 };
  const taken = (full: readonly string[]): UsedAmounts => ({
    amountsByDay: [],
    countOrdersOn: (day) => (full.includes(day) ? MAX_RENEWALS_PER_DAY : 0),
  });

  test('waits at least a day, and picks the same time for a name each time', () => {
    const plan = planSending(mandate, endIn(14), price, taken([]), NOW);
    if (typeof plan === 'string') throw new Error(plan);
    expect(plan.sendAfter.getTime()).toBeGreaterThanOrEqual(NOW.getTime() + DAY_MS);
    expect(plan.sendAfter.getTime()).toBeLessThan(NOW.getTime() + 2 * DAY_MS);
    expect(planSending(mandate, endIn(14), price, taken([]), NOW)).toEqual(plan);
  });

  test('moves to the next day if a day is full and the next is still in time', () => {
    expect(planSending(mandate, endIn(14), price, taken(['2026-03-02']), NOW)).toMatchObject({
      day: '2026-03-03',
    });
    expect(planSending(mandate, endIn(2), price, taken(['2026-03-02']), NOW)).toBe('day_full');
    expect(planSending(mandate, endIn(1), price, taken([]), NOW)).toBe('too_late');
  });
});

describe('the final check', () => {
  const END = new Date(NOW.getTime() + 14 * DAY_MS);
  const mandate = newMandate('a', ['*.rest']);
  const used = (day: string, minor: bigint): UsedAmounts => ({
    amountsByDay: [{ day, minor }],
    countOrdersOn: () => 0,
  });
  const facts: FinalCheckFacts = {
    mandate,
    isMandateUnchanged: true,
    name: 'cafe.rest',
    affectedTags: [],
    plannedExpiry: END,
    expiresAt: END,
    isLapsing: false,
    announcedAt: new Date(NOW.getTime() - DAY_MS),
    amount: { currency: 'EUR', minor: 2_000 },
    usedAmounts: { amountsByDay: [], countOrdersOn: () => 0 },
  };

  test('passes a name exactly a day after its announcement', () => {
    expect(findSendHoldReason(facts, NOW)).toBeUndefined();
    expect(findSendHoldReason(facts, new Date(NOW.getTime() - 1))).toBe('not_announced');
  });

  test.each<[string, Partial<FinalCheckFacts>]>([
    ['mandate_ended', { mandate: undefined }],
    ['mandate_ended', { isMandateUnchanged: false }],
    ['mandate_ended', { mandate: { ...mandate, endsAt: NOW } }],
    ['moved_out', { expiresAt: undefined }],
    ['moved_out', { name: 'cafe.example' }],
    ['renewed_meanwhile', { expiresAt: new Date(END.getTime() + 365 * DAY_MS) }],
    ['set_to_lapse', { isLapsing: true }],
    ['not_announced', { announcedAt: undefined }],
    ['price_unknown', { amount: undefined }],
    ['price_unknown', { amount: { currency: 'USD', minor: 1 } }],
    ['price_above', { amount: { currency: 'EUR', minor: 2_001 } }],
    ['day_full', { usedAmounts: { amountsByDay: [], countOrdersOn: () => MAX_RENEWALS_PER_DAY } }],
  ])('returns %s for %j', (code, change) => {
    expect(findSendHoldReason({ ...facts, ...change }, NOW)).toBe(code);
  });

  test('allows spending exactly the yearly total', () => {
    for (const total of [used('2026-02-01', 58_000n), used('2025-12-31', 60_000n)])
      expect(findSendHoldReason({ ...facts, usedAmounts: total }, NOW)).toBeUndefined();
    expect(findSendHoldReason({ ...facts, usedAmounts: used('2026-02-01', 58_001n) }, NOW)).toBe(
      'total_spent',
    );
  });

  const expiry = { name: 'cafe.rest', expiresAt: END, renewableUntil: END };
  const due: DueOrderFacts = {
    ...{
      ...facts,
      expiry,
      isDateCertain: true,
      hasOwnerLeft: false,
      hasOpenIncident: false,
      isAccountLinked: true,
    },
    ...{ isInOtherAccount: false, hasUnknownRenewal: false, policy: 'satisfied', fitsBudgets: true },
    ...{ createdAt: later(-DAY_MS), lastLookupAt: NOW },
  };
  const full = { amountsByDay: [], countOrdersOn: () => MAX_RENEWALS_PER_DAY };
  const until = (ms: number) => ({ expiry: { ...expiry, renewableUntil: later(ms) } });
  const [stale, silent] = [{ lastLookupAt: later(-DAY_MS - 1) }, { announcedAt: undefined }];
  const nextDay = Date.parse('2026-03-02T00:00:00Z') - NOW.getTime() + spread;

  test.each<[what: string, Partial<DueOrderFacts>, kind: 'clear' | 'held' | number]>([
    ['announced, and looked up in the last day', { lastLookupAt: later(-DAY_MS) }, 'clear'],
    ['too late', until(0), 'held'],
    ['a millisecond before it is too late', until(1), 'clear'],
    ['looked up too long ago', stale, 15 * MINUTE_MS],
    ['never looked up', { lastLookupAt: undefined }, 15 * MINUTE_MS],
    ['looked up before it was created', { createdAt: NOW, lastLookupAt: later(-1) }, 15 * MINUTE_MS],
    ['stale, without a day left after a lookup', { ...stale, ...until(DAY_MS + 15 * MINUTE_MS) }, 'held'],
    ['stale, with a day left', { ...stale, ...until(DAY_MS + 15 * MINUTE_MS + 1) }, 15 * MINUTE_MS],
    ['not announced yet', silent, 15 * MINUTE_MS],
    ['not announced, with a day left', { ...silent, ...until(DAY_MS + 1) }, 15 * MINUTE_MS],
    ['not announced, with less than a day left', { ...silent, ...until(DAY_MS) }, 'held'],
    ['announced an hour ago', { announcedAt: later(-60 * MINUTE_MS) }, DAY_MS - 60 * MINUTE_MS],
    ['on a full day', { usedAmounts: full }, nextDay],
    ['on a full day, and the next is too late', { usedAmounts: full, ...until(nextDay) }, 'held'],
    ['on a full day, and the next is in time', { usedAmounts: full, ...until(nextDay + 1) }, nextDay],
    ['over budget', { fitsBudgets: false }, 'held'],
  ])('decides an order that is %s', (_what, changes, expected) => {
    const found = decideSend({ ...due, ...changes }, NOW);
    expect(found.kind === 'later' ? found.until.getTime() - NOW.getTime() : found.kind).toBe(expected);
  });
});

test('a renewal is due within its notice, and in time if it is sent before the mandate ends', () => {
  const mandate = newMandate('a', ['*.rest'], { notice: 14 });
  const end = { name: 'cafe.rest', expiresAt: later(14 * DAY_MS), renewableUntil: later(14 * DAY_MS) };
  expect([isRenewalDue(mandate, end, NOW), isRenewalDue(mandate, end, later(-1))]).toEqual([true, false]);
  expect(isRenewalDue(mandate, { ...end, renewableUntil: later(1) }, NOW)).toBe(true);
  expect(isRenewalDue(mandate, { ...end, renewableUntil: NOW }, NOW)).toBe(false);
  const inTime = (endsAt: Date, now: Date) => willActInTime({ ...mandate, endsAt }, end, now);
  const sentAt = later(DAY_MS + spread);
  for (const now of [NOW, later(-5 * DAY_MS)])
    expect([inTime(sentAt, now), inTime(new Date(sentAt.getTime() + 1), now)]).toEqual([false, true]);
  expect(inTime(new Date(sentAt.getTime() + 1), later(1)), 'later').toBe(false);
  expect([
    isSameRegistrationPeriod(NOW, later(180 * DAY_MS - 1)),
    isSameRegistrationPeriod(later(180 * DAY_MS), NOW),
  ]).toEqual([true, false]);
});

test('the upcoming names are those whose notice begins in the next 30 days, by mandate', () => {
  const name = (days: number, ms: number) => ({
    ...{ name: `n${days}.rest`, expiresAt: later(days * DAY_MS + ms), isDateCertain: true, isLapsing: false },
    ...{ lastLookupAt: NOW, owner: undefined, deletedAt: undefined },
  });
  const mandates = [
    newMandate('old', ['n33.rest', 'n34.rest'], { notice: 3 }, later(-1)),
    newMandate('new', ['*.rest']),
  ];
  const names = [name(33, 0), name(34, 0), name(43, 0), name(44, 0), name(44, 1)];
  expect(groupUpcomingNames(mandates, names, new Map(), NOW)).toEqual(
    new Map([
      ['old', [names[0]]],
      ['new', [names[2], names[3]]],
    ]),
  );
});

test.each([
  ['month', '2026-12-31', { period: '2026-12', from: '2026-12-01', until: '2027-01-01' }],
  ['month', '2026-01-31', { period: '2026-01', from: '2026-01-01', until: '2026-02-01' }],
  ['year', '2026-02-03', { period: '2026', from: '2026-01-01', until: '2027-01-01' }],
] as const)('the %s of %s ends before the next one', (span, day, bounds) => {
  expect(getPeriodBounds(span, day)).toEqual(bounds);
});

test('a planned order counts toward its day', () => {
  const plan = { sendAfter: NOW, day: '2026-03-02', amount: { currency: 'EUR', minor: 2_000 } };
  const { amountsByDay, countOrdersOn } = addPlannedAmount(
    { amountsByDay: [], countOrdersOn: () => 3 },
    plan,
  );
  expect(amountsByDay).toEqual([{ day: '2026-03-02', minor: 2_000n }]);
  expect([countOrdersOn('2026-03-02'), countOrdersOn('2026-03-03')]).toEqual([4, 3]);
});

test('an order is planned only if it is in time for the name’s expiry and the mandate’s end', () => {
  const mandate = newMandate('a', ['*.rest']);
  const price = { currency: 'EUR', minor: 2_000 };
  const plan = (renewableMs: number, endsMs: number, full: readonly string[] = []) => {
    const end = { name: 'cafe.rest', expiresAt: NOW, renewableUntil: later(renewableMs) };
    const taken = {
      amountsByDay: [],
      countOrdersOn: (day: string) => (full.includes(day) ? MAX_RENEWALS_PER_DAY : 0),
    };
    const found = planSending({ ...mandate, endsAt: later(endsMs) }, end, price, taken, NOW);
    return typeof found === 'string' ? found : found.day;
  };
  const first = DAY_MS + spread;
  expect([plan(first, 9e9), plan(first + 1, 9e9)]).toEqual(['too_late', '2026-03-02']);
  expect([plan(9e9, first), plan(9e9, first + 1)]).toEqual(['mandate_ended', '2026-03-02']);
  const full = ['2026-03-02'];
  expect([plan(first + 2 * DAY_MS, 9e9, full), plan(first + 2 * DAY_MS + 1, 9e9, full)]).toEqual([
    'day_full',
    '2026-03-03',
  ]);
});
