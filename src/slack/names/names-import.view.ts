import { dropMissing } from '../../lib/collections.ts';
import type { ImportIssue } from '../../names/details-import.ts';
import type { ImportPlan } from '../../names/ports.ts';
import {
  actions,
  button,
  code,
  context,
  formatCount,
  lineSections,
  type Message,
  message,
  section,
  textMessage,
} from '../kit/blocks.ts';
import { formatCsvIssue, TOO_MANY_CELLS_TEXT } from '../kit/csv-issue.view.ts';
import { MAX_SHOWN_CHANGES, nameChangeLine } from './name-changes.view.ts';
import { tagIssueText } from './portfolio.view.ts';
import { formatZoneIssue } from './zone-issue.view.ts';

const MAX_SHOWN_ISSUES = 10;

/** Plain text, for a form field. */
export function importIssuesText(issues: readonly ImportIssue[]): string {
  const shownTexts = issues
    .slice(0, MAX_SHOWN_ISSUES)
    .map((issue) => `Line ${issue.line}: ${issueText(issue)}`);
  const remainingCount = issues.length - shownTexts.length;
  return [
    ...shownTexts,
    ...(remainingCount > 0 ? [`… and ${remainingCount} more.`] : []),
    'Nothing was imported.',
  ].join(' ');
}

function issueText(issue: ImportIssue): string {
  switch (issue.code) {
    case 'empty':
      return 'add a header and one name per line.';
    case 'missing_name_column':
      return 'the header needs a column “name”.';
    case 'too_many_cells':
      return `${TOO_MANY_CELLS_TEXT} Put values with commas in quotes.`;
    case 'unknown_column':
      return `unknown column “${issue.column}”. Columns: name, owner, tags, channel, note.`;
    case 'invalid_name':
      return formatZoneIssue(issue.issue);
    case 'repeated':
      return `${issue.name} is already on another line.`;
    case 'invalid_owner':
      return 'the owner must be a Slack user ID, such as U0ADA.';
    case 'invalid_channel':
      return 'the channel must be a Slack channel ID, such as C0BRAND.';
    case 'note_too_long':
      return 'a note can have at most 500 characters.';
    case 'tags':
      return tagIssueText(issue.issue);
    default:
      return formatCsvIssue(issue);
  }
}

/** @param isReplacement whether names changed after an earlier plan was shown */
export function importPlanMessage(
  { hash, changedNames, unchangedCount, unwatchedNames }: ImportPlan,
  isReplacement = false,
): Message {
  const title =
    changedNames.length === 0
      ? 'Nothing would change.'
      : `${formatCount(changedNames.length, 'name')} would change.`;
  const changeLines = changedNames.slice(0, MAX_SHOWN_CHANGES).map(nameChangeLine);
  const remainingCount = changedNames.length - changeLines.length;
  const notes = dropMissing([
    unchangedCount > 0 &&
      `${formatCount(unchangedCount, 'name')} already ${unchangedCount === 1 ? 'matches' : 'match'} the file.`,
    changedNames.length > 0 && 'This plan expires in 24 hours.',
  ]);
  return message(title, [
    section(
      `${isReplacement ? 'The names changed after you saw the plan, so nothing was applied. This is the new plan. ' : ''}*${title}*`,
    ),
    ...lineSections([
      ...changeLines,
      ...(remainingCount > 0 ? [`… and ${formatCount(remainingCount, 'other name')}.`] : []),
    ]),
    ...(unwatchedNames.length === 0
      ? []
      : lineSections([
          `I skipped ${formatCount(unwatchedNames.length, 'name')}, because ${unwatchedNames.length === 1 ? 'it isn’t' : 'they aren’t'} watched: ${unwatchedNames.slice(0, MAX_SHOWN_ISSUES).map(code).join(', ')}${unwatchedNames.length > MAX_SHOWN_ISSUES ? ' …' : ''}. To add names, use \`/domain import\`.`,
        ])),
    ...(changedNames.length === 0
      ? []
      : actions('names_import', [
          button('names_import_apply', `Change ${formatCount(changedNames.length, 'name')}`, hash, {
            style: 'primary',
          }),
        ])),
    notes.length > 0 && context(notes.join(' ')),
  ]);
}

export function importProgressMessage(
  activity: 'Compared' | 'Changed',
  { done, total }: { readonly done: number; readonly total: number },
): Message {
  return textMessage(
    total === 0
      ? 'Reading the file.'
      : `${activity} ${done.toLocaleString('en')} of ${total.toLocaleString('en')} names so far.`,
  );
}

export const PLAN_NOT_FOUND = 'This plan was already applied, or has expired. Import the file again.';
