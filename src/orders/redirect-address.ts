import { isIP } from 'node:net';
import { parseBareHost } from '../zones/names.ts';

/**
 * Parses the addresses of a redirect. Policy rules match the source's host. A source is therefore rejected if parsers
 * could disagree about its host: if it has user info, a port, a query, an encoded character, or another scheme.
 */

/** Slack formats an address as a link: `<http://cafe.rest|cafe.rest>`. */
const SLACK_LINK = /^<(?:mailto:)?([^<>|]*)(?:\|([^<>|]*))?>$/i;
/**
 * Visible characters of any script, except those that start a query or fragment, encode another character, or may be
 * parsed as a slash.
 */
const PATH = /^(?:\/(?:[!"$&-;=@-[\]-~]|(?![\0-\x7f])[\p{L}\p{M}\p{N}\p{S}\p{P}])*)?$/u;
/** Characters that look like a slash, a question mark, a number sign or a percent sign. */
const LOOKALIKE = /[\u2044\u2215\u29f8\uff0f\uff1f\uff03\uff05\ufe56\ufe5f\ufe6a\ufe68\uff3c\u29f5\u2216]/u;
/** The part of an email address before the @: atoms between dots (RFC 5322), without `%`, `?` and `#`. */
const LOCAL_PART = /^[\w!$&'*+=^`{|}~-]+(?:\.[\w!$&'*+=^`{|}~-]+)*$/;

/**
 * Returns a redirect's source in the form that is sent: a host in ASCII with an optional path, or an email address.
 * @returns undefined if the host isn't valid
 */
export function parseRedirectSource(text: string): string | undefined {
  const link = SLACK_LINK.exec(text);
  if (link === null) return parseBareSource(text);
  const [, target = '', label = target] = link;
  const source = parseBareSource(target);
  // A link whose text differs from its target is ambiguous.
  return source === parseBareSource(label) ? source : undefined;
}

function parseBareSource(text: string): string | undefined {
  const [, scheme = '', authority = '', path = ''] = /^(https?:\/\/)?([^/]*)(.*)$/is.exec(text) ?? [];
  const [hostText = '', localPart, ...otherParts] = authority.split('@').reverse();
  const host = parseBareHost(hostText);
  if (!host.ok || otherParts.length > 0 || !PATH.test(path) || LOOKALIKE.test(path)) return undefined;
  if (localPart === undefined) return host.value.ascii + path;
  const isEmail = scheme === '' && path === '' && LOCAL_PART.test(localPart);
  return isEmail ? `${localPart}@${host.value.ascii}` : undefined;
}

/** Whether a text is a web URL with a valid host. The scheme may be omitted: `www.example.com/menu`. */
export function isWebAddress(text: string): boolean {
  const [, authority = '', rest = ''] = /^(?:https?:\/\/)?([^/?#]*)(.*)$/is.exec(text) ?? [];
  const [, host = ''] = /^(.*?)(?::\d{1,5})?$/s.exec(authority) ?? [];
  return (parseBareHost(host).ok || isIP(host.replace(/^\[(.*)\]$/s, '$1')) !== 0) && /^\S*$/.test(rest);
}
