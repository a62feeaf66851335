import { truncateMarkup } from './mrkdwn.ts';

/* A message's length on a phone, in lines of 40 characters. Longer content is behind a button. */

const LINE_LENGTH = 40;

/** Maximum number of lines of messages that are used for decisions or read often. */
export const MAX_LINES = { reply: 6, endedCard: 6, alarm: 14, plan: 16 } as const;
export const BUTTON_ROW_LINES = 2;

function estimateVisibleText(mrkdwn: string): string {
  return mrkdwn
    .replace(/<!date\^[^|>]*\|([^>]*)>/g, '$1')
    .replace(/<(?:[@#]|!subteam\^)[^>]+>/g, '@person')
    .replace(/<[^|>]+\|([^>]*)>/g, '$1')
    .replace(/:[a-z][a-z0-9_+-]*:/g, '⚠')
    .replace(/[*`\u2060]/g, '')
    .replace(/&(?:amp|lt|gt);/g, '&');
}

export function countPhoneLines(mrkdwn: string): number {
  return estimateVisibleText(mrkdwn)
    .split('\n')
    .reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / LINE_LENGTH)), 0);
}

export function cutToLines(mrkdwn: string, maxLines: number): string {
  if (countPhoneLines(mrkdwn) <= maxLines) return mrkdwn;
  // Uses a binary search, because a message from the service may have thousands of characters.
  let [fits, tooLong] = [1, mrkdwn.length];
  while (tooLong - fits > 1) {
    const limit = Math.floor((fits + tooLong) / 2);
    if (countPhoneLines(truncateMarkup(mrkdwn, limit)) <= maxLines) fits = limit;
    else tooLong = limit;
  }
  return truncateMarkup(mrkdwn, fits);
}

/** Returns the first texts that fit into `maxLines`. The last one is truncated if needed. */
export function fitLines(texts: readonly string[], maxLines: number): string[] {
  let linesLeft = maxLines;
  return texts.flatMap((text) => {
    if (linesLeft <= 0) return [];
    const shown = cutToLines(text, linesLeft);
    linesLeft -= countPhoneLines(shown);
    return [shown];
  });
}
