/**
 * A connection leads to another server, or to one that was started again, and the heartbeat has not checked yet whether
 * it holds what the last one held. Until it has, no order is claimed or sent.
 */
export class DatabaseUnverifiedError extends Error {
  override readonly name = 'DatabaseUnverifiedError';
  readonly code = 'database_unverified';

  constructor() {
    super('the server was restarted or replaced, and wasn’t checked yet');
  }
}

/** Which server the connections lead to, and whether it holds what this process has seen committed. */
export class KnownServer {
  readonly #servers = new WeakMap<object, string>();
  #latest: string | undefined;
  #verified: string | undefined;
  #isSuspended = false;
  #position = 0;
  #onOther: () => void = () => undefined;

  /** To be called for a new connection before it is used. The server of the first one is trusted. */
  connected(connection: object, server: string): void {
    this.#servers.set(connection, server);
    this.#verified ??= server;
    this.#latest = server;
    if (server !== this.#verified) this.#onOther();
  }

  /** @returns whether a connection leads to the server that the newest one leads to */
  isLatest(connection: object): boolean {
    return this.#servers.get(connection) === this.#latest;
  }

  get isVerified(): boolean {
    return this.#latest === this.#verified && !this.#isSuspended;
  }

  /** Notes how far the log of the verified server reaches. */
  note(position: number): void {
    if (this.isVerified) this.#position = Math.max(this.#position, position);
  }

  /**
   * Whether a server has lost a commit that this process has seen.
   * @param startedFrom the end of its log when it was started, or a later position
   */
  isBehind(server: string, startedFrom: number): boolean {
    return server !== this.#verified && startedFrom < this.#position;
  }

  /** Nothing is claimed or sent until the server is verified. */
  suspend(): void {
    this.#isSuspended = true;
  }

  /** @throws {DatabaseUnverifiedError} when connections lead to another one by now */
  verify(server: string, position: number): void {
    if (server !== this.#latest) throw new DatabaseUnverifiedError();
    this.#verified = server;
    this.#isSuspended = false;
    this.#position = position;
  }

  /** @param listener called when a connection leads to a server that is not verified */
  onOther(listener: () => void): void {
    this.#onOther = listener;
  }
}
