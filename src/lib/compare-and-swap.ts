/** More conflicts than this indicate a bug. */
const MAX_ATTEMPTS = 50;

/**
 * Reads a row, decides and commits. Starts over after a conflict.
 * @param change for the error message
 * @param read receives the number of earlier attempts
 * @param attempt commits by compare-and-swap on the row's version; undefined on a conflict
 * @throws after too many conflicts
 */
export async function compareAndSwap<Row, Outcome>(
  change: string,
  read: (attempts: number) => Promise<Row>,
  attempt: (row: Row) => Promise<Outcome | undefined>,
): Promise<Outcome> {
  for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts += 1) {
    const outcome = await attempt(await read(attempts));
    if (outcome !== undefined) return outcome;
  }
  throw new Error(`${change}: too many conflicting changes`);
}
