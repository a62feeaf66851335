import { afterEach, beforeEach, expect, test } from 'vitest';
import { shiftDay } from '../../src/expiry/days.ts';
import { askOwners, asksOwner } from '../../src/expiry/owner-question.ts';
import type { WatchedDomain } from '../../src/expiry/ports.ts';
import { endOf, ownerAnswer } from '../../src/names/portfolio.ts';
import { Prisma } from '../../src/store/database.ts';
import { createPortfolioStore } from '../../src/store/portfolio.ts';
import { DAY_MS, nineInBerlin, Rig } from '../expiry/rig.ts';
import { answerQuestion, edit, requestLapse } from '../support/unprotected.ts';

/*
 * A year of 200 names, 12 owners and four departures, on the real stores with a clock set by hand.
 */

const NAMES = 200;
const PEOPLE = Array.from({ length: 12 }, (_, index) => `U0PERSON${index}`);
const START = '2027-01-04';
/** Departures by day. Others take over the names a week later. */
const DEPARTURES = new Map([
  [60, 'U0PERSON1'],
  [150, 'U0PERSON4'],
  [151, 'U0PERSON5'],
  [300, 'U0PERSON9'],
]);
const NOTICED_AFTER = 7;

const expiresIn = (index: number) => 5 + ((index * 37) % 390);

let rig: Rig;
beforeEach(async () => {
  rig = await Rig.start();
});
afterEach(() => rig.stop());

/** A repeatable mix of people and answers. */
function pick(seed: string, of: number): number {
  let hash = 7;
  for (const letter of seed) hash = (hash * 31 + letter.charCodeAt(0)) % 1_000_003;
  return hash % of;
}

test('in a year no name is without an owner or a question, and nobody is asked twice', async () => {
  const portfolio = createPortfolioStore(rig.database, 'T0TEAM');
  const deps = { store: rig.store, portfolio, now: () => rig.now };
  rig.now = nineInBerlin(START);
  const names = Array.from({ length: NAMES }, (_, index) => `n${index}.rest`);
  await rig.store.importBatch(
    names.map((name, index) => ({
      name,
      expiresAt: new Date(rig.now.getTime() + expiresIn(index) * DAY_MS),
    })),
    'U0ADMIN',
    rig.now,
  );
  await edit(
    portfolio,
    new Map(names.map((name, index) => [name, { owner: PEOPLE[index % PEOPLE.length] ?? '' }])),
    'U0ADMIN',
    rig.now,
  );
  const left = new Set<string>();
  const living = (seed: string) => {
    const here = PEOPLE.filter((person) => !left.has(person));
    return here[pick(seed, here.length)] ?? '';
  };
  const asked = new Set<string>();
  const messages: string[] = [];
  const problems: string[] = [];

  /** Most owners keep a name, some hand it over or let it lapse, some never answer. */
  const answer = async ({ name, owner: by = '' }: WatchedDomain) => {
    const choice = pick(`${name} ${rig.now.toISOString()}`, 10);
    if (choice < 6) await answerQuestion(deps, { name, by }, { kind: 'name_kept' });
    if (choice === 6) {
      const to = living(`${name} to`);
      if (to !== by) await answerQuestion(deps, { name, by }, { kind: 'name_handed_over', to });
    }
    if (choice === 7) await requestLapse(deps, name, by, 'not needed');
  };

  const readMessages = async () => {
    const today = rig.now.toISOString().slice(0, 10);
    const plans = await rig.database.prisma.notification.findMany({
      where: { subjectKind: 'owner_question', purpose: 'plan', dueAt: rig.now },
    });
    for (const { subjectId } of plans.filter((each) => each.version === 1)) {
      const [owner = ''] = subjectId.split(' ');
      messages.push(`${owner} ${today}`);
      if (left.has(owner)) problems.push(`${owner} was asked after leaving`);
      for (const domain of await rig.reminders.askedIn(subjectId)) {
        const question = `${domain.name} ${domain.question?.expiry} ${owner}`;
        if (asked.has(question)) problems.push(`asked twice: ${question}`);
        asked.add(question);
        await answer(domain);
      }
    }
  };

  const check = async (day: number) => {
    const schedule = { now: rig.now, thresholds: rig.settings.reminderDays, timeZone: 'Europe/Berlin' };
    const domains = await rig.store.findMany(names);
    const codes = domains.map((domain) => ownerAnswer(domain, endOf(domain))?.code);
    const ownerless = codes.filter((code) => code === undefined || code === 'left').length;
    const counted = await rig.store.countOwnerless();
    return [
      ...domains.flatMap((domain, index) =>
        codes[index] !== 'left' && left.has(domain.owner ?? '') ? `${domain.name} has a departed owner` : [],
      ),
      ...domains
        .filter((each) => asksOwner(each, schedule))
        .filter(({ owner }) => !messages.includes(`${owner} ${shiftDay(START, day)}`))
        .map(({ name }) => `${name} has no question on day ${day}`),
      ...(ownerless === counted.none + counted.left ? [] : [`day ${day}: ${ownerless} names uncounted`]),
    ];
  };

  for (let day = 0; day < 365; day += 1) {
    rig.now = nineInBerlin(shiftDay(START, day));
    const leaver = DEPARTURES.get(day);
    if (leaver !== undefined) {
      left.add(leaver);
      await portfolio.ownerLeft(leaver, rig.now);
    }
    const orphaned = DEPARTURES.get(day - NOTICED_AFTER);
    if (orphaned !== undefined) {
      const theirs = (await rig.store.findMany(names)).filter(({ owner }) => owner === orphaned);
      const edits = new Map(theirs.map(({ name }) => [name, { owner: living(name) }]));
      await edit(portfolio, edits, 'U0ADMIN', rig.now);
    }

    const settings = { settings: async () => rig.settings, reminders: rig.reminders, now: () => rig.now };
    await Promise.all(day % 10 === 0 ? [askOwners(settings), askOwners(settings)] : [askOwners(settings)]);
    await readMessages();

    if (day % 7 === 0) problems.push(...(await check(day)));
    // Every name is renewed on its last day, whatever was answered.
    await rig.database.run(Prisma.sql`
      UPDATE domains SET expires_at = expires_at + interval '365 days', lapse_reason = NULL, lapse_requested_by = NULL
      WHERE expires_at < ${new Date(rig.now.getTime() + DAY_MS)}::timestamptz`);
  }

  expect(problems).toEqual([]);
  expect(messages, 'at most one message a day').toEqual([...new Set(messages)]);
  expect(asked.size).toBeGreaterThan(NAMES * 0.8);
  expect(await rig.store.countOwnerless()).toEqual({ none: 0, left: 0 });
});
