import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import { fileURLToPath } from 'node:url';
import type { SandboxService } from '@domain-steward/sandbox-service';
import { z } from 'zod';

const fixture = (name: string): string => fileURLToPath(new URL(`./tls/${name}`, import.meta.url));

/** The environment of a process that trusts the registry's certificate. */
export const REGISTRY_CA_ENV = { NODE_EXTRA_CA_CERTS: fixture('tls-test-ca.pem') };

const record = z.record(z.string(), z.unknown());

/** Serves the sandbox's public records over HTTPS, as registries do. */
export class SecureRegistry {
  /** Members to override in the records, by name. */
  readonly overrides = new Map<string, Readonly<Record<string, unknown>>>();
  readonly #server: Server;

  constructor(service: Pick<SandboxService, 'rdapBootstrapUrl'>) {
    const tls = {
      key: readFileSync(fixture('tls-test-key.pem')),
      cert: readFileSync(fixture('tls-test-cert.pem')),
    };
    this.#server = createServer(tls, async (request, response) => {
      const { url = '' } = request;
      const target = new URL(url.replace(/^\/rdap\//, ''), service.rdapBootstrapUrl);
      const answer = await fetch(target);
      const body = url.endsWith('bootstrap.json')
        ? { version: '1.0', services: [[['rest', 'example'], [`${this.url}/rdap/`]]] }
        : { ...record.parse(await answer.json()), ...this.overrides.get(url.split('/').at(-1) ?? '') };
      response.writeHead(answer.status, { 'content-type': 'application/rdap+json' });
      response.end(JSON.stringify(body));
    });
  }

  async start(): Promise<this> {
    this.#server.listen(0);
    await once(this.#server, 'listening');
    return this;
  }

  /** Has the host name of the certificate. */
  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the registry has no port');
    return `https://localhost:${address.port}`;
  }

  get bootstrapUrl(): string {
    return `${this.url}/rdap/bootstrap.json`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
