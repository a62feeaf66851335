import { createHash } from 'node:crypto';
import { DNS_FAILURES } from '../registry/dns/client.ts';
import { mayBeSameRegistrar } from '../registry/rdap/registrar-name.ts';

/*
 * What can be known of a name. Values are lists of texts in a normal form (lower case, sorted, each once), so that two
 * looks at the same thing give the same value whatever order or case the answer had.
 */

/** The moments in a registry's record. */
export const REGISTRY_DATES = [
  'registered_at',
  'expires_at',
  'registrar_expires_at',
  'updated_at',
  'transferred_at',
  'deleted_at',
] as const;

/** The facts of a registry's record. */
export const REGISTRY_FACTS = [
  /** `registered`; absent when the registry knows no such name. */
  'registration',
  /** `iana:292`, `name:Example Registrar` and, without a name, `handle:292-REG`, each if the record has it. */
  'registrar',
  /** In the words of RFC 8056, such as `client transfer prohibited`. */
  'statuses',
  'registry_nameservers',
  /** `signed`; absent when the registry says that the delegation is not. */
  'secure_dns',
  /** Fingerprints of the registrant's fields that can be seen, such as `org:5f2c…`. */
  'owner',
  /** How the record came: `https`, or `http` where somebody on the way could have changed it. */
  'transport',
  ...REGISTRY_DATES,
] as const;

export const DNS_FACTS = [
  /** As the zone above delegates it. */
  'parent_nameservers',
  /** As the name's own zone says. */
  'nameservers',
  /** Primary nameserver and contact; the serial is left out, because it changes with every edit. */
  'soa',
  'a',
  'aaaa',
  'www_a',
  'www_aaaa',
  /** The host that the name is an alias of. */
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
  /** Flags, algorithm, key tag and the beginning of the key's SHA-256. */
  'dnskey',
  /** When the certificate of `https://name` ends (ISO 8601). */
  'certificate',
  /** Servers of the delegation that answer, and not for the name. */
  'lame_nameservers',
  /** Servers of the delegation from which nothing came. */
  'silent_nameservers',
  'addressless_nameservers',
  /** Domains of the delegation's servers that nobody has registered. */
  'registrable_domains',
  /** Domains of the delegation's servers that end within 30 days. */
  'ending_domains',
  /** Servers of the delegation whose keys fit no DS. */
  'unfit_ds',
] as const;

export const FACT_NAMES = [...REGISTRY_FACTS, ...DNS_FACTS] as const;
export type FactName = (typeof FACT_NAMES)[number];

/** A change of the nameservers shows in each of them, at different times. */
export const NAMESERVER_FACTS: readonly FactName[] = [
  'registry_nameservers',
  'parent_nameservers',
  'nameservers',
];
/** As a change of the DS does in these. A registry's record shows only whether there is one. */
export const DS_FACTS: readonly FactName[] = ['secure_dns', 'ds'];

/** Facts whose change must be explained by an order. */
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

/** Why something was not seen. It says nothing about the name. */
export const UNSEEN_REASONS = [
  ...DNS_FAILURES,
  /** The registry did not answer, or its record cannot be read. */
  'registry_unavailable',
  /** The registry's record leaves it out or hides it. */
  'not_told',
  /** The record has it in a form that can't be read; see the text. */
  'unreadable',
  /** The registry has no record, but the zone above delegates the name. */
  'delegated_without_record',
  /** Nobody has looked yet, or not for too long. */
  'stale',
  /** No nameserver of the zone above was found. */
  'no_parent',
  /** The nameservers of the zone above say different things. */
  'servers_disagree',
  /** Nothing answers at the address, or it does not speak TLS. */
  'no_tls',
] as const;
export type UnseenReason = (typeof UNSEEN_REASONS)[number];

/** A value that is there; never empty. */
export type FactValue = readonly string[];

/** Why a fact is unknown, with the text that could not be read, as it came. */
export type Unseen =
  | { readonly reason: Exclude<UnseenReason, 'unreadable'>; readonly text?: undefined }
  | { readonly reason: 'unreadable'; readonly text: string };

/** One fact of one lookup, independent of all others: a value, its absence, or why it is unknown. */
export type Fact =
  | { readonly state: 'seen'; readonly value: FactValue }
  | { readonly state: 'absent' }
  | ({ readonly state: 'unseen' } & Unseen);

export type Facts = { readonly [Name in FactName]?: Fact };

