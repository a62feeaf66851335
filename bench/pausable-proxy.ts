import { createServer, connect as dial, type Server, type Socket } from 'node:net';

/** A proxy between a program and a server that can hold back everything, without closing any connection. */
export class PausableProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #paused = false;

  private constructor(to: URL) {
    this.#server = createServer((near) => {
      const far = dial(Number(to.port), to.hostname);
      for (const [socket, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(socket);
        socket.on('data', (chunk) => other.write(chunk));
        socket.on('error', () => undefined);
        socket.on('close', () => {
          this.#sockets.delete(socket);
          other.destroy();
        });
        if (this.#paused) socket.pause();
      }
    });
  }

  /** @param url of a server, as in `postgresql://user@host:port/database` */
  static async start(url: string): Promise<{ proxy: PausableProxy; url: string }> {
    const to = new URL(url);
    const proxy = new PausableProxy(to);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    const address = proxy.#server.address();
    const through = new URL(url);
    through.hostname = '127.0.0.1';
    through.port = String(typeof address === 'object' ? address?.port : '');
    return { proxy, url: through.href };
  }

  pause(): void {
    this.#paused = true;
    for (const socket of this.#sockets) socket.pause();
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
