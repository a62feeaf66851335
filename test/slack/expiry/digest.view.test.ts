import { describe, expect, test } from 'vitest';
import { toWatchedReminder } from '../../../src/expiry/digest.ts';
import { createWatchedDomain } from '../../../src/expiry/newly-watched.ts';
import { planReminders } from '../../../src/expiry/plan.ts';
import type { DigestHead, WatchedDomain } from '../../../src/expiry/ports.ts';
import { listDelayStages } from '../../../src/money/waiting.ts';
import { loadWaitingCostCalculator } from '../../../src/slack/approvals/waiting.ts';
import {
  type CalculateWaitingCost,
  digestHead,
  digestList,
  digestReply,
  monthsMessage,
} from '../../../src/slack/expiry/digest.view.ts';
import { expiringMessage } from '../../../src/slack/expiry/expiring.view.ts';
import { buildImportReport } from '../../../src/slack/expiry/expiry.view.ts';
import type { Message } from '../../../src/slack/kit/blocks.ts';
import { slackContextWith } from '../../support/context.ts';
import { buttonsOf as buttonIds, textOf } from '../../support/demo.ts';
import { countPhoneLines, findUnreadableValues } from '../../support/reading.ts';
import { newTeamSettings } from '../../support/settings.ts';
import { expectValidBlocks, expectValidMessage, listMentions, toWireBlocks } from '../kit/limits.ts';

const NOW = new Date('2027-06-14T09:00:00Z');
const DAY_MS = 86_400_000;
const OPTIONS = { now: NOW, thresholds: [60, 30, 14, 7, 3, 1], timeZone: 'UTC' };

function inDays(days: number): Date {
  return new Date(NOW.getTime() + days * DAY_MS);
}

function watch(name: string, days: number, more: Partial<WatchedDomain> = {}): WatchedDomain {
  return {
    ...createWatchedDomain(name, 'U0ALICE', NOW),
    expiry: { at: inDays(days), source: 'rdap' },
    lastLookupAt: NOW,
    ...more,
  };
}

function head(domains: readonly WatchedDomain[], more: Partial<DigestHead> = {}): DigestHead {
  const due = planReminders(
    domains.flatMap((domain) => toWatchedReminder(domain, []) ?? []),
    OPTIONS,
  );
  const common = { digestId: 'd1', destination: '', reminders: due, allDue: due, total: due.length };
  return {
    ...common,
    disputed: [],
    renewals: new Map(),
    hasMore: false,
    undated: 0,
    uncoveredNames: [],
    ...more,
  };
}

function buttonsOf({ blocks }: Pick<Message, 'blocks'>): string[] {
  return buttonIds({ blocks: toWireBlocks(blocks) });
}

function read(message: Message): string {
  return textOf({ text: message.text, blocks: JSON.parse(JSON.stringify(message.blocks)) });
}

test('the deadlines of a name have their costs, if known', async () => {
  const price = (task: 'renew' | 'restore', minor: number) => ({
    id: task,
    zone: 'rest',
    task,
    period: 1,
    amount: { currency: 'EUR', minor },
    validFrom: '2026-11-01',
    source: 'Contract 7',
  });
  const loadCosts = (list: ReturnType<typeof price>[]) =>
    loadWaitingCostCalculator(
      slackContextWith({
        loadSettings: async () => newTeamSettings({ reminderTimezone: 'America/New_York' }),
        prices: { list: async () => list },
        now: () => NOW,
      }),
    );
  // A person entered the day, so it isn't the evening before in any time zone.
  const dated = watch('cafe.rest', 7, { expiry: { at: new Date('2027-06-21T00:00:00Z'), source: 'person' } });
  const renewal = await loadCosts([price('renew', 1_800)]);
  const both = await loadCosts([price('renew', 1_800), price('restore', 8_000)]);
  expect(read(digestHead(head([dated]), renewal))).toContain(
    '*cafe.rest* · 7 days · renew by 20 Jun, about €18.00\n' +
      'then late renewal (not guaranteed) until 4 Aug, then restore (no price) until 3 Sept',
  );
  const message = digestHead(head([dated]), both);
  expect(read(message)).toContain('then restore for about €98.00 until 3 Sept');
  expect(message.text, 'for a lock screen').toBe('cafe.rest expires in 7 days, about €18.00');
  const grace = head([watch('cafe.rest', -1)]);
  expect(read(digestHead(grace, both))).toContain(
    '*cafe.rest* · expired yesterday · late renewal (not guaranteed) by 27 Jul, about €18.00\n' +
      'then restore for about €98.00 until 26 Aug',
  );
  const deleted = head([watch('cafe.rest', 100, { deletedAt: inDays(-2) })]);
  expect(read(digestHead(deleted, both))).toContain(
    '*cafe.rest* · deleted · restore by 11 Jul, about €98.00',
  );
  expect(read(digestHead(grace, await loadCosts([])))).not.toMatch(/price|about/);
  expect(read(digestHead(head([watch('cafe.shop', 3)]), renewal))).toContain(
    '*cafe.shop* · 3 days · renew by 16 Jun, no price',
  );
  const later = digestHead(head([watch('cafe.rest', 14), watch('next-year.rest', 14)]), both);
  expect(read(later), 'if it isn’t near').toMatch(/14 days · renew by 27 Jun, about €18\.00$/m);
  expect(read(later)).not.toContain('then');
});

