import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createClock, type SandboxClock } from './clock.ts';
import { handleRequest } from './exchange.ts';
import { Faults } from './faults.ts';
import type { ServiceState } from './operations/caller.ts';
import { loadState, StateFile } from './persistence.ts';
import { type RecordedRequest, Recorder, type RequestFilter } from './recorder.ts';
import type { UserSeed } from './records.ts';
import { RegistryScript } from './registry-script.ts';
import type { Rudeness } from './rude.ts';
import { buildSeedState } from './seed.ts';
import { Sessions } from './sessions.ts';
import { SandboxState } from './state.ts';

export interface SandboxServiceOptions {
  /** The real time in milliseconds since the epoch. */
  readonly now?: () => number;
  /** JSON file for the state. By default, the state is only in memory. */
  readonly stateFile?: string;
  /** Users in addition to the seeded ones. Ignored if there is saved state. */
  readonly users?: readonly UserSeed[];
  /** Seed that varies the form of responses in undocumented ways, as real services do. */
  readonly rude?: number | undefined;
}

/** A running sandbox of the domain service. Tests and demos can read and change it. */
export interface SandboxService {
  /** Base URL of the JSON interface with the version segment: `http://127.0.0.1:PORT/v1`. */
  readonly jsonUrl: string;
  /** URL for XML requests: `http://127.0.0.1:PORT/xml`. */
  readonly xmlUrl: string;
  /** URL of the file that maps the sandbox's zones to its RDAP server (RFC 9224). */
  readonly rdapBootstrapUrl: string;
  /** The last 10,000 requests, oldest first. */
  readonly requests: readonly RecordedRequest[];
  /**
   * Calls the listener when a request has been read, and again with the same `n` when it has been answered.
   * @returns a function that removes the listener
   */
  onRequest(listener: (request: RecordedRequest) => void): () => void;
  requestsFor(filter: RequestFilter): RecordedRequest[];
  readonly faults: Faults;
  readonly rude: Rudeness;
  readonly state: SandboxState;
  readonly sessions: Sessions;
  readonly clock: SandboxClock;
  readonly registry: RegistryScript;
  close(): Promise<void>;
}

export async function startSandboxService(options: SandboxServiceOptions = {}): Promise<SandboxService> {
  const clock = createClock(options.now ?? Date.now);
  const savedState = options.stateFile === undefined ? undefined : await loadState(options.stateFile);
  const data = savedState ?? buildSeedState(clock.registryTime(), options.users);
  const stateFile =
    options.stateFile === undefined ? undefined : new StateFile(options.stateFile, () => data);
  const state = new SandboxState(data, clock, () => stateFile?.scheduleSave());
  const registry = new RegistryScript();
  const service: ServiceState = { state, clock, registry, sessions: new Sessions(clock.realTime) };
  const recorder = new Recorder();
  const faults = new Faults();
  const rudeness: Rudeness = { seed: options.rude };
  let origin = '';

  const server = createServer((request, response) => {
    handleRequest({ service, recorder, faults, rudeness, origin }, request, response).catch(
      (error: unknown) => {
        // The sandbox itself failed. The connection is closed so that tests notice.
        response.destroy();
        process.emitWarning(error instanceof Error ? error : String(error));
      },
    );
  });
  // Another program may be using the saved port.
  await listen(server, data.port ?? 0).catch(() => listen(server, 0));
  data.port = requirePort(server.address());
  stateFile?.scheduleSave();
  origin = `http://127.0.0.1:${data.port}`;

  return {
    jsonUrl: `${origin}/v1`,
    xmlUrl: `${origin}/xml`,
    rdapBootstrapUrl: `${origin}/rdap/bootstrap.json`,
    requests: recorder.requests,
    onRequest: (listener) => recorder.onRequest(listener),
    requestsFor: (filter) => recorder.requestsFor(filter),
    faults,
    rude: rudeness,
    state,
    sessions: service.sessions,
    clock,
    registry,
    async close() {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      await stateFile?.flush();
    },
  };
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function requirePort(address: string | AddressInfo | null): number {
  if (address === null || typeof address === 'string') throw new Error('the sandbox has no port');
  return address.port;
}
