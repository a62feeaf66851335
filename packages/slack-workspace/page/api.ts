import type {
  ActResult,
  Change,
  Refusal,
  RequestBody,
  RequestName,
  SayResult,
  Snapshot,
  SubmitResult,
} from '../src/protocol.ts';

/* The requests of the page. The answers come from this package's own server, so their shape is not checked. */

interface Answers {
  command: ActResult;
  say: SayResult;
  act: ActResult;
  input: Partial<ActResult>;
  submit: SubmitResult;
  upload: { id: string };
  close: Partial<ActResult>;
  shortcut: ActResult;
  home: ActResult;
}

/**
 * Does something as a person.
 * @throws Error with the server's message when it refuses, or when it cannot be reached
 */
export async function perform<N extends RequestName>(name: N, body: RequestBody<N>): Promise<Answers[N]> {
  return read(await post(`/local/${name}`, body));
}

export async function fetchSnapshot(user: string): Promise<Snapshot> {
  return read(await fetch(`/local/state?user=${encodeURIComponent(user)}`));
}

/** Asks a route of the host. */
export async function getJson<T>(path: string): Promise<T> {
  return read(await fetch(path));
}

/** Posts to a route of the host. */
export async function postJson<T>(path: string, body: unknown): Promise<T> {
  return read(await post(path, body));
}

function post(path: string, body: unknown): Promise<Response> {
  return fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

async function read<T>(response: Response): Promise<T> {
  const body: T | Refusal = await response.json();
  if (!response.ok) {
    const refused = typeof body === 'object' && body !== null && 'error' in body ? body.error : '';
    throw new Error(refused || `the workspace answered ${response.status}`);
  }
  return body as T;
}

export interface Listener {
  changed(change: Change): void;
  /** Called with true at each connection, and with false when it is lost. A lost connection is opened again. */
  connected(open: boolean): void;
}

const RECONNECT_MS = 1_000;

/**
 * Listens to changes of the workspace.
 * @returns stops listening
 */
export function listen({ changed, connected }: Listener): () => void {
  let events = connect();
  let again: number | undefined;

  function connect(): EventSource {
    const source = new EventSource('/local/events');
    source.onopen = () => connected(true);
    source.onerror = () => {
      connected(false);
      // After an answer that is not a stream, as from a workspace that is starting, browsers do not reconnect.
      if (source.readyState !== EventSource.CLOSED) return;
      again = window.setTimeout(() => {
        events = connect();
      }, RECONNECT_MS);
    };
    source.onmessage = ({ data }) => {
      const change: Change = JSON.parse(String(data));
      changed(change);
    };
    return source;
  }

  return () => {
    window.clearTimeout(again);
    events.close();
  };
}
