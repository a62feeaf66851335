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

/* The page's requests. The responses come from this package's own server, so their shape isn't checked. */

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

/** @throws Error with the server's message when it refuses, or when it can't be reached */
export async function perform<N extends RequestName>(name: N, body: RequestBody<N>): Promise<Answers[N]> {
  return read(await post(`/local/${name}`, body));
}

export async function fetchSnapshot(user: string): Promise<Snapshot> {
  return read(await fetch(`/local/state?user=${encodeURIComponent(user)}`));
}

export async function getJson<T>(path: string): Promise<T> {
  return read(await fetch(path));
}

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

/** @returns a function that stops listening */
export function listen({ changed, connected }: Listener): () => void {
  let events = connect();
  let again: number | undefined;

  function connect(): EventSource {
    const source = new EventSource('/local/events');
    source.onopen = () => connected(true);
    source.onerror = () => {
      connected(false);
      // After a response that isn't a stream, for example while the workspace starts, browsers don't reconnect.
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
