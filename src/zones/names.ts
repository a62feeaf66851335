import { domainToASCII, domainToUnicode } from 'node:url';
import { cleanText } from '../lib/entered-text.ts';
import { findZoneProfile } from './profiles.ts';
import type { NameIssue } from './zone-issue.ts';

/** A valid host name (RFC 1123, UTS 46). It isn't always registrable; for example, it can be a nameserver. */
export interface DomainName {
  /** In lowercase, with `xn--…` labels and without a trailing dot. */
  readonly ascii: string;
  readonly unicode: string;
  /** The last label in ASCII, such as `rest`. */
  readonly zone: string;
}

export type NameParseResult =
  | { readonly ok: true; readonly value: DomainName }
  | { readonly ok: false; readonly issue: NameIssue };

const MAX_LABEL_LENGTH = 63;
const MAX_NAME_LENGTH = 253;
const MAX_DISPLAY_LENGTH = 80;
const LDH_LABEL = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;
const SLACK_LINK = /^<([^<>|]*)(?:\|([^<>|]*))?>$/;
/** Spaces, control characters, bidi controls, and ASCII characters that aren't allowed in host names. */
const FORBIDDEN_CHARACTER = /[\p{Cc}\p{Cs}\p{Co}\p{Zs}\p{Zl}\p{Zp}\p{Bidi_Control}!-,/:-@[-`{-~]/u;
/** Invisible characters, including bidi controls. */
const INVISIBLE_CHARACTER = /^[\p{C}\p{Zl}\p{Zp}]$/u;
const INVISIBLE_CHARACTERS = /[\p{C}\p{Zl}\p{Zp}]/gu;
/** Non-ASCII letters, marks and digits, and characters that IDNA allows inside words (RFC 5892). */
const IDN_CHARACTERS = /^[\p{L}\p{M}\p{Nd}\p{Join_Control}\u00b7\u0375\u05f3\u05f4\u30fb.-]*$/u;
/** A last label that makes URL parsers read the name as an IPv4 address, such as `1` in `0x7f.1`. */
const NUMERIC_LAST_LABEL = /\.(?:\d+|0x[0-9a-f]*)$/;

/**
 * Accepts names as people type or paste them: with surrounding spaces, capitals or a trailing dot, as a URL,
 * or as a Slack link such as `<http://cafe.rest|cafe.rest>`.
 * @returns a name with at least two labels of 1–63 ASCII characters and at most 253 characters, or the issue.
 * Doesn't check the zone's rules; see `checkName`
 */
export function parseDomainName(text: string): NameParseResult {
  const trimmed = cleanText(text).trim();
  if (trimmed === '') return { ok: false, issue: { code: 'name_missing' } };
  const link = SLACK_LINK.exec(trimmed);
  if (!link) return parseBareHost(extractHost(trimmed));

  const targetHost = parseBareHost(extractHost(decodePercent(link[1] ?? '')));
  const label = link[2];
  if (label === undefined) return targetHost;
  const labelHost = parseBareHost(extractHost(label));
  if (targetHost.ok && labelHost.ok && targetHost.value.ascii !== labelHost.value.ascii) {
    return {
      ok: false,
      issue: { code: 'link_mismatch', shown: labelHost.value.unicode, target: targetHost.value.unicode },
    };
  }
  return labelHost.ok ? labelHost : targetHost;
}

/**
 * Guesses the zone of an invalid name, such as `rest` for `under_score.rest`, so that the form's other fields
 * can still be checked.
 */
export function guessZone(text: string): string | undefined {
  return /\.([a-z0-9-]+)\.?>?$/i.exec(text.trim())?.[1]?.toLowerCase();
}

/**
 * Accepts `rest`, `.rest` or `co.uk`.
 * @returns the ASCII form; undefined if invalid
 */
export function parseZone(text: string): string | undefined {
  const parsed = parseDomainName(`name.${text.replace(/^\./, '')}`);
  return parsed.ok ? parsed.value.ascii.slice('name.'.length) : undefined;
}

/**
 * Adds the ASCII form to a Unicode name, because letters that look alike can mislead.
 * @returns for example `cafe.rest` or `münchen.rest (xn--mnchen-3ya.rest)`
 */
export function formatDomainName(ascii: string): string {
  const unicode = domainToUnicode(ascii);
  return unicode === '' || unicode === ascii ? ascii : `${unicode} (${ascii})`;
}

/** Also removes the port. Text that isn't a URL is treated as a host. */
function extractHost(text: string): string {
  const url = /^https?:\/\/([^/?#]*)/i.exec(text.trim());
  return (url?.[1] ?? text.trim()).replace(/:\d+$/, '');
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Accepts only a host name, without a link, scheme, user, port or path. */
export function parseBareHost(text: string): NameParseResult {
  // Full stops from Asian keyboards, which IDNA treats as dots (UTS 46).
  const name = text
    .normalize('NFC')
    .replace(/[\u3002\uff0e\uff61]/g, '.')
    .replace(/\.$/, '');
  const displayText = toDisplayText(text);
  const enteredIssue = checkEnteredName({ text, displayText, name });
  if (enteredIssue !== undefined) return { ok: false, issue: enteredIssue };

  const ascii = /^[\x21-\x7e]+$/.test(name) ? name.toLowerCase() : domainToASCII(name);
  const decodedName = domainToUnicode(ascii);
  // Without a profile, only the rules of DNS apply, so a name that UTS 46 rejects is shown in its ASCII form.
  const isLenient = ascii !== '' && !findZoneProfile(ascii).isDocumented;
  const unicode = isLenient && domainToASCII(decodedName) !== ascii ? ascii : decodedName;
  const encodedIssue = checkEncodedName({ displayText, ascii, unicode, isLenient });
  if (encodedIssue !== undefined) return { ok: false, issue: encodedIssue };
  return { ok: true, value: { ascii, unicode, zone: ascii.slice(ascii.lastIndexOf('.') + 1) } };
}

interface EnteredName {
  readonly text: string;
  readonly displayText: string;
  readonly name: string;
}

function checkEnteredName({ text, displayText, name }: EnteredName): NameIssue | undefined {
  if (name === '') return { code: 'name_missing' };
  if (text.includes('@')) return { code: 'email_address', text: displayText };
  const forbiddenCharacter = FORBIDDEN_CHARACTER.exec(text)?.[0];
  if (forbiddenCharacter !== undefined) {
    return INVISIBLE_CHARACTER.test(forbiddenCharacter)
      ? { code: 'invisible_character', text: displayText }
      : { code: 'character_not_allowed', text: displayText, character: forbiddenCharacter };
  }
  const labels = name.split('.');
  if (labels.includes('')) return { code: 'empty_label', text: displayText };
  if (labels.length < 2) return { code: 'no_ending', text: displayText, example: suggestName(name) };
  return undefined;
}

interface EncodedName {
  readonly displayText: string;
  /** Like `unicode`, empty if IDNA rejects the name. */
  readonly ascii: string;
  readonly unicode: string;
  /** True if the zone has no profile. */
  readonly isLenient: boolean;
}

function checkEncodedName({ displayText, ascii, unicode, isLenient }: EncodedName): NameIssue | undefined {
  if (NUMERIC_LAST_LABEL.test(ascii)) return { code: 'ip_address', text: displayText };
  if (ascii === '' || unicode === '') return { code: 'letters_not_allowed', text: displayText };
  const labels = ascii.split('.');
  const longLabel = labels.find((label) => label.length > MAX_LABEL_LENGTH);
  if (longLabel !== undefined) {
    return {
      code: 'label_too_long',
      label: toDisplayText(domainToUnicode(longLabel) || longLabel),
      length: longLabel.length,
      max: MAX_LABEL_LENGTH,
      encoded: longLabel.startsWith('xn--'),
    };
  }
  if (ascii.length > MAX_NAME_LENGTH)
    return { code: 'name_too_long', length: ascii.length, max: MAX_NAME_LENGTH };
  const hyphenatedLabel = labels.find((label) => label.startsWith('-') || label.endsWith('-'));
  if (hyphenatedLabel !== undefined) return { code: 'hyphen_at_edge', label: hyphenatedLabel };
  if (!labels.every((label) => LDH_LABEL.test(label)) || !(isLenient || IDN_CHARACTERS.test(unicode))) {
    return { code: 'symbol_not_allowed', text: displayText };
  }
  // An `xn--` label that doesn't round-trip can't be registered.
  if (!isLenient && domainToASCII(unicode) !== ascii) return { code: 'invalid_xn_form', text: displayText };
  return undefined;
}

function suggestName(label: string): string {
  return LDH_LABEL.test(label) && label.length <= 30 ? `${label}.rest` : 'cafe.rest';
}

function toDisplayText(text: string): string {
  const clean = text.replace(INVISIBLE_CHARACTERS, '');
  return clean.length > MAX_DISPLAY_LENGTH ? `${[...clean].slice(0, MAX_DISPLAY_LENGTH).join('')}…` : clean;
}
