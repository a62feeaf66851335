import { setTimeout as sleep } from 'node:timers/promises';

const DETAIL_MS = 1_000;

/** The parts that are not ready, each with the reason; empty when all are. */
export type Missing = Readonly<Record<string, string>>;

/** Collects why the bot is not ready to work. */
export interface Readiness {
  missing(): Promise<Missing>;
  /** @param look why the part is not ready; undefined when it is */
  watch(part: string, look: () => Promise<string | undefined>): void;
  /** What does not go as it should although the bot is ready. */
  details(): Promise<Missing>;
  /** @param look what does not go as it should with the part; undefined when nothing does not */
  watchDetail(part: string, look: () => Promise<string | undefined>): void;
}

/** @param parts what the bot cannot work without; each is not ready until it is watched */
export function createReadiness(parts: readonly string[]): Readiness {
  const looks = new Map(parts.map((part) => [part, async (): Promise<string | undefined> => NOT_YET]));
  const details = new Map<string, () => Promise<string | undefined>>();
  return {
    missing: () => answersOf(looks),
    details: () => answersOf(details),
    watchDetail(part, look) {
      // A detail that can't be read in time is left out, so that it never holds up the answer.
      details.set(part, () =>
        Promise.race([look().catch(() => undefined), sleep(DETAIL_MS, undefined, { ref: false })]),
      );
    },
    watch(part, look) {
      looks.set(part, look);
    },
  };
}

async function answersOf(looks: ReadonlyMap<string, () => Promise<string | undefined>>): Promise<Missing> {
  const found = await Promise.all([...looks].map(async ([part, look]) => [part, await look()] as const));
  return Object.fromEntries(found.flatMap(([part, why]) => (why === undefined ? [] : [[part, why]])));
}

const NOT_YET = 'not connected yet';
