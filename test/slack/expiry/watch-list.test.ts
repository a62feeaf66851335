import { describe, expect, it } from 'vitest';
import type { LineIssue } from '../../../src/expiry/import.ts';
import type { WatchRefusal } from '../../../src/expiry/watch-list.ts';
import { formatLineIssue, formatWatchRefusal } from '../../../src/slack/expiry/watch-list.view.ts';

describe('what was not done on the watch list', () => {
  it.each<[WatchRefusal, string]>([
    [
      { code: 'not_watched', name: 'cafe.rest' },
      'cafe.rest is not on the watch list. /domain watch cafe.rest puts it there.',
    ],
    [
      { code: 'removed_meanwhile' },
      'Somebody took it off the list at the same moment. Type it again if it is still wanted.',
    ],
    [{ code: 'invalid_snooze', maxDays: 365 }, 'Give a whole number of days from 1 to 365.'],
    [{ code: 'lapse_decided' }, 'It is decided already: this name lapses.'],
    [
      { code: 'invalid_name', issue: { code: 'no_ending', text: 'cafe', example: 'cafe.rest' } },
      '“cafe” has no ending. Give the whole name, for example cafe.rest.',
    ],
    [{ code: 'not_a_date', text: 'soon' }, '“soon” is not a date. Write it as 2027-03-01.'],
  ])('%j is told in words', (refusal, words) => {
    expect(formatWatchRefusal(refusal)).toBe(words);
  });

  it.each<[LineIssue, string]>([
    [
      { code: 'ambiguous_date', text: '1/3/27' },
      '“1/3/27” can be read in more than one way. Write it as 2027-03-01.',
    ],
    [{ code: 'no_such_day', text: '2027-02-30' }, '“2027-02-30” is a day that does not exist. Check it.'],
    [{ code: 'unlikely_year', text: '9999-12-31' }, '“9999-12-31” is not a likely expiry. Check the year.'],
    [
      { code: 'no_such_time', text: '2027-03-01 25:00' },
      '“2027-03-01 25:00” has a time that does not exist. Check it.',
    ],
    [{ code: 'open_quote' }, 'A quote is opened and not closed. Check the line.'],
    [
      { code: 'other_date' },
      'The name stands in the list with another date already. Keep one of the two lines.',
    ],
    [
      { code: 'too_many_lines', limit: 50_000 },
      'Only the first 50000 lines were read. Import the rest as another list.',
    ],
  ])('a line with %j is told in words', (issue, words) => {
    expect(formatLineIssue(issue)).toBe(words);
  });
});