const MAX_TEXT = 500;

/** One look at a name. A fact without an entry was not looked for. */
export interface Observation {
  /** In ASCII. */
  readonly name: string;
  readonly at: Date;
  readonly facts: Facts;
}

export const ABSENT: Fact = { state: 'absent' };

/** A fact from its texts in any order. Without any text it is absent. */
export function seen(texts: readonly string[]): Fact {
  const value = [...new Set(texts.map(storable))].sort();
  return value.length === 0 ? ABSENT : { state: 'seen', value };
}

/** Behind a date whose text has no time zone: it is the earliest moment that the text can mean. */
export const EARLIEST_READING = 'earliest reading';

/**
 * Makes a text safe to store and to show, because anybody can put anything into the records of a name. Other
 * characters are replaced. A text that is too long is cut and gets a digest of the whole, so that a change behind the
 * cut is noticed.
 */
function storable(text: string): string {
  const clean = text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '\ufffd');
  if (clean.length <= MAX_TEXT) return clean;
  const beginning = [...clean].slice(0, MAX_TEXT).join('');
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 16);
  return `${beginning}… ${digest}`;
}

export function unseen(reason: Exclude<UnseenReason, 'unreadable'>): Fact {
  return { state: 'unseen', reason };
}

export function unreadable(text: string): Fact {
  return { state: 'unseen', reason: 'unreadable', text: storable(text) };
}

/** The value of a fact: empty when it is absent, undefined when it was not seen. */
export function factValue(fact: Fact | undefined): FactValue | undefined {
  if (fact?.state === 'seen') return fact.value;
  return fact?.state === 'absent' ? [] : undefined;
}

/** Whether two values mean the same. An empty value says that the fact is absent. */
export function isSameValue(fact: FactName, one: FactValue, other: FactValue): boolean {
  if (fact === 'registrar' && one.length > 0 && other.length > 0) return isSameRegistrar(one, other);
  if (fact === 'owner' && one.length > 0 && other.length > 0) return isSameOwner(one, other);
  return one.length === other.length && one.every((text, index) => text === other[index]);
}

/**
 * The value to keep after the same one was seen again: fields of an owner that are hidden now stay as they were seen.
 */
export function mergeSameValue(fact: FactName, before: FactValue, now: FactValue): FactValue {
  if (fact !== 'owner') return now;
  const fields = new Map([...before, ...now].map((text) => [fieldOf(text), text]));
  return [...fields.values()].sort();
}

/** A registrar may change its name but not its IANA id. Without two ids, names decide, then handles. */
function isSameRegistrar(one: FactValue, other: FactValue): boolean {
  const [oneId, otherId] = [registrarId(one), registrarId(other)];
  if (oneId !== undefined && otherId !== undefined) return oneId === otherId;
  // One lookup gave only a name, the other only a handle: nothing shows that they differ.
  return ['name', 'handle'].every((label) => mayBeSameRegistrar(partOf(one, label), partOf(other, label)));
}

/** A registrar's name, or its handle if no name is known. */
export function registrarName(value: FactValue): string | undefined {
  return partOf(value, 'name') ?? partOf(value, 'handle');
}

/** Registries give these to every registrar without accreditation (IANA, Registrar IDs: reserved). */
const RESERVED_ID = /^(?:0|1|3|8|119|365|376|999[4-9]|4000001|8888888)$/;

function registrarId(value: FactValue): number | undefined {
  const id = partOf(value, 'iana')?.replace(/^0+(?=.)/, '') ?? '';
  return /^\d{1,9}$/.test(id) && !RESERVED_ID.test(id) ? Number(id) : undefined;
}

/** Whether two values have the same texts, in any sequence. */
export function isSameSet(one: FactValue, other: FactValue): boolean {
  const set = new Set(one);
  return set.size === new Set(other).size && other.every((text) => set.has(text));
}

/** Compared by the fields that can be seen in both, because registries hide and show them as they like. */
function isSameOwner(one: FactValue, other: FactValue): boolean {
  const fields = new Map(one.map((text) => [fieldOf(text), text]));
  return other.every((text) => (fields.get(fieldOf(text)) ?? text) === text);
}

export function partOf(value: FactValue, label: string): string | undefined {
  return value.find((text) => text.startsWith(`${label}:`))?.slice(label.length + 1);
}

function fieldOf(text: string): string {
  return text.slice(0, text.indexOf(':'));
}
