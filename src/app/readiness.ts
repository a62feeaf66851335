import { setTimeout as sleep } from 'node:timers/promises';

const DETAIL_TIMEOUT_MS = 1_000;

/** Keyed by part. */
export type PartProblems = Readonly<Record<string, string>>;

type PartCheck = () => Promise<string | undefined>;

export interface Readiness {
  listUnreadyParts(): Promise<PartProblems>;
  /** @param check returns why the part isn't ready, or undefined if it is ready */
  setCheck(part: string, check: PartCheck): void;
  /** Problems that don't affect readiness. */
  listDetails(): Promise<PartProblems>;
  /** @param check returns the part's problem, if any */
  setDetailCheck(part: string, check: PartCheck): void;
}

/** @param parts the required parts; each part isn't ready until its check is registered */
export function createReadiness(parts: readonly string[]): Readiness {
  const checks = new Map<string, PartCheck>(parts.map((part) => [part, async () => 'not connected yet']));
  const detailChecks = new Map<string, PartCheck>();
  return {
    listUnreadyParts: () => runChecks(checks),
    listDetails: () => runChecks(detailChecks),
    setDetailCheck(part, check) {
      // A detail that can't be read in time is omitted, so that it doesn't delay the response.
      detailChecks.set(part, () =>
        Promise.race([check().catch(() => undefined), sleep(DETAIL_TIMEOUT_MS, undefined, { ref: false })]),
      );
    },
    setCheck(part, check) {
      checks.set(part, check);
    },
  };
}

async function runChecks(checks: ReadonlyMap<string, PartCheck>): Promise<PartProblems> {
  const results = await Promise.all([...checks].map(async ([part, check]) => [part, await check()] as const));
  return Object.fromEntries(
    results.flatMap(([part, problem]) => (problem === undefined ? [] : [[part, problem]])),
  );
}
