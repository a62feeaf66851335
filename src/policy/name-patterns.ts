import { parseDomainName } from '../zones/names.ts';
import { parseTagPattern } from './policy.ts';
import type { AffectedName } from './subject.ts';

export interface NamePatterns {
  readonly hostPatterns: readonly string[];
  readonly tags: readonly string[];
}

export function splitPatterns(patterns: readonly string[]): NamePatterns {
  return {
    hostPatterns: patterns.filter((pattern) => parseTagPattern(pattern) === undefined),
    tags: patterns.flatMap((pattern) => parseTagPattern(pattern) ?? []),
  };
}

/** Matches a name against a rule's or mandate's patterns. @param affectedTags undefined if unknown */
export function matchPatterns(
  patterns: NamePatterns,
  { hosts }: AffectedName,
  affectedTags: readonly string[] | undefined,
): 'yes' | 'no' | 'unknown' {
  for (const pattern of patterns.hostPatterns) {
    const isWildcard = pattern.startsWith('*.');
    const matchesHost = (host: string) => (isWildcard ? host.endsWith(pattern.slice(1)) : host === pattern);
    if (pattern === '*' || hosts.some(matchesHost)) return 'yes';
  }
  if (patterns.tags.length === 0) return 'no';
  if (affectedTags === undefined) return 'unknown';
  return affectedTags.some((tag) => patterns.tags.includes(tag.toLowerCase())) ? 'yes' : 'no';
}

/** Normalizes a pattern. @returns undefined if invalid */
export function normalizePattern(text: string): string | undefined {
  if (text === '*') return text;
  const [, tag] = /^tag:([\p{L}\p{N}][\p{L}\p{N}_.-]{0,49})$/iu.exec(text) ?? [];
  if (tag !== undefined) return `tag:${tag.toLowerCase()}`;
  // The parser rejects a top-level domain alone, so a label is added.
  const isWildcard = text.startsWith('*.');
  const host = parseDomainName(isWildcard ? `x${text.slice(1)}` : text);
  if (!host.ok) return undefined;
  return isWildcard ? `*${host.value.ascii.slice(1)}` : host.value.ascii;
}
