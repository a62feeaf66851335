import { truncateMarkup } from './mrkdwn.ts';

/*
 * How much of a phone a message takes: lines of 40 characters. What does not fit into the lines that a message may have stands
 * behind a button.
 */

const LINE = 40;

/** The most lines that messages take which people decide by or read again and again. */
export const MOST_LINES = { reply: 6, endedCard: 6, alarm: 14, plan: 16 } as const;
/** What a row of buttons takes of them. */
export const ROW_OF_BUTTONS = 2;

/** What a person sees of mrkdwn, about as long as they see it. */
function seen(mrkdwn: string): string {
  return mrkdwn
    .replace(/<!date\^[^|>]*\|([^>]*)>/g, '$1')
    .replace(/<(?:[@#]|!subteam\^)[^>]+>/g, '@person')
    .replace(/<[^|>]+\|([^>]*)>/g, '$1')
    .replace(/:[a-z][a-z0-9_+-]*:/g, '⚠')
    .replace(/[*`\u2060]/g, '')
    .replace(/&(?:amp|lt|gt);/g, '&');
}

/** How many lines of a phone some mrkdwn takes. */
export function phoneLines(mrkdwn: string): number {
  return seen(mrkdwn)
    .split('\n')
    .reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / LINE)), 0);
}

/** Cuts mrkdwn to some lines of a phone. */
export function cutToLines(mrkdwn: string, most: number): string {
  if (phoneLines(mrkdwn) <= most) return mrkdwn;
  // Halves the search: a message of the service may be thousands of characters long.
  let [fits, tooLong] = [1, mrkdwn.length];
  while (tooLong - fits > 1) {
    const limit = Math.floor((fits + tooLong) / 2);
    if (phoneLines(truncateMarkup(mrkdwn, limit)) <= most) fits = limit;
    else tooLong = limit;
  }
  return truncateMarkup(mrkdwn, fits);
}

/**
 * The first of some texts, as far as they fit into some lines of a phone together. The last of them is cut where it does not
 * fit whole.
 */
export function fitLines(texts: readonly string[], most: number): string[] {
  let room = most;
  return texts.flatMap((text) => {
    if (room <= 0) return [];
    const shown = cutToLines(text, room);
    room -= phoneLines(shown);
    return [shown];
  });
}
