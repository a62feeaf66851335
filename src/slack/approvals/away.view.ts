import type { StandIn } from '../../approvals/progress.ts';
import { code, mention, mentionApprover, moment } from '../kit/blocks.ts';

/* What is said about who stands in for whom. */

/** Why nobody stands in for a person. */
export const AWAY = {
  usage:
    'Say until when and who stands in for you, such as `/domain away 2026-12-24 @carol` or `/domain away 2w @carol`.',
  noTime: (word: string) =>
    `${code(word)} is neither a day nor a length of time. Give a day such as \`2026-12-24\`, or \`5d\` or \`2w\`.`,
  over: (word: string) => `${code(word)} is over already. Give a day that is ahead.`,
  tooLate: 'That is more than a year ahead. Give an earlier day; you can do this again then.',
  group: (groupId: string) =>
    `${mentionApprover(groupId)} is a group. Choose one person, such as \`/domain away 2w @carol\`.`,
  nobody: (word: string) =>
    `I do not know who ${code(word)} is. Type @ and choose the person from Slack’s list. If you did, an admin has to set \`should_escape: true\` for \`/domain\` in the app’s manifest.`,
  self: 'You cannot stand in for yourself. Choose somebody else.',
  left: (userId: string) =>
    `${mention(userId)} is not a full member of this workspace. Choose somebody who is.`,
  unknown: (userId: string) =>
    `Slack does not tell me whether ${mention(userId)} is a member. Nothing has changed. Try again in a minute.`,
} as const;

export const NOT_AWAY = 'Nobody stands in for you. `/domain away UNTIL @PERSON` asks somebody to.';

/** Who stands in for the reader. @param own who stands in for that person */
export function awayText({ userId, until }: StandIn, own: StandIn | undefined): string {
  const passedOn =
    own === undefined
      ? ''
      : ` ${mention(userId)} is away too, until ${moment(own.until)}: nobody stands in for both of you.`;
  return `${mention(userId)} stands in for you until ${moment(until)}. They approve what you could approve, but nothing that either of you asked for.${passedOn} \`/domain back\` ends it earlier.`;
}
