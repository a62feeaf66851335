import { createHash } from 'node:crypto';
import { z } from 'zod';
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
import { readRfc3339 } from '../rdap/registration.ts';
import { ABSENT, type Fact, type Facts, type Observation, REGISTRY_FACTS, seen, unseen } from './facts.ts';

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

/**
 * One look at a registry's record.
 * @param body the answer, parsed from JSON; undefined when the registry says that there is no such name.
 */
export function observeRegistryRecord(body: unknown, name: string, at: Date): Observation {
  if (body === undefined) return { name, at, facts: everyFact(ABSENT) };
  const record = domainObject.safeParse(body).data;
  if (record === undefined || asciiName(record.ldhName ?? record.unicodeName ?? '') !== name) {
    return registryUnavailable(name, at);
  }
  const events = each(event, record.events);
  return {
    name,
    at,
    facts: {
      registration: seen(['registered']),
      registrar: registrarOf(record.entities),
      statuses:
        record.status === undefined
          ? unseen('not_told')
          : seen(each(z.string(), record.status).map(statusOf)),
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
    },
  };
}

/** A look at a registry that did not answer. */
export function registryUnavailable(name: string, at: Date): Observation {
  return { name, at, facts: everyFact(unseen('registry_unavailable')) };
}

function everyFact(fact: Fact): Facts {
  return Object.fromEntries(REGISTRY_FACTS.map((each) => [each, fact]));
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
