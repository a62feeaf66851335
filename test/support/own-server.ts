import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { type Binaries, findBinaries } from '../../packages/embedded-postgres/src/binaries.ts';
import { type Home, prepareHome } from '../../packages/embedded-postgres/src/home.ts';
import { ensureServerRunning, type Server, stopServer } from '../../packages/embedded-postgres/src/server.ts';
import { migrate } from '../../src/store/migrate.ts';

const runCommand = promisify(execFile);
const STOP_TIMEOUT_MS = 30_000;

/** A PostgreSQL server for one test, which can be killed, restored and promoted. Its address stays the same. */
export class DedicatedServer {
  readonly #dataDir: string;
  readonly #home: Home;
  readonly #binaries: Binaries;
  readonly #settings: Readonly<Record<string, string>>;
  #server: Server | undefined;
  #port: number | undefined;

  private constructor(
    dataDir: string,
    home: Home,
    binaries: Binaries,
    settings: Readonly<Record<string, string>>,
  ) {
    this.#dataDir = dataDir;
    this.#home = home;
    this.#binaries = binaries;
    this.#settings = settings;
  }

  /**
   * Starts a server with the migrated schema. It doesn't sync to disk, because only its processes die, not the machine.
   */
  static async open(settings: Readonly<Record<string, string>> = {}): Promise<DedicatedServer> {
    const dataDir = await mkdtemp(join(tmpdir(), 'domain-steward-server-'));
    await chmod(dataDir, 0o755); // If root runs the tests, PostgreSQL's user needs access.
    const server = new DedicatedServer(dataDir, await prepareHome(dataDir), await findBinaries(), {
      fsync: 'off',
      max_connections: '100',
      ...settings,
    });
    await server.start();
    await server.sql(`CREATE DATABASE template`);
    await migrate({ url: server.#urlOf('template') });
    return server;
  }

  async close(): Promise<void> {
    await this.stop();
    await rm(this.#home.folder, { recursive: true, force: true });
    await rm(this.#dataDir, { recursive: true, force: true });
  }

  async start(): Promise<void> {
    const { server } = await ensureServerRunning(this.#home, this.#binaries, {
      port: this.#port,
      settings: this.#settings,
    });
    this.#server = server;
    this.#port = server.port;
  }

  /** Shuts it down cleanly. */
  async stop(): Promise<void> {
    if (this.#server === undefined) return;
    await stopServer(this.#home, this.#binaries, this.#server, STOP_TIMEOUT_MS);
    this.#server = undefined;
  }

  /** Kills all its processes at once. Everything already written to the operating system survives. */
  kill(): void {
    if (this.#server === undefined) throw new Error('the server is not running');
    process.kill(this.#server.pid, 'SIGKILL');
    this.#server = undefined;
  }

  async killAndRestart(): Promise<void> {
    this.kill();
    await this.start();
  }

  /**
   * Copies the data folder while the server runs, like a disk snapshot.
   * @returns a function that kills the server and restores the copy
   */
  async snapshot(): Promise<() => Promise<void>> {
    // Then PostgreSQL writes little during the copy.
    await this.sql('CHECKPOINT');
    const copy = `${this.#home.data}.${randomBytes(4).toString('hex')}`;
    await runCommand('cp', ['-a', this.#home.data, copy]);
    await rm(join(copy, 'postmaster.pid'));
    return async () => {
      this.kill();
      // The server's other processes end a moment later.
      await rm(this.#home.data, { recursive: true, maxRetries: 50, retryDelay: 20 });
      await runCommand('cp', ['-a', copy, this.#home.data]);
    };
  }

  /** Makes the server start as a standby next time. */
  async markAsStandby(): Promise<void> {
    await writeFile(join(this.#home.data, 'standby.signal'), '');
  }

  /** Creates a database with the schema and no rows. @returns its address */
  async createDatabase(): Promise<string> {
    const name = `own_${randomBytes(6).toString('hex')}`;
    await this.sql(`CREATE DATABASE ${name} TEMPLATE template`);
    return this.#urlOf(name);
  }

  #urlOf(name: string): string {
    if (this.#server === undefined) throw new Error('the server is not running');
    const url = new URL(this.#server.url);
    url.pathname = `/${name}`;
    return url.href;
  }

  /** Runs SQL on a separate connection. */
  async sql(text: string, url = this.#server?.url): Promise<Record<string, unknown>[]> {
    const client = new pg.Client(url);
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  }
}
