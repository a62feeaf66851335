import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { collectDueReminders } from '../../src/expiry/digest.ts';
import { createWatchedDomain } from '../../src/expiry/newly-watched.ts';
import type { ReminderKey, WatchedDomain } from '../../src/expiry/ports.ts';
import { getUtcDay } from '../../src/zones/calendar-day.ts';
import fc from '../support/properties.ts';
import { DAY_MS, Rig } from './rig.ts';

/*
 * Due names are found by the column `reminded_threshold`, not by reading reminders. The column must be the
 * tightest threshold of the reminders for the current expiry.
 */

const NAMES = ['bistro.rest', 'cafe.rest'] as const;
const THRESHOLDS = [60, 30, 7, -1];
let rig: Rig;

beforeAll(async () => {
  rig = await Rig.start();
});

afterAll(async () => {
  await rig?.stop();
});

beforeEach(async () => {
  await rig.database.prisma.domain.deleteMany();
  await rig.database.prisma.reminder.deleteMany();
  await rig.database.prisma.notification.deleteMany();
});

const dayAt = (days: number) => new Date(Date.parse('2027-07-01T12:00:00Z') + days * DAY_MS);

async function updateName(name: string, update: (known: WatchedDomain) => WatchedDomain): Promise<void> {
  const known = await rig.store.find(name);
  if (known !== undefined) expect(await rig.store.change(known, update(known))).toBe(true);
}

const setExpiry = (name: string, days: number | undefined) =>
  updateName(name, (known) => ({
    ...known,
    expiry: days === undefined ? undefined : { at: dayAt(days), source: 'person' },
  }));

let unfinishedDigest: string | undefined;

/** Claims a reminder for a name's current expiry in a new digest, and posts it if requested. */
async function claimReminder(name: string, threshold: number, isPosted: boolean): Promise<void> {
  const known = await rig.store.find(name);
  if (known?.expiry === undefined) return;
  if (unfinishedDigest !== undefined) await rig.reminders.releaseClaims(unfinishedDigest);
  const digestId = await openNextDigest();
  unfinishedDigest = digestId;
  const keys = [{ name, expiry: getUtcDay(known.expiry.at), threshold }];
  await claim(digestId, keys);
  if (isPosted) {
    const purpose = ':1';
    await rig.reminders.assign(digestId, purpose, await rig.reminders.listPlannedReminders(digestId));
    await rig.notifications.recordPosted(
      { kind: 'digest', id: digestId },
      { purpose, shownVersion: 'once', channelId: 'C0EXPIRY', ts: '1.0' },
    );
  }
}

/** Opens the digest of the next morning. */
async function openNextDigest(): Promise<string> {
  // The first check of the schedule only records the time.
  for (let morning = 0; morning < 2; morning += 1) {
    rig.advanceToNextMorning();
    await rig.reminders.openDigest(rig.now.toISOString(), rig.now);
  }
  return rig.now.toISOString();
}

function claim(digestId: string, keys: readonly ReminderKey[]): Promise<number> {
  const claims = keys.map((key) => ({
    ...{ ...key, destination: '', purpose: '', isCopied: false, lastReminderPhase: undefined },
  }));
  return rig.reminders.claim(digestId, claims, rig.now);
}

/** Lists the names whose column doesn't match their reminders. */
async function listMismatches(): Promise<string[]> {
  const { prisma } = rig.database;
  const reminders = await prisma.reminder.findMany();
  return (await prisma.domain.findMany()).flatMap(({ name, expiresAt, remindedThreshold }) => {
    const current = reminders.filter(
      (each) =>
        each.name === name && expiresAt !== null && getUtcDay(each.expiresAt) === getUtcDay(expiresAt),
    );
    const tightest = Math.min(2_147_483_647, ...current.map(({ threshold }) => threshold));
    return expiresAt === null || remindedThreshold === tightest
      ? []
      : [`${name}: the column is ${remindedThreshold}, by its reminders it is ${tightest}`];
  });
}

