import { cleanText } from './record-parts.ts';

// Registries publish RDAP statuses, EPP statuses, ICANN URLs or statuses in their own words.

/** Status values of RFC 9083, section 10.2.2, and RFC 8056. */
const KNOWN_STATUSES = [
  ...['validated', 'proxy', 'private', 'removed', 'obscured', 'associated', 'active', 'inactive', 'locked'],
  ...['administrative', 'reserved', 'hold', 'add period', 'auto renew period', 'renew period'],
  ...['transfer period', 'redemption period', 'pending restore'],
  ...['create', 'renew', 'transfer', 'update', 'delete'].map((operation) => `pending ${operation}`),
  ...['', 'client ', 'server '].flatMap((prefix) =>
    ['renew', 'update', 'transfer', 'delete'].map((operation) => `${prefix}${operation} prohibited`),
  ),
  ...['client hold', 'server hold'],
];
const STATUS_BY_WORD = new Map([
  ...KNOWN_STATUSES.map((status) => [normalizeWord(status), status] as const),
  ['ok', 'active'],
  ['linked', 'associated'],
]);

/** Converts a status to its value in RFC 8056. Returns unknown statuses unchanged. */
export function normalizeStatus(text: string): string {
  const clean = cleanText(text).replace(/\s+/g, ' ');
  // `https://icann.org/epp#clientHold`, alone or after the status itself.
  const eppMatch = /^(?:(.+?)\s+)?\(?(?:https?:\/\/)?(?:www\.)?icann\.org\/epp#(\w+)\)?$/i.exec(clean);
  const status = eppMatch === null ? clean : (eppMatch[1] ?? eppMatch[2] ?? clean);
  return STATUS_BY_WORD.get(normalizeWord(status)) ?? status;
}

export function normalizeWord(text: string): string {
  return text.toLowerCase().replace(/[\s_-]/g, '');
}

/** @returns the operation that a lock forbids, or `all`; undefined if the status isn't a lock */
function findLockedOperation(status: string): string | undefined {
  const [, operation] =
    /\b(transfer|update|delete)\s?(?:is )?(?:prohibited|forbidden|lock(?:ed)?)$/i.exec(status) ?? [];
  return operation?.toLowerCase() ?? (/(?:^|[^n])lock(?:ed)?$/i.test(status) ? 'all' : undefined);
}

/** Whether the status is a lock against transfers, changes or deletion. */
export function isLock(status: string): boolean {
  return findLockedOperation(status) !== undefined;
}

export function isTransferLock(status: string): boolean {
  return ['transfer', 'all'].includes(findLockedOperation(status) ?? '');
}

/** @returns `transfer`, `update`, `delete` or `all` for each lock that the registry has set */
export function listRegistryLockedOperations(statuses: readonly string[]): string[] {
  return statuses
    .filter((status) => status.startsWith('server '))
    .flatMap((status) => findLockedOperation(status) ?? []);
}

/** Whether the statuses still include a lock. A missing `client` or `server` prefix is ignored. */
export function isStillLocked(lock: string, statuses: readonly string[]): boolean {
  const hasPrefix = (status: string) => /^(?:client|server) /.test(status);
  return statuses.some(
    (status) =>
      status === lock ||
      (findLockedOperation(status) === findLockedOperation(lock) && !(hasPrefix(status) && hasPrefix(lock))),
  );
}

/** A name on hold isn't published in its zone. */
export function isHold(status: string): boolean {
  return /\bhold$/i.test(status);
}

/** Redemption takes precedence, because the name can still be restored. */
export function findDeletionPhase(statuses: readonly string[]): 'redemption' | 'pending_delete' | undefined {
  if (statuses.some((status) => /^redemption|\bquarantine$/i.test(status))) return 'redemption';
  return statuses.some((status) => /^pending delete/i.test(status)) ? 'pending_delete' : undefined;
}

export function isBeingDeleted(statuses: readonly string[] | undefined = []): boolean {
  return findDeletionPhase(statuses) !== undefined;
}
