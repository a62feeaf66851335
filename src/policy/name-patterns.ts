import { parseDomainName } from '../zones/names.ts';
import { parseTagPattern } from './policy.ts';
import type { AffectedName } from './subject.ts';

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

/** Matches a name against patterns of rules and mandates. @param affectedTags undefined if unknown */
export function matchPatterns(
  patterns: NamePatterns,
  { hosts }: AffectedName,
  affectedTags: readonly string[] | undefined,
): 'yes' | 'no' | 'unknown' {
  for (const pattern of patterns.hosts) {
    const isSuffix = pattern.startsWith('*.');
    const matchesHost = (host: string) => (isSuffix ? host.endsWith(pattern.slice(1)) : host === pattern);
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
  // A top-level domain alone doesn't parse, so a label is added.
  const isSuffix = text.startsWith('*.');
  const host = parseDomainName(isSuffix ? `x${text.slice(1)}` : text);
  if (!host.ok) return undefined;
  return isSuffix ? `*${host.value.ascii.slice(1)}` : host.value.ascii;
}
