import type { FetchFunction } from '@slack/web-api';
import { Agent, request } from 'undici';

/** More than Slack ever says at once. */
const MAX_ANSWER_BYTES = 10 * 1024 * 1024;

const agent = new Agent({ maxResponseSize: MAX_ANSWER_BYTES });

/**
 * `fetch` for Slack's client, which posts a text and reads the answer whole. Node's own goes through streams and takes
 * four times the processor time, of which every card, reply and update would pay its part. Follows no redirect: the
 * status says that it was one.
 */
export const fetchWhole: FetchFunction = async (url, init = {}) => {
  const { method, headers: sent = {}, body, signal } = init;
  if (method !== 'POST' || typeof body !== 'string') return fetch(url, init);
  const answer = await request(url, {
    method,
    headers: sent,
    body,
    dispatcher: agent,
    ...(signal === undefined ? {} : { signal }),
  });
  const whole = await answer.body.text();
  const header = (name: string) => {
    const value = answer.headers[name];
    return value === undefined ? null : [value].flat().join(', ');
  };
  return {
    ok: answer.statusCode >= 200 && answer.statusCode < 300,
    status: answer.statusCode,
    statusText: '',
    url: String(url),
    headers: {
      get: (name) => header(name.toLowerCase()),
      entries: () =>
        Object.keys(answer.headers)
          .map((name): [string, string] => [name, header(name) ?? ''])
          .values(),
    },
    arrayBuffer: async () => new TextEncoder().encode(whole).buffer,
    text: async () => whole,
    json: async () => JSON.parse(whole),
  };
};
