import { parseDomainName } from '../zones/names.ts';
import type { ZoneIssue } from '../zones/zone-issue.ts';

/** Named sets of contacts or nameservers that fill in forms. An order stores the values, not the preset. */

export const PRESET_KINDS = ['contacts', 'nameservers'] as const;
export type PresetKind = (typeof PRESET_KINDS)[number];

export const PRESET_FIELDS: Readonly<Record<PresetKind, readonly string[]>> = {
  contacts: ['ownerc', 'adminc', 'techc'],
  nameservers: ['nameServers'],
};

export interface PresetContent {
  readonly name: string;
  readonly kind: PresetKind;
  /** The values by form field. Nameservers are one per line. */
  readonly fields: Readonly<Record<string, string>>;
}

export interface Preset extends PresetContent {
  readonly id: string;
}

const MAX_NAME_LENGTH = 60;
const MAX_NAMESERVERS = 13;

/** `host`: the issue with a nameserver. */
export type PresetIssue =
  | 'missing_name'
  | 'name_too_long'
  | 'all_fields_empty'
  | 'not_an_id'
  | 'too_many'
  | { readonly hostIssue: ZoneIssue };

export type PresetResult =
  | { readonly ok: true; readonly preset: PresetContent }
  | { readonly ok: false; readonly issues: Readonly<Record<string, PresetIssue>> };

export function parsePreset(input: PresetContent): PresetResult {
  const issues: Record<string, PresetIssue> = {};
  const name = input.name.replace(/\s+/g, ' ').trim();
  if (name === '') issues['preset_name'] = 'missing_name';
  else if (name.length > MAX_NAME_LENGTH) issues['preset_name'] = 'name_too_long';
  const fieldNames = PRESET_FIELDS[input.kind];
  const filledFields = fieldNames.flatMap((field) => {
    const text = input.fields[field]?.trim() ?? '';
    return text === '' ? [] : [[field, text] as const];
  });
  const [firstField = ''] = fieldNames;
  if (filledFields.length === 0) issues[firstField] = 'all_fields_empty';
  const fields: Record<string, string> = {};
  for (const [field, text] of filledFields) {
    const parsedValue = input.kind === 'contacts' ? parseContactId(text) : parseHosts(text);
    if (typeof parsedValue === 'string') fields[field] = parsedValue;
    else issues[field] = parsedValue.issue;
  }
  return Object.keys(issues).length > 0
    ? { ok: false, issues }
    : { ok: true, preset: { name, kind: input.kind, fields } };
}

function parseContactId(text: string): string | { readonly issue: PresetIssue } {
  return /^[1-9]\d{0,15}$/.test(text) ? text : { issue: 'not_an_id' };
}

function parseHosts(text: string): string | { readonly issue: PresetIssue } {
  const hosts = text.split(/[\s,;]+/).filter((host) => host !== '');
  if (hosts.length > MAX_NAMESERVERS) return { issue: 'too_many' };
  const parsedHosts = hosts.map((host) => parseDomainName(host));
  const invalidHost = parsedHosts.find((result) => !result.ok);
  if (invalidHost !== undefined && !invalidHost.ok) return { issue: { hostIssue: invalidHost.issue } };
  return parsedHosts.flatMap((result) => (result.ok ? [result.value.ascii] : [])).join('\n');
}
