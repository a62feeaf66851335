import type { Claim } from './access.ts';
import type { FaultKind, RequestInterface } from './faults.ts';
import type { Incoming, Plan } from './incoming.ts';
import { maskHeaders } from './mask.ts';
import type { Sessions } from './sessions.ts';
import type { SandboxTask } from './tasks.ts';

/** A request to the sandbox. Secrets are masked: the authorization, sessions, passwords, tokens and auth codes. */
export interface RecordedRequest {
  /** Starts at 1. */
  readonly n: number;
  /** When the last byte arrived: real time in milliseconds since the epoch. */
  readonly at: number;
  readonly interface: RequestInterface | 'unknown';
  readonly method: string;
  /** As sent: with the version segment, percent-encoded, without the query. */
  readonly path: string;
  readonly query: Readonly<Record<string, readonly string[]>>;
  readonly ctid: string | null;
  /** The kind of the given credentials, whether valid or not. `user` is the UUID of a trusted application. */
  readonly way: Claim['way'] | null;
  readonly user: string | null;
  readonly context: number | null;
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed if possible, with secrets masked. */
  readonly body: unknown;
  readonly task: SandboxTask | null;
  /** The domain, redirect source, contact id or user that the request is about. */
  readonly name: string | null;
  /** Whether the service carried it out. False while it is running, or if a fault occurred first. */
  readonly carriedOut: boolean;
  readonly fault: FaultKind | null;
  /** Null while it is running or if no status line was sent. */
  readonly status: number | null;
  /** The status code in the envelope. Null if no complete envelope was sent. */
  readonly answerCode: string | null;
  readonly durationMs: number | null;
}

export interface RequestFilter {
  readonly ctid?: string;
  readonly task?: SandboxTask;
  readonly name?: string;
}

const KEPT = 10_000;

/** The last 10,000 requests. */
export class Recorder {
  readonly #requests: RecordedRequest[] = [];
  readonly #listeners = new Set<(request: RecordedRequest) => void>();
  #count = 0;

  get requests(): readonly RecordedRequest[] {
    return this.#requests;
  }

  /** Calls the listener when a request has been read, and again with the same `n` when it has been answered. */
  onRequest(listener: (request: RecordedRequest) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  requestsFor(filter: RequestFilter): RecordedRequest[] {
    return this.#requests.filter(
      (one) =>
        (filter.ctid === undefined || filter.ctid === one.ctid) &&
        (filter.task === undefined || filter.task === one.task) &&
        (filter.name === undefined || filter.name === one.name),
    );
  }

  add(request: Omit<RecordedRequest, 'n'>): RecordedRequest {
    this.#count += 1;
    const recorded = { n: this.#count, ...request };
    this.#requests.push(recorded);
    if (this.#requests.length > KEPT) this.#requests.shift();
    this.#tell(recorded);
    return recorded;
  }

  update(n: number, changes: Partial<Omit<RecordedRequest, 'n'>>): void {
    const index = n - (this.#requests[0]?.n ?? 0);
    const request = this.#requests[index];
    if (request === undefined) return;
    const updated = { ...request, ...changes };
    this.#requests[index] = updated;
    this.#tell(updated);
  }

  #tell(request: RecordedRequest): void {
    for (const listener of this.#listeners) listener(request);
  }
}

/** The log entry of a request before it is handled. */
export function describeRequest(
  via: RecordedRequest['interface'],
  { method, path, query, headers }: Incoming,
  { task, name, claim, loggedBody }: Plan,
  sessions: Sessions,
): Omit<RecordedRequest, 'n' | 'at'> {
  return {
    interface: via,
    method,
    path,
    query: Object.fromEntries([...new Set(query.keys())].map((key) => [key, query.getAll(key)])),
    ctid: query.get('ctid'),
    ...describeClaim(claim, via, sessions),
    headers: maskHeaders(headers),
    body: loggedBody,
    task,
    name,
    carriedOut: false,
    fault: null,
    status: null,
    answerCode: null,
    durationMs: null,
  };
}

function describeClaim(
  claim: Claim | null,
  via: RecordedRequest['interface'],
  sessions: Sessions,
): Pick<RecordedRequest, 'way' | 'user' | 'context'> {
  switch (claim?.way) {
    case undefined:
      return { way: null, user: null, context: null };
    case 'credentials':
      return { way: claim.way, user: claim.user, context: claim.context };
    case 'trusted_application':
      return { way: claim.way, user: claim.uuid, context: null };
    case 'session': {
      const session = via === 'json' || via === 'xml' ? sessions.find(claim.id, via) : undefined;
      return { way: claim.way, user: session?.user ?? null, context: session?.context ?? null };
    }
  }
}
