import { domainToASCII, domainToUnicode } from 'node:url';
import { cleanText } from '../lib/typed-text.ts';
import { zoneFor } from './profiles.ts';
import type { NameIssue } from './zone-issue.ts';

/**
 * A domain name that passed the rules of host names (RFC 1123) and of letters beyond ASCII (UTS 46). It need not be one
 * that anybody can register: nameservers have such names too.
 */
export interface DomainName {
  /** Lower case, `xn--…` where needed, no dot at the end: what is sent and compared. */
  readonly ascii: string;
  /** The same name with its own letters: what people read. */
  readonly unicode: string;
  /** The last label in ASCII, for example `rest`. */
  readonly zone: string;
}

/** What reading a text gave: the value, or what is wrong with it. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly issue: NameIssue };

const MAX_LABEL = 63;
const MAX_NAME = 253;
const SHOWN_INPUT = 80;
const LDH_LABEL = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;
const SLACK_LINK = /^<([^<>|]*)(?:\|([^<>|]*))?>$/;
/** ASCII that no host name has, blanks, control characters and those that turn the direction of writing. */
const NEVER_IN_NAMES = /[\p{Cc}\p{Cs}\p{Co}\p{Zs}\p{Zl}\p{Zp}\p{Bidi_Control}!-,/:-@[-`{-~]/u;
/** Characters that nobody sees, among them those that turn the direction of writing. */
const UNSEEN = /^[\p{C}\p{Zl}\p{Zp}]$/u;
const EVERY_UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/gu;
/** Letters beyond ASCII, their marks and digits, and the few signs that IDNA knows inside words (RFC 5892). */
const IDN_CHARACTERS = /^[\p{L}\p{M}\p{Nd}\p{Join_Control}\u00b7\u0375\u05f3\u05f4\u30fb.-]*$/u;
/** A last label that URLs read as the end of an IPv4 address, `0x7f.1` as well. */
const NUMBER_LABEL = /\.(?:\d+|0x[0-9a-f]*)$/;

/**
 * Reads a domain name as people type and paste it: blanks around it, capitals, a dot at the end, a web address,
 * or the link that Slack makes of a name (`<http://cafe.rest|cafe.rest>`).
 * @param text what was typed.
 * @returns the name, or what is wrong with it; a name has at least two labels, each of 1–63 characters in its
 *   ASCII form, and at most 253 in all. `checkName` says what a zone allows beyond that.
 */
export function parseDomainName(text: string): Parsed<DomainName> {
  const trimmed = cleanText(text).trim();
  if (trimmed === '') return { ok: false, issue: { code: 'name_missing' } };
  const link = SLACK_LINK.exec(trimmed);
  if (!link) return parseBareHost(hostPart(trimmed));

  const target = parseBareHost(hostPart(decodePercent(link[1] ?? '')));
  const label = link[2];
  if (label === undefined) return target;
  const shown = parseBareHost(hostPart(label));
  if (target.ok && shown.ok && target.value.ascii !== shown.value.ascii) {
    return {
      ok: false,
      issue: { code: 'link_mismatch', shown: shown.value.unicode, target: target.value.unicode },
    };
  }
  return shown.ok ? shown : target;
}

/**
 * The zone of a text that is no domain name, read from its ending: `rest` of `under_score.rest`. The other fields of such
 * a request are checked against the rules of that zone, so that its writer hears of everything at once.
 */
export function zoneOfUnreadable(text: string): string | undefined {
  return /\.([a-z0-9-]+)\.?>?$/i.exec(text.trim())?.[1]?.toLowerCase();
}

/**
 * Reads a zone as people type it: `rest`, `.rest` or `co.uk`.
 * @returns its ASCII form, or undefined when it can be no zone.
 */
export function parseZone(text: string): string | undefined {
  const parsed = parseDomainName(`name.${text.replace(/^\./, '')}`);
  return parsed.ok ? parsed.value.ascii.slice('name.'.length) : undefined;
}

/**
 * A name for people: with its own letters, and the ASCII form beside it when the two differ, so that letters
 * which look alike cannot mislead.
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

/**
 * Reads a host name and nothing else: no link, scheme, user, port or path.
 * @param text what stands where a host is expected, such as between the slashes of an address.
 */
export function parseBareHost(text: string): Parsed<DomainName> {
  // IDNA takes these for dots too (UTS 46), and Asian keyboards type them.
  const name = text
    .normalize('NFC')
    .replace(/[\u3002\uff0e\uff61]/g, '.')
    .replace(/\.$/, '');
  const shown = cut(text);
  const typed = shapeIssue({ text, shown, name });
  if (typed !== undefined) return { ok: false, issue: typed };

  const ascii = /^[\x21-\x7e]+$/.test(name) ? name.toLowerCase() : domainToASCII(name);
  const decoded = domainToUnicode(ascii);
  // Without a profile only the rules of DNS count, so a name that UTS 46 refuses is shown in its ASCII form.
  const isLenient = ascii !== '' && !zoneFor(ascii).documented;
  const unicode = isLenient && domainToASCII(decoded) !== ascii ? ascii : decoded;
  const encoded = formIssue({ shown, ascii, unicode, isLenient });
  if (encoded !== undefined) return { ok: false, issue: encoded };
  return { ok: true, value: { ascii, unicode, zone: ascii.slice(ascii.lastIndexOf('.') + 1) } };
}

interface TypedName {
  readonly text: string;
  /** The text as issues show it. */
  readonly shown: string;
  /** The text in its normal form. */
  readonly name: string;
}

/** What is wrong with a name as it was typed. */
function shapeIssue({ text, shown, name }: TypedName): NameIssue | undefined {
  if (name === '') return { code: 'name_missing' };
  if (text.includes('@')) return { code: 'email_address', text: shown };
  const stray = NEVER_IN_NAMES.exec(text)?.[0];
  if (stray !== undefined) {
    return UNSEEN.test(stray)
      ? { code: 'invisible_character', text: shown }
      : { code: 'character_not_allowed', text: shown, character: stray };
  }
  const labels = name.split('.');
  if (labels.includes('')) return { code: 'empty_label', text: shown };
  if (labels.length < 2) return { code: 'no_ending', text: shown, example: exampleOf(name) };
  return undefined;
}

interface EncodedName {
  readonly shown: string;
  /** Empty when IDNA refused the name. */
  readonly ascii: string;
  /** Empty when IDNA refused the name. */
  readonly unicode: string;
  /** Its zone has no profile. */
  readonly isLenient: boolean;
}

/** What is wrong with a name in its ASCII form and with its own letters. */
function formIssue({ shown, ascii, unicode, isLenient }: EncodedName): NameIssue | undefined {
  if (NUMBER_LABEL.test(ascii)) return { code: 'ip_address', text: shown };
  if (ascii === '' || unicode === '') return { code: 'letters_not_allowed', text: shown };
  const labels = ascii.split('.');
  const long = labels.find((label) => label.length > MAX_LABEL);
  if (long !== undefined) {
    return {
      code: 'label_too_long',
      label: cut(domainToUnicode(long) || long),
      length: long.length,
      max: MAX_LABEL,
      encoded: long.startsWith('xn--'),
    };
  }
  if (ascii.length > MAX_NAME) return { code: 'name_too_long', length: ascii.length, max: MAX_NAME };
  const hyphenated = labels.find((label) => label.startsWith('-') || label.endsWith('-'));
  if (hyphenated !== undefined) return { code: 'hyphen_at_edge', label: hyphenated };
  if (!labels.every((label) => LDH_LABEL.test(label)) || !(isLenient || IDN_CHARACTERS.test(unicode))) {
    return { code: 'sign_not_allowed', text: shown };
  }
  // An `xn--` label that does not encode to itself again cannot be registered.
  if (!isLenient && domainToASCII(unicode) !== ascii) return { code: 'invalid_xn_form', text: shown };
  return undefined;
}

/** A whole name that a label may have been meant for. */
function exampleOf(label: string): string {
  return LDH_LABEL.test(label) && label.length <= 30 ? `${label}.rest` : 'cafe.rest';
}

/** What somebody typed, at most {@link SHOWN_INPUT} characters of it and none that changes how a sentence is shown. */
function cut(text: string): string {
  const clean = text.replace(EVERY_UNSEEN, '');
  return clean.length > SHOWN_INPUT ? `${[...clean].slice(0, SHOWN_INPUT).join('')}…` : clean;
}
