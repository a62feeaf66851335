import { describe, expect, test } from 'vitest';
import {
  DOMAINS,
  openForm,
  performAndReadReply,
  readCommandReply,
  textOf,
  useTestDemo,
} from '../support/demo.ts';

/* Names as people type them, and lists exported from other programs. */

const t = useTestDemo();

function sendCommand(text: string): Promise<string> {
  return readCommandReply(t.workspace, t.alice, text);
}

/** Acts, and waits for Alice's next ephemeral message, with its buttons. */
async function actAndWaitForEphemeral(act: () => Promise<unknown>) {
  const before = t.alice.ephemerals().length;
  await act();
  return t.workspace.waitFor(() => t.alice.ephemerals()[before], { what: 'a reply to Alice' });
}

describe('names as people type them', () => {
  test.each(['www.example.com', 'https://www.example.com/', '\u200bwww.example.com\u00a0'])(
    'the reply to a host offers to watch its domain: %j',
    async (host) => {
      await sendCommand('/domain unwatch example.com');
      const answer = await actAndWaitForEphemeral(() =>
        t.alice.command(DOMAINS, `/domain watch ${host} 2027-09-01`),
      );
      expect(textOf(answer)).toMatch(/I added nothing to the watch list.*www\.example\.com.*example\.com/);
      expect(await t.demo.bot.expiry.find('www.example.com')).toBeUndefined();
      const watched = await performAndReadReply(t.workspace, t.alice, () =>
        t.alice.click(answer, 'watch_domain'),
      );
      expect(watched).toContain('example.com');
      expect((await t.demo.bot.expiry.find('example.com'))?.expiry?.at).toEqual(new Date('2027-09-01'));
    },
  );

  test('unwatch of an unwatched host names the domain', async () => {
    expect(await sendCommand('/domain unwatch www.example.com')).toContain('is a subdomain of example.com');
  });

  test('a name with emoji is watched, however it is typed', async () => {
    expect(await sendCommand('/domain watch xn--53h.com 2027-09-01')).toContain('☕.com');
    expect(await sendCommand('/domain watch ☕.com')).toContain('already on the watch list');
  });

  // Every command that takes a name; the forms parse names with the same schema.
  test.each(['renew', 'restore', 'delete', 'authcode', 'owner-change', 'name'])(
    '/domain %s suggests the domain of a host',
    async (task) => {
      expect(await sendCommand(`/domain ${task} www.example.com`)).toMatch(
        /is a subdomain of example\.com\. Use example\.com instead/,
      );
    },
  );
});

describe('a list from another program', () => {
  async function submitImport(values: Record<string, string | string[]>) {
    return t.alice.submit(await openForm(t.workspace, t.alice, '/domain import'), values);
  }

  test('with unknown headings is rejected, and the error asks which column has the expiry', async () => {
    const names =
      '"domain_name","create_date","reseller_id","reseller_name"\n"old1.de","2020-01-01 23:12:00","1029","Example Reseller"\n"old2.de","2019-05-01 23:12:00","508","Other Reseller"';
    expect(await submitImport({ names })).toMatchObject({
      outcome: 'errors',
      errors: {
        names: expect.stringMatching(/“reseller_id”, “reseller_name”.*“expires”.*Rename the expiry column/),
      },
    });
    expect(await t.demo.bot.expiry.findMany(['old1.de', 'old2.de', 'domain_name'])).toEqual([]);
  });

  test('with only creation dates is imported without dates, and the report explains it', async () => {
    const file = t.alice.upload('list.csv', 'domain;created\nold3.de;2020-01-01\nwww.old4.de;2020-01-01');
    const report = await actAndWaitForEphemeral(() => submitImport({ file: [file] }));
    expect(textOf(report)).toMatch(
      /1 name added, 1 line rejected.*Line 3.*www\.old4\.de.*old4\.de.*“created”.*I imported no dates/s,
    );
    expect((await t.demo.bot.expiry.find('old3.de'))?.expiry).toBeUndefined();
    await performAndReadReply(t.workspace, t.alice, () => t.alice.click(report, 'watch_domain'));
    expect(await t.demo.bot.expiry.find('old4.de')).toBeDefined();
  });
});
