/** More conflicts indicate a bug. */
const MAX_ATTEMPTS = 50;

/**
 * Reads a row, decides and commits. After a conflict, starts over.
 * @param what names the change in the error
 * @param read gets the number of earlier attempts
 * @param attempt commits by compare-and-swap on the row's version; undefined on a conflict
 * @throws after too many conflicts
 */
export async function compareAndSwap<Row, Outcome>(
  what: string,
  read: (tries: number) => Promise<Row>,
  attempt: (row: Row) => Promise<Outcome | undefined>,
): Promise<Outcome> {
  for (let tries = 0; tries < MAX_ATTEMPTS; tries += 1) {
    const outcome = await attempt(await read(tries));
    if (outcome !== undefined) return outcome;
  }
  throw new Error(`${what}: others kept changing it`);
}
