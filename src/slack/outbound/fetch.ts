import type { FetchFunction } from '@slack/web-api';
import { Agent } from 'undici';
import { exchange } from '../../http/exchange.ts';

/** More than any answer from Slack. */
const MAX_ANSWER_BYTES = 10 * 1024 * 1024;

const agent = new Agent();

/**
 * A `fetch` that posts text and reads the whole answer. Node's own uses streams, which need much more CPU time per
 * message. Doesn't follow redirects; the status shows them. Uses a timer, because a timeout signal would outlive the
 * call and keep its objects in memory.
 * @param timeoutMs for the whole exchange
 * @returns a function that throws {@link HttpExchangeError} if there is no complete answer
 */
export function createFetch(timeoutMs: number): FetchFunction {
  return async (url, { method, headers: requestHeaders = {}, body } = {}) => {
    if (method !== 'POST' || typeof body !== 'string') throw new TypeError('only texts are posted');
    const { origin, pathname, search } = new URL(url);
    const answer = await exchange(
      agent,
      { origin, path: `${pathname}${search}`, method, headers: Object.entries(requestHeaders).flat(), body },
      { timeoutMs, maxBytes: MAX_ANSWER_BYTES },
    );
    const { status, headers, body: content = answer.rawBody } = answer;
    const header = (name: string) => {
      const value = headers[name];
      return value === undefined ? null : [value].flat().join(', ');
    };
    return {
      ok: status >= 200 && status < 300,
      status,
      statusText: '',
      url: String(url),
      headers: {
        get: (name) => header(name.toLowerCase()),
        entries: () =>
          Object.keys(headers)
            .map((name): [string, string] => [name, header(name) ?? ''])
            .values(),
      },
      arrayBuffer: async () => new Uint8Array(content).buffer,
      text: async () => content.toString(),
      json: async () => JSON.parse(content.toString()),
    };
  };
}
