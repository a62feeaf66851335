/**
 * The server was replaced or restarted, and the heartbeat hasn't yet confirmed that the new one has the last known
 * commit. Until then, no order is claimed or sent.
 */
export class DatabaseUnverifiedError extends Error {
  override readonly name = 'DatabaseUnverifiedError';
  readonly code = 'database_unverified';

  constructor() {
    super('the server was restarted or replaced, and wasn’t checked yet');
  }
}

/** The current server, and whether it has every commit that this process has seen. */
export class KnownServer {
  readonly #servers = new WeakMap<object, string>();
  #latest: string | undefined;
  #verified: string | undefined;
  #isSuspended = false;
  #position = 0;
  #onOtherServer: () => void = () => undefined;

  /** Call this for a new connection before it is used. The server of the first connection is trusted. */
  addConnection(connection: object, server: string): void {
    this.#servers.set(connection, server);
    this.#verified ??= server;
    this.#latest = server;
    if (server !== this.#verified) this.#onOtherServer();
  }

  /** @returns whether the connection is to the same server as the newest connection */
  isLatest(connection: object): boolean {
    return this.#servers.get(connection) === this.#latest;
  }

  get isVerified(): boolean {
    return this.#latest === this.#verified && !this.#isSuspended;
  }

  /** Records the position in the verified server's log. */
  recordPosition(position: number): void {
    if (this.isVerified) this.#position = Math.max(this.#position, position);
  }

  /**
   * Whether a server has lost a commit that this process has seen.
   * @param startPosition the end of its log when it started, or a later position
   */
  isBehind(server: string, startPosition: number): boolean {
    return server !== this.#verified && startPosition < this.#position;
  }

  /** Nothing is claimed or sent until the server is verified. */
  suspend(): void {
    this.#isSuspended = true;
  }

  /** @throws {DatabaseUnverifiedError} if connections now lead to another server */
  verify(server: string, position: number): void {
    if (server !== this.#latest) throw new DatabaseUnverifiedError();
    this.#verified = server;
    this.#isSuspended = false;
    this.#position = position;
  }

  /** @param listener called when a connection leads to an unverified server */
  onOtherServer(listener: () => void): void {
    this.#onOtherServer = listener;
  }
}
