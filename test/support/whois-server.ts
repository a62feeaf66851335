import { once } from 'node:events';
import { createServer } from 'node:net';
import type { WhoisServer } from '../../src/registry/whois/servers.ts';

type Answer = string | Buffer | undefined;

export interface RunningWhois {
  readonly server: WhoisServer;
  readonly queries: readonly string[];
  close(): void;
}

/** Starts a WHOIS server on this machine. @param answer can return undefined to never respond */
export async function startWhois(answer: (query: string) => Answer): Promise<RunningWhois> {
  const queries: string[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.on('data', (data) => {
      const query = data.toString();
      queries.push(query);
      const reply = answer(query);
      if (reply !== undefined) socket.end(reply);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return { server: { host: '127.0.0.1', port: address.port }, queries, close: () => server.close() };
}
