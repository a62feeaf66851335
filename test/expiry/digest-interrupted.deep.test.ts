import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DAY_MS, MINUTE_MS, Rig } from './rig.ts';

/* Digests while the clock changes and while processes die. */

let rig: Rig;

beforeEach(async () => {
  rig = await Rig.startOnSchedule();
});
afterEach(() => rig.stop());

describe('a clock change', () => {
  test('of years ahead and back stops no later digest and repeats no reminder', async () => {
    await rig.watch('cafe.rest', 7);
    rig.nextMorning();
    await rig.digest();
    const morning = rig.now;
    rig.now = new Date(morning.getTime() + 3 * 365 * DAY_MS);
    await rig.digest();
    rig.now = morning;
    await rig.watch('bar.rest', 31);
    const before = rig.listReminders().filter((each) => each === 'cafe.rest 7');
    expect(await rig.digest(), 'the same morning again').toBe('not_due');
    rig.nextMorning();
    expect(await rig.digest()).toBe('posted');
    expect(rig.listReminders()).toContain('bar.rest 30');
    expect(rig.listReminders().filter((each) => each === 'cafe.rest 7')).toEqual(before);
  });

  test('of hours back after a digest causes no other digest that day', async () => {
    await rig.watch('cafe.rest', 7);
    rig.nextMorning();
    expect(await rig.digest()).toBe('posted');
    const morning = rig.now.getTime();
    for (const hours of [-6, -3, -1, 0, 1]) {
      rig.now = new Date(morning + hours * 60 * MINUTE_MS);
      expect(await rig.digest(), `${hours} hours`).toMatch(/not_due|nothing_to_say/);
    }
    expect(rig.listReminders()).toEqual(['cafe.rest 7']);
  });

  test('during a snooze causes no reminder until its end, then one', async () => {
    const until = new Date(rig.now.getTime() + 4 * DAY_MS);
    await rig.watch('cafe.rest', 8, { snooze: { until, by: 'U0ALICE', reason: undefined } });
    rig.nextMorning();
    await rig.digest();
    const morning = rig.now.getTime();
    for (const days of [1, 0.75, 2, 1, -0.25]) {
      rig.now = new Date(morning + days * DAY_MS);
      await rig.digest();
    }
    expect(rig.listReminders(), 'while it is snoozed').toEqual([]);
    for (const days of [5, 4.5, 5, 4, 5]) {
      rig.now = new Date(morning + days * DAY_MS);
      await rig.digest();
    }
    expect(rig.listReminders()).toHaveLength(1);
  });

  test('of hours back during a digest doesn’t prevent its completion', async () => {
    await rig.watch('cafe.rest', 7);
    rig.settings = { ...rig.settings, reminderCron: '0 * * * *' };
    rig.nextMorning();
    rig.poster.before = () => {
      throw new Error('killed');
    };
    await expect(rig.digest()).rejects.toThrow('killed');
    rig.poster.before = () => undefined;
    await rig.endLeases();
    rig.now = new Date(rig.now.getTime() - 6 * 60 * MINUTE_MS);
    await rig.digest();
    rig.now = new Date(rig.now.getTime() + 60 * MINUTE_MS);
    await rig.digest();
    expect(rig.listReminders()).toEqual(['cafe.rest 7']);
  });
});

describe('a process that dies', () => {
  test('after the claim and before the post leaves all reminders to the next one, once', async () => {
    await rig.watch('cafe.rest', 7);
    rig.nextMorning();
    rig.poster.before = () => {
      throw new Error('killed');
    };
    await expect(rig.digest()).rejects.toThrow('killed');
    rig.poster.before = () => undefined;
    expect(await rig.digest(), 'before the lease ends').toBe('not_due');
    await rig.endLeases();
    expect([await rig.digest(), await rig.digest()]).toEqual(['posted', 'not_due']);
    expect(rig.listReminders()).toEqual(['cafe.rest 7']);
  });

  test('between two messages leaves the missing ones to the next process, in the same thread', async () => {
    for (let index = 0; index < 45; index += 1) await rig.watch(`n${index}.rest`, 7);
    rig.nextMorning();
    let posts = 0;
    rig.poster.before = () => {
      posts += 1;
      if (posts === 2) throw new Error('killed');
    };
    await expect(rig.digest()).rejects.toThrow('killed');
    await rig.endLeases();
    expect(await rig.digest()).toBe('posted');
    expect(rig.poster.heads).toHaveLength(1);
    expect(rig.poster.replies.map(({ reminders }) => reminders.length)).toEqual([20, 5]);
    expect(new Set(rig.listReminders()).size).toBe(45);
    expect(rig.listReminders()).toHaveLength(45);
  });

  test('during a digest that continues two days later: only the tighter threshold is posted', async () => {
    await rig.watch('cafe.rest', 8);
    await rig.watch('bar.rest', 4);
    rig.nextMorning();
    rig.poster.before = () => {
      throw new Error('killed');
    };
    await expect(rig.digest()).rejects.toThrow('killed');
    rig.poster.before = () => undefined;
    await rig.endLeases();
    rig.nextMorning();
    rig.nextMorning();
    expect(await rig.digest()).toBe('posted');
    expect(rig.listReminders().toSorted()).toEqual(['bar.rest 1', 'cafe.rest 7'].toSorted());
  });

  test('repeatedly at any post, with another one running, posts each name once per destination', async () => {
    for (let index = 0; index < 70; index += 1) {
      await rig.watch(`n${index}.rest`, index % 3 === 0 ? 1 : 7);
      if (index % 2 === 0) await rig.set(`n${index}.rest`, { owner: 'U0ADA' });
      if (index % 5 === 0) await rig.set(`n${index}.rest`, { channel: 'C0BRAND' });
    }
    rig.nextMorning();
    let tries = 0;
    rig.poster.before = () => {
      tries += 1;
      if (tries % 2 === 0) throw new Error('killed');
    };
    for (let turn = 0; turn < 30; turn += 1) {
      await rig.endLeases();
      await Promise.allSettled([rig.digest(), rig.digest()]);
    }
    const said = rig.poster.said.map(({ name, to }) => `${name} ${to}`);
    expect(new Set(said).size).toBe(said.length);
    // A last reminder to an owner or a name's own channel is copied to the reminder channel.
    const isCopied = (index: number) => index % 3 === 0 && (index % 2 === 0 || index % 5 === 0);
    const copies = Array.from({ length: 70 }, (_, index) => index).filter(isCopied).length;
    expect(said).toHaveLength(70 + copies);
  });
});
