import type { Claim } from './access.ts';
import type { FaultKind, RequestInterface } from './faults.ts';
import type { ReceivedRequest, RequestPlan } from './incoming.ts';
import { maskHeaders } from './mask.ts';
import type { Sessions } from './sessions.ts';
import type { SandboxTask } from './tasks.ts';

/** A request to the sandbox. Secrets are masked: the authorization, sessions, passwords, tokens and auth codes. */
export interface RecordedRequest {
  readonly n: number;
  /** When the last byte arrived, in real time (milliseconds since the epoch). */
  readonly at: number;
  readonly interface: RequestInterface | 'unknown';
  readonly method: string;
  /** As sent: with the version segment, percent-encoded, without the query. */
  readonly path: string;
  readonly query: Readonly<Record<string, readonly string[]>>;
  readonly ctid: string | null;
  /** How the request tried to authenticate. For a trusted application, `user` is its UUID. */
  readonly way: Claim['kind'] | null;
  readonly user: string | null;
  readonly context: number | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly task: SandboxTask | null;
  readonly name: string | null;
  /** Whether the service carried out the request. False while the request runs or if a fault prevented it. */
  readonly carriedOut: boolean;
  readonly fault: FaultKind | null;
  /** The HTTP status. Null while the request runs or if no status line was sent. */
  readonly status: number | null;
  /** The status code in the response's envelope. Null if no complete envelope was sent. */
  readonly answerCode: string | null;
  readonly durationMs: number | null;
}

export interface RequestFilter {
  readonly ctid?: string;
  readonly task?: SandboxTask;
  readonly name?: string;
}

const MAX_REQUESTS = 10_000;

export class Recorder {
  readonly #requests: RecordedRequest[] = [];
  readonly #listeners = new Set<(request: RecordedRequest) => void>();
  #count = 0;

  get requests(): readonly RecordedRequest[] {
    return this.#requests;
  }

  onRequest(listener: (request: RecordedRequest) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  requestsFor(filter: RequestFilter): RecordedRequest[] {
    return this.#requests.filter(
      (request) =>
        (filter.ctid === undefined || filter.ctid === request.ctid) &&
        (filter.task === undefined || filter.task === request.task) &&
        (filter.name === undefined || filter.name === request.name),
    );
  }

  add(request: Omit<RecordedRequest, 'n'>): RecordedRequest {
    this.#count += 1;
    const recordedRequest = { n: this.#count, ...request };
    this.#requests.push(recordedRequest);
    if (this.#requests.length > MAX_REQUESTS) this.#requests.shift();
    this.#notify(recordedRequest);
    return recordedRequest;
  }

  update(n: number, changes: Partial<Omit<RecordedRequest, 'n'>>): void {
    const index = n - (this.#requests[0]?.n ?? 0);
    const request = this.#requests[index];
    if (request === undefined) return;
    const updatedRequest = { ...request, ...changes };
    this.#requests[index] = updatedRequest;
    this.#notify(updatedRequest);
  }

  #notify(request: RecordedRequest): void {
    for (const listener of this.#listeners) listener(request);
  }
}

export function describeRequest(
  interfaceName: RecordedRequest['interface'],
  { method, path, query, headers }: ReceivedRequest,
  { task, name, claim, loggedBody }: RequestPlan,
  sessions: Sessions,
): Omit<RecordedRequest, 'n' | 'at'> {
  return {
    interface: interfaceName,
    method,
    path,
    query: Object.fromEntries([...new Set(query.keys())].map((key) => [key, query.getAll(key)])),
    ctid: query.get('ctid'),
    ...describeClaim(claim, interfaceName, sessions),
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
  interfaceName: RecordedRequest['interface'],
  sessions: Sessions,
): Pick<RecordedRequest, 'way' | 'user' | 'context'> {
  switch (claim?.kind) {
    case undefined:
      return { way: null, user: null, context: null };
    case 'credentials':
      return { way: claim.kind, user: claim.user, context: claim.context };
    case 'trusted_application':
      return { way: claim.kind, user: claim.uuid, context: null };
    case 'session': {
      const session =
        interfaceName === 'json' || interfaceName === 'xml'
          ? sessions.find(claim.id, interfaceName)
          : undefined;
      return { way: claim.kind, user: session?.user ?? null, context: session?.context ?? null };
    }
  }
}
