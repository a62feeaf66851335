import { describe, expect, test } from 'vitest';
import {
  claimNextBatch,
  collectDueReminders,
  computeNextClaimTime,
  type DigestSchedule,
  dropOutdatedReminders,
  groupIntoMessages,
  loadChartMonths,
  toClaim,
} from '../../src/expiry/digest.ts';
import { createWatchedDomain } from '../../src/expiry/newly-watched.ts';
import { planReminders } from '../../src/expiry/plan.ts';
import type { PlannedReminder, ReminderClaim, ReminderKey, WatchedReminder } from '../../src/expiry/ports.ts';
import { slackContextWith } from '../support/context.ts';

const DAY_MS = 86_400_000;
const NOW = new Date('2027-06-14T09:00:00Z');
const inDays = (days: number) => new Date(NOW.getTime() + days * DAY_MS);
const SCHEDULE: DigestSchedule = {
  now: NOW,
  thresholds: [30, 7, 1],
  timeZone: 'UTC',
  collectMs: 60_000,
  day: '2027-06-14',
};

function createReminder(days: number, overrides: Partial<WatchedReminder> = {}): WatchedReminder {
  const { expiry, ...known } = createWatchedDomain('cafe.rest', 'U0ALICE', NOW);
  return { ...known, expiresAt: inDays(days), source: 'rdap', remindedThresholds: [], ...overrides };
}

function createPlannedReminder(
  days: number,
  threshold: number,
  overrides: Partial<PlannedReminder> = {},
): PlannedReminder {
  const name = overrides.name ?? `n${days}.rest`;
  return {
    ...createReminder(days, { name }),
    key: { name, expiry: inDays(days).toISOString().slice(0, 10), threshold },
    digestId: 'd',
    claimedAt: NOW,
    destination: '',
    purpose: '',
    isCopy: false,
    ...overrides,
  };
}

/** A renewal that the registry doesn't show. */
function createDisputedRenewal(name: string, renewedDays: number) {
  const unpublishedRenewal = { until: inDays(300), at: inDays(renewedDays) };
  return {
    ...createWatchedDomain(name, 'U0ALICE', NOW),
    unpublishedRenewal,
    expiry: { at: inDays(300), source: 'order' } as const,
  };
}

interface StoreContent {
  readonly planned?: readonly PlannedReminder[];
  readonly candidates?: readonly WatchedReminder[];
  readonly disputed?: readonly ReturnType<typeof createDisputedRenewal>[];
  readonly claimedAt?: Date;
}

/** A store that records claims and releases. */
function createStore({ candidates = [], claimedAt, ...stored }: StoreContent) {
  const claims: ReminderClaim[] = [];
  const released: (readonly ReminderKey[] | undefined)[] = [];
  const { reminders } = slackContextWith({
    reminders: {
      listPlannedReminders: async () => stored.planned ?? [],
      findLastClaimTime: async () => claimedAt,
      streamCandidates: async function* () {
        yield candidates;
      },
      streamDeletedCandidates: async function* () {
        yield [];
      },
      listUnconfirmedRenewals: async (before, _now, limit) =>
        (stored.disputed ?? [])
          .filter(({ unpublishedRenewal }) => unpublishedRenewal.at < before)
          .slice(0, limit),
      claim: async (_digestId, added) => claims.push(...added),
      releaseClaims: async (_digestId, keys) => {
        released.push(keys);
      },
    },
  });
  return { reminders, claims, released };
}

const claimNext = (stored: ReturnType<typeof createStore>) =>
  claimNextBatch(stored.reminders, 'd', SCHEDULE, 'C0EXPIRY');

