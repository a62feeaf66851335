import ICAL from 'ical.js';
import { describe, expect, test } from 'vitest';
import { type CalendarName, streamCalendarFeed } from '../../src/expiry/calendar.ts';
import { formatCalendarEvent } from '../../src/slack/expiry/calendar.view.ts';
import fc from '../support/properties.ts';

const options = {
  now: new Date('2026-06-01T09:08:07.654Z'),
  timeZone: 'Europe/Berlin',
  formatEvent: (name: CalendarName) => formatCalendarEvent(name, true),
};

async function renderFeed(names: Iterable<CalendarName> | AsyncIterable<CalendarName>): Promise<string> {
  let text = '';
  for await (const chunk of streamCalendarFeed(names, options)) text += chunk;
  return text;
}

async function parseEvents(names: readonly CalendarName[]) {
  const calendar = new ICAL.Component(ICAL.parse(await renderFeed(names)));
  return calendar.getAllSubcomponents('vevent').map((event) => new ICAL.Event(event));
}

const cafe: CalendarName = { name: 'cafe.rest', expiresAt: new Date('2027-03-01T12:00:00Z'), source: 'rdap' };

describe('the feed, read back by a calendar library', () => {
  test('has an all-day event on the day of each expiry', async () => {
    const [event] = await parseEvents([cafe]);
    expect(event?.uid).toBe('cafe.rest@domain-steward');
    expect(event?.summary).toBe('cafe.rest expires');
    expect(event?.description).toBe(
      'Date from the registry’s public record.\nRenew it in Slack with /domain renew cafe.rest',
    );
    expect(event?.startDate.isDate).toBe(true);
    expect(event?.startDate.toString()).toBe('2027-03-01');
    expect(event?.endDate.toString()).toBe('2027-03-02');
    expect(event?.component.getFirstPropertyValue('dtstamp')?.toString()).toBe('2026-06-01T09:08:07Z');
    expect(event?.component.getAllSubcomponents('valarm')).toEqual([]);
  });

  test('uses the day in the team’s time zone, except for days that a person entered', async () => {
    const lateExpiry = { ...cafe, expiresAt: new Date('2027-02-28T23:30:00Z') };
    const enteredDate = { ...cafe, expiresAt: new Date('2027-03-01T00:00:00Z'), source: 'person' as const };
    const days = (await parseEvents([lateExpiry, enteredDate])).map((event) => event.startDate.toString());
    expect(days).toEqual(['2027-03-01', '2027-03-01']);
  });

  test('keeps the UID of a renewed name', async () => {
    const renewed = { ...cafe, expiresAt: new Date('2029-03-01T12:00:00Z'), source: 'order' as const };
    const [before] = await parseEvents([cafe]);
    const [after] = await parseEvents([renewed]);
    expect(after?.uid).toBe(before?.uid);
    expect(after?.startDate.toString()).toBe('2029-03-01');
    expect(after?.description).toContain('estimated from');
  });

  test('escapes special characters', async () => {
    const text = (await renderFeed([{ ...cafe, source: 'order' }])).replaceAll('\r\n ', '');
    expect(text).toContain('DESCRIPTION:Date estimated from the last order.\\nRenew it');
  });

  test('shows that a name is set to lapse', async () => {
    const [event] = await parseEvents([{ ...cafe, isLapsing: true }]);
    expect(event?.summary).toBe('cafe.rest expires (set to lapse)');
    expect(event?.description).not.toContain('renew');
  });

  test('reads names in pages', async () => {
    async function* pages() {
      yield cafe;
      yield { ...cafe, name: 'bar.rest' };
    }
    expect((await renderFeed(pages())).match(/BEGIN:VEVENT/g)).toHaveLength(2);
  });

  test('is valid with an empty list', async () => {
    const calendar = new ICAL.Component(ICAL.parse(await renderFeed([])));
    expect(calendar.getFirstPropertyValue('version')).toBe('2.0');
    expect(calendar.getFirstPropertyValue('prodid')).toContain('Domain Steward');
    expect(calendar.getAllSubcomponents('vevent')).toEqual([]);
  });
});

test('no line is longer than 75 octets, each ends with CRLF, and every name is complete', async () => {
  const label = fc.string({ unit: fc.constantFrom('a', 'é', 'ß', '日', '9'), minLength: 1, maxLength: 14 });
  const name = fc
    .tuple(label, label, label)
    .map((labels) => `${new URL(`http://x${labels.join('.')}.rest`).hostname}`);
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(name, { maxLength: 5 }), async (names) => {
      const list = names.map((ascii) => ({ ...cafe, name: ascii }));
      const text = await renderFeed(list);
      expect(text.endsWith('END:VCALENDAR\r\n')).toBe(true);
      const lines = text.split('\r\n');
      for (const line of lines) {
        expect(line).not.toMatch(/[\r\n\ufffd]/);
        expect(Buffer.byteLength(line)).toBeLessThanOrEqual(75);
      }
      const parsedEvents = await parseEvents(list);
      expect(parsedEvents.map(({ uid }) => uid)).toEqual(names.map((ascii) => `${ascii}@domain-steward`));
      for (const [index, event] of parsedEvents.entries()) expect(event.summary).toContain(names[index]);
    }),
  );
});
