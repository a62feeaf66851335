import { setTimeout as sleep } from 'node:timers/promises';

const DETAIL_MS = 1_000;

/** The reason for each part that isn't ready. */
export type PartProblems = Readonly<Record<string, string>>;

export interface Readiness {
  listMissing(): Promise<PartProblems>;
  /** @param check returns why the part isn't ready; undefined if it is */
  watch(part: string, check: () => Promise<string | undefined>): void;
  /** Problems that don't affect readiness. */
  listDetails(): Promise<PartProblems>;
  /** @param check returns the part's problem; undefined if there is none */
  watchDetail(part: string, check: () => Promise<string | undefined>): void;
}

/** @param parts required parts. None is ready until it is watched */
export function createReadiness(parts: readonly string[]): Readiness {
  const checks = new Map(parts.map((part) => [part, async (): Promise<string | undefined> => NOT_YET]));
  const details = new Map<string, () => Promise<string | undefined>>();
  return {
    listMissing: () => runChecks(checks),
    listDetails: () => runChecks(details),
    watchDetail(part, check) {
      // A detail that can't be read in time is omitted, so that it doesn't delay the response.
      details.set(part, () =>
        Promise.race([check().catch(() => undefined), sleep(DETAIL_MS, undefined, { ref: false })]),
      );
    },
    watch(part, check) {
      checks.set(part, check);
    },
  };
}

async function runChecks(
  checks: ReadonlyMap<string, () => Promise<string | undefined>>,
): Promise<PartProblems> {
  const found = await Promise.all([...checks].map(async ([part, check]) => [part, await check()] as const));
  return Object.fromEntries(found.flatMap(([part, issue]) => (issue === undefined ? [] : [[part, issue]])));
}

const NOT_YET = 'not connected yet';
