import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { type Binaries, findBinaries } from './binaries.ts';
import { EmbeddedPostgresError, explainFileError } from './error.ts';
import { keepFresh, lockFolder } from './folder-lock.ts';
import { type Home, prepareHome } from './home.ts';
import { refuseOtherMachine } from './other-machine.ts';
import { ensureRunning, type Server, stopServer } from './server.ts';

export { EmbeddedPostgresError } from './error.ts';

/** Longer than a start may take that somebody else has begun. */
const LOCK_MS = 150_000;
/** `stop` must leave time for the rest of a shutdown, which has 10 s in all. */
const STOP_MS = 5_000;

/** The advisory lock that every user of the server holds shared, on a connection kept for that. */
const USERS_LOCK = 7_236_001;

export interface EmbeddedPostgresOptions {
  /** `DATA_DIR`: everything lies in its `postgres`. Made when missing. */
  readonly dataDir: string;
  /** Told what happens, a sentence each, now and later. */
  readonly log?: (sentence: string) => void;
  /** The only port to listen on; without it any free one. */
  readonly port?: number;
  /** Settings of the server over the usual ones; they hold only for who starts it. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface EmbeddedPostgres {
  /** `postgresql://…`, with the password. Stays the same until `stop`. */
  readonly url: string;
  /** What the operator should know, a sentence each; also told to `log`. */
  readonly notes: readonly string[];
  /** Gives up the server; the last of its users stops it. May be called again. Close your connections first. */
  stop(): Promise<void>;
}

/**
 * Starts the embedded PostgreSQL of a data folder, or attaches to it when it runs: for another process, or
 * since a process of ours was killed. It outlives this process unless `stop` is called, and should it die
 * before that it is started again on the same port.
 *
 * @throws {EmbeddedPostgresError} with `problem` and a message that says what to do
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const log = options.log ?? (() => undefined);
  const binaries = await findBinaries();
  const home = await prepareHome(options.dataDir);
  const first = await takeServer(home, binaries, options);
  log(
    `${first.attached ? 'Attached to the running' : 'Started the'} embedded PostgreSQL ${binaries.version} on 127.0.0.1:${first.server.port}, data in ${home.data}.`,
  );
  for (const note of home.notes) log(note);

  const user = new ServerUser(home, binaries, options, log, first);
  let stopped: Promise<void> | undefined;
  return {
    url: first.server.url,
    notes: home.notes,
    stop: () => {
      stopped ??= user.leave();
      return stopped;
    },
  };
}

/** One user's hold on the server: kept up while the user stays, given up with `leave`. */
class ServerUser {
  readonly #home: Home;
  readonly #binaries: Binaries;
  readonly #options: EmbeddedPostgresOptions;
  readonly #log: (sentence: string) => void;
  readonly #stopTouching: () => void;
  readonly #leaving = new AbortController();
  #held: Held;
  #recovery: Promise<void> | undefined;

  constructor(
    home: Home,
    binaries: Binaries,
    options: EmbeddedPostgresOptions,
    log: (sentence: string) => void,
    held: Held,
  ) {
    this.#home = home;
    this.#binaries = binaries;
    this.#options = options;
    this.#log = log;
    this.#stopTouching = keepFresh(home.spaceFile);
    this.#held = held;
    this.#watch(held);
  }

  async leave(): Promise<void> {
    this.#leaving.abort();
    await this.#recovery;
    try {
      await this.#stopIfLast();
    } finally {
      this.#stopTouching();
      await this.#held.connection.end().catch(() => undefined);
    }
  }

  async #stopIfLast(): Promise<void> {
    let unlock: () => Promise<void>;
    try {
      unlock = await lockFolder(this.#home.folder, STOP_MS);
    } catch (error) {
      if (!(error instanceof EmbeddedPostgresError)) throw error;
      this.#log('The embedded PostgreSQL goes on running: another process is starting to use it.');
      return;
    }
    try {
      if (!(await isLastUser(this.#held.connection))) {
        this.#log('The embedded PostgreSQL goes on running: another process uses it.');
        return;
      }
      await this.#held.connection.end().catch(() => undefined);
      const ended = await stopServer(this.#home, this.#binaries, this.#held.server, STOP_MS);
      this.#log(ended ? 'Stopped the embedded PostgreSQL.' : 'The embedded PostgreSQL is still stopping.');
    } finally {
      await unlock();
    }
  }

  #watch(held: Held): void {
    held.connection.once('end', () => {
      if (!this.#leaving.signal.aborted) this.#recovery = this.#recover();
    });
  }

  async #recover(): Promise<void> {
    const { signal } = this.#leaving;
    const port = this.#held.server.port;
    this.#log('The embedded PostgreSQL closed the connection; looking for it again.');
    while (!signal.aborted) {
      try {
        this.#held = await takeServer(this.#home, this.#binaries, { ...this.#options, port });
        this.#log(
          `${this.#held.attached ? 'Found the embedded PostgreSQL again' : 'Started the embedded PostgreSQL again'} on 127.0.0.1:${this.#held.server.port}.`,
        );
        this.#watch(this.#held);
        return;
      } catch (error) {
        this.#log(error instanceof Error ? error.message : String(error));
        await sleep(1_000, undefined, { signal }).catch(() => undefined);
      }
    }
  }
}

interface Held {
  readonly server: Server;
  readonly attached: boolean;
  /** Holds the shared advisory lock; the system closes it with the process, however that ends. */
  readonly connection: pg.Client;
}

async function takeServer(home: Home, binaries: Binaries, options: EmbeddedPostgresOptions): Promise<Held> {
  const unlock = await lockFolder(home.folder, LOCK_MS);
  try {
    await refuseOtherMachine(home);
    const { server, attached } = await ensureRunning(home, binaries, options);
    const connection = new pg.Client({
      connectionString: server.url,
      application_name: 'domain-steward (keeps the server)',
      keepAlive: true,
    });
    connection.on('error', () => undefined); // followed by 'end', which is acted on
    await connection.connect();
    await connection.query('SELECT pg_advisory_lock_shared($1)', [USERS_LOCK]);
    return { server, attached, connection };
  } catch (error) {
    throw explainFileError('starting the embedded PostgreSQL', error);
  } finally {
    await unlock();
  }
}

/** Whether nobody else holds the users' lock; call it with the home's lock held, so that nobody new can come. */
async function isLastUser(connection: pg.Client): Promise<boolean> {
  try {
    const { rows } = await connection.query<{ alone: boolean }>('SELECT pg_try_advisory_lock($1) AS alone', [
      USERS_LOCK,
    ]);
    return rows[0]?.alone === true;
  } catch {
    return false; // the connection is gone, so nothing is known: who comes next finds the server and stops it
  }
}