describe('a digest of twelve names', () => {
  const twelve = (days: number, more: Partial<WatchedDomain> = {}) =>
    head(Array.from({ length: 12 }, (_, n) => watch(`restaurant${n}.rest`, days, more)));
  const calculateCosts: CalculateWaitingCost = (watched) =>
    listDelayStages(
      ['renew', 'restore'].map((task) => ({
        zone: 'rest',
        task: task === 'renew' ? 'renew' : 'restore',
        period: 1,
        amount: { currency: 'EUR', minor: 1_800 },
        validFrom: '2026-11-01',
        source: '',
      })),
      watched.name,
      { expiresAt: watched.expiresAt },
      { now: NOW, timeZone: 'UTC' },
    );

  test.each([7, 14, 30, 60])('is short on a phone %s days ahead', (days) => {
    const head = { ...twelve(days), ownerless: { withoutOwner: 5, ownerLeft: 2 } };
    expect(countPhoneLines(toWireBlocks(digestHead(head, calculateCosts).blocks))).toBeLessThanOrEqual(34);
  });

  test('lists each name once and has buttons for all of them', () => {
    const message = digestHead(twelve(14), calculateCosts);
    const [title, ...rest] = message.blocks;
    expect(title).toMatchObject({
      text: { text: expect.stringMatching(/^12 names .* urgent: restaurant0/) },
    });
    expect(JSON.stringify(rest).match(/\*restaurant7\.rest\*/g)).toHaveLength(1);
    expect(buttonsOf(message).slice(-2)).toEqual(['reminder_renew_many', 'reminder_all']);
    expect(findUnreadableValues(message.text, toWireBlocks(message.blocks))).toEqual([]);
  });
});

test('a name that is too long for a menu’s value has buttons instead', () => {
  const long = `${'x'.repeat(60)}.${'y'.repeat(60)}.example`;
  const longest = (extra: number) => `${'z'.repeat(extra)}.${long}`;
  const listBlockTypes = (name: string) =>
    toWireBlocks(digestHead(head([watch(name, 7)])).blocks).map(({ type }) => type);
  expect(`reminder_snooze:${longest(4)}`).toHaveLength(150);
  expect(listBlockTypes(longest(4))).toEqual(['header', 'section']);
  expect(listBlockTypes(longest(5))).toEqual(['header', 'section', 'actions']);
  expect(buttonsOf(digestHead(head([watch(longest(5), 7)])))).toEqual([
    'reminder_renew',
    'reminder_snooze',
    'reminder_lapse',
  ]);
});

test('names without an expiry date are counted, because they get no reminders', () => {
  const renderUndated = (undated: number) => read(digestHead(head([watch('cafe.rest', 7)], { undated })));
  expect(renderUndated(1)).toContain(
    '1 watched name has no expiry date and gets no reminders. To list it, use `/domain names undated`.',
  );
  expect(renderUndated(2)).toContain('2 watched names have no expiry date and get no reminders.');
  expect(renderUndated(0)).not.toContain('no expiry date');
});

test('a name without a record at the registry has a warning', () => {
  const unseen = watch('unseen.rest', 7, { doubt: { code: 'not_registered' } });
  expect(read(digestHead(head([watch('cafe.rest', 7), unseen])))).toMatch(
    /cafe\.rest\* · 7 days[\s\S]*\*unseen\.rest\* · 7 days.*\n:warning: .*no record/,
  );
});

