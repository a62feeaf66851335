import { createHash } from 'node:crypto';
import { DNS_FAILURES } from '../registry/dns/client.ts';
import { mayBeSameRegistrar } from '../registry/rdap/registrar-name.ts';

/** Values are sorted lists of strings without duplicates, so that they can be compared. */

export const REGISTRY_DATES = [
  'registered_at',
  'expires_at',
  'registrar_expires_at',
  'updated_at',
  'transferred_at',
  'deleted_at',
] as const;

export const REGISTRY_FACTS = [
  /** `registered`. Absent if the registry doesn't know the name. */
  'registration',
  /** `iana:292` and `name:Example Registrar`, or `handle:292-REG` if there is no name. */
  'registrar',
  /** Status values as defined in RFC 8056, such as `client transfer prohibited`. */
  'statuses',
  'registry_nameservers',
  /** `signed`. Absent if the registry says that the name is unsigned. */
  'secure_dns',
  /** Hashes of the registrant's visible fields, such as `org:5f2c…`. */
  'owner',
  /** `https` or `http`. Over http, the record could have been changed in transit. */
  'transport',
  ...REGISTRY_DATES,
] as const;

export const DNS_FACTS = [
  'parent_nameservers',
  /** From the name's own zone. */
  'nameservers',
  /** The primary nameserver and contact, without the serial, which changes with every edit. */
  'soa',
  'a',
  'aaaa',
  'www_a',
  'www_aaaa',
  /** The target of the alias. */
  'cname',
  'www_cname',
  /** `10 mail.example`. */
  'mx',
  /** `0 issue letsencrypt.org`. */
  'caa',
  'spf',
  'dmarc',
  /** Key tag, algorithm, digest type and digest. */
  'ds',
  /** The DS that the zone's CDS or CDNSKEY records request (RFC 7344), or {@link NO_DS}. */
  'requested_ds',
  /** Flags, algorithm, key tag and the start of the key's SHA-256. */
  'dnskey',
  /** When the most urgent signature expires (ISO 8601), and `short` if it is made daily or per answer. */
  'signatures',
  /** The expiry (ISO 8601), `issuer:…`, and `mismatch:…` if the certificate is for other names. */
  'certificate',
  'www_certificate',
  /** Servers of the delegation that respond but don't answer for the name. */
  'lame_nameservers',
  /** Servers of the delegation that don't respond. */
  'silent_nameservers',
  'addressless_nameservers',
  /** Unregistered domains that contain servers of the delegation. */
  'registrable_domains',
  /** Domains that contain servers of the delegation and expire within 30 days. */
  'expiring_domains',
  /** Servers of the delegation that have no key matching the DS. */
  'mismatched_ds',
] as const;

export const FACT_NAMES = [...REGISTRY_FACTS, ...DNS_FACTS] as const;
export type FactName = (typeof FACT_NAMES)[number];

/** A nameserver change appears in each of these, at different times. */
export const NAMESERVER_FACTS: readonly FactName[] = [
  'registry_nameservers',
  'parent_nameservers',
  'nameservers',
];
/** A DS change appears in each of these. `secure_dns` only shows whether there is a DS. */
export const DS_FACTS: readonly FactName[] = ['secure_dns', 'ds'];

/** A request to remove the DS (RFC 8078, section 4). */
export const NO_DS = '0 0 0 00';

/** Facts whose changes must be explained by an order. */
export const INCIDENT_FACTS = [
  'registration',
  'registrar',
  'statuses',
  'registry_nameservers',
  'secure_dns',
  'owner',
  'parent_nameservers',
  'nameservers',
  'ds',
] as const satisfies readonly FactName[];

/** Why a fact is unknown. */
export const UNKNOWN_REASONS = [
  ...DNS_FAILURES,
  /** No response, or the record couldn't be read. */
  'registry_unavailable',
  /** The record omits or redacts the fact. */
  'not_published',
  /** The record contains the fact in an unknown format. */
  'unreadable',
  /** There is no record, but the parent zone delegates the name. */
  'delegated_without_record',
  /** Not looked up yet, or not recently enough. */
  'stale',
  /** No nameserver of the parent zone was found. */
  'no_parent',
  /** The parent zone's nameservers disagree. */
  'servers_disagree',
  /** There is no current DNSSEC signature. */
  'unsigned_answer',
  'no_tls',
] as const;
export type UnknownReason = (typeof UNKNOWN_REASONS)[number];

export type FactValue = readonly string[];

