import { connect, createServer, type Socket } from 'node:net';

/** A TCP proxy to the database whose connections can be cut, or hang. */
export class DatabaseProxy {
  readonly #server = createServer((client) => this.#forward(client));
  readonly #sockets = new Set<Socket>();
  #target = 0;
  #state: 'good' | 'cut' | 'dead' = 'good';

  /** @returns the database's address through this proxy */
  async start(url: string): Promise<string> {
    const address = new URL(url);
    this.#target = Number(address.port);
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    const ownAddress = this.#server.address();
    address.port = typeof ownAddress === 'object' && ownAddress !== null ? String(ownAddress.port) : '';
    return address.href;
  }

  /** Closes every connection, and each new one at once. */
  cut(): void {
    this.#state = 'cut';
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Keeps connections open but forwards nothing, like a hanging server. */
  hang(): void {
    this.#state = 'dead';
    for (const socket of this.#sockets) socket.pause();
  }

  /** Resets each existing connection at the client's next byte, like a firewall that has forgotten it. */
  forget(): void {
    for (const socket of this.#sockets) socket.prependListener('data', () => socket.resetAndDestroy());
  }

  restore(): void {
    const previousState = this.#state;
    this.#state = 'good';
    if (previousState === 'dead') for (const socket of this.#sockets) socket.resume();
  }

  close(): void {
    this.cut();
    this.#server.close();
  }

  #forward(client: Socket): void {
    if (this.#state === 'cut') {
      client.destroy();
      return;
    }
    const database = connect(this.#target, '127.0.0.1');
    for (const [socket, other] of [
      [client, database],
      [database, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
      socket.on('data', (bytes) => {
        if (!other.write(bytes)) socket.pause();
      });
      other.on('drain', () => {
        if (this.#state === 'good') socket.resume();
      });
      socket.on('end', () => other.end());
      if (this.#state === 'dead') socket.pause();
    }
  }
}