describe('the entry of a name', () => {
  test.each([
    [7, {}, /expires in 7 days[\s\S]*renew by 20 Jun/, 'reminder_renew'],
    [0, {}, /expires today[\s\S]*renew now/, 'reminder_renew'],
    [-1, {}, /expired yesterday · late renewal \(not guaranteed\) by 27 Jul/, 'reminder_renew'],
    [100, { deletedAt: inDays(-2) }, /deleted · restore by 11 Jul/, 'reminder_restore'],
    [100, { deletedAt: inDays(-31) }, /deleted · can’t be recovered/, undefined],
    [100, { deletedAt: inDays(-40) }, /released · anyone can register it/, undefined],
    [
      100,
      { deletedAt: inDays(-2), name: 'cafe.shop' },
      /deleted · restore deadline not documented, so restore it now/,
      'reminder_restore',
    ],
  ] as const)('says what to do %s days before expiry, %o', (days, more, words, button) => {
    const message = digestHead(head([watch('cafe.rest', days, more)]));
    expect(read(message)).toMatch(words);
    expect(buttonsOf(message)[0]).toBe(button);
  });

  test.each([
    [-46, {}, ['reminder_renew', 'reminder_restore', 'reminder_snooze', 'reminder_lapse']],
    [-81, {}, ['reminder_renew', 'reminder_snooze', 'reminder_lapse']],
    [-46, { deletedAt: inDays(-1) }, ['reminder_restore', 'reminder_snooze', 'reminder_lapse']],
    [-81, { deletedAt: inDays(-36) }, []],
  ])('has the buttons that fit %s days before expiry, %o', (days, more, buttons) => {
    expect(buttonsOf(digestHead(head([watch('cafe.rest', days, more)])))).toEqual(buttons);
  });

  test('comes first if the name is lost soonest, and last if it can’t be recovered', () => {
    const message = digestHead(
      head([
        watch('deleted.rest', 113, { deletedAt: inDays(-2) }),
        watch('soon.rest', 7),
        watch('grace.rest', -1),
        watch('gone.rest', 100, { deletedAt: inDays(-31) }),
      ]),
    );
    expect(message.text, 'the title names the first entry of the list').toContain('Most urgent: soon.rest');
    const names = [...read(message).matchAll(/^\*(\w+)\.rest\*/gm)].map(([, name]) => name);
    expect(names).toEqual(['soon', 'deleted', 'grace', 'gone']);
  });

  test('says that its zone documents no grace period', () => {
    expect(read(digestHead(head([watch('cafe.shop', -2)])))).toContain('doesn’t document a grace period');
  });

  test('mentions an estimated date, a failing lookup and an unconfirmed lapse', () => {
    const text = read(
      digestHead(
        head([
          watch('cafe.rest', 7, {
            expiry: { at: inDays(7), source: 'order' },
            doubt: { code: 'undated', problem: { code: 'busy', detail: '429' } },
            lapse: { reason: 'old *campaign*', requestedBy: 'U0BOB', confirmed: undefined },
          }),
        ]),
      ),
    );
    expect(text).toContain('estimated from the last order');
    expect(text).toContain('The registry’s server is busy (HTTP 429)');
    expect(text).toMatch(/<@U0BOB> wants to let it lapse: “old .*campaign/);
    expect(text).not.toContain('*campaign*');
  });

  test('mentions the person who registered the name only at the last threshold', () => {
    const more = { registeredBy: 'U0CAROL' };
    expect(listMentions(digestHead(head([watch('cafe.rest', 1, more)])))).toEqual(['U0CAROL']);
    expect(listMentions(digestHead(head([watch('cafe.rest', 3, more)])))).toEqual([]);
  });
});

test('the thread says how many names follow, and where the digest ends', () => {
  const part = head([watch('cafe.rest', 7)]);
  expect(read(digestReply({ ...part, remainingCount: 40, hasMore: false }))).toContain(
    '40 more names follow.',
  );
  expect(read(digestReply({ ...part, remainingCount: 40, hasMore: true }))).toContain(
    'More than 40 names follow.',
  );
  expect(read(digestReply({ ...part, remainingCount: 1, hasMore: true }))).toContain(
    'More than 1 name follows.',
  );
  expect(read(digestReply({ ...part, remainingCount: 0, hasMore: false }))).toContain('End of this digest.');
});

test('the title counts the listed names only as a minimum if the digest has more', () => {
  const domains = [watch('a.rest', 7), watch('b.rest', 7)];
  const renewals = new Map(domains.map(({ name }) => [name, '2027-06-18'] as const));
  expect(digestHead(head(domains, { hasMore: true })).text).toMatch(/^More than 2 names need a decision/);
  expect(digestHead(head(domains, { hasMore: true, renewals })).text).toMatch(
    /^Mandates renew more than 2 names\. First: /,
  );
});

