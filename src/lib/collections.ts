import { setImmediate } from 'node:timers/promises';

/** Keeps the order of keys and values. */
export function groupBy<Value, Key>(
  values: Iterable<Value>,
  getKey: (value: Value) => Key,
): ReadonlyMap<Key, readonly Value[]> {
  const groups = new Map<Key, Value[]>();
  for (const value of values) {
    const key = getKey(value);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [value]);
    else group.push(value);
  }
  return groups;
}

/** Compares values by their JSON form. */
export function removeDuplicates<Value>(values: Iterable<Value>): Value[] {
  return [...new Map([...values].map((value) => [JSON.stringify(value), value])).values()];
}

/** The type of `condition && value`. */
export type Maybe<Value> = Value | undefined | false;

export function dropMissing<Value>(values: readonly Maybe<Value>[]): Value[] {
  return values.filter((value): value is Value => value !== undefined && value !== false);
}

export function splitIntoChunks<Value>(values: readonly Value[], size: number): Value[][] {
  return Array.from({ length: Math.ceil(values.length / size) }, (_, index) =>
    values.slice(index * size, (index + 1) * size),
  );
}

/** A slice this large takes a few milliseconds to process. */
const SLICE_SIZE = 500;

/** Yields to the event loop between slices. */
export async function* iterateSlices<Value>(values: readonly Value[]): AsyncGenerator<readonly Value[]> {
  for (let start = 0; start < values.length; start += SLICE_SIZE) {
    if (start > 0) await setImmediate();
    yield values.slice(start, start + SLICE_SIZE);
  }
}

/** Processes items sequentially. A failure doesn't stop the rest. */
export async function settleEach<Item, Result>(
  items: Iterable<Item>,
  processItem: (item: Item) => Promise<Result>,
): Promise<{ readonly results: Result[]; readonly errors: unknown[] }> {
  const results: Result[] = [];
  const errors: unknown[] = [];
  for (const item of items) {
    try {
      results.push(await processItem(item));
    } catch (error) {
      errors.push(error);
    }
  }
  return { results, errors };
}

/** @throws {AggregateError} unless `errors` is empty */
export function throwIfAny(errors: readonly unknown[]): void {
  if (errors.length > 0) throw new AggregateError(errors, `${errors.length} failed`);
}
