import { domainToASCII, domainToUnicode } from 'node:url';

/** A domain name that passed the rules of host names (RFC 1123) and of letters beyond ASCII (UTS 46). */
export interface DomainName {
  /** Lower case, `xn--…` where needed, no dot at the end: what is sent and compared. */
  readonly ascii: string;
  /** The same name with its own letters: what people read. */
  readonly unicode: string;
  /** The last label in ASCII, for example `rest`. */
  readonly zone: string;
}

/** A host name, such as that of a nameserver; it need not be a name that anybody can register. */
export interface HostName {
  readonly ascii: string;
  readonly unicode: string;
}

/** What reading a text gave: the value, or a sentence that tells its writer what to do. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: string };

const MAX_LABEL = 63;
const MAX_NAME = 253;
const SHOWN_INPUT = 80;
const LDH_LABEL = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;
const SLACK_LINK = /^<([^<>|]*)(?:\|([^<>|]*))?>$/;
/** ASCII that no host name has, blanks, control characters and those that turn the direction of writing. */
const NEVER_IN_NAMES = /[\p{Cc}\p{Cs}\p{Co}\p{Zs}\p{Zl}\p{Zp}\p{Bidi_Control}!-,/:-@[-`{-~]/u;
/** Letters beyond ASCII, their marks and digits, and the few signs that IDNA knows inside words (RFC 5892). */
const IDN_CHARACTERS = /^[\p{L}\p{M}\p{Nd}\p{Join_Control}\u00b7\u0375\u05f3\u05f4\u30fb.-]*$/u;
/** A last label that URLs read as the end of an IPv4 address, `0x7f.1` as well. */
const NUMBER_LABEL = /\.(?:\d+|0x[0-9a-f]*)$/;

/**
 * Reads a domain name as people type and paste it: blanks around it, capitals, a dot at the end, a web address,
 * or the link that Slack makes of a name (`<http://cafe.rest|cafe.rest>`).
 *
 * @param text what was typed.
 * @returns the name, or a problem in one sentence; a name has at least two labels, each of 1–63 characters in
 *   its ASCII form, and at most 253 in all. What a zone allows beyond that is asked of `checkName`.
 */
export function parseDomainName(text: string): Parsed<DomainName> {
  const host = parseHostName(text);
  if (!host.ok) return host;
  const { ascii, unicode } = host.value;
  return { ok: true, value: { ascii, unicode, zone: ascii.slice(ascii.lastIndexOf('.') + 1) } };
}

/**
 * Reads a host name, for example of a nameserver, with the same tolerance as {@link parseDomainName}.
 *
 * @param text what was typed.
 * @returns the name in both forms, or a problem in one sentence.
 */
export function parseHostName(text: string): Parsed<HostName> {
  const trimmed = text.trim();
  if (trimmed === '') return problem('Give a name, for example cafe.rest.');
  const link = SLACK_LINK.exec(trimmed);
  if (!link) return readHost(hostPart(trimmed));

  const target = readHost(hostPart(decodePercent(link[1] ?? '')));
  const label = link[2];
  if (label === undefined) return target;
  const shown = readHost(hostPart(label));
  if (target.ok && shown.ok && target.value.ascii !== shown.value.ascii) {
    return problem(
      `The link shows ${shown.value.unicode} but leads to ${target.value.unicode}. Type the name itself.`,
    );
  }
  return shown.ok ? shown : target;
}

/**
 * The zone that a text names which is no domain name, as far as its ending can be read: `rest` of `under_score.rest`.
 * What else was given for such a name is checked against the rules of its zone all the same.
 */
export function zoneOfUnreadable(text: string): string | undefined {
  return /\.([a-z0-9-]+)\.?>?$/i.exec(text.trim())?.[1]?.toLowerCase();
}

/**
 * A name for people: with its own letters, and the ASCII form beside it when the two differ, so that letters
 * which look alike cannot mislead.
 *
 * @param ascii the name in its ASCII form.
 * @returns for example `cafe.rest` or `münchen.rest (xn--mnchen-3ya.rest)`.
 */
export function displayName(ascii: string): string {
  const unicode = domainToUnicode(ascii);
  return unicode === '' || unicode === ascii ? ascii : `${unicode} (${ascii})`;
}

/** Takes the host out of a pasted web address; anything else is left as it is. */
function hostPart(text: string): string {
  const address = /^https?:\/\/([^/?#]*)/i.exec(text.trim());
  return (address?.[1] ?? text.trim()).replace(/:\d+$/, '');
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function readHost(text: string): Parsed<HostName> {
  // IDNA sees these as dots too (UTS 46), and people type them with Asian keyboards.
  const name = text
    .normalize('NFC')
    .replace(/[\u3002\uff0e\uff61]/g, '.')
    .replace(/\.$/, '');
  const wrongShape = shapeProblem(text, name);
  if (wrongShape !== undefined) return problem(wrongShape);

  const ascii = /^[\x21-\x7e]+$/.test(name) ? name.toLowerCase() : domainToASCII(name);
  const unicode = domainToUnicode(ascii);
  const wrongForm = formProblem(quote(text), ascii, unicode);
  return wrongForm === undefined ? { ok: true, value: { ascii, unicode } } : problem(wrongForm);
}

/** What is wrong with a name as it was typed. */
function shapeProblem(text: string, name: string): string | undefined {
  const shown = quote(text);
  if (name === '') return 'Give a name, for example cafe.rest.';
  if (text.includes('@')) {
    return `${shown} looks like an e-mail address. Give only the part after the @.`;
  }
  const stray = NEVER_IN_NAMES.exec(text)?.[0];
  if (stray !== undefined) return strayProblem(shown, stray);
  const labels = name.split('.');
  if (labels.includes('')) return `${shown} has two dots in a row or starts with one. Check it.`;
  if (labels.length < 2) {
    return `${shown} has no ending. Give the whole name, for example ${suggestion(name)}.`;
  }
  return undefined;
}

/** What is wrong with a name in its ASCII form and its own letters; both are empty when IDNA refused it. */
function formProblem(shown: string, ascii: string, unicode: string): string | undefined {
  if (NUMBER_LABEL.test(ascii)) {
    return `${shown} is an IP address or ends in a number. Give a name such as cafe.rest.`;
  }
  if (ascii === '' || unicode === '') {
    return `${shown} has letters that domain names cannot have. Check its spelling.`;
  }
  const labels = ascii.split('.');
  const long = labels.find((label) => label.length > MAX_LABEL);
  if (long !== undefined) {
    const form = long.startsWith('xn--') ? ' in its xn-- form' : '';
    return `${quote(domainToUnicode(long) || long)} has ${long.length} characters${form}. Use at most ${MAX_LABEL} between the dots.`;
  }
  if (ascii.length > MAX_NAME) return `The name has ${ascii.length} characters. Use at most ${MAX_NAME}.`;
  const hyphenated = labels.find((label) => label.startsWith('-') || label.endsWith('-'));
  if (hyphenated !== undefined) return `${quote(hyphenated)} starts or ends with a hyphen. Remove it.`;
  if (!labels.every((label) => LDH_LABEL.test(label)) || !IDN_CHARACTERS.test(unicode)) {
    return `${shown} contains a sign that is no letter or digit. Remove it.`;
  }
  // An `xn--` label that does not come back the same decodes to nothing that can be registered.
  if (domainToASCII(unicode) !== ascii) {
    return `${shown} is not a valid xn-- form. Give the name with its own letters.`;
  }
  return undefined;
}

function problem(sentence: string): { readonly ok: false; readonly problem: string } {
  return { ok: false, problem: sentence };
}

function suggestion(label: string): string {
  return LDH_LABEL.test(label) && label.length <= 30 ? `${label}.rest` : 'cafe.rest';
}

function strayProblem(shown: string, stray: string): string {
  if (/^[\p{C}\p{Zl}\p{Zp}]$/u.test(stray)) {
    return `${shown} contains a character that cannot be seen. Type the name again.`;
  }
  const sign = /^\p{Zs}$/u.test(stray) ? 'a blank' : stray === '_' ? 'an underscore' : `“${stray}”`;
  return `${shown} contains ${sign}. Remove it.`;
}

/** Quotes what somebody typed, cut and without characters that could change how the sentence is shown. */
function quote(text: string): string {
  const clean = text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '');
  return `“${clean.length > SHOWN_INPUT ? `${[...clean].slice(0, SHOWN_INPUT).join('')}…` : clean}”`;
}
