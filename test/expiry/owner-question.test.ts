import { describe, expect, test } from 'vitest';
import { createWatchedDomain } from '../../src/expiry/newly-watched.ts';
import {
  askBetweenDigests,
  askOwners,
  checkAnswer,
  isQuestionUnanswered,
  needsOwnerQuestion,
} from '../../src/expiry/owner-question.ts';
import type { NewQuestions, WatchedDomain } from '../../src/expiry/ports.ts';
import { getExpiry, getOwnerAnswer } from '../../src/names/portfolio.ts';
import { newTeamSettings } from '../support/settings.ts';

const NOW = new Date('2027-06-14T09:00:00Z');
const DAY_MS = 86_400_000;
const SCHEDULE = { now: NOW, thresholds: [30, 14, 7], timeZone: 'UTC' };
const inDays = (days: number) => new Date(NOW.getTime() + days * DAY_MS);
const dayIn = (days: number) => inDays(days).toISOString().slice(0, 10);

function owned(days: number, more: Partial<WatchedDomain> = {}): WatchedDomain {
  const expiry = { at: inDays(days), source: 'rdap' } as const;
  return { ...createWatchedDomain('cafe.rest', 'U0ALICE', NOW), expiry, owner: 'U0CAROL', ...more };
}
const question = { owner: 'U0CAROL', expiry: dayIn(20), at: NOW, subject: 'U0CAROL 2027-06-14' };
const kept = { ...question, kept: { by: 'U0CAROL', at: NOW } };
const lapse = { reason: 'old', requestedBy: 'U0CAROL', confirmed: undefined };

describe('an owner is asked', () => {
  test.each<[what: string, name: WatchedDomain, isAsked: boolean]>([
    ['from the first threshold on', owned(30), true],
    ['not before it', owned(31), false],
    ['about a name that is added later', owned(2), true],
    ['about an expired name that can be saved', owned(-3), true],
    ['not about a name that can’t be saved', owned(-100), false],
    ['not about a deleted name', owned(20, { deletedAt: inDays(-1) }), false],
    ['not about a renewed name', owned(20, { renewed: { until: inDays(385), at: NOW } }), false],
    ['not without an owner', owned(20, { owner: undefined }), false],
    ['not after leaving the workspace', owned(20, { ownerLeftAt: NOW }), false],
    ['not twice for one expiry', owned(20, { question }), false],
    ['not if the expiry date changes by a few days', owned(22, { question }), false],
    ['again a year later', owned(20, { question: { ...kept, expiry: dayIn(-345) } }), true],
    ['if the name changed hands without an answer', owned(20, { question, owner: 'U0BOB' }), true],
    ['not if the former owner kept the name', owned(20, { question: kept, owner: 'U0BOB' }), false],
    ['not if the owner asked to let it lapse', owned(20, { lapse }), false],
    ['if another person requested a lapse', owned(20, { lapse: { ...lapse, requestedBy: 'U0BOB' } }), true],
  ])('%s', (_what, name, isAsked) => {
    expect(needsOwnerQuestion(name, SCHEDULE)).toBe(isAsked);
  });
});

test.each<[code: string | undefined, name: WatchedDomain]>([
  [undefined, owned(20, { owner: undefined })],
  ['unasked', owned(20)],
  ['open', owned(20, { question })],
  ['keep', owned(20, { question: kept })],
  ['left', owned(20, { question: kept, ownerLeftAt: NOW })],
  ['lapse', owned(20, { question, lapse })],
  ['unasked', owned(385, { question: kept })],
])('the owner’s answer is “%s” (case %#)', (code, name) => {
  expect(getOwnerAnswer(name, getExpiry(name))?.code).toBe(code);
});

test.each([
  [14, true],
  [30, false],
])('a question at 20 days counts as unanswered at threshold %i: %s', (threshold, isOpen) => {
  const name = { ...owned(20, { question }), source: 'rdap' } as const;
  expect(isQuestionUnanswered(name, { end: inDays(20), threshold }, SCHEDULE)).toBe(isOpen);
  const answered = { ...name, question: kept };
  expect(isQuestionUnanswered(answered, { end: inDays(20), threshold }, SCHEDULE)).toBe(false);
});

test('a question on the day of a threshold counts as unanswered only at the next one', () => {
  const name = { ...owned(14, { question: { ...question, expiry: dayIn(14) } }), source: 'rdap' } as const;
  const at = (threshold: number) => isQuestionUnanswered(name, { end: inDays(14), threshold }, SCHEDULE);
  expect([at(14), at(7)]).toEqual([false, true]);
});

describe('owners', () => {
  const settings = newTeamSettings({ reminderDays: [30, 14, 7] });
  /** A store that records questions. */
  function createStore(known: readonly WatchedDomain[], isComplete = false) {
    const asked: NewQuestions[] = [];
    const reminders = {
      listUnasked: async (_day: string, from: Date, until: Date) =>
        known.filter(({ expiry }) => expiry !== undefined && expiry.at >= from && expiry.at <= until),
      queueQuestions: async (questions: NewQuestions) => {
        asked.push(questions);
      },
      isComplete: async () => isComplete,
    };
    return { asked, reminders };
  }

  test('are asked about all names from the first threshold until they can’t be saved', async () => {
    const days = [31, 30, -3, -70];
    const { asked, reminders } = createStore(days.map((each) => owned(each, { name: `n${each}.rest` })));
    await askOwners(reminders, settings, NOW);
    expect(asked.map(({ owner, subject, names }) => [owner, subject, [...names.keys()]])).toEqual([
      ['U0CAROL', 'U0CAROL 2027-06-14', ['n30.rest', 'n-3.rest', 'n-70.rest']],
    ]);
  });

  test.each([
    ['are asked without a channel', undefined, false, 1],
    ['aren’t asked before the digest is complete', 'C0EXPIRY', false, 0],
    ['are asked after the digest', 'C0EXPIRY', true, 1],
  ])('%s, between digests', async (_when, reminderChannel, isComplete, count) => {
    const { asked, reminders } = createStore([owned(20)], isComplete);
    const team = { ...settings, reminderChannel };
    await askBetweenDigests({ settings: async () => team, reminders, now: () => NOW });
    expect(asked).toHaveLength(count);
  });
});

describe('an answer', () => {
  test.each<[what: string, name: WatchedDomain, by: string, code: string | undefined]>([
    ['is accepted from the owner', owned(20, { question }), 'U0CAROL', undefined],
    ['is refused from another person', owned(20, { question }), 'U0BOB', 'not_owner'],
    ['is refused after the owner kept the name', owned(20, { question: kept }), 'U0CAROL', 'already_kept'],
    ['is refused after the renewal', owned(385, { question }), 'U0CAROL', 'question_closed'],
    [
      'is refused after the lapse was confirmed',
      owned(20, { question, lapse: { ...lapse, confirmed: { by: 'U0BOB', at: NOW } } }),
      'U0CAROL',
      'lapse_decided',
    ],
  ])('%s', (_what, name, by, code) => {
    expect(checkAnswer(name, by, 'name_kept')?.code).toBe(code);
  });

  test('can hand the name over after keeping it', () => {
    expect(checkAnswer(owned(20, { question: kept }), 'U0CAROL', 'name_handed_over')).toBeUndefined();
  });
});