test('a complete digest claims nothing, because its claims would never be posted', async () => {
  await rig.store.add({
    ...createWatchedDomain('cafe.rest', 'U0ALICE', rig.now),
    expiry: { at: dayAt(0), source: 'person' },
  });
  const keys = [{ name: 'cafe.rest', expiry: getUtcDay(dayAt(0)), threshold: 30 }];
  const completeDigest = await openNextDigest();
  const completeSubject = await rig.notifications.loadSubject({ kind: 'digest', id: completeDigest });
  if (completeSubject === undefined) throw new Error('the digest does not exist');
  await rig.notifications.release(completeSubject, {
    updatedMessages: [],
    repeatAt: undefined,
    isComplete: true,
  });
  const nextDigest = await openNextDigest();
  expect(await claim(completeDigest, keys)).toBe(0);
  expect(await claim(nextDigest, keys)).toBe(1);
});

const name = fc.constantFrom(...NAMES);
/** A move by less than a month keeps the expiry; a longer one makes it a new expiry. */
const days = fc.constantFrom(0, 1, 10, 365, 366);
const step = fc.oneof(
  fc.record({
    what: fc.constant('remind' as const),
    name,
    threshold: fc.constantFrom(...THRESHOLDS),
    posts: fc.boolean(),
  }),
  fc.record({ what: fc.constant('move' as const), name, days: fc.option(days, { nil: undefined }) }),
  fc.record({ what: fc.constant('import' as const), name, days }),
  fc.record({ what: fc.constant('remove' as const), name }),
  fc.record({ what: fc.constant('add' as const), name, days }),
);

test('the column matches the reminders after any sequence of changes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 20 }), async (steps) => {
      for (const each of NAMES) await rig.watch(each, 30);
      for (const currentStep of steps) {
        switch (currentStep.what) {
          case 'remind':
            await claimReminder(currentStep.name, currentStep.threshold, currentStep.posts);
            break;
          case 'move':
            await setExpiry(currentStep.name, currentStep.days);
            break;
          case 'import':
            await rig.store.importBatch(
              [{ name: currentStep.name, expiresAt: dayAt(currentStep.days) }],
              'U0BOB',
              rig.now,
            );
            break;
          case 'remove':
            await rig.unwatch(currentStep.name);
            break;
          case 'add':
            await rig.watch(currentStep.name, 0, {
              expiry: { at: dayAt(currentStep.days), source: 'person' },
            });
        }
        expect(await listMismatches(), `after: ${JSON.stringify(currentStep)}`).toEqual([]);
      }
    }),
    { numRuns: 25 },
  );
});

test.each([
  [
    'changes and is changed back',
    async () => {
      await setExpiry('cafe.rest', 400);
      await setExpiry('cafe.rest', 0);
    },
  ],
  [
    'is cleared and set again',
    async () => {
      await setExpiry('cafe.rest', undefined);
      await setExpiry('cafe.rest', 0);
    },
  ],
  [
    'is imported again after the name was removed',
    async () => {
      await rig.unwatch('cafe.rest');
      await rig.store.importBatch([{ name: 'cafe.rest', expiresAt: dayAt(0) }], 'U0BOB', rig.now);
    },
  ],
])('nothing is due again for a date that %s', async (_what, changeDate) => {
  rig.now = dayAt(-30);
  await rig.watch('cafe.rest', 0, { expiry: { at: dayAt(0), source: 'person' } });
  await rig.runDigest();
  rig.advanceToNextMorning();
  expect(await rig.runDigest()).toBe('posted');
  await changeDate();
  const { reminderDays: thresholds, reminderTimezone: timeZone } = rig.settings;
  const { due } = await collectDueReminders(rig.reminders, { now: rig.now, thresholds, timeZone });
  expect(due).toEqual([]);
});
