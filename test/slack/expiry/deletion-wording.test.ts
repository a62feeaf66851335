import { describe, expect, test } from 'vitest';
import { shiftDay } from '../../../src/expiry/days.ts';
import { findDeadline } from '../../../src/expiry/deadline.ts';
import type { ListedName } from '../../../src/expiry/expiry.ts';
import { createWatchedDomain } from '../../../src/expiry/newly-watched.ts';
import { expiringMessage } from '../../../src/slack/expiry/expiring.view.ts';
import { visibleText } from '../../../src/slack/kit/blocks.ts';
import { nameScreen } from '../../../src/slack/names/name.view.ts';
import { rulesMessage } from '../../../src/slack/names/rules.view.ts';
import { computeLifecycle, isDeletionAssumed } from '../../../src/zones/lifecycle.ts';
import { findZoneProfile } from '../../../src/zones/rules.ts';

/* A name is only called deleted if its deletion is known, everywhere. */

const NOW = new Date('2027-06-14T09:00:00Z');
const TODAY = '2027-06-14';
const DAY_MS = 86_400_000;

/** A watched name that expired some days ago. */
function expired(daysAgo: number, deletedDaysAgo?: number, name = 'cafe.rest'): ListedName {
  const at = new Date(NOW.getTime() - daysAgo * DAY_MS);
  const deletedAt =
    deletedDaysAgo === undefined ? undefined : new Date(NOW.getTime() - deletedDaysAgo * DAY_MS);
  const expiryDay = shiftDay(TODAY, -daysAgo);
  const life = computeLifecycle(findZoneProfile(name), { expiresAt: at, deletedAt }, NOW);
  const facts = { ...life.current, isDeletionAssumed: isDeletionAssumed(life) };
  return {
    domain: { ...createWatchedDomain(name, 'U0ALICE', NOW), expiry: { at, source: 'rdap' }, deletedAt },
    day: expiryDay,
    daysLeft: -daysAgo,
    deadline: findDeadline({ ...facts, expiryDay, daysLeft: -daysAgo }),
  };
}

/** The texts about a name, by their place. */
function shown(listed: ListedName): Readonly<Record<'name' | 'expiring' | 'rules', string>> {
  const { name, expiry, deletedAt } = listed.domain;
  if (expiry === undefined || listed.day === undefined) throw new Error('it has a date');
  const dates = { expiresAt: expiry.at, source: expiry.source, expiryDay: listed.day, deletedAt };
  const screen = {
    ...{
      name,
      listed,
      orders: [],
      visibleOrderIds: new Set<string>(),
      incidents: [],
      pendingChangeBlocks: [],
      assessment: { findings: [], unseen: [] },
      hasService: true,
      renewWithinDays: 60,
      waitingSteps: [],
      today: TODAY,
    },
    knownName: { history: {}, knownChanges: [], isFirstLookup: false },
  };
  const ruled = { name, issues: [], dates, transferLock: undefined };
  const page = { names: [listed], deleted: 0, dated: 1, undated: 0 };
  return {
    name: visibleText(nameScreen(screen).blocks),
    expiring: visibleText(
      expiringMessage(page, { days: 90, offset: 0, now: NOW }, () => [], new Map(), {
        hasService: true,
        isAtOtherRegistrar: () => false,
      }).blocks,
    ),
    rules: visibleText(
      rulesMessage(findZoneProfile(name), 'rest', ruled, { now: NOW, timeZone: 'UTC' }).blocks,
    ),
  };
}

const DELETED =
  /It was deleted|It’s being deleted|deleted, can’t be recovered|It was released|\brestore\b(?! \(|.*possible)/;

describe('without a known deletion', () => {
  test.each([46, 76, 100])('%s days after the expiry', (daysAgo) => {
    const { name, expiring, rules } = shown(expired(daysAgo));
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

describe('with a known deletion', () => {
  test.each([
    [46, 1, /It was deleted\.\* Only a paid restore/, 'restore by'],
    [80, 33, /It’s being deleted\.\* It can’t be recovered/, 'can’t be recovered'],
  ])('%s days after the expiry, %s after it', (daysAgo, deletedDaysAgo, said, toDo) => {
    const { name, expiring, rules } = shown(expired(daysAgo, deletedDaysAgo));
    for (const text of [name, rules]) expect(text).toMatch(said);
    expect(expiring).toContain(toDo);
  });

  test('in a zone without documented periods nobody is asked to renew', () => {
    const { name, expiring, rules } = shown(expired(10, 2, 'cafe.example'));
    for (const text of [name, rules])
      expect(text).toMatch(/Only a paid restore.*zone doesn’t document the deadline/);
    expect(expiring).toContain('restore now');
    expect([name, expiring].join()).not.toMatch(/\b[Rr]enew\b/);
  });
});
