import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { WatchedDomain } from '../../src/expiry/ports.ts';
import { createPortfolioStore } from '../../src/store/portfolio.ts';
import { answerQuestion } from '../support/unprotected.ts';
import { createRateLimitError, createRefusedError, DAY_MS, MINUTE_MS, Rig } from './rig.ts';

let rig: Rig;

beforeEach(async () => {
  rig = await Rig.startOnSchedule();
});
afterEach(() => rig.stop());

/** The process dies right before its n-th post, counted from 1. */
function killBeforePost(n: number): void {
  let posts = 0;
  rig.poster.beforePost = () => {
    posts += 1;
    if (posts === n) throw new Error('killed');
  };
}

describe('the schedule', () => {
  test('starts one digest at its time, and none before', async () => {
    await rig.watch('cafe.rest', 7);
    expect(await rig.runDigest()).toBe('not_due');
    rig.advanceToNextMorning();
    expect([await rig.runDigest(), await rig.runDigest()]).toEqual(['posted', 'not_due']);
    expect(rig.listReminders()).toEqual(['cafe.rest 7']);
  });

  test('posts nothing when nothing is due, and keeps only the last empty digest', async () => {
    for (let day = 0; day < 5; day += 1) {
      rig.advanceToNextMorning();
      expect(await rig.runDigest()).toBe('nothing_to_say');
    }
    expect(await rig.listDigestIds()).toHaveLength(1);
    expect(rig.poster.heads).toEqual([]);
  });

  test('does nothing without a channel', async () => {
    await rig.watch('cafe.rest', 7);
    rig.settings = { ...rig.settings, reminderChannel: undefined };
    rig.advanceToNextMorning();
    expect(await rig.runDigest()).toBe('not_due');
  });

  test('uses the current settings', async () => {
    await rig.watch('cafe.rest', 20);
    rig.settings = { ...rig.settings, reminderCron: '30 15 * * *', reminderDays: [21, 5] };
    rig.now = new Date('2027-06-14T13:29:00Z');
    expect(await rig.runDigest()).toBe('not_due');
    rig.now = new Date('2027-06-14T13:30:00Z');
    expect([await rig.runDigest(), rig.listReminders()]).toEqual(['posted', ['cafe.rest 21']]);
  });
});

test('names that become due during a digest are collected and posted together', async () => {
  rig.collectMs = undefined;
  for (let n = 0; n < 3; n += 1) await rig.watch(`first${n}.rest`, 7);
  rig.advanceToNextMorning();
  await rig.runDigest();
  for (let n = 0; n < 30; n += 1) {
    await rig.watch(`late${n}.rest`, 5);
    rig.now = new Date(rig.now.getTime() + 1_000);
    await rig.runDigest();
  }
  expect([rig.poster.heads.length, rig.poster.replies.length], 'before a minute is over').toEqual([1, 0]);
  rig.now = new Date(rig.now.getTime() + MINUTE_MS);
  await rig.runDigest();
  expect(rig.poster.replies.map(({ reminders }) => reminders.length)).toEqual([20, 10]);
  expect(rig.listReminders()).toHaveLength(33);
  rig.now = new Date(rig.now.getTime() + MINUTE_MS);
  expect(await rig.runDigest(), 'nothing else is due').toBe('nothing_to_say');
  expect(await rig.runDigest()).toBe('not_due');
});

test('the chart is posted in the thread of a month’s first digest', async () => {
  for (let n = 0; n < 6; n += 1) await rig.watch(`year${n}.rest`, 40 + 30 * n);
  for (const days of [3, 8, 20, 22]) await rig.watch(`due${days}.rest`, days);
  for (let morning = 0; morning < 25; morning += 1) {
    rig.advanceToNextMorning();
    await rig.runDigest();
  }
  expect(rig.poster.heads.length, 'digests').toBeGreaterThan(4);
  const months = rig.poster.charts.map(({ at }) => at.toISOString().slice(0, 7));
  expect(months).toEqual(['2027-06', '2027-07']);
  expect(rig.poster.charts[0]?.months).toHaveLength(12);
});