describe('the next batch of a digest', () => {
  test.each<[what: string, stored: StoreContent, hasMoreNames: boolean, hasMoreDisputed: boolean]>([
    ['nothing follows', {}, false, false],
    ['names follow', { candidates: [createReminder(7)] }, true, false],
    ['disputed renewals follow', { disputed: [createDisputedRenewal('a.rest', -15)] }, false, true],
  ])('starts with claimed reminders: %s', async (_what, stored, hasMoreNames, hasMoreDisputed) => {
    const claimed = [createPlannedReminder(7, 7)];
    const store = createStore({ ...stored, planned: claimed });
    expect(await claimNext(store)).toEqual({ planned: claimed, hasMoreNames, hasMoreDisputed });
    expect(store.claims).toEqual([]);
  });

  test('claims due names, and renewals that the registry hasn’t shown for 14 days, numbered by week', async () => {
    const store = createStore({
      candidates: [createReminder(7)],
      disputed: [createDisputedRenewal('lost.rest', -15), createDisputedRenewal('new.rest', -13)],
    });
    expect(await claimNext(store)).toMatchObject({ hasMoreNames: false, hasMoreDisputed: false });
    expect(store.claims).toMatchObject([
      { name: 'cafe.rest', expiry: '2027-06-21', threshold: 7 },
      { name: 'lost.rest', threshold: 100_002, destination: '', isCopied: false },
    ]);
  });

  test('reports more disputed renewals if they fill a message', async () => {
    const disputedRenewals = Array.from({ length: 20 }, (_, index) =>
      createDisputedRenewal(`n${index}.rest`, -15),
    );
    expect(await claimNext(createStore({ disputed: disputedRenewals }))).toMatchObject({
      hasMoreDisputed: true,
    });
  });

  test('is empty if nothing is due, and other claims are released', async () => {
    const store = createStore({});
    expect(await claimNext(store)).toBeUndefined();
    expect(store.released).toEqual([undefined]);
  });
});

test.each([
  ['for the first batch', undefined, 0],
  ['while it collects names', -59, 1],
  ['right after a claim', 0, 60],
  ['after collecting', -60, 0],
  ['ten minutes later', -660, -600],
  ['too late', -661, undefined],
  ['after the clock was set back', 30, 0],
])('computes the next claim time: %s', (_what, secondsSinceClaim, secondsToClaim) => {
  const at = (seconds: number | undefined) =>
    seconds === undefined ? undefined : new Date(NOW.getTime() + seconds * 1_000);
  expect(computeNextClaimTime(at(secondsSinceClaim), SCHEDULE)).toEqual(at(secondsToClaim));
});

describe('a reminder', () => {
  const OWNER_PURPOSE = 'U0ADA 2027-06-14';
  const question = { owner: 'U0ADA', expiry: '2027-06-20', at: inDays(-20), subject: OWNER_PURPOSE };
  test.each<[what: string, days: number, more: Partial<WatchedReminder>, claim: Partial<ReminderClaim>]>([
    [
      'goes to the reminder channel by default',
      6,
      {},
      { destination: '', purpose: '', isCopied: false, lastReminderPhase: undefined },
    ],
    [
      'goes to the name’s channel',
      6,
      { channel: 'C0BRAND', owner: 'U0ADA' },
      { destination: 'C0BRAND', purpose: '' },
    ],
    [
      'goes to the reminder channel if that is the name’s channel',
      1,
      { channel: 'C0EXPIRY' },
      { destination: '', isCopied: false },
    ],
    [
      'goes to the owner',
      6,
      { owner: 'U0ADA' },
      { destination: 'U0ADA', purpose: OWNER_PURPOSE, isCopied: false },
    ],
    ['skips an owner who left', 6, { owner: 'U0ADA', ownerLeftAt: NOW }, { destination: '', purpose: '' }],
    ['is copied on the last day', 1, { owner: 'U0ADA' }, { isCopied: true, lastReminderPhase: 'registered' }],
    [
      'is copied after the expiry',
      -1,
      { owner: 'U0ADA' },
      { isCopied: true, lastReminderPhase: 'auto_renew_grace' },
    ],
    [
      'is copied if the owner doesn’t answer',
      6,
      { owner: 'U0ADA', question },
      { isCopied: true, lastReminderPhase: undefined },
    ],
    [
      'isn’t copied to a channel that already gets it',
      6,
      { owner: 'U0ADA', question, channel: 'C0EXPIRY' },
      { isCopied: false },
    ],
  ])('%s', (_what, days, overrides, claim) => {
    const claims = planReminders([createReminder(days, overrides)], SCHEDULE).map((due) =>
      toClaim(due, 'C0EXPIRY', SCHEDULE),
    );
    expect(claims).toEqual([expect.objectContaining(claim)]);
  });
});

