import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir, readdir, readFile, realpath, stat, symlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { EmbeddedPostgresError, explainFileError, systemCode } from './error.ts';

/** Used if PostgreSQL's user can't reach data in `DATA_DIR`. */
const REACHABLE_ROOT = '/var/lib/domain-steward';

/** The number of the user and group `nobody` on Debian, Alpine, Fedora and in container runtimes. */
const NOBODY = 65534;

/** The user to run PostgreSQL as, because it refuses to run as root. */
export interface SystemUser {
  readonly uid: number;
  readonly gid: number;
}

export interface Home {
  readonly folder: string;
  readonly data: string;
  readonly passwordFile: string;
  readonly logFile: string;
  readonly runAs: SystemUser | undefined;
  readonly notes: string[];
}

/**
 * Finds or creates the folder of the embedded PostgreSQL, which is `postgres` in `DATA_DIR`. If root has a private
 * `DATA_DIR`, it is a link to a folder that PostgreSQL's user can reach.
 *
 * @throws {EmbeddedPostgresError} `no_permission`, `disk_full`, `data_missing`
 */
export async function prepareHome(dataDir: string): Promise<Home> {
  const activity = `preparing the folder of the embedded PostgreSQL in ${resolve(dataDir)}`;
  try {
    const notes: string[] = [];
    await mkdir(dataDir, { recursive: true });
    const folder = await findOrCreateFolder(await realpath(dataDir), notes);
    const data = join(folder, 'data');
    const runAs = await chooseUser(data);
    if (runAs !== undefined) {
      const closedFolder = await findInaccessibleFolder(folder, runAs);
      if (closedFolder !== undefined) {
        throw new EmbeddedPostgresError(
          'no_permission',
          `${activity}: PostgreSQL does not run as root, and user ${runAs.uid} cannot enter ${closedFolder}. Open it (chmod o+x ${closedFolder}), choose another DATA_DIR, or set DATABASE_URL`,
        );
      }
      notes.push(`PostgreSQL does not run as root, so the embedded one runs as user ${runAs.uid}.`);
    }
    return {
      folder,
      data,
      passwordFile: join(folder, 'password'),
      logFile: join(folder, 'postgres.log'),
      runAs,
      notes,
    };
  } catch (error) {
    throw explainFileError(activity, error);
  }
}

/** The major version that created the data, from `PG_VERSION`. Undefined if there is no data yet. */
export async function readDataVersion(home: Home): Promise<number | undefined> {
  try {
    return Number.parseInt(await readFile(join(home.data, 'PG_VERSION'), 'utf8'), 10);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw explainFileError(`reading ${home.data}`, error);
  }
}

/** The first folder on the path, including `path` itself, that the user can't enter. Undefined if there is none. */
export async function findInaccessibleFolder(path: string, user: SystemUser): Promise<string | undefined> {
  const parent = dirname(path);
  if (parent !== path) {
    const closed = await findInaccessibleFolder(parent, user);
    if (closed !== undefined) return closed;
  }
  const info = await stat(path);
  const bit = info.uid === user.uid ? 0o100 : info.gid === user.gid ? 0o010 : 0o001;
  return (info.mode & bit) === 0 ? path : undefined;
}

async function findOrCreateFolder(dataDir: string, notes: string[]): Promise<string> {
  const entry = join(dataDir, 'postgres');
  const entryStat = await lstat(entry).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (entryStat !== undefined) {
    const folder = await realpath(entry).catch((error: unknown) => {
      throw new EmbeddedPostgresError(
        'data_missing',
        `the database of ${dataDir} is missing: the link ${entry} points to a folder that doesn't exist. Restore that folder from a backup, or remove the link to start with an empty database`,
        { cause: error },
      );
    });
    if (entryStat.isSymbolicLink()) notes.push(formatMovedNote(dataDir, folder));
    return folder;
  }
  if (!isRoot() || (await findInaccessibleFolder(dataDir, { uid: NOBODY, gid: NOBODY })) === undefined) {
    await mkdir(entry, { recursive: true });
    // PostgreSQL's user must be able to enter this folder, even with a strict umask. The files in it stay private.
    if (isRoot()) await chmod(entry, 0o711);
    return entry;
  }
  const { folder, earlierFolders } = await createReachableFolder(dataDir);
  try {
    await symlink(folder, entry);
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error;
    // Another bot just created the link, perhaps to this folder, so it stays.
    return findOrCreateFolder(dataDir, notes);
  }
  notes.push(
    formatMovedNote(dataDir, folder),
    ...earlierFolders.map(
      (old) =>
        `The database of an earlier ${dataDir} is left in ${old}. Delete it, or stop the bot and link ${entry} to it to use it again.`,
    ),
  );
  return folder;
}

/**
 * Creates a folder that PostgreSQL's user can reach. If an earlier `DATA_DIR` at the same path has a folder, it is
 * kept, because its data may be needed.
 */
async function createReachableFolder(
  dataDir: string,
): Promise<{ readonly folder: string; readonly earlierFolders: readonly string[] }> {
  const first = join(REACHABLE_ROOT, createHash('sha256').update(dataDir).digest('hex').slice(0, 16));
  await mkdir(REACHABLE_ROOT, { recursive: true });
  await chmod(REACHABLE_ROOT, 0o711);
  const earlierFolders: string[] = [];
  for (;;) {
    const folder = earlierFolders.length === 0 ? first : `${first}-${earlierFolders.length + 1}`;
    try {
      await mkdir(folder);
      await chmod(folder, 0o711);
      return { folder, earlierFolders };
    } catch (error) {
      if (systemCode(error) !== 'EEXIST') throw error;
      // An empty folder has no data: a bot that is starting at the same time just created it.
      if ((await readdir(folder)).length === 0) return { folder, earlierFolders };
      earlierFolders.push(folder);
    }
  }
}

function formatMovedNote(dataDir: string, folder: string): string {
  return `${dataDir} is in a folder that PostgreSQL's user cannot enter, so the database is kept in ${folder}.`;
}

/** If there is data, the server must run as its owner. */
async function chooseUser(data: string): Promise<SystemUser | undefined> {
  if (!isRoot()) return undefined;
  try {
    const { uid, gid } = await stat(data);
    if (uid !== 0) return { uid, gid };
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
  }
  return { uid: NOBODY, gid: NOBODY };
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}
