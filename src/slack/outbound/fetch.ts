import type { FetchFunction } from '@slack/web-api';
import { Agent } from 'undici';
import { exchange } from '../../http/exchange.ts';

/** Larger than any response from Slack. */
const MAX_RESPONSE_BYTES = 10 * 1024 * 1024;

const agent = new Agent();

/**
 * Creates a `fetch` that posts text and reads the whole response. Node's own `fetch` uses streams, which need
 * much more CPU time per message. Doesn't follow redirects.
 * @param timeoutMs for the whole exchange
 * @returns a function that throws {@link HttpExchangeError} if there is no complete response
 */
export function createFetch(timeoutMs: number): FetchFunction {
  return async (url, { method, headers: requestHeaders = {}, body } = {}) => {
    if (method !== 'POST' || typeof body !== 'string') throw new TypeError('only text can be posted');
    const { origin, pathname, search } = new URL(url);
    const response = await exchange(
      agent,
      { origin, path: `${pathname}${search}`, method, headers: Object.entries(requestHeaders).flat(), body },
      { timeoutMs, maxBytes: MAX_RESPONSE_BYTES },
    );
    const { status, headers, body: content = response.rawBody } = response;
    const getHeader = (name: string) => {
      const value = headers[name];
      return value === undefined ? null : [value].flat().join(', ');
    };
    return {
      ok: status >= 200 && status < 300,
      status,
      statusText: '',
      url: String(url),
      headers: {
        get: (name) => getHeader(name.toLowerCase()),
        entries: () =>
          Object.keys(headers)
            .map((name): [string, string] => [name, getHeader(name) ?? ''])
            .values(),
      },
      arrayBuffer: async () => new Uint8Array(content).buffer,
      text: async () => content.toString(),
      json: async () => JSON.parse(content.toString()),
    };
  };
}
