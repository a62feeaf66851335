import { parseDomainName } from '../zones/names.ts';
import { parseTagPattern } from './policy.ts';
import type { AffectedName } from './subject.ts';

/** The only code that matches names with the patterns of rules and mandates. Pure. */

export interface NamePatterns {
  readonly hosts: readonly string[];
  readonly tags: readonly string[];
}

export function splitPatterns(patterns: readonly string[]): NamePatterns {
  return {
    hosts: patterns.filter((pattern) => parseTagPattern(pattern) === undefined),
    tags: patterns.flatMap((pattern) => parseTagPattern(pattern) ?? []),
  };
}

/** @param affectedTags undefined if unknown; then a match by tag is unknown too */
export function matchesPatterns(
  patterns: NamePatterns,
  { hosts }: AffectedName,
  affectedTags: readonly string[] | undefined,
): 'yes' | 'no' | 'unknown' {
  for (const pattern of patterns.hosts) {
    const isSuffix = pattern.startsWith('*.');
    const fits = (host: string) => (isSuffix ? host.endsWith(pattern.slice(1)) : host === pattern);
    if (pattern === '*' || hosts.some(fits)) return 'yes';
  }
  if (patterns.tags.length === 0) return 'no';
  if (affectedTags === undefined) return 'unknown';
  return affectedTags.some((tag) => patterns.tags.includes(tag.toLowerCase())) ? 'yes' : 'no';
}

/** Normalizes a pattern. @returns undefined if invalid */
export function readPattern(text: string): string | undefined {
  if (text === '*') return text;
  const [, tag] = /^tag:([\p{L}\p{N}][\p{L}\p{N}_.-]{0,49})$/iu.exec(text) ?? [];
  if (tag !== undefined) return `tag:${tag.toLowerCase()}`;
  // A zone alone isn't a host name, so a label is added before parsing.
  const isSuffix = text.startsWith('*.');
  const host = parseDomainName(isSuffix ? `x${text.slice(1)}` : text);
  if (!host.ok) return undefined;
  return isSuffix ? `*${host.value.ascii.slice(1)}` : host.value.ascii;
}
