import { createHash } from 'node:crypto';
import { z } from 'zod';
import { RDAP_PROBLEMS, type RdapAnswer, type RdapProblem } from '../rdap/client.ts';
import {
  asciiName,
  cleanText,
  domainObject,
  entity,
  event,
  fitting,
  jCard,
  nameserver,
  statusOf,
} from '../rdap/record-parts.ts';
import { readRfc3339 } from '../rdap/rfc3339.ts';
import {
  ABSENT,
  type Fact,
  type FactName,
  type Facts,
  factValue,
  partOf,
  REGISTRY_FACTS,
  seen,
  unseen,
} from './facts.ts';

/*
 * Reads a registry's record (RFC 9083). Whatever is missing or malformed is unseen, never absent: a registry that
 * leaves a member out has not said that there is none.
 */

const MAX_ITEMS = 50;

const list = z.array(z.unknown()).optional().catch(undefined);

const publicId = z.object({
  type: z.string(),
  identifier: z.union([z.string(), z.number()]).transform(String),
});
const property = z.tuple([z.string(), z.unknown(), z.unknown()], z.unknown());
const secureDns = z.object({ delegationSigned: z.boolean().optional().catch(undefined), dsData: list });
/** RFC 9537, 4.2. */
const redaction = z.object({
  name: z.union([
    z.object({ description: z.string() }).transform(({ description }) => description),
    z.object({ type: z.string() }).transform(({ type }) => type),
  ]),
});

/** Why a registry's record tells no date. */
export const RECORD_PROBLEMS = [
  ...RDAP_PROBLEMS,
  'not_a_domain',
  'other_name',
  /** Its registry publishes records without dates. */
  'no_expiration',
  'unreadable_expiration',
] as const;

export interface RecordProblem {
  readonly code: (typeof RECORD_PROBLEMS)[number];
  readonly detail?: RdapProblem['detail'];
}

/** Whether there was no record at all, so that another try may give one. */
export function isUnanswered({ code }: RecordProblem): boolean {
  return RDAP_PROBLEMS.some((problem) => problem === code);
}

/** What a registry's record says of a registration. */
export interface Registration {
  readonly expiresAt: Date;
  readonly registeredAt: Date | undefined;
  /** When it last went to another registrar. */
  readonly transferredAt: Date | undefined;
  /** When the name was deleted, where the record tells: it then waits in redemption or for its release. */
  readonly deletedAt: Date | undefined;
  /** What the registrar is called. */
  readonly registrar: string | undefined;
  /** In ASCII, lower case, each once. */
  readonly nameServers: readonly string[];
  /** In the words of RFC 8056. */
  readonly statuses: readonly string[];
  /** Every exchange on the way to it was over https. */
  readonly isSecure: boolean;
}

/** One look at a registry. */
export interface RegistryLook {
  /** In ASCII. */
  readonly name: string;
  readonly at: Date;
  readonly facts: Facts;
  readonly result:
    | { readonly kind: 'registered'; readonly registration: Registration; readonly server: string }
    | { readonly kind: 'not_registered'; readonly server: string }
    | { readonly kind: 'undated'; readonly problem: RecordProblem; readonly retryAfterMs?: number };
}

/** Reads what a registry answered about a name. */
export function readRegistryAnswer(answer: RdapAnswer, name: string, at: Date): RegistryLook {
  if (answer.kind === 'unavailable') return undatedLook(name, at, answer.problem, answer.retryAfterMs);
  const { server } = answer;
  if (answer.kind === 'not_found') {
    return { name, at, facts: everyFact(ABSENT), result: { kind: 'not_registered', server } };
  }
  const record = domainObject.safeParse(answer.body).data;
  if (record === undefined) return undatedLook(name, at, { code: 'not_a_domain' });
  if (asciiName(record.ldhName ?? record.unicodeName ?? '') !== name)
    return undatedLook(name, at, { code: 'other_name' });
  const facts = { ...factsOf(record), transport: seen([answer.secure ? 'https' : 'http']) };
  const registration = registrationOf(facts);
  if (registration !== undefined)
    return { name, at, facts, result: { kind: 'registered', registration, server } };
  const code = facts.expires_at.state === 'absent' ? 'no_expiration' : 'unreadable_expiration';
  return { name, at, facts, result: { kind: 'undated', problem: { code } } };
}

/** A look that shows nothing. */
export function undatedLook(
  name: string,
  at: Date,
  problem: RecordProblem,
  retryAfterMs?: number,
): RegistryLook {
  const facts = everyFact(unseen('registry_unavailable'));
  return {
    name,
    at,
    facts,
    result: { kind: 'undated', problem, ...(retryAfterMs !== undefined && { retryAfterMs }) },
  };
}

function everyFact(fact: Fact): Facts {
  return Object.fromEntries(REGISTRY_FACTS.map((each) => [each, fact]));
}

