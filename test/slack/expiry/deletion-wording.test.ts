import { describe, expect, test } from 'vitest';
import { shiftDay } from '../../../src/expiry/days.ts';
import { findDeadline } from '../../../src/expiry/deadline.ts';
import type { ListedName } from '../../../src/expiry/expiry.ts';
import { createWatchedDomain } from '../../../src/expiry/newly-watched.ts';
import { expiringMessage } from '../../../src/slack/expiry/expiring.view.ts';
import { getVisibleText } from '../../../src/slack/kit/blocks.ts';
import { nameMessage } from '../../../src/slack/names/name.view.ts';
import { rulesMessage } from '../../../src/slack/names/rules.view.ts';
import { computeLifecycle, isDeletionAssumed } from '../../../src/zones/lifecycle.ts';
import { findZoneProfile } from '../../../src/zones/rules.ts';

/* Every view calls a name deleted only if its deletion is known. */

const NOW = new Date('2027-06-14T09:00:00Z');
const TODAY = '2027-06-14';
const DAY_MS = 86_400_000;

function newExpired(daysAgo: number, deletedDaysAgo?: number, name = 'cafe.rest'): ListedName {
  const at = new Date(NOW.getTime() - daysAgo * DAY_MS);
  const deletedAt =
    deletedDaysAgo === undefined ? undefined : new Date(NOW.getTime() - deletedDaysAgo * DAY_MS);
  const expiryDay = shiftDay(TODAY, -daysAgo);
  const life = computeLifecycle(findZoneProfile(name), { expiresAt: at, deletedAt }, NOW);
  const facts = { ...life.current, isDeletionAssumed: isDeletionAssumed(life) };
  return {
    domain: { ...createWatchedDomain(name, 'U0ALICE', NOW), expiry: { at, source: 'rdap' }, deletedAt },
    expiryDay,
    daysLeft: -daysAgo,
    deadline: findDeadline({ ...facts, expiryDay, daysLeft: -daysAgo }),
  };
}

function renderViews(listed: ListedName): Readonly<Record<'name' | 'expiring' | 'rules', string>> {
  const { name, expiry, deletedAt } = listed.domain;
  if (expiry === undefined || listed.expiryDay === undefined) throw new Error('the name has no date');
  const dates = { expiresAt: expiry.at, source: expiry.source, expiryDay: listed.expiryDay, deletedAt };
  const screen = {
    ...{
      name,
      listedName: listed,
      orders: [],
      visibleOrderIds: new Set<string>(),
      incidents: [],
      pendingChangeBlocks: [],
      assessment: { findings: [], unseen: [] },
      hasService: true,
      renewWithinDays: 60,
      delayStages: [],
      today: TODAY,
    },
    knownName: { history: {}, knownChanges: [], isFirstLookup: false },
  };
  const ruled = { name, issues: [], dates, transferLock: undefined };
  const page = { names: [listed], deleted: 0, dated: 1, undated: 0 };
  return {
    name: getVisibleText(nameMessage(screen).blocks),
    expiring: getVisibleText(
      expiringMessage(page, { days: 90, offset: 0, now: NOW }, () => [], new Map(), {
        hasService: true,
        isAtOtherRegistrar: () => false,
      }).blocks,
    ),
    rules: getVisibleText(
      rulesMessage(findZoneProfile(name), 'rest', ruled, { now: NOW, timeZone: 'UTC' }).blocks,
    ),
  };
}

const DELETED =
  /It was deleted|It’s being deleted|deleted, can’t be recovered|It was released|\brestore\b(?! \(|.*possible)/;

describe('a name without a known deletion', () => {
  test.each([46, 76, 100])('is called possibly deleted %s days after its expiry', (daysAgo) => {
    const { name, expiring, rules } = renderViews(newExpired(daysAgo));
    for (const text of [name, rules]) {
      expect(text).toMatch(/Its grace period is over, and it may have been deleted.*renewed automatically/);
      expect(text).not.toMatch(
        /It was deleted|It’s being deleted|deleted, can’t be recovered|It was released/,
      );
    }
    expect(expiring).toMatch(/past its grace period, possibly deleted[\s\S]*Check the domain service/);
    expect(expiring).not.toMatch(DELETED);
  });
});

describe('a name with a known deletion', () => {
  test.each([
    [46, 1, /It was deleted\.\* Only a paid restore/, 'restore by'],
    [80, 33, /It’s being deleted\.\* It can’t be recovered/, 'can’t be recovered'],
  ])('is called deleted %s days after expiry, %s after deletion', (daysAgo, deletedDaysAgo, said, toDo) => {
    const { name, expiring, rules } = renderViews(newExpired(daysAgo, deletedDaysAgo));
    for (const text of [name, rules]) expect(text).toMatch(said);
    expect(expiring).toContain(toDo);
  });

  test('can be restored, but not renewed, in a zone without documented periods', () => {
    const { name, expiring, rules } = renderViews(newExpired(10, 2, 'cafe.example'));
    for (const text of [name, rules])
      expect(text).toMatch(/Only a paid restore.*zone doesn’t document the deadline/);
    expect(expiring).toContain('so restore it now');
    expect([name, expiring].join()).not.toMatch(/\b[Rr]enew\b/);
  });
});
