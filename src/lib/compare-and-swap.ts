/** More changes of one row by others than this mean that something is wrong. */
const MAX_ATTEMPTS = 50;

/**
 * Reads a row, decides and commits, and begins again where somebody else committed first.
 * @param what names the change, for the error
 * @param read gets how often it was tried before
 * @param attempt decides and commits by compare-and-swap on the row's version; undefined where somebody was faster
 * @throws when others change the row without end
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
