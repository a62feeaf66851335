/**
 * Thrown after the server was replaced or restarted, until the heartbeat confirms that the server has the last
 * known commit. In the meantime, no order is claimed or sent.
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
  readonly #serverIds = new WeakMap<object, string>();
  #latestServerId: string | undefined;
  #verifiedServerId: string | undefined;
  #isSuspended = false;
  #walPosition = 0;
  #onUnverifiedServer: () => void = () => undefined;

  /** Must be called before a connection is used. The server of the first connection is trusted. */
  addConnection(connection: object, serverId: string): void {
    this.#serverIds.set(connection, serverId);
    this.#verifiedServerId ??= serverId;
    this.#latestServerId = serverId;
    if (serverId !== this.#verifiedServerId) this.#onUnverifiedServer();
  }

  /** @returns whether the connection is to the same server as the newest connection */
  leadsToLatestServer(connection: object): boolean {
    return this.#serverIds.get(connection) === this.#latestServerId;
  }

  get isVerified(): boolean {
    return this.#latestServerId === this.#verifiedServerId && !this.#isSuspended;
  }

  /** Records the position in the verified server's WAL. */
  recordWalPosition(position: number): void {
    if (this.isVerified) this.#walPosition = Math.max(this.#walPosition, position);
  }

  /**
   * Whether a server has lost a commit that this process has seen.
   * @param startPosition the end of the server's WAL when it started, or a later position
   */
  isBehind(serverId: string, startPosition: number): boolean {
    return serverId !== this.#verifiedServerId && startPosition < this.#walPosition;
  }

  /** Prevents orders from being claimed or sent until the server is verified. */
  suspend(): void {
    this.#isSuspended = true;
  }

  /** @throws {DatabaseUnverifiedError} if connections now lead to another server */
  markVerified(serverId: string, position: number): void {
    if (serverId !== this.#latestServerId) throw new DatabaseUnverifiedError();
    this.#verifiedServerId = serverId;
    this.#isSuspended = false;
    this.#walPosition = position;
  }

  /** @param listener called when a connection leads to an unverified server */
  onUnverifiedServer(listener: () => void): void {
    this.#onUnverifiedServer = listener;
  }
}
