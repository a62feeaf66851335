import type { LineIssue, ListIssue } from '../../expiry/import.ts';
import type { WatchRefusal } from '../../expiry/watch-list.ts';
import { formatCsvIssue } from '../kit/csv-issue.view.ts';
import { truncate } from '../kit/mrkdwn.ts';
import { formatZoneIssue } from '../names/zone-issue.view.ts';

/* Errors about the watch list, and what to do about them. Plain text, because form fields show them. */

export function formatWatchRefusal(refusal: WatchRefusal): string {
  switch (refusal.code) {
    case 'not_watched':
      return `${refusal.name} isn’t watched. To add it, use /domain watch ${refusal.name}.`;
    case 'removed_meanwhile':
      return 'Someone removed this name at the same time. If you still need it, try again.';
    case 'date_too_far_ahead':
      return `“${refusal.text}” is more than 10 years ahead. Check the year.`;
    case 'list_full':
      return `The watch list is full, with ${refusal.limit.toLocaleString('en')} names. Unwatch names you no longer need, then try again.`;
    case 'invalid_snooze':
      return `Enter a whole number of days from 1 to ${refusal.maxDays}.`;
    case 'not_owner':
      return 'Your answer wasn’t saved, because this name has another owner now. Ask the owner to answer.';
    case 'question_closed':
      return 'The name was renewed after this question, so you don’t need to answer it.';
    case 'already_kept':
      return 'You already decided to keep this name. To change that, choose Let it lapse.';
    case 'not_renewed':
      return `“${refusal.text}” isn’t after the current expiry date. Check the date.`;
    case 'lapse_decided':
      return `This name is already set to lapse. To undo that, use /domain watch.`;
    default:
      return formatLineIssue(refusal);
  }
}

export function formatLineIssue(issue: LineIssue): string {
  switch (issue.code) {
    case 'invalid_name':
      return formatZoneIssue(issue.issue);
    case 'ambiguous_date':
      return `“${issue.text}” is ambiguous. Write it as 2027-03-01.`;
    case 'not_a_date':
      return `“${issue.text}” isn’t a date. Write it as 2027-03-01.`;
    case 'no_such_day':
      return `“${issue.text}” doesn’t exist. Check the date.`;
    case 'unlikely_year':
      return `“${issue.text}” is an unlikely expiry date. Check the year.`;
    case 'no_such_time':
      return `“${issue.text}” has an invalid time. Correct or remove the time.`;
    case 'open_quote':
      return 'A quotation mark isn’t closed. Correct the line.';
    case 'too_many_cells':
      return 'The line has more than a name and a date. Add headings, such as name and expires.';
    case 'conflicting_date':
      return 'The file has this name twice, with different dates. Remove one of the lines.';
    case 'too_many_lines':
      return `I read only the first ${issue.limit} lines. Import the others as another list.`;
  }
}

const MAX_SHOWN_HEADINGS = 10;

export function headingsText(headings: readonly string[]): string {
  const shownHeadings = headings.slice(0, MAX_SHOWN_HEADINGS).map((heading) => `“${truncate(heading, 40)}”`);
  return [...shownHeadings, ...(headings.length > shownHeadings.length ? ['…'] : [])].join(', ');
}

export function importIssueText(issue: ListIssue): string {
  return `Line ${issue.line}: ${importIssueReason(issue)} Nothing was imported.`;
}

function importIssueReason(issue: ListIssue): string {
  switch (issue.code) {
    case 'unknown_headings':
      return `Unknown ${issue.headings.length === 1 ? 'heading' : 'headings'}: ${headingsText(issue.headings)}. Use “name” or “domain”, and “expires”, “expiry date”, “expiration date” or “Ablaufdatum”. Rename the expiry column to “expires”, and remove unknown columns.`;
    case 'missing_name_column':
      return 'I didn’t find a column with names. Rename it to “name” or “domain”.';
    default:
      return formatCsvIssue(issue);
  }
}
