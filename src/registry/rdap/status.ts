import { cleanText } from './record-parts.ts';

/* Registries spell statuses as in RDAP, as in EPP, with an address of ICANN, or in their own words. */

/** RFC 9083, 10.2.2, and RFC 8056. */
const KNOWN_STATUSES = [
  ...['validated', 'proxy', 'private', 'removed', 'obscured', 'associated', 'active', 'inactive', 'locked'],
  ...['administrative', 'reserved', 'hold', 'add period', 'auto renew period', 'renew period'],
  ...['transfer period', 'redemption period', 'pending restore'],
  ...['create', 'renew', 'transfer', 'update', 'delete'].map((what) => `pending ${what}`),
  ...['', 'client ', 'server '].flatMap((side) =>
    ['renew', 'update', 'transfer', 'delete'].map((what) => `${side}${what} prohibited`),
  ),
  ...['client hold', 'server hold'],
];
const BY_LETTERS = new Map([
  ...KNOWN_STATUSES.map((status) => [lettersOf(status), status] as const),
  ['ok', 'active'],
  ['linked', 'associated'],
]);

/** A status in the words of RFC 8056; one that isn't known as it came. */
export function statusOf(text: string): string {
  const clean = cleanText(text).replace(/\s+/g, ' ');
  // `https://icann.org/epp#clientHold`, alone or behind the status itself.
  const epp = /^(?:(.+?)\s+)?\(?(?:https?:\/\/)?(?:www\.)?icann\.org\/epp#(\w+)\)?$/i.exec(clean);
  const status = epp === null ? clean : (epp[1] ?? epp[2] ?? clean);
  return BY_LETTERS.get(lettersOf(status)) ?? status;
}

/** A word as words of registries are compared. */
export function lettersOf(text: string): string {
  return text.toLowerCase().replace(/[\s_-]/g, '');
}

/** The operation that a lock forbids; `all` if it doesn't say. Undefined for a status that is no lock. */
function lockedBy(status: string): string | undefined {
  const [, what] =
    /\b(transfer|update|delete)\s?(?:is )?(?:prohibited|forbidden|lock(?:ed)?)$/i.exec(status) ?? [];
  return what?.toLowerCase() ?? (/(?:^|[^n])lock(?:ed)?$/i.test(status) ? 'all' : undefined);
}

/** Whether a status locks the name against transfers, changes or deletion. */
export function isLock(status: string): boolean {
  return lockedBy(status) !== undefined;
}

export function isTransferLock(status: string): boolean {
  return ['transfer', 'all'].includes(lockedBy(status) ?? '');
}

/** Whether a lock is still set, perhaps spelled without the side that set it. */
export function isStillLocked(lock: string, statuses: readonly string[]): boolean {
  const hasSide = (status: string) => /^(?:client|server) /.test(status);
  return statuses.some(
    (status) =>
      status === lock || (lockedBy(status) === lockedBy(lock) && !(hasSide(status) && hasSide(lock))),
  );
}

/** While such a status is set, the name is not in its zone. */
export function isHold(status: string): boolean {
  return /\bhold$/i.test(status);
}

/** How far a deletion has gone: in redemption a restore is possible, and both statuses may stand side by side. */
export function deletionPhaseOf(statuses: readonly string[]): 'redemption' | 'pending_delete' | undefined {
  if (statuses.some((status) => /^redemption|\bquarantine$/i.test(status))) return 'redemption';
  return statuses.some((status) => /^pending delete/i.test(status)) ? 'pending_delete' : undefined;
}

export function isDeleted(statuses: readonly string[] | undefined = []): boolean {
  return deletionPhaseOf(statuses) !== undefined;
}
