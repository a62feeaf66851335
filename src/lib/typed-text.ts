/** Removes invisible characters from pasted text. */

/** Zero-width spaces, word joiners, byte order marks, soft hyphens and direction marks. */
const INVISIBLE = /[\u00ad\u061c\u200b\u200e\u200f\u2060\ufeff]/g;
/** Joiners are meaningful after Arabic letters, combining marks and emoji, and before another joiner (RFC 5892). */
const STRAY_JOINER =
  /(?<![\p{Script=Arabic}\p{M}\p{Extended_Pictographic}])[\u200c\u200d]|[\u200c\u200d](?![\p{L}\p{M}\p{Extended_Pictographic}])/gu;
const HARD_BLANK = /[\u00a0\u2007\u202f]/g;

export function cleanText(text: string): string {
  if (/^[ -~]*$/.test(text)) return text;
  return text.replace(INVISIBLE, '').replace(STRAY_JOINER, '').replace(HARD_BLANK, ' ');
}

const SHOWN_TEXT = 80;

/** Fits into one line of an answer. */
export function shortenText(text: string): string {
  const clean = text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ');
  return clean.length > SHOWN_TEXT ? `${[...clean].slice(0, SHOWN_TEXT).join('')}…` : clean;
}
