import { describe, expect, it } from 'vitest';
import type { LineIssue } from '../../../src/expiry/import.ts';
import type { WatchRefusal } from '../../../src/expiry/watch-list.ts';
import { formatLineIssue, formatWatchRefusal } from '../../../src/slack/expiry/watch-list.view.ts';

describe('refused changes of the watch list', () => {
  it.each<[WatchRefusal, string]>([
    [{ code: 'not_watched', name: 'cafe.rest' }, 'cafe.rest isn’t watched. /domain watch cafe.rest adds it.'],
    [
      { code: 'removed_meanwhile' },
      'Someone removed it from the list at the same time. Try again if you still need it.',
    ],
    [{ code: 'invalid_snooze', maxDays: 365 }, 'Enter a whole number of days from 1 to 365.'],
    [{ code: 'lapse_decided' }, 'This name is already set to lapse.'],
    [
      { code: 'invalid_name', issue: { code: 'no_ending', text: 'cafe', example: 'cafe.rest' } },
      '“cafe” has no ending. Enter the full name, for example cafe.rest.',
    ],
    [{ code: 'not_a_date', text: 'soon' }, '“soon” isn’t a date. Write it as 2027-03-01.'],
  ])('%j has a text for people', (refusal, words) => {
    expect(formatWatchRefusal(refusal)).toBe(words);
  });

  it.each<[LineIssue, string]>([
    [{ code: 'ambiguous_date', text: '1/3/27' }, '“1/3/27” is ambiguous. Write it as 2027-03-01.'],
    [{ code: 'no_such_day', text: '2027-02-30' }, '“2027-02-30” doesn’t exist. Check the date.'],
    [{ code: 'unlikely_year', text: '9999-12-31' }, '“9999-12-31” is an unlikely expiry. Check the year.'],
    [{ code: 'no_such_time', text: '2027-03-01 25:00' }, '“2027-03-01 25:00” has an invalid time. Check it.'],
    [{ code: 'open_quote' }, 'A quote isn’t closed. Check the line.'],
    [{ code: 'other_date' }, 'The name is already in the list with another date. Remove one of the lines.'],
    [
      { code: 'too_many_lines', limit: 50_000 },
      'Only the first 50000 lines were read. Import the rest as another list.',
    ],
  ])('a line with %j has a text for people', (issue, words) => {
    expect(formatLineIssue(issue)).toBe(words);
  });
});