describe('a change between the plan and the post', () => {
  test.each([
    ['renewed', { expiry: { at: new Date('2028-06-22T12:00:00Z'), source: 'order' as const } }],
    ['snoozed', { snooze: { until: new Date('2027-06-20T12:00:00Z'), by: 'U0ALICE', reason: undefined } }],
    [
      'set to lapse',
      {
        lapse: {
          reason: 'not needed',
          requestedBy: 'U0ALICE',
          confirmed: { by: 'U0BOB', at: new Date('2027-06-15T06:00:00Z') },
        },
      },
    ],
  ])('takes effect: a name that was %s is left out', async (_what, change) => {
    for (let index = 0; index < 20; index += 1) await rig.watch(`n${index}.rest`, 1);
    const late = await rig.watch('late.rest', 7);
    rig.advanceToNextMorning();
    rig.poster.beforePost = async () => {
      rig.poster.beforePost = () => undefined;
      expect(await rig.store.change(late, { ...late, ...change })).toBe(true);
    };
    expect(await rig.runDigest()).toBe('posted');
    expect(rig.listReminders()).toHaveLength(20);
    expect(rig.listReminders().join()).not.toContain('late.rest');
  });
});

describe('Slack', () => {
  test('rate-limits the bot: the message is posted later, once', async () => {
    await rig.watch('cafe.rest', 7);
    rig.advanceToNextMorning();
    let tries = 0;
    rig.poster.beforePost = () => {
      tries += 1;
      if (tries < 3) throw createRateLimitError(5_000);
    };
    for (let wait = 0; wait < 2; wait += 1) {
      expect(await rig.runDigest()).toBe('postponed');
      rig.now = new Date(rig.now.getTime() + 5_000);
    }
    expect([await rig.runDigest(), tries, rig.listReminders()]).toEqual(['posted', 3, ['cafe.rest 7']]);
  });

  test('refuses a channel without the bot: admins are notified once, and no reminder is lost', async () => {
    await rig.watch('cafe.rest', 7);
    rig.poster.beforePost = () => {
      throw createRefusedError('not_in_channel');
    };
    rig.advanceToNextMorning();
    for (let hour = 0; hour < 8; hour += 1) {
      await rig.runDigest();
      rig.now = new Date(rig.now.getTime() + 60 * MINUTE_MS);
    }
    expect(rig.poster.adminMessages).toHaveLength(1);
    rig.advanceToNextMorning();
    await rig.runDigest();
    expect(rig.poster.adminMessages).toHaveLength(1);
    rig.poster.beforePost = () => undefined;
    rig.now = new Date(rig.now.getTime() + 16 * MINUTE_MS);
    expect([await rig.runDigest(), rig.listReminders()]).toEqual(['posted', ['cafe.rest 7']]);
  });
});

