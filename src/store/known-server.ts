/**
 * The server was replaced or restarted, and the heartbeat hasn't checked yet that it has every commit of the last one.
 * Until then no order is claimed or sent.
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
  #onOther: () => void = () => undefined;

  /** Call it for a new connection before use. The first connection's server is trusted. */
  addConnection(connection: object, server: string): void {
    this.#servers.set(connection, server);
    this.#verified ??= server;
    this.#latest = server;
    if (server !== this.#verified) this.#onOther();
  }

  /** @returns whether the connection leads to the same server as the newest one */
  isLatest(connection: object): boolean {
    return this.#servers.get(connection) === this.#latest;
  }

  get isVerified(): boolean {
    return this.#latest === this.#verified && !this.#isSuspended;
  }

  /** Records the log position of the verified server. */
  recordPosition(position: number): void {
    if (this.isVerified) this.#position = Math.max(this.#position, position);
  }

  /**
   * Whether a server has lost a commit that this process has seen.
   * @param startPosition the end of its log when it was started, or a later position
   */
  isBehind(server: string, startPosition: number): boolean {
    return server !== this.#verified && startPosition < this.#position;
  }

  /** Nothing is claimed or sent until the server is verified. */
  suspend(): void {
    this.#isSuspended = true;
  }

  /** @throws {DatabaseUnverifiedError} when connections lead to another server meanwhile */
  verify(server: string, position: number): void {
    if (server !== this.#latest) throw new DatabaseUnverifiedError();
    this.#verified = server;
    this.#isSuspended = false;
    this.#position = position;
  }

  /** @param listener called when a connection leads to an unverified server */
  onOther(listener: () => void): void {
    this.#onOther = listener;
  }
}
