import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { type Binaries, findBinaries } from './binaries.ts';
import { createInUseError, EmbeddedPostgresError, explainFileError } from './error.ts';
import { lockFolder } from './folder-lock.ts';
import { type Home, prepareHome } from './home.ts';
import { ensureServerRunning, findRunningServerUrl, type Server, stopServer } from './server.ts';

export { EmbeddedPostgresError } from './error.ts';

/** Leaves time for the rest of the shutdown, which may take at most 10 seconds in total. */
const STOP_TIMEOUT_MS = 5_000;

/** The owner of the server holds this advisory lock on a separate connection. */
const OWNER_LOCK_ID = 7_236_001;
/** How long the server may take to notice that its previous owner has died. */
const OWNER_RELEASE_TIMEOUT_MS = 2_000;

export interface EmbeddedPostgresOptions {
  /** `DATA_DIR`. All files are in its subfolder `postgres`, which is created if it doesn't exist. */
  readonly dataDir: string;
  /** Called with a sentence for each event, during startup and later. */
  readonly log?: (sentence: string) => void;
  /** The only port to listen on. Default: any free port. */
  readonly port?: number;
  /** Server settings that override the defaults. If a running server is taken over, it keeps its settings. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface EmbeddedPostgres {
  /** `postgresql://…` with the password. Doesn't change until `stop`. */
  readonly url: string;
  /** Notes for the operator, one sentence each. They are also passed to `log`. */
  readonly notes: readonly string[];
  /** Stops the server. Close all connections first. Can be called more than once. */
  stop(): Promise<void>;
}

/**
 * Starts the embedded PostgreSQL of a data folder. The folder belongs to this process until `stop`. If a killed process
 * left a server running, takes it over. If the server dies, restarts it on the same port.
 * @throws {EmbeddedPostgresError} for example `in_use`, if another process uses the folder
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const log = options.log ?? (() => undefined);
  const binaries = await findBinaries();
  const home = await prepareHome(options.dataDir);
  const unlock = await lockFolder(home.folder);
  let ownedServer: OwnedServer;
  try {
    ownedServer = await acquireServer(home, binaries, options);
  } catch (error) {
    await unlock();
    throw error;
  }
  log(
    `${ownedServer.wasRunning ? 'Took over the running' : 'Started the'} embedded PostgreSQL ${binaries.version} on 127.0.0.1:${ownedServer.server.port}, data in ${home.data}.`,
  );
  for (const note of home.notes) log(note);

  const owner = new ServerOwner(home, binaries, options, log, ownedServer);
  let stopPromise: Promise<void> | undefined;
  return {
    url: ownedServer.server.url,
    notes: home.notes,
    stop: () => {
      stopPromise ??= owner.stop().finally(unlock);
      return stopPromise;
    },
  };
}

/**
 * Starts the embedded PostgreSQL, or uses the server of another process on this machine. Meant for short tasks, because
 * the server of another process isn't restarted if it dies.
 * @throws {EmbeddedPostgresError} like {@link startEmbeddedPostgres}; `in_use` if the server runs on another machine
 */
export async function joinEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  try {
    return await startEmbeddedPostgres(options);
  } catch (error) {
    if (!(error instanceof EmbeddedPostgresError) || error.problem !== 'in_use') throw error;
    const url = await findRunningServerUrl(await prepareHome(options.dataDir));
    if (url === undefined) throw error;
    return { url, notes: [], stop: async () => undefined };
  }
}

/** Restarts the server whenever it dies, until `stop` is called. */
class ServerOwner {
  readonly #home: Home;
  readonly #binaries: Binaries;
  readonly #options: EmbeddedPostgresOptions;
  readonly #log: (sentence: string) => void;
  readonly #stopController = new AbortController();
  #ownedServer: OwnedServer;
  #recovery: Promise<void> | undefined;

  constructor(
    home: Home,
    binaries: Binaries,
    options: EmbeddedPostgresOptions,
    log: (sentence: string) => void,
    ownedServer: OwnedServer,
  ) {
    this.#home = home;
    this.#binaries = binaries;
    this.#options = options;
    this.#log = log;
    this.#ownedServer = ownedServer;
    this.#watch(ownedServer);
  }

  async stop(): Promise<void> {
    this.#stopController.abort();
    await this.#recovery;
    await this.#ownedServer.connection.end().catch(() => undefined);
    const hasEnded = await stopServer(this.#home, this.#binaries, this.#ownedServer.server, STOP_TIMEOUT_MS);
    this.#log(hasEnded ? 'Stopped the embedded PostgreSQL.' : 'The embedded PostgreSQL is still stopping.');
  }

  #watch(ownedServer: OwnedServer): void {
    ownedServer.connection.once('end', () => {
      if (!this.#stopController.signal.aborted) this.#recovery = this.#recover();
    });
  }

  async #recover(): Promise<void> {
    const { signal } = this.#stopController;
    const port = this.#ownedServer.server.port;
    this.#log('The embedded PostgreSQL closed the connection; reconnecting.');
    while (!signal.aborted) {
      try {
        this.#ownedServer = await acquireServer(this.#home, this.#binaries, { ...this.#options, port });
        this.#log(
          `${this.#ownedServer.wasRunning ? 'Found the embedded PostgreSQL again' : 'Started the embedded PostgreSQL again'} on 127.0.0.1:${this.#ownedServer.server.port}.`,
        );
        this.#watch(this.#ownedServer);
        return;
      } catch (error) {
        this.#log(error instanceof Error ? error.message : String(error));
        await sleep(1_000, undefined, { signal }).catch(() => undefined);
      }
    }
  }
}

interface OwnedServer {
  readonly server: Server;
  readonly wasRunning: boolean;
  /** Holds the advisory lock. The operating system closes it when the process ends. */
  readonly connection: pg.Client;
}

/** Starts the server, or takes over a running one. The caller must hold the folder's lock. */
async function acquireServer(
  home: Home,
  binaries: Binaries,
  options: EmbeddedPostgresOptions,
): Promise<OwnedServer> {
  let connection: pg.Client | undefined;
  try {
    const { server, wasRunning } = await ensureServerRunning(home, binaries, options);
    connection = new pg.Client({
      connectionString: server.url,
      application_name: 'domain-steward (owns the server)',
      keepAlive: true,
    });
    connection.on('error', () => undefined); // 'end' follows and is handled
    await connection.connect();
    await acquireOwnerLock(connection, home);
    return { server, wasRunning, connection };
  } catch (error) {
    await connection?.end().catch(() => undefined);
    throw explainFileError('starting the embedded PostgreSQL', error);
  }
}

/** Protects the server if someone deletes the folder's lock file. */
async function acquireOwnerLock(connection: pg.Client, home: Home): Promise<void> {
  const deadline = Date.now() + OWNER_RELEASE_TIMEOUT_MS;
  for (;;) {
    const { rows } = await connection.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1) AS taken', [
      OWNER_LOCK_ID,
    ]);
    if (rows[0]?.taken === true) return;
    if (Date.now() > deadline) throw createInUseError(home.folder, 'another process');
    await sleep(20);
  }
}
