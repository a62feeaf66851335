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
} from './record-parts.ts';

/** What a registry's public record says about a name (RFC 9083). */
export interface RdapRegistration {
  readonly kind: 'found';
  readonly expiresAt: Date;
  readonly registeredAt?: Date;
  /** When it last went to another registrar. */
  readonly transferredAt?: Date;
  /** When the name was deleted, where the record tells: it then waits in redemption or for its release. */
  readonly deletedAt?: Date;
  /** What the registrar is called. */
  readonly registrar: string | undefined;
  /** In ASCII, lower case, each once. */
  readonly nameServers: readonly string[];
  /** Lower case, such as `active`, `auto renew period`, `redemption period` (RFC 8056). */
  readonly statuses: readonly string[];
}

/** An answer that cannot be used; the reason completes “the registry's record cannot be read: …”. */
export interface RdapUnreadable {
  readonly kind: 'unreadable';
  readonly reason: string;
}

/** The reason where a registry publishes records without dates. */
export const NO_EXPIRATION = 'it has no expiration date';

const MAX_ITEMS = 50;
const FIRST_YEAR = 1985;
const LAST_YEAR = 2200;
const RFC3339 = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(Z|[+-]\d{2}:\d{2})$/i;

const fullName = z.tuple([z.literal('fn'), z.unknown(), z.literal('text'), z.string()]);

/**
 * Reads the record of one domain. What is not needed may be missing or odd; the name and the expiry must be right,
 * because a wrong date would silence a reminder.
 * @param body the answer, parsed from JSON.
 * @param name the name that was asked for, in ASCII.
 */
export function readRdapAnswer(body: unknown, name: string): RdapRegistration | RdapUnreadable {
  const parsed = domainObject.safeParse(body);
  if (!parsed.success) return unreadable('it is not the record of a domain');
  const record = parsed.data;
  const answeredName = asciiName(record.ldhName ?? record.unicodeName ?? '');
  if (answeredName !== name) return unreadable('it is the record of another name');

  const events = fitting(event, record.events);
  const expirations = events.filter(({ eventAction }) => eventAction.toLowerCase() === 'expiration');
  if (expirations.length === 0) return unreadable(NO_EXPIRATION);
  const expiryDates = expirations.map(({ eventDate }) => readRfc3339(eventDate));
  if (expiryDates.includes(undefined)) return unreadable('its expiration date is no date');
  // Two expirations contradict each other; the earlier one cannot make anybody late.
  const expiresAt = new Date(Math.min(...expiryDates.map((date) => date?.getTime() ?? Number.NaN)));

  const dateOf = (action: string) =>
    readRfc3339(events.find(({ eventAction }) => eventAction.toLowerCase() === action)?.eventDate);
  const statuses = fitting(z.string(), record.status).map(statusOf);
  const registeredAt = dateOf('registration');
  const transferredAt = dateOf('transfer');
  // Registries tell a deletion by the status; the deletion was then the last change of the record.
  const deletedAt = statuses.some((status) => status === 'redemption period' || status === 'pending delete')
    ? (dateOf('deletion') ?? dateOf('last changed'))
    : undefined;
  return {
    kind: 'found',
    expiresAt,
    ...(registeredAt && { registeredAt }),
    ...(transferredAt && { transferredAt }),
    ...(deletedAt && { deletedAt }),
    registrar: registrarOf(record.entities),
    nameServers: [...new Set(fitting(nameserver, record.nameservers))]
      .filter((name) => name !== '')
      .slice(0, MAX_ITEMS),
    statuses: statuses.slice(0, MAX_ITEMS),
  };
}

/** The name on the registrar's card, else its handle. */
function registrarOf(entities: readonly unknown[] | undefined): string | undefined {
  const registrar = fitting(entity, entities).find(({ roles }) =>
    fitting(z.string(), roles).some((role) => role.toLowerCase() === 'registrar'),
  );
  if (registrar === undefined) return undefined;
  const card = jCard.safeParse(registrar.vcardArray).data?.[1] ?? [];
  const [, , , name] = fitting(fullName, card)[0] ?? [];
  const called = cleanText(name ?? registrar.handle ?? '').replace(/\s+/g, ' ');
  return called === '' ? undefined : called;
}

/**
 * Reads a time as RFC 3339 writes it, and nothing else: no day that a month does not have, no time without its
 * offset, no year that a registration cannot have.
 */
export function readRfc3339(value: unknown): Date | undefined {
  const parts = typeof value === 'string' ? RFC3339.exec(value.trim()) : null;
  if (!parts) return undefined;
  const [, year = '', month = '', day = '', hour = '', minute = '', second = '', , offset = ''] = parts;
  const date = new Date(`${year}-${month}-${day}T00:00:00Z`);
  const dayExists = !Number.isNaN(date.getTime()) && date.getUTCDate() === Number(day);
  const yearPlausible = Number(year) >= FIRST_YEAR && Number(year) <= LAST_YEAR;
  const offsetHours = offset.toUpperCase() === 'Z' ? 0 : Number(offset.slice(1, 3));
  const offsetMinutes = offset.toUpperCase() === 'Z' ? 0 : Number(offset.slice(4, 6));
  if (!dayExists || !yearPlausible || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) {
    return undefined;
  }
  if (offsetHours > 23 || offsetMinutes > 59) return undefined;
  const sign = offset.startsWith('-') ? -1 : 1;
  const minutes = Number(hour) * 60 + Number(minute) - sign * (offsetHours * 60 + offsetMinutes);
  return new Date(date.getTime() + minutes * 60_000 + Math.min(Number(second), 59) * 1000);
}

/** @param reason completes “the registry's record cannot be read: …” */
export function unreadable(reason: string): RdapUnreadable {
  return { kind: 'unreadable', reason };
}
