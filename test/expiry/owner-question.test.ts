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

function createOwnedName(days: number, overrides: Partial<WatchedDomain> = {}): WatchedDomain {
  const expiry = { at: inDays(days), source: 'rdap' } as const;
  return { ...createWatchedDomain('cafe.rest', 'U0ALICE', NOW), expiry, owner: 'U0CAROL', ...overrides };
}
const question = { owner: 'U0CAROL', expiry: dayIn(20), at: NOW, subject: 'U0CAROL 2027-06-14' };
const keptQuestion = { ...question, kept: { by: 'U0CAROL', at: NOW } };
const lapse = { reason: 'old', requestedBy: 'U0CAROL', confirmed: undefined };

describe('an owner is asked', () => {
  test.each<[what: string, name: WatchedDomain, isAsked: boolean]>([
    ['from the first threshold on', createOwnedName(30), true],
    ['not before it', createOwnedName(31), false],
    ['about a name that is added later', createOwnedName(2), true],
    ['about an expired name that can be saved', createOwnedName(-3), true],
    ['not about a name that can’t be saved', createOwnedName(-100), false],
    ['not about a deleted name', createOwnedName(20, { deletedAt: inDays(-1) }), false],
    [
      'not about a renewed name',
      createOwnedName(20, { unpublishedRenewal: { until: inDays(385), at: NOW } }),
      false,
    ],
    ['not without an owner', createOwnedName(20, { owner: undefined }), false],
    ['not after leaving the workspace', createOwnedName(20, { ownerLeftAt: NOW }), false],
    ['not twice for one expiry', createOwnedName(20, { question }), false],
    ['not if the expiry date changes by a few days', createOwnedName(22, { question }), false],
    ['again a year later', createOwnedName(20, { question: { ...keptQuestion, expiry: dayIn(-345) } }), true],
    ['if the name changed hands without an answer', createOwnedName(20, { question, owner: 'U0BOB' }), true],
    [
      'not if the former owner kept the name',
      createOwnedName(20, { question: keptQuestion, owner: 'U0BOB' }),
      false,
    ],
    ['not if the owner asked to let it lapse', createOwnedName(20, { lapse }), false],
    [
      'if another person requested a lapse',
      createOwnedName(20, { lapse: { ...lapse, requestedBy: 'U0BOB' } }),
      true,
    ],
  ])('%s', (_what, name, isAsked) => {
    expect(needsOwnerQuestion(name, SCHEDULE)).toBe(isAsked);
  });
});

test.each<[code: string | undefined, name: WatchedDomain]>([
  [undefined, createOwnedName(20, { owner: undefined })],
  ['unasked', createOwnedName(20)],
  ['open', createOwnedName(20, { question })],
  ['keep', createOwnedName(20, { question: keptQuestion })],
  ['left', createOwnedName(20, { question: keptQuestion, ownerLeftAt: NOW })],
  ['lapse', createOwnedName(20, { question, lapse })],
  ['unasked', createOwnedName(385, { question: keptQuestion })],
])('the owner’s answer is “%s” (case %#)', (code, name) => {
  expect(getOwnerAnswer(name, getExpiry(name))?.code).toBe(code);
});

test.each([
  [14, true],
  [30, false],
])(
  'a question asked 20 days before the expiry is unanswered at threshold %i: %s',
  (threshold, isUnanswered) => {
    const name = { ...createOwnedName(20, { question }), source: 'rdap' } as const;
    expect(isQuestionUnanswered(name, { end: inDays(20), threshold }, SCHEDULE)).toBe(isUnanswered);
    const answered = { ...name, question: keptQuestion };
    expect(isQuestionUnanswered(answered, { end: inDays(20), threshold }, SCHEDULE)).toBe(false);
  },
);

test('a question asked on the day of a threshold is unanswered only at the next threshold', () => {
  const name = {
    ...createOwnedName(14, { question: { ...question, expiry: dayIn(14) } }),
    source: 'rdap',
  } as const;
  const isUnansweredAt = (threshold: number) =>
    isQuestionUnanswered(name, { end: inDays(14), threshold }, SCHEDULE);
  expect([isUnansweredAt(14), isUnansweredAt(7)]).toEqual([false, true]);
});

describe('owners', () => {
  const settings = newTeamSettings({ reminderDays: [30, 14, 7] });
  /** A store that records questions. */
  function createStore(known: readonly WatchedDomain[], isComplete = false) {
    const asked: NewQuestions[] = [];
    const reminders = {
      listUnaskedNames: async (_day: string, from: Date, until: Date) =>
        known.filter(({ expiry }) => expiry !== undefined && expiry.at >= from && expiry.at <= until),
      queueQuestions: async (questions: NewQuestions) => {
        asked.push(questions);
      },
      isDigestComplete: async () => isComplete,
    };
    return { asked, reminders };
  }

  test('are asked about all names from the first threshold until they can’t be saved', async () => {
    const days = [31, 30, -3, -70];
    const { asked, reminders } = createStore(
      days.map((each) => createOwnedName(each, { name: `n${each}.rest` })),
    );
    await askOwners(reminders, settings, NOW);
    expect(asked.map(({ owner, subject, expiryDays }) => [owner, subject, [...expiryDays.keys()]])).toEqual([
      ['U0CAROL', 'U0CAROL 2027-06-14', ['n30.rest', 'n-3.rest', 'n-70.rest']],
    ]);
  });

  test.each([
    ['are asked without a channel', undefined, false, 1],
    ['aren’t asked before the digest is complete', 'C0EXPIRY', false, 0],
    ['are asked after the digest', 'C0EXPIRY', true, 1],
  ])('%s, between digests', async (_when, reminderChannel, isComplete, count) => {
    const { asked, reminders } = createStore([createOwnedName(20)], isComplete);
    const team = { ...settings, reminderChannel };
    await askBetweenDigests({ settings: async () => team, reminders, now: () => NOW });
    expect(asked).toHaveLength(count);
  });
});

describe('an answer', () => {
  test.each<[what: string, name: WatchedDomain, by: string, code: string | undefined]>([
    ['is accepted from the owner', createOwnedName(20, { question }), 'U0CAROL', undefined],
    ['is refused from another person', createOwnedName(20, { question }), 'U0BOB', 'not_owner'],
    [
      'is refused after the owner kept the name',
      createOwnedName(20, { question: keptQuestion }),
      'U0CAROL',
      'already_kept',
    ],
    ['is refused after the renewal', createOwnedName(385, { question }), 'U0CAROL', 'question_closed'],
    [
      'is refused after the lapse was confirmed',
      createOwnedName(20, { question, lapse: { ...lapse, confirmed: { by: 'U0BOB', at: NOW } } }),
      'U0CAROL',
      'lapse_decided',
    ],
  ])('%s', (_what, name, by, code) => {
    expect(checkAnswer(name, by, 'name_kept')?.code).toBe(code);
  });

  test('can hand the name over after keeping it', () => {
    expect(
      checkAnswer(createOwnedName(20, { question: keptQuestion }), 'U0CAROL', 'name_handed_over'),
    ).toBeUndefined();
  });
});
