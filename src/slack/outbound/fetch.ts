import type { FetchFunction } from '@slack/web-api';
import { Agent } from 'undici';
import { exchange } from '../../http/exchange.ts';

/** Slack's answers are smaller. */
const MAX_ANSWER_BYTES = 10 * 1024 * 1024;

const agent = new Agent();

/**
 * A `fetch` that posts a text and reads the answer whole. Node's own goes through streams and takes much more processor
 * time for every card, reply and update. It follows no redirect; the status shows that there was one. The time limit is a
 * timer, because the signal of a timeout would outlive the call and keep its objects in memory.
 * @param timeoutMs for the whole exchange, in milliseconds
 * @returns a function that throws {@link HttpExchangeError} where there is no complete answer
 */
export function fetchWithin(timeoutMs: number): FetchFunction {
  return async (url, { method, headers: sent = {}, body } = {}) => {
    if (method !== 'POST' || typeof body !== 'string') throw new TypeError('only texts are posted');
    const { origin, pathname, search } = new URL(url);
    const answer = await exchange(
      agent,
      { origin, path: `${pathname}${search}`, method, headers: Object.entries(sent).flat(), body },
      { timeoutMs, maxBytes: MAX_ANSWER_BYTES },
    );
    const { status, headers, body: whole = answer.rawBody } = answer;
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
      arrayBuffer: async () => new Uint8Array(whole).buffer,
      text: async () => whole.toString(),
      json: async () => JSON.parse(whole.toString()),
    };
  };
}
