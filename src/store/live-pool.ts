import pg from 'pg';
import type { KnownServer } from './known-server.ts';

type Callback = (
  error: Error | undefined,
  client: pg.PoolClient | undefined,
  done: (isBroken?: boolean | Error) => void,
) => void;

/**
 * A pool that never hands out a connection that is dead or leads to a different server than the newest one. Otherwise,
 * the first statement after an outage, or after a firewall dropped idle connections, would fail although the database
 * is up.
 */
export class LivePool extends pg.Pool {
  readonly #lastUsedAt = new WeakMap<pg.PoolClient, number>();
  readonly #checkAfterMs: number;
  readonly #server: KnownServer;

  /** @param checkAfterMs connections that were idle for this long are tested before use */
  constructor(options: pg.PoolConfig, checkAfterMs: number, server: KnownServer) {
    super(options);
    this.#checkAfterMs = checkAfterMs;
    this.#server = server;
    this.on('release', (_error, client) => this.#lastUsedAt.set(client, performance.now()));
  }

  override connect(): Promise<pg.PoolClient>;
  override connect(callback: Callback): void;
  override connect(callback?: Callback): Promise<pg.PoolClient> | undefined {
    const clientPromise = this.#connectAlive();
    if (callback === undefined) return clientPromise;
    clientPromise.then(
      (client) => callback(undefined, client, (isBroken) => client.release(isBroken)),
      (error: Error) => callback(error, undefined, () => undefined),
    );
    return undefined;
  }

  async #connectAlive(): Promise<pg.PoolClient> {
    for (;;) {
      const client = await super.connect();
      if ((await this.#isAlive(client)) && this.#server.isLatest(client)) return client;
      client.release(true);
    }
  }

  async #isAlive(client: pg.PoolClient): Promise<boolean> {
    const lastUsedAt = this.#lastUsedAt.get(client);
    if (lastUsedAt === undefined || performance.now() - lastUsedAt < this.#checkAfterMs) return true;
    return client.query('SELECT').then(
      () => true,
      () => false,
    );
  }
}
