import { mkdir, mkdtemp, readFile, realpath, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, vi } from 'vitest';
import { type Child, startChild } from '../../../test/support/child.ts';
import { type EmbeddedPostgres, type EmbeddedPostgresOptions, startEmbeddedPostgres } from '../src/index.ts';

const OWNER_SCRIPT = new URL('./owner.ts', import.meta.url);

/** With these, tests don't wait for the disk. */
export const FAST_SETTINGS = { fsync: 'off' };

/** Shared by all tests, because creating the data is the slowest part of a start. Tests must stop its server. */
export const SHARED_FOLDER = join(tmpdir(), `domain-steward-embedded-${process.pid}`);
export const temporaryFolders: string[] = [];
const owners: EmbeddedPostgres[] = [];
const children: Child[] = [];

export async function start(options: Partial<EmbeddedPostgresOptions> = {}): Promise<EmbeddedPostgres> {
  const owner = await startEmbeddedPostgres({ dataDir: SHARED_FOLDER, ...options });
  owners.push(owner);
  return owner;
}

export function startOwner(dataDir: string): Child {
  const child = startChild(OWNER_SCRIPT, { args: [dataDir], ownGroup: true });
  children.push(child);
  return child;
}

export async function createPrivateFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'domain-steward-private-'));
  temporaryFolders.push(folder);
  return folder;
}

export async function query<Row extends pg.QueryResultRow>(url: string, sql: string): Promise<Row[]> {
  const client = new pg.Client(url);
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

export async function readServerPid(dataDir: string): Promise<number> {
  const text = await readFile(join(dataDir, 'postgres/data/postmaster.pid'), 'utf8');
  return Number.parseInt(text, 10);
}

export async function isStopped(dataDir: string): Promise<boolean> {
  return stat(join(dataDir, 'postgres/data/postmaster.pid')).then(
    () => false,
    () => true,
  );
}

/** Stops a server that a failed test left running, so that the next test doesn't fail too. */
async function stopLeftoverServer(dataDir: string): Promise<void> {
  if (await isStopped(dataDir)) return;
  try {
    process.kill(await readServerPid(dataDir), 'SIGINT');
  } catch {
    await rm(join(dataDir, 'postgres/data/postmaster.pid'), { force: true });
  }
  await vi.waitUntil(() => isStopped(dataDir), { timeout: 10_000, interval: 10 });
}

async function removeFolder(dataDir: string): Promise<void> {
  const home = await realpath(join(dataDir, 'postgres')).catch(() => undefined);
  if (home !== undefined) await rm(home, { recursive: true, force: true });
  await rm(dataDir, { recursive: true, force: true });
}

/** Creates the shared folder for a file's tests. After each test, stops its servers and removes its other folders. */
export function useServers(): void {
  beforeAll(async () => {
    await mkdir(SHARED_FOLDER, { mode: 0o755 });
  });

  afterEach(async () => {
    for (const child of children.splice(0)) await child.kill();
    for (const owner of owners.splice(0)) await owner.stop();
    await stopLeftoverServer(SHARED_FOLDER);
    for (const folder of temporaryFolders.splice(0)) {
      await stopLeftoverServer(folder);
      await removeFolder(folder);
    }
  });

  afterAll(() => removeFolder(SHARED_FOLDER));
}
