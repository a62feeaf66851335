import type { SeenRequest } from '../host.ts';

const KEPT_REQUESTS = 1_000;

/** Merges new reports of requests into the known ones, newest first. */
export function mergeRequests(known: readonly SeenRequest[], fresh: readonly SeenRequest[]): SeenRequest[] {
  const byNumber = new Map([...known, ...fresh].map((request) => [request.n, request]));
  return [...byNumber.values()].sort((a, b) => b.n - a.n).slice(0, KEPT_REQUESTS);
}

/** Requests after this number are read again, because unanswered ones may be answered now. */
export function requestsReadFrom(known: readonly SeenRequest[]): number {
  const open = known.filter(({ durationMs }) => durationMs === null).map(({ n }) => n);
  return Math.min(...open.map((n) => n - 1), known[0]?.n ?? 0);
}
