import { setTimeout as sleep } from 'node:timers/promises';

const DETAIL_TIMEOUT_MS = 1_000;

/** Keyed by part. */
export type PartProblems = Readonly<Record<string, string>>;

type Check = () => Promise<string | undefined>;

export interface Readiness {
  listUnreadyParts(): Promise<PartProblems>;
  /** @param check returns why the part isn't ready, or undefined if it is ready */
  watch(part: string, check: Check): void;
  /** Problems that don't affect readiness. */
  listDetails(): Promise<PartProblems>;
  /** @param check returns the part's problem, if any */
  watchDetail(part: string, check: Check): void;
}

/** @param parts the required parts; a part isn't ready before {@link Readiness.watch} is called for it */
export function createReadiness(parts: readonly string[]): Readiness {
  const checks = new Map<string, Check>(parts.map((part) => [part, async () => 'not connected yet']));
  const details = new Map<string, Check>();
  return {
    listUnreadyParts: () => runChecks(checks),
    listDetails: () => runChecks(details),
    watchDetail(part, check) {
      // A detail that can't be read in time is omitted, so that it doesn't delay the response.
      details.set(part, () =>
        Promise.race([check().catch(() => undefined), sleep(DETAIL_TIMEOUT_MS, undefined, { ref: false })]),
      );
    },
    watch(part, check) {
      checks.set(part, check);
    },
  };
}

async function runChecks(checks: ReadonlyMap<string, Check>): Promise<PartProblems> {
  const results = await Promise.all([...checks].map(async ([part, check]) => [part, await check()] as const));
  return Object.fromEntries(
    results.flatMap(([part, problem]) => (problem === undefined ? [] : [[part, problem]])),
  );
}