describe('Slack’s limits', () => {
  const long = 'x'.repeat(63);
  const lapse = { reason: 'r'.repeat(1_000), requestedBy: 'U0BOB', confirmed: undefined };
  const domains = Array.from({ length: 20 }, (_, index) =>
    watch(`${index}${long.slice(3)}.${long}.${long}.${long.slice(10)}.example`, index, {
      lapse,
      doubt: { code: 'undated', problem: { code: 'unreachable', detail: 'p'.repeat(300) } },
    }),
  );
  const months = Array.from({ length: 12 }, (_, index) => ({
    month: '2027-06',
    label: `Mon ${index}`,
    count: index * 1_000,
  }));

  test('allow a digest of the longest names with the longest reasons', () => {
    const disputed = domains.map((domain) => ({ ...domain, unpublishedRenewal: { until: NOW, at: NOW } }));
    expectValidMessage(digestHead(head(domains, { disputed, total: 1_000, hasMore: true })));
    expectValidMessage(digestReply({ ...head(domains), remainingCount: 300, hasMore: false }));
    expectValidMessage(monthsMessage(months));
  });

  test('allow a page of the list and the report of an import', () => {
    const names = domains.map((domain) => ({
      domain,
      expiryDay: '2027-06-20',
      daysLeft: 6,
      deadline: { action: 'renew', phase: 'registered', until: '2027-06-20', daysLeft: 6 } as const,
    }));
    expectValidMessage(digestList(names, () => [], new Map(), NOW));
    const page = expiringMessage(
      { names, deleted: 2, dated: 1_000, undated: 3 },
      { days: 90, offset: 20, now: NOW },
      () => [],
      new Map(),
      { hasService: true, isAtOtherRegistrar: () => false },
    );
    expectValidMessage(page);
    expect(page.text).toMatch(
      /^1000 names expiring within 90 days, 2 names deleted early, 3 names without an expiry date, first .*: 6 days$/,
    );
    const rejected = Array.from({ length: 500 }, (_, index) => ({
      line: index + 1,
      text: 'y'.repeat(80),
      issue: { code: 'not_a_date', text: 'y'.repeat(80) } as const,
    }));
    const report = buildImportReport({
      addedCount: 3,
      datedCount: 0,
      unchangedCount: 0,
      duplicateCount: 0,
      rejected,
      beyondLimitCount: 2,
      tooFarAheadCount: 1,
      proposal: undefined,
    });
    expectValidBlocks(report.blocks, 'modal');
    expectValidBlocks(report.blocks, 'message');
  });
});

test.each([
  [0, 'expires today'],
  [1, 'expires tomorrow'],
  [-2, 'expired 2 days ago'],
])('the title says when the first of several names expires, here in %i days', (days, when) => {
  const { text } = digestHead(head([watch('first.rest', days), watch('later.rest', days + 1)]));
  expect(text).toBe(`2 names need a decision. Most urgent: first.rest (${when})`);
});

test('the last line has the names that no one is handling', () => {
  const last = read(digestHead(head([watch('cafe.rest', 10)], { uncoveredNames: ['cafe.rest'] })))
    .trim()
    .split('\n')
    .at(-1);
  expect(last).toContain('No one is handling cafe.rest');
  expect(read(digestHead(head([watch('cafe.rest', 10)])))).not.toContain('No one is handling');
  const uncovered = head([watch('cafe.rest', 10)], { uncoveredNames: ['cafe.rest'] });
  const watching = { hasService: false, isAtOtherRegistrar: () => false };
  expect(read(digestHead(uncovered, undefined, watching)), 'without a service').toContain(
    'No one is handling cafe.rest: no owner.',
  );
});

describe('a name that a mandate renews', () => {
  const renewals = new Map([['mandated.rest', '2027-06-17']]);

  test('needs no decision and shows the date of its renewal', () => {
    const both = digestHead(head([watch('mandated.rest', 7), watch('cafe.rest', 10)], { renewals }));
    expect(both.text).toBe('1 name needs a decision: cafe.rest (expires in 10 days)');
    expect(read(both)).toMatch(
      /\*cafe\.rest\* · 10 days · renew by [\s\S]*\*mandated\.rest\* · 7 days · a mandate renews it on 17 Jun/,
    );
    expect(read(both)).not.toContain('not guaranteed');
    expect(
      toWireBlocks(both.blocks).filter(({ block_id: id }) => String(id).startsWith('due_')),
    ).toHaveLength(2);
    const alone = digestHead(head([watch('mandated.rest', 7)], { renewals }));
    expect(alone.text).toBe('mandated.rest expires in 7 days, a mandate renews it on 17 Jun');
    const all = new Map([...renewals, ['cafe.rest', '2027-06-20'] as const]);
    const none = digestHead(head([watch('mandated.rest', 7), watch('cafe.rest', 10)], { renewals: all }));
    expect(none.text).toBe('Mandates renew 2 names. First: mandated.rest (expires in 7 days)');
  });

  test.each([
    ['on its last reminder', 1],
    ['once it has expired', -1],
  ])('needs a decision %s', (_, days) => {
    const message = digestHead(head([watch('mandated.rest', days), watch('cafe.rest', 10)], { renewals }));
    expect(message.text).toMatch(/^2 names need a decision\. Most urgent: /);
    if (days > 0) expect(read(message)).toMatch(/a mandate renews it on 17 Jun[\s\S]*action needed/);
    else expect(read(message)).not.toContain('a mandate renews');
  });
});
