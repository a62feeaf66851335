import { truncateMarkup } from './mrkdwn.ts';

const PHONE_LINE_LENGTH = 40;

/** Line limits of messages that people decide on or read often. Longer content is behind a button. */
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
    .reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / PHONE_LINE_LENGTH)), 0);
}

/** @param buildText adds text around `mrkdwn` that isn't truncated */
export function truncateToLines(
  mrkdwn: string,
  maxLines: number,
  buildText: (text: string) => string = (text) => text,
): string {
  const fits = (text: string) => countPhoneLines(text) <= maxLines;
  const fullText = buildText(mrkdwn);
  if (fits(fullText)) return fullText;
  const truncateAt = (length: number) => buildText(truncateMarkup(mrkdwn, length));
  // A binary search, because a message from the service may have thousands of characters.
  let [fittingLength, excessiveLength] = [1, mrkdwn.length];
  while (excessiveLength - fittingLength > 1) {
    const length = Math.floor((fittingLength + excessiveLength) / 2);
    if (fits(truncateAt(length))) fittingLength = length;
    else excessiveLength = length;
  }
  return truncateAt(fittingLength);
}

/** Returns the first texts that fit into `maxLines`. The last one is truncated if needed. */
export function fitLines(texts: readonly string[], maxLines: number): string[] {
  let remainingLines = maxLines;
  return texts.flatMap((text) => {
    if (remainingLines <= 0) return [];
    const fittingText = truncateToLines(text, remainingLines);
    remainingLines -= countPhoneLines(fittingText);
    return [fittingText];
  });
}
