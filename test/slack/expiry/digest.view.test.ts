import { describe, expect, test } from 'vitest';
import { newlyWatched } from '../../../src/expiry/change-watched.ts';
import { asReminder } from '../../../src/expiry/digest.ts';
import { groupForDigest, planReminders } from '../../../src/expiry/plan.ts';
import type { DigestHead, WatchedDomain } from '../../../src/expiry/ports.ts';
import { digestHead, digestMore } from '../../../src/slack/expiry/digest.view.ts';
import { createWaitingCosts } from '../../../src/slack/expiry/digest-notifications.ts';
import { expiringPage, importReport } from '../../../src/slack/expiry/expiry.view.ts';
import type { Message } from '../../../src/slack/kit/blocks.ts';
import { textOf } from '../../support/demo.ts';
import { expectBlocks, expectMessage, pinged } from '../kit/limits.ts';

const NOW = new Date('2027-06-14T09:00:00Z');
const DAY_MS = 86_400_000;
const OPTIONS = { now: NOW, thresholds: [60, 30, 14, 7, 3, 1], timeZone: 'UTC' };

function inDays(days: number): Date {
  return new Date(NOW.getTime() + days * DAY_MS);
}

function named(name: string, days: number, more: Partial<WatchedDomain> = {}): WatchedDomain {
  return {
    ...newlyWatched(name, 'U0ALICE', NOW),
    expiry: { at: inDays(days), source: 'rdap' },
    lookedAt: NOW,
    ...more,
  };
}

function head(domains: readonly WatchedDomain[], more: Partial<DigestHead> = {}): DigestHead {
  const due = planReminders(
    domains.flatMap((domain) => asReminder(domain, []) ?? []),
    OPTIONS,
  );
  const groups = groupForDigest(due);
  const common = { digestId: 'd1', destination: '', groups, all: groups, total: due.length };
  return { ...common, disputed: [], more: false, months: [], undated: 0, ...more };
}

function shown(message: Message): string {
  return textOf({ text: message.text, blocks: JSON.parse(JSON.stringify(message.blocks)) });
}

test('what waiting costs stands beside the name, and nothing where nothing is known', async () => {
  const price = (task: 'renew' | 'restore', minor: number) => ({
    id: task,
    zone: 'rest',
    task,
    period: 1,
    amount: { currency: 'EUR', minor },
    validFrom: '2026-11-01',
    source: 'Contract 7',
  });
  const costs = (list: ReturnType<typeof price>[]) =>
    createWaitingCosts({
      settings: async () => ({ reminderTimezone: 'America/New_York' }),
      prices: { list: async () => list },
      now: () => NOW,
    })();
  // A person gave the day, which is nobody's evening before.
  const given = named('cafe.rest', 7, { expiry: { at: new Date('2027-06-21T00:00:00Z'), source: 'person' } });
  const priced = await costs([price('renew', 1_800)]);
  expect(shown(digestHead(head([given]), priced))).toContain(
    'What waiting costs: renew until 20 Jun 2027 (about €18.00); then at your own risk until 4 Aug 2027; ' +
      'then restore by hand until 3 Sept 2027 (price not known, plus the renewal, about €18.00); then it can be lost.',
  );
  const grace = head([named('cafe.rest', -1)]);
  expect(shown(digestHead(grace, await costs([price('renew', 1_800), price('restore', 8_000)])))).toContain(
    'What waiting costs: at your own risk until 27 Jul 2027 (about €18.00); then restore by hand until 26 Aug 2027 (about €80.00,',
  );
  expect(shown(digestHead(grace, await costs([])))).not.toContain('What waiting costs');
  expect(shown(digestHead(head([named('cafe.shop', 3)]), priced))).not.toContain('What waiting costs');
});

test('names without a date are counted, because nobody is reminded of them', () => {
  const said = (undated: number) => shown(digestHead(head([named('cafe.rest', 7)], { undated })));
  expect(said(1)).toContain(
    '1 watched name has no date, so nobody is reminded of it. `/domain names undated` shows it.',
  );
  expect(said(2)).toContain('2 watched names have no date, so nobody is reminded of them.');
  expect(said(0)).not.toContain('no date');
});

