import { createHash } from 'node:crypto';
import { DNS_FAILURES } from '../registry/dns/client.ts';
import { mayBeSameRegistrar } from '../registry/rdap/registrar-name.ts';

/**
 * Facts about a name. Values are normalized lists of texts (lower case, sorted, unique), so that lookups are
 * comparable.
 */

export const REGISTRY_DATES = [
  'registered_at',
  'expires_at',
  'registrar_expires_at',
  'updated_at',
  'transferred_at',
  'deleted_at',
] as const;

export const REGISTRY_FACTS = [
  /** `registered`; absent when the registry doesn't know the name. */
  'registration',
  /** `iana:292`, `name:Example Registrar` and, without a name, `handle:292-REG`. */
  'registrar',
  /** In the words of RFC 8056, such as `client transfer prohibited`. */
  'statuses',
  'registry_nameservers',
  /** `signed`; absent when the registry says unsigned. */
  'secure_dns',
  /** Fingerprints of the registrant's visible fields, such as `org:5f2c…`. */
  'owner',
  /** `https` or `http`; over http, the record could have been changed in transit. */
  'transport',
  ...REGISTRY_DATES,
] as const;

export const DNS_FACTS = [
  'parent_nameservers',
  /** From the name's own zone. */
  'nameservers',
  /** Primary nameserver and contact; the serial changes with every edit, so it is omitted. */
  'soa',
  'a',
  'aaaa',
  'www_a',
  'www_aaaa',
  /** The alias's target. */
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
  /** The DS that the zone requests with CDS or CDNSKEY records (RFC 7344); {@link NO_DS} requests its removal. */
  'requested_ds',
  /** Flags, algorithm, key tag and the beginning of the key's SHA-256. */
  'dnskey',
  /** When the first signature to warn of ends (ISO 8601), and `short` if it is made daily or for each answer. */
  'signatures',
  /** Certificate of `https://name`: its expiry (ISO 8601), `issuer:…`, and `mismatch:…` if it is for other names. */
  'certificate',
  /** Certificate of `https://www.name`. */
  'www_certificate',
  /** Responding servers of the delegation that don't answer for the name. */
  'lame_nameservers',
  /** Servers of the delegation that don't respond. */
  'silent_nameservers',
  'addressless_nameservers',
  /** Unregistered domains of the delegation's servers. */
  'registrable_domains',
  /** Domains of the delegation's servers that expire within 30 days. */
  'ending_domains',
  /** Servers of the delegation without a key that matches the DS. */
  'unfit_ds',
] as const;

export const FACT_NAMES = [...REGISTRY_FACTS, ...DNS_FACTS] as const;
export type FactName = (typeof FACT_NAMES)[number];

/** A nameserver change is visible in each of them, at different times. */
export const NAMESERVER_FACTS: readonly FactName[] = [
  'registry_nameservers',
  'parent_nameservers',
  'nameservers',
];
/** Like nameservers, for DS changes. A registry's record shows only whether there is a DS. */
export const DS_FACTS: readonly FactName[] = ['secure_dns', 'ds'];

/** RFC 8078, 4. */
export const NO_DS = '0 0 0 00';

/** Their changes need an explaining order. */
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

/** Not a statement about the name. */
export const UNSEEN_REASONS = [
  ...DNS_FAILURES,
  /** No response, or an unreadable record. */
  'registry_unavailable',
  /** Omitted or redacted in the record. */
  'not_told',
  /** Unreadable in the record; see the text. */
  'unreadable',
  /** No record, but the parent zone delegates the name. */
  'delegated_without_record',
  /** Not looked up yet, or too long ago. */
  'stale',
  /** No nameserver of the parent zone was found. */
  'no_parent',
  /** The parent zone's nameservers disagree. */
  'servers_disagree',
  /** No current DNSSEC signature. */
  'unsigned_answer',
  'no_tls',
] as const;
export type UnseenReason = (typeof UNSEEN_REASONS)[number];

export type FactValue = readonly string[];

