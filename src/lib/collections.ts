import { setImmediate } from 'node:timers/promises';

/** Groups values by a key; keys and values stay in the sequence in which they come. */
export function groupBy<Value, Key>(
  values: Iterable<Value>,
  keyOf: (value: Value) => Key,
): ReadonlyMap<Key, readonly Value[]> {
  const groups = new Map<Key, Value[]>();
  for (const value of values) {
    const key = keyOf(value);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [value]);
    else group.push(value);
  }
  return groups;
}

/** Each value once. Values that have the same JSON are the same. */
export function distinct<Value>(values: Iterable<Value>): Value[] {
  return [...new Map([...values].map((value) => [JSON.stringify(value), value])).values()];
}

/** What `condition && value` gives: `undefined` or `false` stand where there is no value. */
export type Maybe<Value> = Value | undefined | false;

export function present<Value>(values: readonly Maybe<Value>[]): Value[] {
  return values.filter((value): value is Value => value !== undefined && value !== false);
}

/** Values in parts of at most so many. */
export function chunksOf<Value>(values: readonly Value[], size: number): Value[][] {
  return Array.from({ length: Math.ceil(values.length / size) }, (_, index) =>
    values.slice(index * size, (index + 1) * size),
  );
}

/** So many values take a few milliseconds. */
const SLICE = 500;

/** Values in slices, between which everybody else has their turn. */
export async function* slicesOf<Value>(values: readonly Value[]): AsyncGenerator<readonly Value[]> {
  for (let start = 0; start < values.length; start += SLICE) {
    if (start > 0) await setImmediate();
    yield values.slice(start, start + SLICE);
  }
}

/** Runs work for each item in turn. A failure doesn't keep the others from their turn. */
export async function settleEach<Item, Result>(
  items: Iterable<Item>,
  work: (item: Item) => Promise<Result>,
): Promise<{ readonly results: Result[]; readonly errors: unknown[] }> {
  const results: Result[] = [];
  const errors: unknown[] = [];
  for (const item of items) {
    try {
      results.push(await work(item));
    } catch (error) {
      errors.push(error);
    }
  }
  return { results, errors };
}

/** @throws {AggregateError} if there are any */
export function throwAny(errors: readonly unknown[]): void {
  if (errors.length > 0) throw new AggregateError(errors, `${errors.length} failed`);
}