export type UnknownDetails =
  | { readonly reason: Exclude<UnknownReason, 'unreadable'>; readonly text?: undefined }
  | { readonly reason: 'unreadable'; readonly text: string };

export type Fact =
  | { readonly state: 'seen'; readonly value: FactValue }
  | { readonly state: 'absent' }
  | ({ readonly state: 'unseen' } & UnknownDetails);

export type Facts = { readonly [Name in FactName]?: Fact };

const MAX_TEXT_LENGTH = 500;

export interface Observation {
  readonly name: string;
  readonly at: Date;
  readonly facts: Facts;
}

export const ABSENT: Fact = { state: 'absent' };

/** An empty list makes an absent fact. */
export function createFact(texts: readonly string[]): Fact {
  const value = [...new Set(texts.map(toStorableText))].sort();
  return value.length === 0 ? ABSENT : { state: 'seen', value };
}

/** Marks a date without a time zone, which is stored as the earliest possible time. */
export const EARLIEST_TIME_MARK = 'earliest reading';

/**
 * Records can contain anything, so unsupported characters are replaced. Long text is truncated, and a
 * hash of the whole text is added, so that a change in the truncated part is noticed.
 */
function toStorableText(text: string): string {
  const clean = text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '\ufffd');
  if (clean.length <= MAX_TEXT_LENGTH) return clean;
  const beginning = [...clean].slice(0, MAX_TEXT_LENGTH).join('');
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 16);
  return `${beginning}… ${digest}`;
}

export function createUnknownFact(reason: Exclude<UnknownReason, 'unreadable'>): Fact {
  return { state: 'unseen', reason };
}

export function createUnreadableFact(text: string): Fact {
  return { state: 'unseen', reason: 'unreadable', text: toStorableText(text) };
}

/** @returns empty if absent, undefined if unknown */
export function getFactValue(fact: Fact | undefined): FactValue | undefined {
  if (fact?.state === 'seen') return fact.value;
  return fact?.state === 'absent' ? [] : undefined;
}

/** An empty value means absent. */
export function isSameValue(fact: FactName, one: FactValue, other: FactValue): boolean {
  if (fact === 'registrar' && one.length > 0 && other.length > 0) return isSameRegistrar(one, other);
  if (fact === 'owner' && one.length > 0 && other.length > 0) return isSameOwner(one, other);
  return one.length === other.length && one.every((text, index) => text === other[index]);
}

/** Redacted fields of a registrant keep their last known values. */
export function mergeSameValue(fact: FactName, before: FactValue, after: FactValue): FactValue {
  if (fact !== 'owner') return after;
  const fields = new Map([...before, ...after].map((text) => [getFieldName(text), text]));
  return [...fields.values()].sort();
}

/** A registrar can change its name but not its IANA id, so names are compared only if an id is missing. */
function isSameRegistrar(one: FactValue, other: FactValue): boolean {
  const [oneId, otherId] = [parseRegistrarId(one), parseRegistrarId(other)];
  if (oneId !== undefined && otherId !== undefined) return oneId === otherId;
  // If one lookup found a name and the other a handle, they may be the same registrar.
  return ['name', 'handle'].every((label) =>
    mayBeSameRegistrar(findPart(one, label), findPart(other, label)),
  );
}

export function getRegistrarName(value: FactValue): string | undefined {
  return findPart(value, 'name') ?? findPart(value, 'handle');
}

/** Ids of registrars without accreditation (reserved in IANA's Registrar IDs). */
const RESERVED_ID = /^(?:0|1|3|8|119|365|376|999[4-9]|4000001|8888888)$/;

function parseRegistrarId(value: FactValue): number | undefined {
  const id = findPart(value, 'iana')?.replace(/^0+(?=.)/, '') ?? '';
  return /^\d{1,9}$/.test(id) && !RESERVED_ID.test(id) ? Number(id) : undefined;
}

export function isSameSet(one: FactValue, other: FactValue): boolean {
  const set = new Set(one);
  return set.size === new Set(other).size && other.every((text) => set.has(text));
}

/** Compares only fields that are visible in both values, because registries redact fields inconsistently. */
function isSameOwner(one: FactValue, other: FactValue): boolean {
  const fields = new Map(one.map((text) => [getFieldName(text), text]));
  return other.every((text) => (fields.get(getFieldName(text)) ?? text) === text);
}

export function findPart(value: FactValue, label: string): string | undefined {
  return value.find((text) => text.startsWith(`${label}:`))?.slice(label.length + 1);
}

function getFieldName(text: string): string {
  return text.slice(0, text.indexOf(':'));
}