describe('due names', () => {
  test.each([
    [1_000, false],
    [1_001, true],
  ])('are claimed a thousand at a time; with %i names, `hasMore` is %s', async (length, hasMore) => {
    const candidates = Array.from({ length }, (_, index) => createReminder(7, { name: `n${index}.rest` }));
    const found = await collectDueReminders(createStore({ candidates }).reminders, SCHEDULE);
    expect([found.due.length, found.hasMore]).toEqual([1_000, hasMore]);
  });

  test('are read by urgency, and those that can’t be saved last', async () => {
    const readThresholds: number[] = [];
    const { reminders } = slackContextWith({
      reminders: {
        streamDeletedCandidates: async function* (since) {
          expect(since).toEqual(inDays(-120));
          yield [];
        },
        streamCandidates: async function* (ranges) {
          readThresholds.push(...ranges.map(({ threshold }) => threshold));
          yield [];
        },
      },
    });
    await collectDueReminders(reminders, { ...SCHEDULE, thresholds: [7, 0, 1] });
    expect(readThresholds).toEqual([-6, -5, -4, -12, -11, -10, -9, -3, -2, -1, 0, 1, 7, -7, -8]);
  });

  test('that changed after the claim are dropped and released', async () => {
    const store = createStore({});
    const kept = createPlannedReminder(7, 7);
    const [other, moved] = [createPlannedReminder(6, 30), createPlannedReminder(5, 7)];
    const outdatedReminders = [other, { ...moved, key: { ...moved.key, expiry: '2026-06-19' } }];
    const disputedReminder = createPlannedReminder(300, 100_000);
    const found = await dropOutdatedReminders(
      store.reminders,
      'd',
      [disputedReminder, ...outdatedReminders, kept],
      SCHEDULE,
    );
    expect([found.dueReminders.map(({ watched }) => watched), found.disputedReminders]).toEqual([
      [kept],
      [disputedReminder],
    ]);
    expect(store.released).toEqual([outdatedReminders.map(({ key }) => key)]);
  });

  test('that are still due stay claimed', async () => {
    const store = createStore({});
    await dropOutdatedReminders(store.reminders, 'd', [createPlannedReminder(7, 7)], SCHEDULE);
    expect(store.released).toEqual([]);
  });
});

describe('the messages of a digest', () => {
  const listMessages = (names: readonly PlannedReminder[], disputedReminders: readonly PlannedReminder[]) =>
    groupIntoMessages({ dueReminders: planReminders(names, SCHEDULE), disputedReminders }, (purpose) =>
      Number(purpose.slice(1)),
    ).map(({ part, reminders }) => [part, reminders.map(({ name }) => name)] as const);

  test('keep their order, and a new one has the rest', () => {
    const names = [
      createPlannedReminder(1, 1, { purpose: ':2' }),
      createPlannedReminder(6, 7, { purpose: ':1' }),
      createPlannedReminder(7, 7),
    ];
    const disputedReminders = [
      createPlannedReminder(300, 100_002, { purpose: ':2' }),
      createPlannedReminder(301, 100_002),
    ];
    expect(listMessages(names, disputedReminders)).toEqual([
      [1, ['n6.rest']],
      [2, ['n300.rest', 'n1.rest']],
      [undefined, ['n301.rest', 'n7.rest']],
    ]);
  });

  test('have up to twenty names each, and need at least one reminder', () => {
    expect(listMessages([], [])).toEqual([]);
    const names = Array.from({ length: 21 }, (_, index) =>
      createPlannedReminder(7, 7, { name: `n${index}.rest` }),
    );
    expect(listMessages(names, []).map(([, listed]) => listed.length)).toEqual([20, 1]);
  });
});

test.each([
  [[3, 2], 12],
  [[4, 0, 1], 12],
  [[5], 0],
  [[2, 2], 0],
])('the chart of %j renewals by month has %i months', async (counts, months) => {
  const countByMonth = async (from: Date, until: Date) =>
    counts
      .map((count, index) => [new Date(Date.UTC(2027, 6 + index)).toISOString().slice(0, 7), count] as const)
      .filter(([month]) => new Date(month) >= from && new Date(month) < until);
  expect(await loadChartMonths(countByMonth, SCHEDULE)).toHaveLength(months);
});
