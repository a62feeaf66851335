import type { SeenRequest } from '../host.ts';

const MAX_REQUESTS = 1_000;

/** Merges new reports of requests into the known ones, newest first. */
export function mergeRequests(known: readonly SeenRequest[], fresh: readonly SeenRequest[]): SeenRequest[] {
  const byNumber = new Map([...known, ...fresh].map((request) => [request.n, request]));
  return [...byNumber.values()].sort((a, b) => b.n - a.n).slice(0, MAX_REQUESTS);
}

/** Requests after this number are read again, because they may have been answered since. */
export function requestsReadFrom(known: readonly SeenRequest[]): number {
  const unanswered = known.filter(({ durationMs }) => durationMs === null).map(({ n }) => n);
  return Math.min(...unanswered.map((n) => n - 1), known[0]?.n ?? 0);
}
