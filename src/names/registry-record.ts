import { createHash } from 'node:crypto';
import { z } from 'zod';
import { RDAP_PROBLEMS, type RdapAnswer, type RdapProblem } from '../registry/rdap/client.ts';
import { parseRecordDate } from '../registry/rdap/date.ts';
import {
  cleanText,
  domainObjectSchema,
  entitySchema,
  eventSchema,
  jCardSchema,
  listSchema,
  nameserverSchema,
  parseValidItems,
  toAsciiName,
} from '../registry/rdap/record-parts.ts';
import { isBeingDeleted, normalizeStatus, normalizeWord } from '../registry/rdap/status.ts';
import {
  ABSENT,
  createFact,
  createUnknownFact,
  createUnreadableFact,
  EARLIEST_TIME_MARK,
  type Fact,
  type FactName,
  type Facts,
  getFactValue,
  getRegistrarName,
  REGISTRY_FACTS,
} from './facts.ts';

/**
 * Reads the facts in a registry's record (RFC 9083) one by one. Missing or malformed members count as
 * unknown, never as absent.
 */

const MAX_ITEMS = 50;

const publicIdSchema = z.object({
  type: z.string(),
  identifier: z.union([z.string(), z.number()]).transform(String),
});
const propertySchema = z.tuple([z.string(), z.unknown(), z.unknown()], z.unknown());
const secureDnsSchema = z.object({
  delegationSigned: z.union([z.boolean(), z.stringbool()]).optional(),
  dsData: listSchema,
});
/** RFC 9537, section 4.2. */
const redactionSchema = z.object({
  name: z.union([
    z.object({ description: z.string() }).transform(({ description }) => description),
    z.object({ type: z.string() }).transform(({ type }) => type),
  ]),
});

/** Why no expiry date could be read. */
export const RECORD_PROBLEMS = [
  ...RDAP_PROBLEMS,
  'not_a_domain',
  'name_mismatch',
  /** The registry publishes no dates. */
  'no_expiration',
  /** The detail is the date as received. */
  'unreadable_expiration',
  /** There is no record, but the parent zone delegates the name. */
  'delegated_without_record',
] as const;

export interface RecordProblem {
  readonly code: (typeof RECORD_PROBLEMS)[number];
  readonly detail?: RdapProblem['detail'];
}

export function isRetryableProblem({ code }: RecordProblem): boolean {
  return RDAP_PROBLEMS.some((problem) => problem === code);
}

export interface Registration {
  readonly expiresAt: Date | undefined;
  readonly registeredAt: Date | undefined;
  readonly transferredAt: Date | undefined;
  /** Set only if the name is in redemption or pending deletion. */
  readonly deletedAt: Date | undefined;
  /** Whether all dates have a time and a time zone. Other dates don't prove when something happened. */
  readonly hasExactDates: boolean;
  readonly registrar: string | undefined;
  /** In ASCII and lowercase, without duplicates. */
  readonly nameServers: readonly string[];
  /** Status values as defined in RFC 8056; undefined if not published. */
  readonly statuses: readonly string[] | undefined;
  /** Whether all requests and redirects used https. */
  readonly usedHttps: boolean;
}

export interface RegistryLookup {
  readonly name: string;
  readonly at: Date;
  readonly facts: Facts;
  readonly result:
    | { readonly kind: 'registered'; readonly registration: Registration; readonly server: string }
    | { readonly kind: 'not_registered'; readonly server: string }
    | { readonly kind: 'failed'; readonly problem: RecordProblem; readonly retryAfterMs?: number };
}

/** @param delegation the parent zone's answer, used only if there is no record */
export function parseRegistryAnswer(
  answer: RdapAnswer,
  name: string,
  at: Date,
  delegation?: Fact,
): RegistryLookup {
  if (answer.kind === 'unavailable') return createFailedLookup(name, at, answer.problem, answer.retryAfterMs);
  const { server } = answer;
  if (answer.kind === 'not_found') return createLookupWithoutRecord(name, at, server, delegation);
  const record = domainObjectSchema.safeParse(answer.body).data;
  if (record === undefined) return createFailedLookup(name, at, { code: 'not_a_domain' });
  if (toAsciiName(record.ldhName ?? record.unicodeName ?? '') !== name)
    return createFailedLookup(name, at, { code: 'name_mismatch' });
  const facts = { ...readFacts(record), transport: createFact([answer.isSecure ? 'https' : 'http']) };
  const hasExactDates = parseItems(eventSchema, record.events).every(
    ({ eventDate }) => parseRecordDate(eventDate)?.isExact !== false,
  );
  return {
    name,
    at,
    facts,
    result: { kind: 'registered', registration: readRegistration(facts, hasExactDates, at), server },
  };
}

