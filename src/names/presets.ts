import { parseDomainName } from '../zones/names.ts';
import type { ZoneIssue } from '../zones/zone-issue.ts';

/**
 * Named sets of contacts or nameservers for forms. Values are stored as in the forms. An order stores the values, not
 * the preset.
 */

export const PRESET_KINDS = ['contacts', 'nameservers'] as const;
export type PresetKind = (typeof PRESET_KINDS)[number];

export const PRESET_FIELDS: Readonly<Record<PresetKind, readonly string[]>> = {
  contacts: ['ownerc', 'adminc', 'techc'],
  nameservers: ['nameServers'],
};

export interface PresetContent {
  readonly name: string;
  readonly kind: PresetKind;
  /** One nameserver per line. */
  readonly fields: Readonly<Record<string, string>>;
}

export interface Preset extends PresetContent {
  readonly id: string;
}

const MAX_NAME_LENGTH = 60;
const MAX_NAMESERVERS = 13;

/** A code, or the issue of a host name. */
export type PresetIssue =
  | 'no_name'
  | 'long_name'
  | 'nothing_given'
  | 'not_an_id'
  | 'too_many'
  | { readonly host: ZoneIssue };

export type PresetResult =
  | { readonly ok: true; readonly preset: PresetContent }
  | { readonly ok: false; readonly issues: Readonly<Record<string, PresetIssue>> };

export function parsePreset(typed: {
  readonly name: string;
  readonly kind: PresetKind;
  readonly fields: Readonly<Record<string, string>>;
}): PresetResult {
  const issues: Record<string, PresetIssue> = {};
  const name = typed.name.replace(/\s+/g, ' ').trim();
  if (name === '') issues['preset_name'] = 'no_name';
  else if (name.length > MAX_NAME_LENGTH) issues['preset_name'] = 'long_name';
  const fieldNames = PRESET_FIELDS[typed.kind];
  const filled = fieldNames.flatMap((field) => {
    const text = typed.fields[field]?.trim() ?? '';
    return text === '' ? [] : [[field, text] as const];
  });
  const [first = ''] = fieldNames;
  if (filled.length === 0) issues[first] = 'nothing_given';
  const fields: Record<string, string> = {};
  for (const [field, text] of filled) {
    const parsed = typed.kind === 'contacts' ? parseId(text) : parseHosts(text);
    if (typeof parsed === 'string') fields[field] = parsed;
    else issues[field] = parsed.issue;
  }
  return Object.keys(issues).length > 0
    ? { ok: false, issues }
    : { ok: true, preset: { name, kind: typed.kind, fields } };
}

function parseId(text: string): string | { readonly issue: PresetIssue } {
  return /^[1-9]\d{0,15}$/.test(text) ? text : { issue: 'not_an_id' };
}

function parseHosts(text: string): string | { readonly issue: PresetIssue } {
  const hosts = text.split(/[\s,;]+/).filter((host) => host !== '');
  if (hosts.length > MAX_NAMESERVERS) return { issue: 'too_many' };
  const parsed = hosts.map((host) => parseDomainName(host));
  const invalid = parsed.find((each) => !each.ok);
  if (invalid !== undefined && !invalid.ok) return { issue: { host: invalid.issue } };
  return parsed.flatMap((each) => (each.ok ? [each.value.ascii] : [])).join('\n');
}
