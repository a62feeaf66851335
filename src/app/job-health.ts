import { MINUTE_MS } from '../lib/duration.ts';

/** A job that fails for this long is in the details of `/readyz`. */
const LASTING_MS = 10 * MINUTE_MS;

/** The jobs that fail, and since when. */
export interface JobHealth {
  ended(job: string, outcome: 'succeeded' | 'failed'): void;
  /** A sentence about the jobs that have failed for ten minutes; undefined when there are none. */
  lastingFailures(): string | undefined;
}

/** @param failed counts a failure */
export function createJobHealth(now: () => Date, failed: (job: string) => void): JobHealth {
  const failing = new Map<string, { readonly since: Date; readonly times: number }>();
  return {
    ended(job, outcome) {
      if (outcome === 'succeeded') return void failing.delete(job);
      failed(job);
      const { since = now(), times = 0 } = failing.get(job) ?? {};
      failing.set(job, { since, times: times + 1 });
    },
    lastingFailures() {
      const lasting = [...failing].filter(
        ([, { since, times }]) => times > 1 && now().getTime() - since.getTime() >= LASTING_MS,
      );
      if (lasting.length === 0) return undefined;
      return lasting
        .map(([job, { since, times }]) => `${job} failed ${times} times since ${since.toISOString()}`)
        .join(', ');
    },
  };
}
