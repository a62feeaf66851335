/** More conflicts than this indicate a bug. */
const MAX_ATTEMPTS = 50;

/**
 * Reads a row, decides and commits. Starts over after a conflict.
 * @param description for the error message
 * @param tryCommit commits by compare-and-swap on the row's version; undefined on a conflict
 * @throws after too many conflicts
 */
export async function compareAndSwap<Row, Outcome>(
  description: string,
  read: (earlierAttempts: number) => Promise<Row>,
  tryCommit: (row: Row) => Promise<Outcome | undefined>,
): Promise<Outcome> {
  for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts += 1) {
    const outcome = await tryCommit(await read(attempts));
    if (outcome !== undefined) return outcome;
  }
  throw new Error(`${description}: too many conflicting changes`);
}
