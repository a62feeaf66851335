/**
 * The server was replaced or restarted, and the heartbeat hasn't yet confirmed that the server has the last known
 * commit. Until then, no order is claimed or sent.
 */
export class DatabaseUnverifiedError extends Error {
  override readonly name = 'DatabaseUnverifiedError';
  readonly code = 'database_unverified';

  constructor() {
    super('the server was restarted or replaced and hasn’t been checked yet');
  }
}

/** The current server, and whether it has every commit that this process has seen. */
export class KnownServer {
  readonly #servers = new WeakMap<object, string>();
  #latestServer: string | undefined;
  #verifiedServer: string | undefined;
  #isSuspended = false;
  #position = 0;
  #onOtherServer: () => void = () => undefined;

  /** Must be called before a connection is used. The server of the first connection is trusted. */
  addConnection(connection: object, server: string): void {
    this.#servers.set(connection, server);
    this.#verifiedServer ??= server;
    this.#latestServer = server;
    if (server !== this.#verifiedServer) this.#onOtherServer();
  }

  /** @returns whether the connection is to the same server as the newest connection */
  isLatest(connection: object): boolean {
    return this.#servers.get(connection) === this.#latestServer;
  }

  get isVerified(): boolean {
    return this.#latestServer === this.#verifiedServer && !this.#isSuspended;
  }

  /** Records the position in the verified server's WAL. */
  recordPosition(position: number): void {
    if (this.isVerified) this.#position = Math.max(this.#position, position);
  }

  /**
   * Whether a server has lost a commit that this process has seen.
   * @param startPosition the end of its WAL when it started, or a later position
   */
  isBehind(server: string, startPosition: number): boolean {
    return server !== this.#verifiedServer && startPosition < this.#position;
  }

  /** Prevents orders from being claimed or sent until the server is verified. */
  suspend(): void {
    this.#isSuspended = true;
  }

  /** @throws {DatabaseUnverifiedError} if connections now lead to another server */
  verify(server: string, position: number): void {
    if (server !== this.#latestServer) throw new DatabaseUnverifiedError();
    this.#verifiedServer = server;
    this.#isSuspended = false;
    this.#position = position;
  }

  /** @param listener called when a connection leads to an unverified server */
  onOtherServer(listener: () => void): void {
    this.#onOtherServer = listener;
  }
}
