import { expect, test } from 'vitest';
import type { SeenRequest } from '../../demo/host.ts';
import { mergeRequests, requestsReadFrom } from '../../demo/page/requests.ts';

function request(n: number, durationMs: number | null): SeenRequest {
  return {
    n,
    at: 0,
    interface: 'json',
    method: 'GET',
    path: '/',
    query: {},
    ctid: null,
    way: null,
    user: null,
    context: null,
    headers: {},
    body: null,
    task: null,
    name: null,
    carriedOut: false,
    fault: null,
    status: null,
    answerCode: null,
    durationMs,
  };
}

test('requests are listed newest first, and later reports replace earlier ones', () => {
  const known = mergeRequests([], [request(2, null), request(1, 5)]);
  const merged = mergeRequests(known, [request(3, 4), request(2, 9)]);
  expect(merged.map(({ n, durationMs }) => [n, durationMs])).toEqual([
    [3, 4],
    [2, 9],
    [1, 5],
  ]);
});

test('the next read starts at the first unanswered request', () => {
  expect(requestsReadFrom([])).toBe(0);
  expect(requestsReadFrom([request(3, 1), request(2, 1)])).toBe(3);
  expect(requestsReadFrom([request(3, 1), request(2, null), request(1, 1)])).toBe(1);
});
