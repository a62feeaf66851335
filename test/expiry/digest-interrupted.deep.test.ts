import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DAY_MS, MINUTE_MS, Rig } from './rig.ts';

/* Digests while the clock changes and while processes die. */

let rig: Rig;

beforeEach(async () => {
  rig = await Rig.startOnSchedule();
});
afterEach(() => rig.stop());

describe('a clock change', () => {
  test('three years forward and back stops no later digest and repeats no reminder', async () => {
    await rig.watch('cafe.rest', 7);
    rig.advanceToNextMorning();
    await rig.runDigest();
    const morning = rig.now;
    rig.now = new Date(morning.getTime() + 3 * 365 * DAY_MS);
    await rig.runDigest();
    rig.now = morning;
    await rig.watch('bar.rest', 31);
    const before = rig.listReminders().filter((each) => each === 'cafe.rest 7');
    expect(await rig.runDigest(), 'the same morning again').toBe('not_due');
    rig.advanceToNextMorning();
    expect(await rig.runDigest()).toBe('posted');
    expect(rig.listReminders()).toContain('bar.rest 30');
    expect(rig.listReminders().filter((each) => each === 'cafe.rest 7')).toEqual(before);
  });

  test('back by hours after a digest causes no second digest that day', async () => {
    await rig.watch('cafe.rest', 7);
    rig.advanceToNextMorning();
    expect(await rig.runDigest()).toBe('posted');
    const morning = rig.now.getTime();
    for (const hours of [-6, -3, -1, 0, 1]) {
      rig.now = new Date(morning + hours * 60 * MINUTE_MS);
      expect(await rig.runDigest(), `${hours} hours`).toMatch(/not_due|nothing_to_say/);
    }
    expect(rig.listReminders()).toEqual(['cafe.rest 7']);
  });

  test('during a snooze causes no reminder until the snooze ends, then one', async () => {
    const until = new Date(rig.now.getTime() + 4 * DAY_MS);
    await rig.watch('cafe.rest', 8, { snooze: { until, by: 'U0ALICE', reason: undefined } });
    rig.advanceToNextMorning();
    await rig.runDigest();
    const morning = rig.now.getTime();
    for (const days of [1, 0.75, 2, 1, -0.25]) {
      rig.now = new Date(morning + days * DAY_MS);
      await rig.runDigest();
    }
    expect(rig.listReminders(), 'while it is snoozed').toEqual([]);
    for (const days of [5, 4.5, 5, 4, 5]) {
      rig.now = new Date(morning + days * DAY_MS);
      await rig.runDigest();
    }
    expect(rig.listReminders()).toHaveLength(1);
  });

  test('back by hours during a digest doesn’t prevent its completion', async () => {
    await rig.watch('cafe.rest', 7);
    rig.settings = { ...rig.settings, reminderCron: '0 * * * *' };
    rig.advanceToNextMorning();
    rig.poster.beforePost = () => {
      throw new Error('killed');
    };
    await expect(rig.runDigest()).rejects.toThrow('killed');
    rig.poster.beforePost = () => undefined;
    await rig.releaseLeases();
    rig.now = new Date(rig.now.getTime() - 6 * 60 * MINUTE_MS);
    await rig.runDigest();
    rig.now = new Date(rig.now.getTime() + 60 * MINUTE_MS);
    await rig.runDigest();
    expect(rig.listReminders()).toEqual(['cafe.rest 7']);
  });
});

describe('a process that dies', () => {
  test('between the claim and the post leaves the reminders to the next run, which posts them', async () => {
    await rig.watch('cafe.rest', 7);
    rig.advanceToNextMorning();
    rig.poster.beforePost = () => {
      throw new Error('killed');
    };
    await expect(rig.runDigest()).rejects.toThrow('killed');
    rig.poster.beforePost = () => undefined;
    expect(await rig.runDigest(), 'before the lease ends').toBe('not_due');
    await rig.releaseLeases();
    expect([await rig.runDigest(), await rig.runDigest()]).toEqual(['posted', 'not_due']);
    expect(rig.listReminders()).toEqual(['cafe.rest 7']);
  });

  test('between two messages leaves the rest to the next process, which uses the same thread', async () => {
    for (let index = 0; index < 45; index += 1) await rig.watch(`n${index}.rest`, 7);
    rig.advanceToNextMorning();
    let posts = 0;
    rig.poster.beforePost = () => {
      posts += 1;
      if (posts === 2) throw new Error('killed');
    };
    await expect(rig.runDigest()).rejects.toThrow('killed');
    await rig.releaseLeases();
    expect(await rig.runDigest()).toBe('posted');
    expect(rig.poster.heads).toHaveLength(1);
    expect(rig.poster.replies.map(({ reminders }) => reminders.length)).toEqual([20, 5]);
    expect(new Set(rig.listReminders()).size).toBe(45);
    expect(rig.listReminders()).toHaveLength(45);
  });

  test('during a digest leaves only the tighter thresholds to a run two days later', async () => {
    await rig.watch('cafe.rest', 8);
    await rig.watch('bar.rest', 4);
    rig.advanceToNextMorning();
    rig.poster.beforePost = () => {
      throw new Error('killed');
    };
    await expect(rig.runDigest()).rejects.toThrow('killed');
    rig.poster.beforePost = () => undefined;
    await rig.releaseLeases();
    rig.advanceToNextMorning();
    rig.advanceToNextMorning();
    expect(await rig.runDigest()).toBe('posted');
    expect(rig.listReminders().toSorted()).toEqual(['bar.rest 1', 'cafe.rest 7'].toSorted());
  });

  test('again and again while another process runs posts each name once per destination', async () => {
    for (let index = 0; index < 70; index += 1) {
      await rig.watch(`n${index}.rest`, index % 3 === 0 ? 1 : 7);
      if (index % 2 === 0) await rig.changeDetails(`n${index}.rest`, { owner: 'U0ADA' });
      if (index % 5 === 0) await rig.changeDetails(`n${index}.rest`, { channel: 'C0BRAND' });
    }
    rig.advanceToNextMorning();
    let tries = 0;
    rig.poster.beforePost = () => {
      tries += 1;
      if (tries % 2 === 0) throw new Error('killed');
    };
    for (let turn = 0; turn < 30; turn += 1) {
      await rig.releaseLeases();
      await Promise.allSettled([rig.runDigest(), rig.runDigest()]);
    }
    const deliveries = rig.poster.postedReminders.map(({ name, to }) => `${name} ${to}`);
    expect(new Set(deliveries).size).toBe(deliveries.length);
    // A last reminder to an owner or a name's own channel is copied to the reminder channel.
    const isCopied = (index: number) => index % 3 === 0 && (index % 2 === 0 || index % 5 === 0);
    const copies = Array.from({ length: 70 }, (_, index) => index).filter(isCopied).length;
    expect(deliveries).toHaveLength(70 + copies);
  });
});
