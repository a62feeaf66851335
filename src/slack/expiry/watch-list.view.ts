import type { LineIssue, ListIssue } from '../../expiry/import.ts';
import type { WatchRefusal } from '../../expiry/watch-list.ts';
import { csvIssueText } from '../kit/csv-issue.view.ts';
import { truncate } from '../kit/mrkdwn.ts';
import { zoneIssueText } from '../names/zone-issue.view.ts';

/*
 * Why something was not done on the watch list, and what to do. Plain text: a form shows it at a field.
 */

/** Why nothing was changed on the watch list. */
export function formatWatchRefusal(refusal: WatchRefusal): string {
  switch (refusal.code) {
    case 'not_watched':
      return `${refusal.name} is not on the watch list. /domain watch ${refusal.name} puts it there.`;
    case 'removed_meanwhile':
      return 'Somebody took it off the list at the same moment. Type it again if it is still wanted.';
    case 'date_too_far_ahead':
      return `“${refusal.text}” is more than 10 years ahead. Check the year.`;
    case 'list_full':
      return `The watch list is full: it holds ${refusal.limit.toLocaleString('en')} names. Unwatch names that you no longer need, then try again.`;
    case 'invalid_snooze':
      return `Give a whole number of days from 1 to ${refusal.maxDays}.`;
    case 'lapse_decided':
      return 'It is decided already: this name lapses.';
    default:
      return formatLineIssue(refusal);
  }
}

/** Why a line of a pasted list was not taken. */
export function formatLineIssue(issue: LineIssue): string {
  switch (issue.code) {
    case 'invalid_name':
      return zoneIssueText(issue.issue);
    case 'ambiguous_date':
      return `“${issue.text}” can be read in more than one way. Write it as 2027-03-01.`;
    case 'not_a_date':
      return `“${issue.text}” is not a date. Write it as 2027-03-01.`;
    case 'no_such_day':
      return `“${issue.text}” is a day that does not exist. Check it.`;
    case 'unlikely_year':
      return `“${issue.text}” is not a likely expiry. Check the year.`;
    case 'no_such_time':
      return `“${issue.text}” has a time that does not exist. Check it.`;
    case 'open_quote':
      return 'A quote is opened and not closed. Check the line.';
    case 'too_many_cells':
      return 'There is more than a name and a date. Put headings above the list, such as name and expires.';
    case 'other_date':
      return 'The name stands in the list with another date already. Keep one of the two lines.';
    case 'too_many_lines':
      return `Only the first ${issue.limit} lines were read. Import the rest as another list.`;
  }
}

const SHOWN_HEADINGS = 10;

/** Headings inside a sentence. */
export function headingsText(headings: readonly string[]): string {
  const shown = headings.slice(0, SHOWN_HEADINGS).map((heading) => `“${truncate(heading, 40)}”`);
  return [...shown, ...(headings.length > shown.length ? ['…'] : [])].join(', ');
}

/** Why nothing of a list was imported. */
export function listIssueText(issue: ListIssue): string {
  return `Line ${issue.line}: ${whyRefused(issue)} Nothing was imported.`;
}

function whyRefused(issue: ListIssue): string {
  switch (issue.code) {
    case 'unknown_headings':
      return `I don’t know the ${issue.headings.length === 1 ? 'heading' : 'headings'} ${headingsText(issue.headings)}. I take “name” or “domain”, and “expires”, “expiry date”, “expiration date” or “Ablaufdatum”. Which column is the expiry? Call it “expires”, and remove the columns that I don’t know.`;
    case 'no_name_column':
      return 'no heading says which column has the names. Call it “name” or “domain”.';
    default:
      return csvIssueText(issue);
  }
}
