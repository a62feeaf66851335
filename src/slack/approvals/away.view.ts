import type { StandIn } from '../../approvals/progress.ts';
import { code, formatLocalTime, mention, mentionApprover } from '../kit/blocks.ts';

export const AWAY_ERRORS = {
  usage:
    'Enter an end date and a stand-in, such as `/domain away 2026-12-24 @carol` or `/domain away 2w @carol`.',
  notADateOrDuration: (word: string) =>
    `${code(word)} isn’t a date or duration. Use a date such as \`2026-12-24\`, or \`5d\` or \`2w\`.`,
  inPast: (word: string) => `${code(word)} is in the past. Use a future date.`,
  tooLate: 'That’s more than a year ahead. Use an earlier date; you can extend it later.',
  group: (groupId: string) =>
    `${mentionApprover(groupId)} is a group. Choose one person, such as \`/domain away 2w @carol\`.`,
  notAPerson: (word: string) =>
    `I don’t know who ${code(word)} is. Type @ and choose the person from Slack’s list. If you did that, an admin has to set \`should_escape: true\` for \`/domain\` in the app’s manifest.`,
  self: 'You can’t be your own stand-in. Choose someone else.',
  left: (userId: string) =>
    `${mention(userId)} isn’t a full member of this workspace. Choose someone who is.`,
  unknown: (userId: string) =>
    `Slack can’t confirm right now that ${mention(userId)} is a member. Nothing changed. Try again in a minute.`,
} as const;

export const NOT_AWAY = 'You have no stand-in. Choose one with `/domain away UNTIL @PERSON`.';

/** @param nextStandIn the stand-in's own stand-in; set if the stand-in is away too */
export function awayText({ userId, until }: StandIn, nextStandIn: StandIn | undefined): string {
  const absenceNote =
    nextStandIn === undefined
      ? ''
      : ` ${mention(userId)} is away too, until ${formatLocalTime(nextStandIn.until)}, so neither of you has a stand-in until then.`;
  return `${mention(userId)} is your stand-in until ${formatLocalTime(until)}. They can approve what you could, except orders that either of you requested.${absenceNote} To end this earlier, use \`/domain back\`.`;
}
