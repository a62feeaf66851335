import { truncateMarkup } from './mrkdwn.ts';

/** On a phone. */
const LINE_LENGTH = 40;

/** Limits for messages that are used for decisions or read often. Longer content is behind a button. */
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

/** @param toLine builds the line around the text */
export function cutToLines(
  mrkdwn: string,
  maxLines: number,
  toLine: (text: string) => string = (text) => text,
): string {
  const fits = (line: string) => countPhoneLines(line) <= maxLines;
  const fullLine = toLine(mrkdwn);
  if (fits(fullLine)) return fullLine;
  const cutAt = (length: number) => toLine(truncateMarkup(mrkdwn, length));
  // A binary search, because a message from the service may have thousands of characters.
  let [fittingLength, excessiveLength] = [1, mrkdwn.length];
  while (excessiveLength - fittingLength > 1) {
    const length = Math.floor((fittingLength + excessiveLength) / 2);
    if (fits(cutAt(length))) fittingLength = length;
    else excessiveLength = length;
  }
  return cutAt(fittingLength);
}

/** Returns the first texts that fit into `maxLines`. The last one is truncated if needed. */
export function fitLines(texts: readonly string[], maxLines: number): string[] {
  let remainingLines = maxLines;
  return texts.flatMap((text) => {
    if (remainingLines <= 0) return [];
    const fittingText = cutToLines(text, remainingLines);
    remainingLines -= countPhoneLines(fittingText);
    return [fittingText];
  });
}
