import { describe, expect, test } from 'vitest';
import { answerTo, DOMAINS, openForm, textOf, toldAfter, useTestDemo } from '../support/demo.ts';

/* Names and lists from other programs. */

const t = useTestDemo();

function told(text: string): Promise<string> {
  return answerTo(t.workspace, t.alice, text);
}

/** Alice's ephemeral message after an action, with its buttons. */
async function ephemeralAfter(act: () => Promise<unknown>) {
  const before = t.alice.ephemerals().length;
  await act();
  return t.workspace.waitFor(() => t.alice.ephemerals()[before], { what: 'an answer for Alice' });
}

describe('names as people type them', () => {
  test.each(['www.example.com', 'https://www.example.com/', '\u200bwww.example.com\u00a0'])(
    'a host is answered with its domain and a button: %j',
    async (typed) => {
      await told('/domain unwatch example.com');
      const answer = await ephemeralAfter(() =>
        t.alice.command(DOMAINS, `/domain watch ${typed} 2027-09-01`),
      );
      expect(textOf(answer)).toMatch(/I added nothing to the watch list.*www\.example\.com.*example\.com/);
      expect(await t.demo.bot.expiry.find('www.example.com')).toBeUndefined();
      const watched = await toldAfter(t.workspace, t.alice, () => t.alice.click(answer, 'watch_domain'));
      expect(watched).toContain('example.com');
      expect((await t.demo.bot.expiry.find('example.com'))?.expiry?.at).toEqual(new Date('2027-09-01'));
    },
  );

  test('unwatch of an unwatched host names the domain', async () => {
    expect(await told('/domain unwatch www.example.com')).toContain('is a subdomain of example.com');
  });

  test('a name with emoji is watched, however it is typed', async () => {
    expect(await told('/domain watch xn--53h.com 2027-09-01')).toContain('☕.com');
    expect(await told('/domain watch ☕.com')).toContain('already on the watch list');
  });

  // Siblings: every task that takes a name, on the line; the forms read their names with the same schema.
  test.each(['renew', 'restore', 'delete', 'authcode', 'owner-change', 'name'])(
    '%s names the domain of a host',
    async (task) => {
      expect(await told(`/domain ${task} www.example.com`)).toMatch(
        /is a subdomain of example\.com\. Use example\.com instead/,
      );
    },
  );
});

describe('a list from another program', () => {
  async function imported(values: Record<string, string | string[]>) {
    return t.alice.submit(await openForm(t.workspace, t.alice, '/domain import'), values);
  }

  test('with unknown headings is refused as a whole, and asks which column is the expiry', async () => {
    const names =
      '"domain_name","create_date","reseller_id","reseller_name"\n"old1.de","2020-01-01 23:12:00","1029","Example Reseller"\n"old2.de","2019-05-01 23:12:00","508","Other Reseller"';
    expect(await imported({ names })).toMatchObject({
      outcome: 'errors',
      errors: {
        names: expect.stringMatching(/“reseller_id”, “reseller_name”.*“expires”.*Rename the expiry column/),
      },
    });
    expect(await t.demo.bot.expiry.findMany(['old1.de', 'old2.de', 'domain_name'])).toEqual([]);
  });

  test('with only a creation date has names without dates, and says so', async () => {
    const file = t.alice.upload('list.csv', 'domain;created\nold3.de;2020-01-01\nwww.old4.de;2020-01-01');
    const report = await ephemeralAfter(() => imported({ file: [file] }));
    expect(textOf(report)).toMatch(
      /1 name added, 1 line rejected.*Line 3.*www\.old4\.de.*old4\.de.*“created”.*I imported no dates/s,
    );
    expect((await t.demo.bot.expiry.find('old3.de'))?.expiry).toBeUndefined();
    await toldAfter(t.workspace, t.alice, () => t.alice.click(report, 'watch_domain'));
    expect(await t.demo.bot.expiry.find('old4.de')).toBeDefined();
  });
});
