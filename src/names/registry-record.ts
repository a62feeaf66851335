import { createHash } from 'node:crypto';
import { z } from 'zod';
import { RDAP_PROBLEMS, type RdapAnswer, type RdapProblem } from '../registry/rdap/client.ts';
import { readRecordDate } from '../registry/rdap/date.ts';
import {
  asciiName,
  cleanText,
  domainObject,
  entity,
  event,
  fitting,
  jCard,
  list,
  nameserver,
} from '../registry/rdap/record-parts.ts';
import { isDeleted, lettersOf, statusOf } from '../registry/rdap/status.ts';
import {
  ABSENT,
  EARLIEST_READING,
  type Fact,
  type FactName,
  type Facts,
  factValue,
  REGISTRY_FACTS,
  registrarName,
  seen,
  unreadable,
  unseen,
} from './facts.ts';

/** Reads a registry's record (RFC 9083) fact by fact. Missing or malformed members are unknown, never absent. */

const MAX_ITEMS = 50;

const publicId = z.object({
  type: z.string(),
  identifier: z.union([z.string(), z.number()]).transform(String),
});
const property = z.tuple([z.string(), z.unknown(), z.unknown()], z.unknown());
const secureDns = z.object({
  delegationSigned: z.union([z.boolean(), z.stringbool()]).optional(),
  dsData: list,
});
/** RFC 9537, 4.2. */
const redaction = z.object({
  name: z.union([
    z.object({ description: z.string() }).transform(({ description }) => description),
    z.object({ type: z.string() }).transform(({ type }) => type),
  ]),
});

/** Why a record has no date. */
export const RECORD_PROBLEMS = [
  ...RDAP_PROBLEMS,
  'not_a_domain',
  'other_name',
  /** The registry publishes no dates. */
  'no_expiration',
  /** Detail: the date as received. */
  'unreadable_expiration',
  /** No record, but the parent zone delegates the name. */
  'delegated_without_record',
] as const;

export interface RecordProblem {
  readonly code: (typeof RECORD_PROBLEMS)[number];
  readonly detail?: RdapProblem['detail'];
}

/** No record at all, so a retry may succeed. */
export function isUnanswered({ code }: RecordProblem): boolean {
  return RDAP_PROBLEMS.some((problem) => problem === code);
}

/** A missing fact doesn't affect others. */
export interface Registration {
  readonly expiresAt: Date | undefined;
  readonly registeredAt: Date | undefined;
  readonly transferredAt: Date | undefined;
  /** Known when the name is in redemption or pending release. */
  readonly deletedAt: Date | undefined;
  /** Every date has a time and a zone. Other dates don't prove when something happened. */
  readonly hasExactDates: boolean;
  readonly registrar: string | undefined;
  /** In ASCII, lower case, unique. */
  readonly nameServers: readonly string[];
  /** In the words of RFC 8056; undefined when not published. */
  readonly statuses: readonly string[] | undefined;
  /** Every exchange used https. */
  readonly isSecure: boolean;
}

export interface RegistryLookup {
  readonly name: string;
  readonly at: Date;
  readonly facts: Facts;
  readonly result:
    | { readonly kind: 'registered'; readonly registration: Registration; readonly server: string }
    | { readonly kind: 'not_registered'; readonly server: string }
    | { readonly kind: 'unread'; readonly problem: RecordProblem; readonly retryAfterMs?: number };
}

/** @param delegation the parent zone's answer when there was no record */
export function readRegistryAnswer(
  answer: RdapAnswer,
  name: string,
  at: Date,
  delegation?: Fact,
): RegistryLookup {
  if (answer.kind === 'unavailable') return emptyLookup(name, at, answer.problem, answer.retryAfterMs);
  const { server } = answer;
  if (answer.kind === 'not_found') return lookupWithoutRecord(name, at, server, delegation);
  const record = domainObject.safeParse(answer.body).data;
  if (record === undefined) return emptyLookup(name, at, { code: 'not_a_domain' });
  if (asciiName(record.ldhName ?? record.unicodeName ?? '') !== name)
    return emptyLookup(name, at, { code: 'other_name' });
  const facts = { ...readFacts(record), transport: seen([answer.secure ? 'https' : 'http']) };
  const hasExactDates = each(event, record.events).every(
    ({ eventDate }) => readRecordDate(eventDate)?.isExact !== false,
  );
  return {
    name,
    at,
    facts,
    result: { kind: 'registered', registration: readRegistration(facts, hasExactDates, at), server },
  };
}