/** A missing record doesn't prove that a name is available: registries lose records of delegated names. */
function createLookupWithoutRecord(
  name: string,
  at: Date,
  server: string,
  delegation: Fact = createUnknownFact('stale'),
): RegistryLookup {
  if (delegation.state === 'seen') {
    const lookup = createFailedLookup(name, at, { code: 'delegated_without_record' });
    return { ...lookup, facts: createUniformFacts(createUnknownFact('delegated_without_record')) };
  }
  const fact = delegation.state === 'absent' ? ABSENT : createUnknownFact('registry_unavailable');
  return { name, at, facts: createUniformFacts(fact), result: { kind: 'not_registered', server } };
}

export function createFailedLookup(
  name: string,
  at: Date,
  problem: RecordProblem,
  retryAfterMs?: number,
): RegistryLookup {
  const facts = createUniformFacts(createUnknownFact('registry_unavailable'));
  return {
    name,
    at,
    facts,
    result: { kind: 'failed', problem, ...(retryAfterMs !== undefined && { retryAfterMs }) },
  };
}

function createUniformFacts(fact: Fact): Facts {
  return Object.fromEntries(REGISTRY_FACTS.map((name) => [name, fact]));
}

function readFacts(record: z.output<typeof domainObjectSchema>) {
  const events = parseItems(eventSchema, record.events);
  return {
    registration: createFact(['registered']),
    registrar: readRegistrar(record.entities),
    statuses: readList(record.status, (items) => items.map(toText).map(normalizeStatus)),
    registry_nameservers: readList(record.nameservers, (items) => parseValidItems(nameserverSchema, items)),
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
  const getValues = (fact: FactName) => getFactValue(facts[fact]) ?? [];
  const getDate = (fact: FactName) => getValues(fact).map((value) => new Date(value))[0];
  const statuses = getFactValue(facts.statuses);
  // A date in the future isn't a deletion, but the planned release of the name.
  const pastDates = [getDate('deleted_at'), getDate('updated_at')].filter(
    (date) => date !== undefined && date <= now,
  );
  return {
    expiresAt: getDate('expires_at'),
    registeredAt: getDate('registered_at'),
    transferredAt: getDate('transferred_at'),
    // A deletion is shown as a status. If it has no date, the date of the record's last change is used.
    deletedAt: isBeingDeleted(statuses) ? pastDates[0] : undefined,
    hasExactDates,
    registrar: getRegistrarName(getValues('registrar')),
    nameServers: getValues('registry_nameservers'),
    statuses,
    usedHttps: getValues('transport').includes('https'),
  };
}

/** An unreadable list doesn't count as empty. */
function readList(
  items: readonly unknown[] | undefined,
  readTexts: (items: readonly unknown[]) => readonly string[],
): Fact {
  if (items === undefined) return createUnknownFact('not_published');
  const texts = readTexts(items.slice(0, MAX_ITEMS)).filter(isNotEmpty);
  return texts.length === 0 && items.length > 0 ? createUnreadableFact(toText(items)) : createFact(texts);
}

function readRegistrar(entities: readonly unknown[] | undefined): Fact {
  const registrar = filterByRole(entities, 'registrar')[0];
  if (registrar === undefined) return createUnknownFact('not_published');
  const ianaId = parseItems(publicIdSchema, registrar.publicIds).find(({ type }) =>
    /^iana[\s_-]*registrar/i.test(type.trim()),
  );
  const name = ['fn', 'org']
    .flatMap((field) => listPropertyValues(registrar.vcardArray, field))
    .flat()
    .filter(isString)
    .map(toSingleLine)
    .find((text) => text !== '' && !REDACTED_VALUE.test(text));
  const handle = toSingleLine(registrar.handle ?? '');
  const parts = [
    ...(ianaId === undefined ? [] : [`iana:${toSingleLine(ianaId.identifier)}`]),
    ...(name === undefined ? [] : [`name:${name}`]),
    ...(name === undefined && handle !== '' ? [`handle:${handle}`] : []),
  ];
  return parts.length === 0 ? createUnknownFact('not_published') : createFact(parts);
}

function readSecureDns(member: unknown): Fact {
  if (member === undefined || member === null) return createUnknownFact('not_published');
  const secureDns = secureDnsSchema.safeParse(member).data;
  if (secureDns === undefined) return createUnreadableFact(toText(member));
  if (secureDns.delegationSigned === true || (secureDns.dsData?.length ?? 0) > 0)
    return createFact(['signed']);
  return secureDns.delegationSigned === false ? ABSENT : createUnknownFact('not_published');
}

type Event = z.output<typeof eventSchema>;

/** By default, picks the earliest date, which is safe for an expiry. */
function readDate(events: readonly Event[], action: string, pickTime = Math.min): Fact {
  const matchingEvents = events.filter(
    ({ eventAction }) => normalizeWord(eventAction) === normalizeWord(action),
  );
  if (matchingEvents.length === 0) return ABSENT;
  const dates = matchingEvents.flatMap(({ eventDate }) => parseRecordDate(eventDate) ?? []);
  if (dates.length > 0) {
    const timeMs = pickTime(...dates.map(({ earliestTime }) => earliestTime.getTime()));
    const isExact = dates.some((date) => date.earliestTime.getTime() === timeMs && date.isExact);
    return createFact([new Date(timeMs).toISOString(), ...(isExact ? [] : [EARLIEST_TIME_MARK])]);
  }
  const text = matchingEvents.map(({ eventDate }) => toText(eventDate)).find(isNotEmpty);
  return text === undefined ? createUnknownFact('not_published') : createUnreadableFact(text);
}

function toText(member: unknown): string {
  return toSingleLine(isString(member) ? member : (JSON.stringify(member ?? '') ?? ''));
}

function toSingleLine(text: string): string {
  return cleanText(text).replace(/\s+/g, ' ');
}

const REDACTED_VALUE = /redacted|withheld|not disclosed|privacy|data protected|gdpr|masked|statutory/i;
/** Patterns for the names that redactions (RFC 9537) give to contact fields. */
const FIELD_PATTERNS: readonly (readonly [field: string, pattern: RegExp])[] = [
  ['fn', /name/i],
  ['org', /organi[sz]ation/i],
  ['email', /e-?mail/i],
  ['tel', /phone|fax/i],
  ['street', /street|city|postal/i],
];

/** Returns hashes instead of personal data. Hashes are enough to detect changes. */
function readOwner(entities: readonly unknown[] | undefined, redacted: readonly unknown[] | undefined): Fact {
  const redactedNames = parseItems(redactionSchema, redacted)
    .map(({ name }) => name)
    .filter((name) => /registrant/i.test(name));
  const isRedacted = (field: string) =>
    FIELD_PATTERNS.some(
      ([patternField, pattern]) =>
        patternField === field && redactedNames.some((redactedName) => pattern.test(redactedName)),
    );
  const fields = new Map<string, string[]>();
  const addField = (field: string, value: unknown) => {
    const normalized = [value].flat(2).filter(isString).map(normalizeText).filter(isNotEmpty).join(' ');
    if (normalized === '' || REDACTED_VALUE.test(normalized) || isRedacted(field)) return;
    fields.set(field, [...(fields.get(field) ?? []), normalized]);
  };
  for (const registrant of filterByRole(entities, 'registrant')) {
    for (const field of ['fn', 'org', 'email', 'tel']) {
      for (const value of listPropertyValues(registrant.vcardArray, field)) addField(field, value);
    }
    for (const value of listPropertyValues(registrant.vcardArray, 'adr')) {
      if (!Array.isArray(value)) continue;
      // Box, extension, street, locality, region, postal code, country (RFC 6350, section 6.3.1).
      addField('street', [...value.slice(0, 4), value[5]]);
      addField('region', value[4]);
      addField('country', value[6]);
    }
  }
  if (fields.size === 0) return createUnknownFact('not_published');
  return createFact(
    [...fields].map(([field, texts]) => `${field}:${hashText([...new Set(texts)].sort().join('\n'))}`),
  );
}

function hashText(value: string): string {
  return createHash('sha256').update(value).digest('hex').slice(0, 16);
}

function filterByRole(
  entities: readonly unknown[] | undefined,
  role: string,
): z.output<typeof entitySchema>[] {
  return parseItems(entitySchema, entities).filter(({ roles }) =>
    parseItems(z.string(), roles).some((text) => text.toLowerCase() === role),
  );
}

function listPropertyValues(card: unknown, name: string): unknown[] {
  const properties = parseItems(propertySchema, jCardSchema.safeParse(card).data?.[1]);
  return properties.flatMap(([key, , , ...values]) => (key.toLowerCase() === name ? values : []));
}

function parseItems<T>(schema: z.ZodType<T>, items: readonly unknown[] | undefined): T[] {
  return parseValidItems(schema, items?.slice(0, MAX_ITEMS));
}

function isString(value: unknown): value is string {
  return typeof value === 'string';
}

function isNotEmpty(value: string): boolean {
  return value !== '';
}

function normalizeText(value: string): string {
  return toSingleLine(value.normalize('NFKC')).toLowerCase();
}
