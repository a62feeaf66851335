import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir, readdir, readFile, realpath, stat, symlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { EmbeddedPostgresError, explainFileError, getSystemErrorCode } from './error.ts';

/** Contains the data if PostgreSQL's user can't access `DATA_DIR`. */
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
 * Finds or creates the folder of the embedded PostgreSQL, which is `postgres` in `DATA_DIR`. If the bot runs as root
 * with a private `DATA_DIR`, `postgres` is a link to a folder that PostgreSQL's user can reach.
 *
 * @throws {EmbeddedPostgresError} `no_permission`, `disk_full`, `data_missing`
 */
export async function prepareHome(dataDir: string): Promise<Home> {
  const activity = `preparing the folder of the embedded PostgreSQL in ${resolve(dataDir)}`;
  try {
    const notes: string[] = [];
    await mkdir(dataDir, { recursive: true });
    const folder = await findOrCreateHomeFolder(await realpath(dataDir), notes);
    const dataFolder = join(folder, 'data');
    const runAs = await choosePostgresUser(dataFolder);
    if (runAs !== undefined) {
      const inaccessibleFolder = await findInaccessibleFolder(folder, runAs);
      if (inaccessibleFolder !== undefined) {
        throw new EmbeddedPostgresError(
          'no_permission',
          `${activity}: PostgreSQL does not run as root, and user ${runAs.uid} cannot enter ${inaccessibleFolder}. Open it (chmod o+x ${inaccessibleFolder}), choose another DATA_DIR, or set DATABASE_URL`,
        );
      }
      notes.push(`PostgreSQL does not run as root, so the embedded one runs as user ${runAs.uid}.`);
    }
    return {
      folder,
      data: dataFolder,
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
    if (getSystemErrorCode(error) === 'ENOENT') return undefined;
    throw explainFileError(`reading ${home.data}`, error);
  }
}

/** The first folder on the path, including `path` itself, that the user can't enter. Undefined if there is none. */
export async function findInaccessibleFolder(path: string, user: SystemUser): Promise<string | undefined> {
  const parent = dirname(path);
  if (parent !== path) {
    const inaccessibleFolder = await findInaccessibleFolder(parent, user);
    if (inaccessibleFolder !== undefined) return inaccessibleFolder;
  }
  const folderStat = await stat(path);
  const executeBit = folderStat.uid === user.uid ? 0o100 : folderStat.gid === user.gid ? 0o010 : 0o001;
  return (folderStat.mode & executeBit) === 0 ? path : undefined;
}

async function findOrCreateHomeFolder(dataDir: string, notes: string[]): Promise<string> {
  const postgresPath = join(dataDir, 'postgres');
  const postgresPathStat = await lstat(postgresPath).catch((error: unknown) => {
    if (getSystemErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (postgresPathStat !== undefined) {
    const folder = await realpath(postgresPath).catch((error: unknown) => {
      throw new EmbeddedPostgresError(
        'data_missing',
        `the database of ${dataDir} is missing: the link ${postgresPath} points to a folder that doesn't exist. Restore that folder from a backup, or remove the link to start with an empty database`,
        { cause: error },
      );
    });
    if (postgresPathStat.isSymbolicLink()) notes.push(formatDataLocationNote(dataDir, folder));
    return folder;
  }
  if (!isRoot() || (await findInaccessibleFolder(dataDir, { uid: NOBODY, gid: NOBODY })) === undefined) {
    await mkdir(postgresPath, { recursive: true });
    // PostgreSQL's user must be able to enter this folder, even with a strict umask. The files in it stay private.
    if (isRoot()) await chmod(postgresPath, 0o711);
    return postgresPath;
  }
  const { folder, earlierFolders } = await createReachableFolder(dataDir);
  try {
    await symlink(folder, postgresPath);
  } catch (error) {
    if (getSystemErrorCode(error) !== 'EEXIST') throw error;
    // Another bot just created the link. This folder isn't removed, because the link may point to it.
    return findOrCreateHomeFolder(dataDir, notes);
  }
  notes.push(
    formatDataLocationNote(dataDir, folder),
    ...earlierFolders.map(
      (earlierFolder) =>
        `The database of an earlier ${dataDir} is left in ${earlierFolder}. Delete it, or stop the bot and link ${postgresPath} to it to use it again.`,
    ),
  );
  return folder;
}

/**
 * Creates a folder that PostgreSQL's user can reach. The folder of an earlier `DATA_DIR` at the same path is kept,
 * because its data may be needed.
 */
async function createReachableFolder(
  dataDir: string,
): Promise<{ readonly folder: string; readonly earlierFolders: readonly string[] }> {
  const firstFolder = join(REACHABLE_ROOT, createHash('sha256').update(dataDir).digest('hex').slice(0, 16));
  await mkdir(REACHABLE_ROOT, { recursive: true });
  await chmod(REACHABLE_ROOT, 0o711);
  const earlierFolders: string[] = [];
  for (;;) {
    const folder = earlierFolders.length === 0 ? firstFolder : `${firstFolder}-${earlierFolders.length + 1}`;
    try {
      await mkdir(folder);
      await chmod(folder, 0o711);
      return { folder, earlierFolders };
    } catch (error) {
      if (getSystemErrorCode(error) !== 'EEXIST') throw error;
      // An empty folder has no data: a bot that is starting at the same time just created it.
      if ((await readdir(folder)).length === 0) return { folder, earlierFolders };
      earlierFolders.push(folder);
    }
  }
}

function formatDataLocationNote(dataDir: string, folder: string): string {
  return `${dataDir} is in a folder that PostgreSQL's user cannot enter, so the database is kept in ${folder}.`;
}

/** If there is data, the server must run as the data's owner. */
async function choosePostgresUser(dataFolder: string): Promise<SystemUser | undefined> {
  if (!isRoot()) return undefined;
  try {
    const { uid, gid } = await stat(dataFolder);
    if (uid !== 0) return { uid, gid };
  } catch (error) {
    if (getSystemErrorCode(error) !== 'ENOENT') throw error;
  }
  return { uid: NOBODY, gid: NOBODY };
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}
