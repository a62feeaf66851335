/** Zero-width spaces, word joiners, byte order marks, soft hyphens and direction marks. */
const INVISIBLE_CHARACTERS = /[\u00ad\u061c\u200b\u200e\u200f\u2060\ufeff]/g;
/** Joiners are meaningful after Arabic letters, combining marks and emoji, and before another joiner (RFC 5892). */
const STRAY_JOINER =
  /(?<![\p{Script=Arabic}\p{M}\p{Extended_Pictographic}])[\u200c\u200d]|[\u200c\u200d](?![\p{L}\p{M}\p{Extended_Pictographic}])/gu;
const NO_BREAK_SPACE = /[\u00a0\u2007\u202f]/g;

/** Removes invisible characters from pasted text. */
export function cleanText(text: string): string {
  if (/^[ -~]*$/.test(text)) return text;
  return text.replace(INVISIBLE_CHARACTERS, '').replace(STRAY_JOINER, '').replace(NO_BREAK_SPACE, ' ');
}

const MAX_SHOWN_LENGTH = 80;

/** Shortens text and puts it on one line. */
export function shortenText(text: string): string {
  const singleLine = text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ');
  return singleLine.length > MAX_SHOWN_LENGTH
    ? `${[...singleLine].slice(0, MAX_SHOWN_LENGTH).join('')}…`
    : singleLine;
}