/** The reason, with unreadable text as received. */
export type Unseen =
  | { readonly reason: Exclude<UnseenReason, 'unreadable'>; readonly text?: undefined }
  | { readonly reason: 'unreadable'; readonly text: string };

/** A value, its absence, or why it is unknown. Independent of other facts. */
export type Fact =
  | { readonly state: 'seen'; readonly value: FactValue }
  | { readonly state: 'absent' }
  | ({ readonly state: 'unseen' } & Unseen);

export type Facts = { readonly [Name in FactName]?: Fact };

const MAX_TEXT_LENGTH = 500;

export interface Observation {
  readonly name: string;
  readonly at: Date;
  readonly facts: Facts;
}

export const ABSENT: Fact = { state: 'absent' };

/** Without texts, the fact is absent. */
export function createFact(texts: readonly string[]): Fact {
  const value = [...new Set(texts.map(toStorableText))].sort();
  return value.length === 0 ? ABSENT : { state: 'seen', value };
}

/** Marks a date without a time zone, read as the earliest possible time. */
export const ASSUMED_EARLIEST = 'earliest reading';

/**
 * Records can contain anything: unsupported characters are replaced; long text is cut with a digest of the whole, so
 * that a change behind the cut is noticed.
 */
function toStorableText(text: string): string {
  const clean = text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '\ufffd');
  if (clean.length <= MAX_TEXT_LENGTH) return clean;
  const beginning = [...clean].slice(0, MAX_TEXT_LENGTH).join('');
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 16);
  return `${beginning}… ${digest}`;
}

export function createUnseenFact(reason: Exclude<UnseenReason, 'unreadable'>): Fact {
  return { state: 'unseen', reason };
}

export function createUnreadableFact(text: string): Fact {
  return { state: 'unseen', reason: 'unreadable', text: toStorableText(text) };
}

/** Empty: absent. Undefined: missing. */
export function getFactValue(fact: Fact | undefined): FactValue | undefined {
  if (fact?.state === 'seen') return fact.value;
  return fact?.state === 'absent' ? [] : undefined;
}

/** Empty means absent. */
export function isSameValue(fact: FactName, one: FactValue, other: FactValue): boolean {
  if (fact === 'registrar' && one.length > 0 && other.length > 0) return isSameRegistrar(one, other);
  if (fact === 'owner' && one.length > 0 && other.length > 0) return isSameOwner(one, other);
  return one.length === other.length && one.every((text, index) => text === other[index]);
}

/** Redacted fields of a registrant keep their last values. */
export function mergeSameValue(fact: FactName, before: FactValue, now: FactValue): FactValue {
  if (fact !== 'owner') return now;
  const fields = new Map([...before, ...now].map((text) => [getFieldName(text), text]));
  return [...fields.values()].sort();
}

/** A registrar may change its name but not its IANA id. Without two ids, names are compared, then handles. */
function isSameRegistrar(one: FactValue, other: FactValue): boolean {
  const [oneId, otherId] = [parseRegistrarId(one), parseRegistrarId(other)];
  if (oneId !== undefined && otherId !== undefined) return oneId === otherId;
  // One lookup had a name, the other a handle: they may be the same.
  return ['name', 'handle'].every((label) =>
    mayBeSameRegistrar(findPart(one, label), findPart(other, label)),
  );
}

export function getRegistrarName(value: FactValue): string | undefined {
  return findPart(value, 'name') ?? findPart(value, 'handle');
}

/** Used by registrars without accreditation (IANA, Registrar IDs: reserved). */
const RESERVED_ID = /^(?:0|1|3|8|119|365|376|999[4-9]|4000001|8888888)$/;

function parseRegistrarId(value: FactValue): number | undefined {
  const id = findPart(value, 'iana')?.replace(/^0+(?=.)/, '') ?? '';
  return /^\d{1,9}$/.test(id) && !RESERVED_ID.test(id) ? Number(id) : undefined;
}

export function isSameSet(one: FactValue, other: FactValue): boolean {
  const set = new Set(one);
  return set.size === new Set(other).size && other.every((text) => set.has(text));
}

/** Compares fields visible in both, because registries redact them at will. */
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