describe('the content of a digest', () => {
  test('starts with the most urgent names, twenty per message', async () => {
    const days = [30, 7, 1, 3, 14, 60];
    for (let index = 0; index < 41; index += 1) await rig.watch(`n${index}.rest`, days[index % 6] ?? 60);
    await rig.watch('grace.rest', -3);
    await rig.watch('deleted.rest', 100, { deletedAt: new Date(rig.now.getTime() - 3 * DAY_MS) });
    rig.advanceToNextMorning();
    await rig.runDigest();
    expect(rig.listReminders().slice(0, 3)).toEqual([
      'deleted.rest -4',
      'grace.rest -1',
      expect.stringMatching(/ 1$/),
    ]);
    const left = rig.poster.postedReminders.slice(2).map(({ daysLeft }) => daysLeft);
    expect(left).toEqual(left.toSorted((a, b) => a - b));
    const [head] = rig.poster.heads;
    expect(head).toMatchObject({ total: 43, hasMore: false });
    expect(rig.poster.replies).toMatchObject([
      { remainingCount: 3, hasMore: false },
      { remainingCount: 0, hasMore: false },
    ]);
  });

  test('can exceed one claim: nothing is left for the next day', async () => {
    const lines = Array.from({ length: 1_050 }, (_, index) => ({
      name: `n${index}.rest`,
      expiresAt: new Date('2027-06-20T00:00:00Z'),
    }));
    await rig.store.importBatch(lines, 'U0ALICE', rig.now);
    rig.advanceToNextMorning();
    expect(await rig.runDigest()).toBe('posted');
    expect(new Set(rig.listReminders()).size).toBe(1_050);
    expect(rig.listReminders()).toHaveLength(1_050);
    expect(rig.poster.heads[0]).toMatchObject({ total: 1_000, hasMore: true });
    // With this threshold, the index skips them in the next query.
    expect(await rig.database.prisma.domain.count({ where: { remindedThreshold: 7 } })).toBe(1_050);
    rig.advanceToNextMorning();
    expect(await rig.runDigest()).toBe('nothing_to_say');
  });

  test('includes a deleted name with an unknown expiry, once per phase', async () => {
    const deletedAt = new Date(rig.now.getTime() - 3 * DAY_MS);
    const deletion = { expiry: undefined, deletedAt } as const;
    await rig.watch('dateless.rest', 0, { ...deletion, deletionPhase: 'redemption' });
    await rig.watch('going.rest', 0, { ...deletion, deletionPhase: 'pending_delete' });
    await rig.watch('undated.rest', 0, { expiry: undefined });
    for (let day = 0; day < 3; day += 1) {
      rig.advanceToNextMorning();
      await rig.runDigest();
    }
    expect(rig.listReminders()).toEqual(['dateless.rest -4', 'going.rest -7']);
    expect(rig.poster.heads[0]?.allDue[0]).toMatchObject({
      phase: 'redemption',
      restoreUntil: expect.any(String),
    });
    expect(rig.poster.heads[0]?.undated).toBe(1);
  });

  test('repeats nothing about a deleted name whose date is corrected', async () => {
    const deletedAt = new Date(rig.now.getTime() - 3 * DAY_MS);
    const domain = await rig.watch('deleted.rest', 100, { deletedAt });
    rig.advanceToNextMorning();
    await rig.runDigest();
    const at = new Date((domain.expiry?.at.getTime() ?? 0) + DAY_MS);
    expect(await rig.store.change(domain, { ...domain, expiry: { at, source: 'rdap' } })).toBe(true);
    rig.advanceToNextMorning();
    await rig.runDigest();
    expect(rig.listReminders()).toEqual(['deleted.rest -4']);
  });

  describe('a deleted name that returns with the same expiry', () => {
    const deletedAt = new Date('2027-06-11T12:00:00Z');
    const watchDeletedName = () => rig.watch('back.rest', 100, { deletedAt });
    const restore = async (domain: WatchedDomain) =>
      expect(await rig.store.change(domain, { ...domain, deletedAt: undefined })).toBe(true);

    test.each([
      ['after a restore', restore],
      [
        'after it was removed from the list',
        async ({ name, expiry }: WatchedDomain) => {
          await rig.unwatch(name);
          await rig.watch(name, 0, { expiry });
        },
      ],
    ])('%s has its reminders again', async (_why, bringBack) => {
      const domain = await watchDeletedName();
      rig.advanceToNextMorning();
      await rig.runDigest();
      await bringBack(domain);
      for (const days of [60, 30]) {
        rig.now = new Date((domain.expiry?.at.getTime() ?? 0) - (days + 1) * DAY_MS);
        rig.advanceToNextMorning();
        await rig.runDigest();
      }
      expect(rig.listReminders()).toEqual(['back.rest -4', 'back.rest 60', 'back.rest 30']);
    });
  });

  describe('a renewal not shown by the registry', () => {
    const watchDisputedRenewal = (name: string) => {
      const until = new Date(rig.now.getTime() + 300 * DAY_MS);
      return rig.watch(name, 300, {
        expiry: { at: until, source: 'order' },
        unpublishedRenewal: { until, at: new Date(rig.now.getTime() - 15 * DAY_MS) },
        doubt: { code: 'renewal_not_shown', shown: new Date('2027-06-20') },
      });
    };
    const listDisputedNames = () =>
      [...rig.poster.heads, ...rig.poster.replies].map((part) => part.disputed.map(({ name }) => name));

    test('is reported weekly until it is shown, and suppresses no reminders', async () => {
      const domain = await watchDisputedRenewal('lost.rest');
      for (let day = 0; day < 13; day += 1) {
        rig.advanceToNextMorning();
        await rig.runDigest();
      }
      expect(listDisputedNames()).toEqual([['lost.rest'], ['lost.rest']]);
      expect(await rig.store.change(domain, { ...domain, doubt: undefined })).toBe(true);
      rig.now = new Date((domain.expiry?.at.getTime() ?? 0) - 61 * DAY_MS);
      rig.advanceToNextMorning();
      await rig.runDigest();
      expect(rig.listReminders()).toEqual(['lost.rest 60']);
      expect(listDisputedNames()).toHaveLength(3);
    });
  });
});

