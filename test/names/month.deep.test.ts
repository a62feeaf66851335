import { expect, test } from 'vitest';
import { type Facts, seen, unseen } from '../../src/names/facts.ts';
import { mergeMajority, mergeObservation, type NameHistory } from '../../src/names/history.ts';
import { afterLookup, type Incident } from '../../src/names/incident.ts';
import { findMajority, isNewSighting } from '../../src/names/parent-delegation.ts';
import { explainChanges, type KnownChange } from '../../src/names/unexplained-changes.ts';
import { seeded } from '../support/seeded.ts';

/*
 * A month of 300 guarded names by the minute and 6,000 others by the day, through the pure functions: flaps, servers
 * that lag, refuse, are poisoned or silent, and 50 thefts. All thefts are found, and nothing else.
 */

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const MONTH_MINUTES = 30 * 24 * 60;
const GUARDED = 300;
const OTHERS = 6_000;
const REAL_GUARDED = 35;
const REAL_OTHERS = 15;
const SERVERS = 5;
const START = Date.UTC(2026, 10, 1);
const random = seeded(40);
const upTo = (limit: number) => Math.floor(random() * limit);
const said = (hosts: string): Facts => ({ parent_nameservers: seen(hosts.split(' ')), ds: seen([]) });
const OURS = said('ns1.host.example ns2.host.example');
const ROTATED = said('ns2.host.example ns1.host.example');
const THIEF = said('ns1.thief.example');
const REFUSED: Facts = { parent_nameservers: unseen('refused'), ds: unseen('refused') };

/** One name, as the product stores it. */
class Name {
  history: NameHistory = {};
  known: readonly KnownChange[] = [];
  incident: Incident | undefined;
  foundAt: number | undefined;

  keep(facts: Facts, ms: number, merge: typeof mergeObservation): void {
    const merged = merge(this.history, { name: 'x.rest', at: new Date(ms), facts });
    const { changes, history } = merged;
    const done = explainChanges({ changes, history, orders: [], knownChanges: this.known });
    this.history = history;
    this.known = done.knownChanges;
    const { unexplained } = done;
    const update = afterLookup(this.incident === undefined ? [] : [this.incident], {
      name: 'x.rest',
      unexplained,
      history,
      at: new Date(ms),
    });
    if (update !== undefined && update.added.length > 0) this.foundAt ??= ms;
    this.incident = update?.after ?? this.incident;
  }
}

/** Disturbances of one minute, by a name's own random numbers; none of them is a theft. */
function disturbed(answers: Facts[]): Facts[] {
  const draw = random();
  const at = upTo(SERVERS);
  const replaced = (facts: Facts) => answers.map((answer, n) => (n === at ? facts : answer));
  if (draw < 0.3) return replaced(THIEF);
  if (draw < 0.5) return replaced(REFUSED);
  if (draw < 0.6) return answers.map(() => REFUSED);
  if (draw < 0.7) return answers.map(() => THIEF);
  return answers.map(() => ROTATED);
}

test('finds 50 thefts in a month, by the minute and by the day, and nothing else', () => {
  const delays: number[] = [];
  let falseOnes = 0;
  let asked = 0;
  for (let n = 0; n < GUARDED; n += 1) {
    const name = new Name();
    const offset = upTo(MINUTE);
    const stolenAt = n < REAL_GUARDED ? START + upTo(29 * DAY) : Number.POSITIVE_INFINITY;
    const lag = Array.from({ length: SERVERS }, () => upTo(20_000));
    for (let minute = 0; minute < MONTH_MINUTES; minute += 1) {
      const ms = START + offset + minute * MINUTE;
      const truth = lag.map((late) => (ms >= stolenAt + late ? THIEF : OURS));
      // A flap lasts one minute; after a theft there are no disturbances, so that detection times can be compared.
      const answers = ms < stolenAt && minute > 0 && random() < 0.001 ? disturbed(truth) : truth;
      asked += 1;
      const first = answers[minute % SERVERS] ?? OURS;
      if (!isNewSighting(name.history, first)) continue;
      const facts = findMajority(answers);
      if (isNewSighting(name.history, facts)) name.keep(facts, ms, mergeMajority);
      if (name.foundAt !== undefined) break;
    }
    if (name.foundAt === undefined) continue;
    if (name.foundAt < stolenAt) falseOnes += 1;
    else delays.push(name.foundAt - stolenAt);
  }
  const byTheMinute = delays.toSorted((a, b) => a - b);
  const daily: number[] = [];
  for (let n = 0; n < OTHERS; n += 1) {
    const name = new Name();
    const offset = upTo(DAY);
    const stolenAt = n < REAL_OTHERS ? START + DAY + upTo(26 * DAY) : Number.POSITIVE_INFINITY;
    for (let ms = START + offset; ms < START + 30 * DAY && name.foundAt === undefined; ms += DAY) {
      const truth = ms >= stolenAt ? THIEF : OURS;
      // The first value counts at once.
      const draw = ms < stolenAt && name.history.ds !== undefined ? random() : 1;
      name.keep(
        draw < 0.01 ? THIEF : draw < 0.03 ? REFUSED : draw < 0.1 ? ROTATED : truth,
        ms,
        mergeObservation,
      );
      // A value that was seen once is looked up again after half an hour.
      if (name.history.parent_nameservers?.candidate !== undefined)
        name.keep(truth, ms + 30 * MINUTE, mergeObservation);
    }
    if (name.foundAt === undefined) continue;
    if (name.foundAt < stolenAt) falseOnes += 1;
    else daily.push(name.foundAt - stolenAt);
  }
  const table = [
    `guarded: ${byTheMinute.length} of ${REAL_GUARDED}, median ${(byTheMinute[17] ?? 0) / 1_000} s, most ${(byTheMinute.at(-1) ?? 0) / 1_000} s`,
    `others: ${daily.length} of ${REAL_OTHERS}, most ${(Math.max(...daily) / 3_600_000).toFixed(1)} h`,
    `false: ${falseOnes}; questions by the minute: ${asked}`,
  ].join('\n');
  expect([byTheMinute.length, daily.length, falseOnes], table).toEqual([REAL_GUARDED, REAL_OTHERS, 0]);
  expect(byTheMinute.at(-1), table).toBeLessThan(3 * MINUTE);
  expect(Math.max(...daily), table).toBeLessThan(25 * 3_600_000);
}, 120_000);
