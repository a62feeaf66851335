import type {
  ActionResult,
  Change,
  Refusal,
  RequestBody,
  RequestName,
  SayResult,
  Snapshot,
  SubmitResult,
} from '../src/protocol.ts';

/* The page's requests. The responses come from this package's own server, so their shape isn't checked. */

interface ResponseBodies {
  command: ActionResult;
  say: SayResult;
  act: ActionResult;
  input: Partial<ActionResult>;
  submit: SubmitResult;
  upload: { id: string };
  close: Partial<ActionResult>;
  shortcut: ActionResult;
  home: ActionResult;
}

/** @throws Error if the server refuses the request (with the server's message) or can't be reached */
export async function sendRequest<N extends RequestName>(
  name: N,
  body: RequestBody<N>,
): Promise<ResponseBodies[N]> {
  return readBody(await sendPost(`/local/${name}`, body));
}

export async function fetchSnapshot(user: string): Promise<Snapshot> {
  return readBody(await fetch(`/local/state?user=${encodeURIComponent(user)}`));
}

export async function getJson<T>(path: string): Promise<T> {
  return readBody(await fetch(path));
}

export async function postJson<T>(path: string, body: unknown): Promise<T> {
  return readBody(await sendPost(path, body));
}

function sendPost(path: string, body: unknown): Promise<Response> {
  return fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

async function readBody<T>(response: Response): Promise<T> {
  const body: T | Refusal = await response.json();
  if (!response.ok) {
    const errorText = typeof body === 'object' && body !== null && 'error' in body ? body.error : '';
    throw new Error(errorText || `the workspace answered ${response.status}`);
  }
  return body as T;
}

export interface Listener {
  onChange(change: Change): void;
  /** Called with true when a connection opens, and with false when it's lost. Lost connections reopen. */
  onConnectionChange(isOpen: boolean): void;
}

const RECONNECT_MS = 1_000;

/** @returns a function that stops listening */
export function listen({ onChange, onConnectionChange }: Listener): () => void {
  let events = connect();
  let reconnectTimer: number | undefined;

  function connect(): EventSource {
    const source = new EventSource('/local/events');
    source.onopen = () => onConnectionChange(true);
    source.onerror = () => {
      onConnectionChange(false);
      // Browsers don't reconnect after a response that isn't a stream, such as while the workspace starts.
      if (source.readyState !== EventSource.CLOSED) return;
      reconnectTimer = window.setTimeout(() => {
        events = connect();
      }, RECONNECT_MS);
    };
    source.onmessage = ({ data }) => {
      const change: Change = JSON.parse(String(data));
      onChange(change);
    };
    return source;
  }

  return () => {
    window.clearTimeout(reconnectTimer);
    events.close();
  };
}