describe('several destinations', () => {
  /** Lists the posted reminders as `name destination`. */
  const listDestinations = () => rig.poster.postedReminders.map(({ name, to }) => `${name} ${to}`);

  async function watchFourNames(): Promise<void> {
    for (const name of ['brand.rest', 'mine.rest', 'plain.rest', 'both.rest']) await rig.watch(name, 7);
    await rig.changeDetails('brand.rest', { channel: 'C0BRAND' });
    await rig.changeDetails('mine.rest', { owner: 'U0ADA' });
    await rig.changeDetails('both.rest', { channel: 'C0BRAND', owner: 'U0ADA' });
    rig.advanceToNextMorning();
  }

  const DELIVERED_ONCE = [
    'both.rest C0BRAND',
    'brand.rest C0BRAND',
    'mine.rest U0ADA',
    'plain.rest C0EXPIRY',
  ];

  test('get their names once: channels before owners, and the rest in the reminder channel', async () => {
    await watchFourNames();
    expect([await rig.runDigest(), await rig.runDigest()]).toEqual(['posted', 'not_due']);
    expect(listDestinations().sort()).toEqual(DELIVERED_ONCE);
    const listRenewable = async (to: string) => {
      const [digest = ''] = await rig.listDigestIds();
      const reminderKeys = await rig.reminders.listReminderKeys(digest, to);
      return reminderKeys.map(({ name }) => name).sort();
    };
    expect(await listRenewable('C0BRAND'), 'renewable together').toEqual(['both.rest', 'brand.rest']);
    expect(await listRenewable('')).toEqual(['plain.rest']);
  });

  test.each([
    ['the last reminder before the expiry', 1, {}],
    ['a reminder after the expiry', -1, {}],
    ['a reminder about a deletion', 100, { deletedAt: new Date('2027-06-11T12:00:00Z') }],
  ])('get %s, and the reminder channel gets a copy', async (_what, days, details) => {
    await rig.watch('mine.rest', days, details);
    await rig.changeDetails('mine.rest', { owner: 'U0ADA' });
    await rig.watch('brand.rest', days, details);
    await rig.changeDetails('brand.rest', { channel: 'C0BRAND', owner: 'U0ADA' });
    await rig.watch('common.rest', days, details);
    await rig.changeDetails('common.rest', { channel: 'C0EXPIRY' });
    rig.advanceToNextMorning();
    expect([await rig.runDigest(), await rig.runDigest()]).toEqual(['posted', 'not_due']);
    expect(listDestinations().sort()).toEqual([
      'brand.rest C0BRAND',
      'brand.rest C0EXPIRY',
      'common.rest C0EXPIRY',
      'mine.rest C0EXPIRY',
      'mine.rest U0ADA',
    ]);
    const [digest = ''] = await rig.listDigestIds();
    const listed = await rig.reminders.listReminderKeys(digest, '');
    expect(listed.map(({ name }) => name).sort()).toEqual(['brand.rest', 'common.rest', 'mine.rest']);
  });

  test('leave nothing for the reminder channel if every name has its own channel', async () => {
    await rig.watch('brand.rest', 7);
    await rig.changeDetails('brand.rest', { channel: 'C0BRAND' });
    rig.advanceToNextMorning();
    expect([await rig.runDigest(), await rig.runDigest()]).toEqual(['posted', 'not_due']);
    expect(listDestinations()).toEqual(['brand.rest C0BRAND']);
  });

  test.each([0, 1, 2])('get each name once if the process dies after %i posts', async (postCount) => {
    await watchFourNames();
    killBeforePost(postCount + 1);
    await expect(rig.runDigest()).rejects.toThrow('killed');
    rig.poster.beforePost = () => undefined;
    await rig.releaseLeases();
    expect([await rig.runDigest(), await rig.runDigest()]).toEqual(['posted', 'not_due']);
    expect(listDestinations().sort()).toEqual(DELIVERED_ONCE);
  });

  test('get the rest in the thread that was started before the process died', async () => {
    for (let index = 0; index < 30; index += 1) {
      await rig.watch(`n${index}.rest`, 7);
      await rig.changeDetails(`n${index}.rest`, { channel: 'C0BRAND' });
    }
    rig.advanceToNextMorning();
    killBeforePost(2);
    await expect(rig.runDigest()).rejects.toThrow('killed');
    rig.poster.beforePost = () => undefined;
    await rig.releaseLeases();
    await rig.runDigest();
    expect(rig.poster.heads).toHaveLength(1);
    expect(new Set(listDestinations()).size).toBe(30);
    expect(listDestinations()).toHaveLength(30);
  });

  test('that Slack refuses leave their names to the reminder channel, with a note', async () => {
    await watchFourNames();
    rig.poster.beforePost = (to) => {
      if (to === 'C0BRAND') throw createRefusedError('is_archived');
    };
    expect([await rig.runDigest(), await rig.runDigest()]).toEqual(['posted', 'not_due']);
    expect(listDestinations().sort()).toEqual([
      'both.rest C0EXPIRY',
      'brand.rest C0EXPIRY',
      'mine.rest U0ADA',
      'plain.rest C0EXPIRY',
    ]);
    const commonReminders = rig.poster.heads.find(({ destination }) => destination === '')?.reminders ?? [];
    expect(commonReminders.map(({ name, watched }) => [name, watched.undelivered])).toEqual([
      ['both.rest', 'C0BRAND'],
      ['brand.rest', 'C0BRAND'],
      ['plain.rest', undefined],
    ]);
    expect(rig.poster.adminMessages, 'notifications to admins').toEqual([]);
  });

  describe('with an owner question', () => {
    /** One name to ask about, and one that its owner keeps. */
    beforeEach(async () => {
      rig.asksOwners = true;
      await rig.watch('kept.rest', 31);
      await rig.changeDetails('kept.rest', { owner: 'U0ADA' });
      rig.advanceToNextMorning();
      await rig.runDigest();
      const portfolio = createPortfolioStore(rig.database, 'T0TEAM');
      const deps = { store: rig.store, portfolio, now: () => rig.now, settings: rig.settings };
      await answerQuestion(deps, { name: 'kept.rest', by: 'U0ADA' }, { kind: 'name_kept' });
      for (let day = 0; day < 15; day += 1) rig.advanceToNextMorning();
      await rig.watch('new.rest', 31);
      await rig.changeDetails('new.rest', { owner: 'U0ADA' });
      rig.advanceToNextMorning();
      rig.poster.postedReminders.length = 0;
      rig.poster.questions.length = 0;
    });

    test('get one message with the question and the reminders', async () => {
      expect([await rig.runDigest(), await rig.runDigest()]).toEqual(['posted', 'not_due']);
      expect(listDestinations().sort()).toEqual(['kept.rest U0ADA', 'new.rest U0ADA']);
      expect(rig.poster.questions).toHaveLength(1);
    });

    test('get more than 20 names in the question’s thread', async () => {
      for (let index = 0; index < 43; index += 1) {
        await rig.watch(`many${index}.rest`, 20);
        await rig.changeDetails(`many${index}.rest`, { owner: 'U0ADA' });
      }
      await rig.runDigest();
      expect(listDestinations()).toHaveLength(45);
      const sizes = rig.poster.questions.map(
        ({ questions, reminders }) => questions.length + reminders.length,
      );
      expect(sizes).toEqual([20, 20, 5]);
      expect(rig.poster.questions.map(({ openCount }) => openCount)).toEqual([44, 44, 44]);
    });
  });

  test('don’t wait for a rate-limited destination, and nothing is posted twice', async () => {
    await watchFourNames();
    rig.poster.beforePost = (to) => {
      if (to === 'U0ADA') throw createRateLimitError(60_000);
    };
    expect(await rig.runDigest()).toBe('postponed');
    expect(listDestinations().sort(), 'no delay').toEqual(
      DELIVERED_ONCE.filter((each) => each !== 'mine.rest U0ADA'),
    );
    rig.poster.beforePost = () => undefined;
    rig.now = new Date(rig.now.getTime() + 2 * MINUTE_MS);
    expect([await rig.runDigest(), await rig.runDigest()]).toEqual(['posted', 'not_due']);
    expect(listDestinations().sort()).toEqual(DELIVERED_ONCE);
  });

  test('that are archived during a digest leave the rest to the newly chosen channel', async () => {
    for (let index = 0; index < 30; index += 1) await rig.watch(`n${index}.rest`, 7);
    rig.advanceToNextMorning();
    rig.poster.beforePost = (to) => {
      if (to === 'C0EXPIRY' && rig.poster.heads.length === 1) throw createRefusedError('is_archived');
    };
    expect(await rig.runDigest()).toBe('postponed');
    rig.settings = { ...rig.settings, reminderChannel: 'C0NEW' };
    rig.now = new Date(rig.now.getTime() + MINUTE_MS);
    expect(await rig.runDigest()).toBe('posted');
    expect(listDestinations().filter((each) => each.endsWith('C0EXPIRY'))).toHaveLength(20);
    expect(listDestinations().filter((each) => each.endsWith('C0NEW'))).toHaveLength(10);
  });
});
