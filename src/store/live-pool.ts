import pg from 'pg';
import type { KnownServer } from './known-server.ts';

type ConnectCallback = (
  error: Error | undefined,
  client: pg.PoolClient | undefined,
  done: (isBroken?: boolean | Error) => void,
) => void;

/**
 * A pool that never hands out a connection that is dead or leads to a different server than the newest connection. With
 * a plain pool, the first statement after an outage, or after a firewall dropped idle connections, would fail although
 * the database is up.
 */
export class LivePool extends pg.Pool {
  readonly #lastUsedAt = new WeakMap<pg.PoolClient, number>();
  readonly #testAfterIdleMs: number;
  readonly #server: KnownServer;

  /** @param testAfterIdleMs connections that were idle for this long are tested before use */
  constructor(options: pg.PoolConfig, testAfterIdleMs: number, server: KnownServer) {
    super(options);
    this.#testAfterIdleMs = testAfterIdleMs;
    this.#server = server;
    this.on('release', (_error, client) => this.#lastUsedAt.set(client, performance.now()));
  }

  override connect(): Promise<pg.PoolClient>;
  override connect(callback: ConnectCallback): void;
  override connect(callback?: ConnectCallback): Promise<pg.PoolClient> | undefined {
    const clientPromise = this.#connectLiveClient();
    if (callback === undefined) return clientPromise;
    clientPromise.then(
      (client) => callback(undefined, client, (isBroken) => client.release(isBroken)),
      (error: Error) => callback(error, undefined, () => undefined),
    );
    return undefined;
  }

  async #connectLiveClient(): Promise<pg.PoolClient> {
    for (;;) {
      const client = await super.connect();
      if ((await this.#isAlive(client)) && this.#server.leadsToLatestServer(client)) return client;
      client.release(true);
    }
  }

  async #isAlive(client: pg.PoolClient): Promise<boolean> {
    const lastUsedAt = this.#lastUsedAt.get(client);
    if (lastUsedAt === undefined || performance.now() - lastUsedAt < this.#testAfterIdleMs) return true;
    return client.query('SELECT').then(
      () => true,
      () => false,
    );
  }
}
