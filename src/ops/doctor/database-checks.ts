import type { SealedKeyUsage } from '../../store/sealed-keys.ts';
import type { ServerFacts } from '../../store/server-facts.ts';
import { readFreeBytes } from '../disk.ts';
import { type Finding, formatCount, ok, warning, wrong } from './finding.ts';

const MIN_SERVER_VERSION = 140_000;
const CONNECTIONS_PER_REPLICA = 12;
const MAX_CLOCK_DIFFERENCE_MS = 5_000;
const MIB = 1024 ** 2;
/** Enough for an embedded database with its write-ahead log and a backup. */
const MIN_FREE_BYTES = 512 * MIB;

export function checkServer(facts: ServerFacts, now: Date): readonly Finding[] {
  const { version, versionNumber, fsync, freeConnections } = facts;
  const isTooOld = versionNumber < MIN_SERVER_VERSION;
  return [
    isTooOld
      ? wrong('Database', `PostgreSQL ${version}.`, 'Use 14 or newer.')
      : ok('Database', `PostgreSQL ${version}, ${Math.ceil(facts.size / MIB)} MiB.`),
    ...(fsync
      ? []
      : [wrong('Database', 'fsync is off, so a crash loses orders.', 'Turn it on in postgresql.conf.')]),
    ...(freeConnections >= CONNECTIONS_PER_REPLICA
      ? []
      : [
          warning(
            'Database',
            `It has only ${formatCount(freeConnections, 'more connection')} left.`,
            `A replica opens ${CONNECTIONS_PER_REPLICA}: raise max_connections, or run fewer replicas.`,
          ),
        ]),
    checkClock('Database clock', facts.now, now),
  ];
}

export function checkClock(subject: string, serverTime: Date, localTime: Date): Finding {
  const differenceMs = serverTime.getTime() - localTime.getTime();
  if (Math.abs(differenceMs) <= MAX_CLOCK_DIFFERENCE_MS) return ok(subject, 'in sync with this machine.');
  const seconds = Math.round(Math.abs(differenceMs) / 1_000);
  return warning(
    subject,
    `${seconds} s ${differenceMs > 0 ? 'ahead of' : 'behind'} this machine.`,
    'Sync the clocks (NTP): signatures and one-time tokens depend on them.',
  );
}

/** @param canDecrypt whether the key decrypts a stored value; undefined if there is no value to try */
export function checkKeys(
  usedKeys: readonly SealedKeyUsage[],
  knownKeyIds: readonly string[],
  canDecrypt: (keyId: string) => boolean | undefined,
): readonly Finding[] {
  if (usedKeys.length === 0) return [ok('Keys', 'nothing is encrypted yet.')];
  const ids = [...new Set(usedKeys.map(({ keyId }) => keyId))];
  return ids.map((id) => {
    const encryptedCounts = usedKeys
      .filter(({ keyId }) => keyId === id)
      .map(({ nouns, count }) => formatCount(count, ...nouns));
    const usage = `“${id}” encrypts ${encryptedCounts.join(', ')}`;
    if (!knownKeyIds.includes(id))
      return wrong(
        'Keys',
        `${usage}, and isn’t in CREDENTIALS_KEYS.`,
        'Add it: data encrypted with it waits until then.',
      );
    if (canDecrypt(id) === false)
      return wrong(
        'Keys',
        `${usage}, but can’t decrypt it.`,
        'CREDENTIALS_KEYS has another key under this id: set the original one.',
      );
    return ok('Keys', `${usage}.`);
  });
}

/** @param folder may not exist yet */
export async function checkDisk(subject: string, folder: string): Promise<Finding> {
  const freeBytes = await readFreeBytes(folder);
  if (freeBytes === undefined) return ok(subject, `${folder} is created at the start.`);
  const description = `${Math.floor(freeBytes / MIB)} MiB free at ${folder}.`;
  return freeBytes >= MIN_FREE_BYTES
    ? ok(subject, description)
    : warning(subject, description, 'Free some space, or choose another disk.');
}