test('a name that its registry does not show is not called registered', () => {
  const unseen = named('unseen.rest', 7, { doubt: { code: 'not_registered' } });
  expect(shown(digestHead(head([named('cafe.rest', 7), unseen])))).toMatch(
    /cafe\.rest\n7\nRenew\n.*\nregistered[\s\S]*unseen\.rest\n7\nRenew\n.*\nits registry has no record of it/,
  );
});

describe('the life of a name in the digest', () => {
  test.each([
    [7, {}, /expires in 7 days[\s\S]*Last safe day: 20 Jun 2027/, 'reminder_renew'],
    [0, {}, /expires today/, 'reminder_renew'],
    [
      -1,
      {},
      /renewal keeps it until \*27 Jul 2027\*, the last safe day.*restore, until 26 Aug 2027/,
      'reminder_renew',
    ],
    [
      100,
      { deletedAt: inDays(-2) },
      /restore brings it back until \*11 Jul 2027\*.*costs money/,
      'reminder_restore',
    ],
    [100, { deletedAt: inDays(-31) }, /cannot be brought back/, undefined],
    [100, { deletedAt: inDays(-40) }, /anybody can register it now/, undefined],
    [
      100,
      { deletedAt: inDays(-2), name: 'cafe.shop' },
      /Deleted[\s\S]*was deleted\. For how long a restore brings it back is not documented/,
      'reminder_restore',
    ],
  ] as const)('%s days before its expiry %o', (days, more, words, button) => {
    const message = digestHead(head([named('cafe.rest', days, more)]));
    expect(shown(message)).toMatch(words);
    const pressed = /"action_id":"(reminder_(?:renew|restore))"/.exec(JSON.stringify(message.blocks))?.[1];
    expect(pressed).toBe(button);
  });

  test.each([
    [
      -46,
      'Past the grace, no deletion is known',
      /no deletion is known.*renewed itself.*In case it has been deleted after all/,
    ],
    [-76, 'Past the grace, no deletion is known', /no deletion is known.*renewed itself/],
    [-81, 'Past the grace, no deletion is known', /no deletion is known.*renewed itself/],
  ])(
    '%s days after its expiry, without a known deletion, nothing is said to be gone',
    (days, title, words) => {
      const text = shown(digestHead(head([named('cafe.rest', days)])));
      expect(text).toContain(title);
      expect(text).toMatch(words);
      expect(text).not.toMatch(
        /was deleted|can only be restored|cannot be brought back|free for anybody|is free/,
      );
    },
  );

  test.each([
    [-46, {}, ['reminder_renew', 'reminder_restore', 'reminder_snooze', 'reminder_lapse']],
    [-81, {}, ['reminder_renew', 'reminder_snooze', 'reminder_lapse']],
    [-46, { deletedAt: inDays(-1) }, ['reminder_restore', 'reminder_snooze', 'reminder_lapse']],
    [-81, { deletedAt: inDays(-36) }, []],
  ])('%s days after its expiry, %o: what can be pressed', (days, more, buttons) => {
    const { blocks } = digestHead(head([named('cafe.rest', days, more)]));
    const ids = [...JSON.stringify(blocks).matchAll(/"action_id":"(reminder_(?!renew_many)\w+)"/g)].map(
      ([, id]) => id,
    );
    expect(ids).toEqual(buttons);
  });

  test('a name that was deleted and one that only may be stand under a title that says so', () => {
    const deleted = named('gone.rest', -46, { deletedAt: inDays(-1) });
    const groups = head([named('cafe.rest', -46), deleted]).groups;
    expect(groups, 'both are in one group').toHaveLength(1);
    const text = shown(digestHead(head([named('cafe.rest', -46), deleted])));
    expect(text).toContain('Deleted, or past the grace with no deletion known');
    expect(text).toMatch(/gone\.rest.*was deleted\./);
  });

  test('in the table: one number that says until when something can be done, and what; soonest first', () => {
    const message = digestHead(
      head([
        named('deleted.rest', 113, { deletedAt: inDays(-2) }),
        named('soon.rest', 7),
        named('grace.rest', -1),
        named('gone.rest', 100, { deletedAt: inDays(-31) }),
      ]),
    );
    expect(message.text, 'the title begins with what the table begins with').toContain('first soon.rest');
    const [table] = message.blocks.filter((block) => block.type === 'data_table');
    const rows = table?.rows.map((row) =>
      row.flatMap((cell) => (cell.type === 'raw_text' ? [cell.text] : [])),
    );
    expect(rows?.map((row) => row.slice(0, 4))).toEqual([
      ['Name', 'Days left', 'To do', 'Until'],
      ['soon.rest', '7', 'Renew', '21 Jun 2027'],
      ['deleted.rest', '27', 'Restore', '11 Jul 2027'],
      ['grace.rest', '43', 'Renew', '27 Jul 2027'],
      ['gone.rest', '–', 'Nothing', '–'],
    ]);
  });

  test('in a zone of which nothing is documented', () => {
    expect(shown(digestHead(head([named('cafe.shop', -2)])))).toContain('not documented');
  });

  test('says what is not certain: an estimate, a failing look-up, a lapse that nobody confirmed', () => {
    const text = shown(
      digestHead(
        head([
          named('cafe.rest', 7, {
            expiry: { at: inDays(7), source: 'order' },
            doubt: { code: 'undated', problem: { code: 'busy', detail: '429' } },
            lapse: { reason: 'old *campaign*', requestedBy: 'U0BOB', confirmed: undefined },
          }),
        ]),
      ),
    );
    expect(text).toContain('estimate from the last order');
    expect(text).toContain('its server is busy (HTTP 429)');
    expect(text).toMatch(/<@U0BOB> wants to let it lapse \(“old .*campaign/);
    expect(text).not.toContain('*campaign*');
  });

  test('names the one who registered it at the last threshold only', () => {
    const more = { registeredBy: 'U0CAROL' };
    expect(pinged(digestHead(head([named('cafe.rest', 1, more)])))).toEqual(['U0CAROL']);
    expect(pinged(digestHead(head([named('cafe.rest', 3, more)])))).toEqual([]);
  });
});

test('the thread says how many names follow, and when that is all', () => {
  const part = head([named('cafe.rest', 7)]);
  expect(shown(digestMore({ ...part, left: 40, more: false }))).toContain('40 names follow.');
  expect(shown(digestMore({ ...part, left: 40, more: true }))).toContain('More than 40 names follow.');
  expect(shown(digestMore({ ...part, left: 0, more: false }))).toContain('That is all of this digest.');
});

describe('within Slack’s limits', () => {
  const long = 'x'.repeat(63);
  const lapse = { reason: 'r'.repeat(1_000), requestedBy: 'U0BOB', confirmed: undefined };
  const domains = Array.from({ length: 20 }, (_, index) =>
    named(`${index}${long.slice(3)}.${long}.${long}.${long.slice(10)}.example`, index, {
      lapse,
      doubt: { code: 'undated', problem: { code: 'unreachable', detail: 'p'.repeat(300) } },
    }),
  );
  const months = Array.from({ length: 12 }, (_, index) => ({ label: `Mon ${index}`, count: index * 1_000 }));

  test('is a digest of the longest names with the longest reasons', () => {
    const disputed = domains.map((domain) => ({ ...domain, renewed: { until: NOW, at: NOW } }));
    expectMessage(digestHead(head(domains, { months, disputed, total: 1_000, more: true })));
    expectMessage(digestMore({ ...head(domains), left: 300, more: false }));
  });

  test('is a page of the list, and the report of an import', () => {
    const names = domains.map((domain) => ({
      domain,
      day: '2027-06-20',
      daysLeft: 6,
      deadline: { action: 'renew', phase: 'registered', until: '2027-06-20', daysLeft: 6 } as const,
    }));
    const page = expiringPage({ names, deleted: 2, dated: 1_000, undated: 3 }, 90, 20, NOW);
    expectMessage(page);
    expect(page.text).toBe(
      '1000 names expiring within 90 days, 2 names deleted early, 3 names without a date',
    );
    const rejected = Array.from({ length: 500 }, (_, index) => ({
      line: index + 1,
      text: 'y'.repeat(80),
      issue: { code: 'not_a_date', text: 'y'.repeat(80) } as const,
    }));
    const report = importReport({ added: 3, dated: 0, kept: 0, duplicates: 0, rejected });
    expectBlocks(report.blocks, 'modal');
    expectBlocks(report.blocks, 'message');
  });
});
