import { describe, expect, it } from 'vitest';
import type { LineIssue } from '../../../src/expiry/import.ts';
import type { WatchRefusal } from '../../../src/expiry/watch-list.ts';
import { formatLineIssue, formatWatchRefusal } from '../../../src/slack/expiry/watch-list.view.ts';

describe('the text of a refused watch list change', () => {
  it.each<[WatchRefusal, string]>([
    [
      { code: 'not_watched', name: 'cafe.rest' },
      'cafe.rest isn’t watched. To add it, use /domain watch cafe.rest.',
    ],
    [
      { code: 'removed_meanwhile' },
      'Someone removed this name at the same time. If you still need it, try again.',
    ],
    [{ code: 'invalid_snooze', maxDays: 365 }, 'Enter a whole number of days from 1 to 365.'],
    [{ code: 'lapse_decided' }, 'This name is already set to lapse. To undo that, use /domain watch.'],
    [
      { code: 'invalid_name', issue: { code: 'no_ending', text: 'cafe', example: 'cafe.rest' } },
      '“cafe” has no TLD. Enter the full name, for example cafe.rest.',
    ],
    [{ code: 'not_a_date', text: 'soon' }, '“soon” isn’t a date. Write it as 2027-03-01.'],
  ])('explains %j', (refusal, words) => {
    expect(formatWatchRefusal(refusal)).toBe(words);
  });

  it.each<[LineIssue, string]>([
    [{ code: 'ambiguous_date', text: '1/3/27' }, '“1/3/27” is ambiguous. Write it as 2027-03-01.'],
    [{ code: 'no_such_day', text: '2027-02-30' }, '“2027-02-30” doesn’t exist. Check the date.'],
    [
      { code: 'unlikely_year', text: '9999-12-31' },
      '“9999-12-31” is an unlikely expiry date. Check the year.',
    ],
    [
      { code: 'no_such_time', text: '2027-03-01 25:00' },
      '“2027-03-01 25:00” has an invalid time. Correct or remove the time.',
    ],
    [{ code: 'open_quote' }, 'A quotation mark isn’t closed. Correct the line.'],
    [
      { code: 'conflicting_date' },
      'The file has this name twice, with different dates. Remove one of the lines.',
    ],
    [
      { code: 'too_many_lines', limit: 50_000 },
      'I read only the first 50000 lines. Import the others as another list.',
    ],
  ])('explains a line with %j', (issue, words) => {
    expect(formatLineIssue(issue)).toBe(words);
  });
});
