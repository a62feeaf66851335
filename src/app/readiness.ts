import { setTimeout as sleep } from 'node:timers/promises';

const DETAIL_MS = 1_000;

/** The reason for each part that isn't ready. */
export type Missing = Readonly<Record<string, string>>;

export interface Readiness {
  missing(): Promise<Missing>;
  /** @param look returns why the part isn't ready; undefined when it is */
  watch(part: string, check: () => Promise<string | undefined>): void;
  /** Problems that don't affect readiness. */
  details(): Promise<Missing>;
  /** @param look returns the part's problem; undefined if none */
  watchDetail(part: string, check: () => Promise<string | undefined>): void;
}

/** @param parts required parts; each isn't ready until it is watched */
export function createReadiness(parts: readonly string[]): Readiness {
  const checks = new Map(parts.map((part) => [part, async (): Promise<string | undefined> => NOT_YET]));
  const details = new Map<string, () => Promise<string | undefined>>();
  return {
    missing: () => runChecks(checks),
    details: () => runChecks(details),
    watchDetail(part, check) {
      // A detail that can't be read in time is omitted, so that the response isn't delayed.
      details.set(part, () =>
        Promise.race([check().catch(() => undefined), sleep(DETAIL_MS, undefined, { ref: false })]),
      );
    },
    watch(part, check) {
      checks.set(part, check);
    },
  };
}

async function runChecks(checks: ReadonlyMap<string, () => Promise<string | undefined>>): Promise<Missing> {
  const found = await Promise.all([...checks].map(async ([part, check]) => [part, await check()] as const));
  return Object.fromEntries(found.flatMap(([part, why]) => (why === undefined ? [] : [[part, why]])));
}

const NOT_YET = 'not connected yet';
