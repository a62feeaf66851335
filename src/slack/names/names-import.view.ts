import type { ImportIssue } from '../../names/details-import.ts';
import type { ImportPlan } from '../../names/ports.ts';
import {
  actions,
  button,
  code,
  context,
  count,
  lines,
  type Message,
  message,
  section,
  textMessage,
} from '../kit/blocks.ts';
import { csvIssueText, MORE_CELLS } from '../kit/csv-issue.view.ts';
import { nameChangeLine, SHOWN_CHANGES } from './name-changes.view.ts';
import { tagIssueText } from './portfolio.view.ts';
import { formatZoneIssue } from './zone-issue.view.ts';

const MAX_SHOWN_ISSUES = 10;

/** Plain text, for a form field. */
export function importIssuesText(issues: readonly ImportIssue[]): string {
  const shownTexts = issues
    .slice(0, MAX_SHOWN_ISSUES)
    .map((issue) => `Line ${issue.line}: ${issueText(issue)}`);
  const left = issues.length - shownTexts.length;
  return [...shownTexts, ...(left > 0 ? [`… and ${left} more.`] : []), 'Nothing was imported.'].join(' ');
}

function issueText(issue: ImportIssue): string {
  switch (issue.code) {
    case 'empty':
      return 'add a header and one name per line.';
    case 'no_name_column':
      return 'the header needs a column “name”.';
    case 'too_many_cells':
      return `${MORE_CELLS} Put values with commas in quotes.`;
    case 'unknown_column':
      return `unknown column “${issue.column}”. Columns: name, owner, tags, channel, note.`;
    case 'invalid_name':
      return formatZoneIssue(issue.issue);
    case 'repeated':
      return `${issue.name} is already on another line.`;
    case 'not_a_person':
      return 'the owner must be a Slack user ID, such as U0ADA.';
    case 'not_a_channel':
      return 'the channel must be a Slack channel ID, such as C0BRAND.';
    case 'long_note':
      return 'a note can have at most 500 characters.';
    case 'tags':
      return tagIssueText(issue.issue);
    default:
      return csvIssueText(issue);
  }
}

/** @param isReplacement whether names changed after an earlier plan was shown */
export function importPlan(
  { hash, changed, unchangedCount, unwatched }: ImportPlan,
  isReplacement = false,
): Message {
  const title =
    changed.length === 0 ? 'Nothing would change.' : `${count(changed.length, 'name')} would change.`;
  const changeLines = changed.slice(0, SHOWN_CHANGES).map(nameChangeLine);
  const left = changed.length - changeLines.length;
  return message(title, [
    section(
      `${isReplacement ? 'The names changed after you saw the plan, so nothing was applied. This is the new plan. ' : ''}*${title}*`,
    ),
    ...lines([...changeLines, ...(left > 0 ? [`… and ${count(left, 'other name')}.`] : [])]),
    ...(unwatched.length === 0
      ? []
      : lines([
          `I skipped ${count(unwatched.length, 'name')}, because ${unwatched.length === 1 ? 'it isn’t' : 'they aren’t'} watched: ${unwatched.slice(0, MAX_SHOWN_ISSUES).map(code).join(', ')}${unwatched.length > MAX_SHOWN_ISSUES ? ' …' : ''}. To add names, use \`/domain import\`.`,
        ])),
    ...(changed.length === 0
      ? []
      : actions('names_import', [
          button('names_import_apply', `Change ${count(changed.length, 'name')}`, hash, { style: 'primary' }),
        ])),
    context(
      `${unchangedCount === 0 ? '' : `${count(unchangedCount, 'name')} already ${unchangedCount === 1 ? 'matches' : 'match'} the file. `}This plan expires in 24 hours.`,
    ),
  ]);
}

/** The progress of an import, which is applied all at once. */
export function importProgress(
  activity: 'Compared' | 'Changed',
  { done, total }: { readonly done: number; readonly total: number },
): Message {
  return textMessage(
    total === 0
      ? 'Reading the file.'
      : `${activity} ${done.toLocaleString('en')} of ${total.toLocaleString('en')} names so far.`,
  );
}

export const PLAN_GONE = 'This plan was already applied, or has expired. Import the file again.';