/** A missing record doesn't prove availability: registries lose records of delegated names. */
function lookupWithoutRecord(
  name: string,
  at: Date,
  server: string,
  delegation: Fact = unseen('stale'),
): RegistryLookup {
  if (delegation.state === 'seen') {
    const lookup = emptyLookup(name, at, { code: 'delegated_without_record' });
    return { ...lookup, facts: everyFact(unseen('delegated_without_record')) };
  }
  const fact = delegation.state === 'absent' ? ABSENT : unseen('registry_unavailable');
  return { name, at, facts: everyFact(fact), result: { kind: 'not_registered', server } };
}

/** A lookup that shows nothing. */
export function emptyLookup(
  name: string,
  at: Date,
  problem: RecordProblem,
  retryAfterMs?: number,
): RegistryLookup {
  const facts = everyFact(unseen('registry_unavailable'));
  return {
    name,
    at,
    facts,
    result: { kind: 'unread', problem, ...(retryAfterMs !== undefined && { retryAfterMs }) },
  };
}

function everyFact(fact: Fact): Facts {
  return Object.fromEntries(REGISTRY_FACTS.map((each) => [each, fact]));
}

function readFacts(record: z.output<typeof domainObject>) {
  const events = each(event, record.events);
  return {
    registration: seen(['registered']),
    registrar: readRegistrar(record.entities),
    statuses: listFact(record.status, (members) => members.map(toText).map(statusOf)),
    registry_nameservers: listFact(record.nameservers, (members) => fitting(nameserver, members)),
    secure_dns: readSecureDns(record.secureDNS),
    owner: readOwner(record.entities, record.redacted),
    registered_at: readDate(events, 'registration'),
    expires_at: readDate(events, 'expiration'),
    registrar_expires_at: readDate(events, 'registrar expiration'),
    updated_at: readDate(events, 'last changed', Math.max),
    transferred_at: readDate(events, 'transfer', Math.max),
    deleted_at: readDate(events, 'deletion'),
  } satisfies Facts;
}

function readRegistration(facts: Facts, hasExactDates: boolean, now: Date): Registration {
  const textsOf = (fact: FactName) => factValue(facts[fact]) ?? [];
  const momentOf = (fact: FactName) => textsOf(fact).map((text) => new Date(text))[0];
  const statuses = factValue(facts.statuses);
  // A future date is the release.
  const deletions = [momentOf('deleted_at'), momentOf('updated_at')].filter(
    (at) => at !== undefined && at <= now,
  );
  return {
    expiresAt: momentOf('expires_at'),
    registeredAt: momentOf('registered_at'),
    transferredAt: momentOf('transferred_at'),
    // Registries show a deletion as a status; it was the record's last change then.
    deletedAt: isDeleted(statuses) ? deletions[0] : undefined,
    hasExactDates,
    registrar: registrarName(textsOf('registrar')),
    nameServers: textsOf('registry_nameservers'),
    statuses,
    isSecure: textsOf('transport').includes('https'),
  };
}

/** An unreadable list isn't an empty one. */
function listFact(
  members: readonly unknown[] | undefined,
  read: (members: readonly unknown[]) => readonly string[],
): Fact {
  if (members === undefined) return unseen('not_told');
  const texts = read(members.slice(0, MAX_ITEMS)).filter(isFilled);
  return texts.length === 0 && members.length > 0 ? unreadable(toText(members)) : seen(texts);
}

function readRegistrar(entities: readonly unknown[] | undefined): Fact {
  const registrar = withRole(entities, 'registrar')[0];
  if (registrar === undefined) return unseen('not_told');
  const id = each(publicId, registrar.publicIds).find(({ type }) =>
    /^iana[\s_-]*registrar/i.test(type.trim()),
  );
  const name = ['fn', 'org']
    .flatMap((field) => propertyValues(registrar.vcardArray, field))
    .flat()
    .filter(isText)
    .map(readLine)
    .find((text) => text !== '' && !HIDDEN.test(text));
  const handle = readLine(registrar.handle ?? '');
  const parts = [
    ...(id === undefined ? [] : [`iana:${readLine(id.identifier)}`]),
    ...(name === undefined ? [] : [`name:${name}`]),
    ...(name === undefined && handle !== '' ? [`handle:${handle}`] : []),
  ];
  return parts.length === 0 ? unseen('not_told') : seen(parts);
}