function factsOf(record: z.output<typeof domainObject>) {
  const events = each(event, record.events);
  return {
    registration: seen(['registered']),
    registrar: registrarOf(record.entities),
    statuses:
      record.status === undefined ? unseen('not_told') : seen(each(z.string(), record.status).map(statusOf)),
    registry_nameservers:
      record.nameservers === undefined
        ? unseen('not_told')
        : seen(each(nameserver, record.nameservers).filter(isFilled)),
    secure_dns: secureDnsOf(record.secureDNS),
    owner: ownerOf(record.entities, record.redacted),
    registered_at: dateOf(events, 'registration'),
    expires_at: dateOf(events, 'expiration'),
    registrar_expires_at: dateOf(events, 'registrar expiration'),
    updated_at: dateOf(events, 'last changed'),
    transferred_at: dateOf(events, 'transfer'),
    deleted_at: dateOf(events, 'deletion'),
  } satisfies Facts;
}

/** Undefined where the record tells no end of the registration. */
function registrationOf(facts: Facts): Registration | undefined {
  const textsOf = (fact: FactName) => factValue(facts[fact]) ?? [];
  const momentOf = (fact: FactName) => textsOf(fact).map((text) => new Date(text))[0];
  const expiresAt = momentOf('expires_at');
  if (expiresAt === undefined) return undefined;
  const statuses = textsOf('statuses');
  return {
    expiresAt,
    registeredAt: momentOf('registered_at'),
    transferredAt: momentOf('transferred_at'),
    // Registries tell a deletion by the status; the deletion was then the last change of the record.
    deletedAt: isDeleted(statuses) ? (momentOf('deleted_at') ?? momentOf('updated_at')) : undefined,
    registrar: partOf(textsOf('registrar'), 'name'),
    nameServers: textsOf('registry_nameservers'),
    statuses,
    isSecure: textsOf('transport').includes('https'),
  };
}

/** Whether statuses say that a name is deleted: it waits in redemption or for its release. */
export function isDeleted(statuses: readonly string[]): boolean {
  return statuses.some((status) => status === 'redemption period' || status === 'pending delete');
}

function registrarOf(entities: readonly unknown[] | undefined): Fact {
  const registrar = withRole(entities, 'registrar')[0];
  if (registrar === undefined) return unseen('not_told');
  const id = each(publicId, registrar.publicIds).find(({ type }) => /^iana registrar id$/i.test(type.trim()));
  const [fullName = registrar.handle] = valuesOf(registrar.vcardArray, 'fn').flatMap((value) =>
    typeof value === 'string' ? value : [],
  );
  const called = cleanText(fullName ?? '').replace(/\s+/g, ' ');
  const parts = [
    ...(id === undefined ? [] : [`iana:${cleanText(id.identifier)}`]),
    ...(called === '' ? [] : [`name:${called}`]),
  ];
  return parts.length === 0 ? unseen('not_told') : seen(parts);
}

function secureDnsOf(member: unknown): Fact {
  const delegation = secureDns.safeParse(member).data;
  if (delegation === undefined) return unseen('not_told');
  if (delegation.delegationSigned === true || (delegation.dsData?.length ?? 0) > 0) return seen(['signed']);
  return delegation.delegationSigned === false ? ABSENT : unseen('not_told');
}

type Event = z.output<typeof event>;

/** Two dates of one event contradict each other. The earlier date of an expiry is the safe one. */
function dateOf(events: readonly Event[], action: string): Fact {
  const matching = events.filter(({ eventAction }) => eventAction.toLowerCase() === action);
  if (matching.length === 0) return ABSENT;
  const dates = matching.map(({ eventDate }) => readRfc3339(eventDate)?.getTime() ?? Number.NaN);
  const earliest = Math.min(...dates);
  return Number.isNaN(earliest) ? unseen('not_told') : seen([new Date(earliest).toISOString()]);
}

const HIDDEN = /redacted|withheld|not disclosed|privacy|data protected|gdpr|masked|statutory/i;
/** The fields of a contact, under the names that RFC 9537 registers. */
const FIELD_WORDS: readonly (readonly [field: string, pattern: RegExp])[] = [
  ['fn', /name/i],
  ['org', /organi[sz]ation/i],
  ['email', /e-?mail/i],
  ['tel', /phone|fax/i],
  ['street', /street|city|postal/i],
];

/**
 * Fingerprints of the visible fields of the registrant. Digests are enough to notice changes, so that no personal
 * data is stored.
 */
function ownerOf(entities: readonly unknown[] | undefined, redacted: readonly unknown[] | undefined): Fact {
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
      for (const value of valuesOf(registrant.vcardArray, field)) add(field, value);
    }
    for (const value of valuesOf(registrant.vcardArray, 'adr')) {
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

/** The values of all properties of a name in a contact's card. */
function valuesOf(card: unknown, name: string): unknown[] {
  const properties = each(property, jCard.safeParse(card).data?.[1]);
  return properties.flatMap(([called, , , ...values]) => (called.toLowerCase() === name ? values : []));
}

/** The members that fit the schema. However many a registry sends, only a limited number is read. */
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
  return cleanText(value.normalize('NFKC')).replace(/\s+/g, ' ').toLowerCase();
}