function readSecureDns(member: unknown): Fact {
  if (member === undefined || member === null) return unseen('not_told');
  const delegation = secureDns.safeParse(member).data;
  if (delegation === undefined) return unreadable(toText(member));
  if (delegation.delegationSigned === true || (delegation.dsData?.length ?? 0) > 0) return seen(['signed']);
  return delegation.delegationSigned === false ? ABSENT : unseen('not_told');
}

type Event = z.output<typeof event>;

/** Of two readable expiry dates, the earlier is the safe one. A second text marks a date without a time zone. */
function readDate(events: readonly Event[], action: string, pick = Math.min): Fact {
  const matching = events.filter(({ eventAction }) => lettersOf(eventAction) === lettersOf(action));
  if (matching.length === 0) return ABSENT;
  const dates = matching.flatMap(({ eventDate }) => readRecordDate(eventDate) ?? []);
  if (dates.length > 0) {
    const ms = pick(...dates.map(({ at }) => at.getTime()));
    const isExact = dates.some((date) => date.at.getTime() === ms && date.isExact);
    return seen([new Date(ms).toISOString(), ...(isExact ? [] : [EARLIEST_READING])]);
  }
  const text = matching.map(({ eventDate }) => toText(eventDate)).find(isFilled);
  return text === undefined ? unseen('not_told') : unreadable(text);
}

/** As received, in one line. */
function toText(member: unknown): string {
  return readLine(isText(member) ? member : (JSON.stringify(member ?? '') ?? ''));
}

function readLine(text: string): string {
  return cleanText(text).replace(/\s+/g, ' ');
}

const HIDDEN = /redacted|withheld|not disclosed|privacy|data protected|gdpr|masked|statutory/i;
/** Contact fields, named as in RFC 9537. */
const FIELD_WORDS: readonly (readonly [field: string, pattern: RegExp])[] = [
  ['fn', /name/i],
  ['org', /organi[sz]ation/i],
  ['email', /e-?mail/i],
  ['tel', /phone|fax/i],
  ['street', /street|city|postal/i],
];

/** Fingerprints are enough to notice changes, so no personal data is stored. */
function readOwner(entities: readonly unknown[] | undefined, redacted: readonly unknown[] | undefined): Fact {
  const hidden = each(redaction, redacted)
    .map(({ name }) => name)
    .filter((name) => /registrant/i.test(name));
  const isHidden = (field: string) =>
    FIELD_WORDS.some(([word, pattern]) => word === field && hidden.some((name) => pattern.test(name)));
  const fields = new Map<string, string[]>();
  const add = (field: string, value: unknown) => {
    const normal = [value].flat(2).filter(isText).map(normalText).filter(isFilled).join(' ');
    if (normal === '' || HIDDEN.test(normal) || isHidden(field)) return;
    fields.set(field, [...(fields.get(field) ?? []), normal]);
  };
  for (const registrant of withRole(entities, 'registrant')) {
    for (const field of ['fn', 'org', 'email', 'tel']) {
      for (const value of propertyValues(registrant.vcardArray, field)) add(field, value);
    }
    for (const value of propertyValues(registrant.vcardArray, 'adr')) {
      if (!Array.isArray(value)) continue;
      // RFC 6350, 6.3.1: box, extension, street, locality, region, code, country.
      add('street', [...value.slice(0, 4), value[5]]);
      add('region', value[4]);
      add('country', value[6]);
    }
  }
  if (fields.size === 0) return unseen('not_told');
  return seen(
    [...fields].map(([field, texts]) => `${field}:${digest([...new Set(texts)].sort().join('\n'))}`),
  );
}

function digest(value: string): string {
  return createHash('sha256').update(value).digest('hex').slice(0, 16);
}

function withRole(entities: readonly unknown[] | undefined, role: string): z.output<typeof entity>[] {
  return each(entity, entities).filter(({ roles }) =>
    each(z.string(), roles).some((each) => each.toLowerCase() === role),
  );
}

function propertyValues(card: unknown, name: string): unknown[] {
  const properties = each(property, jCard.safeParse(card).data?.[1]);
  return properties.flatMap(([called, , , ...values]) => (called.toLowerCase() === name ? values : []));
}

/** A limited number of members is read. */
function each<T>(schema: z.ZodType<T>, values: readonly unknown[] | undefined): T[] {
  return fitting(schema, values?.slice(0, MAX_ITEMS));
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isFilled(value: string): boolean {
  return value !== '';
}

function normalText(value: string): string {
  return readLine(value.normalize('NFKC')).toLowerCase();
}
