import pg from 'pg';
import { z } from 'zod';
import { DatabaseUnverifiedError } from './known-server.ts';

const MAX_BATCH_SIZE = 100;
/** The longest wait for a running batch, so that a hanging batch doesn't block others. */
const MAX_WAIT_MS = 25;

interface PendingRequest<Request, Result> {
  readonly request: Request;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Runs concurrent requests as one statement: the requests of one turn of the event loop, and those that arrive while
 * another batch is running. A single request isn't delayed.
 *
 * If one request makes the statement fail, each is retried alone. If the database can't be reached, all fail.
 * @param run handles the requests in one transaction and returns their results in order
 * @param getKey requests with the same key are never in the same batch
 */
export function createBatcher<Request, Result>(
  run: (requests: readonly Request[]) => Promise<readonly Result[]>,
  getKey?: (request: Request) => string,
): (request: Request) => Promise<Result> {
  let queue: PendingRequest<Request, Result>[] = [];
  let runningCount = 0;
  let isScheduled = false;
  let timer: NodeJS.Timeout | undefined;

  function takeBatch(): PendingRequest<Request, Result>[] {
    const keys = new Set<string>();
    const nextBatch: PendingRequest<Request, Result>[] = [];
    const remainingRequests: PendingRequest<Request, Result>[] = [];
    for (const pendingRequest of queue) {
      const key = getKey?.(pendingRequest.request);
      if (nextBatch.length === MAX_BATCH_SIZE || (key !== undefined && keys.has(key)))
        remainingRequests.push(pendingRequest);
      else nextBatch.push(pendingRequest);
      if (key !== undefined) keys.add(key);
    }
    queue = remainingRequests;
    return nextBatch;
  }

  async function runBatch(pendingRequests: readonly PendingRequest<Request, Result>[]): Promise<void> {
    try {
      const results = await run(pendingRequests.map(({ request }) => request));
      if (results.length !== pendingRequests.length)
        throw new Error(`a batch of ${pendingRequests.length} requests returned ${results.length} results`);
      for (const [index, result] of results.entries()) pendingRequests[index]?.resolve(result);
    } catch (error) {
      if (pendingRequests.length > 1 && mayBeCausedByOneRequest(error))
        await Promise.all(pendingRequests.map((pendingRequest) => runBatch([pendingRequest])));
      else for (const { reject } of pendingRequests) reject(error);
    }
  }

  function startBatch(): void {
    isScheduled = false;
    clearTimeout(timer);
    timer = undefined;
    if (queue.length === 0) return;
    runningCount += 1;
    void runBatch(takeBatch()).finally(() => {
      runningCount -= 1;
      if (runningCount === 0) startBatch();
    });
    if (queue.length > 0) timer = setTimeout(startBatch, MAX_WAIT_MS);
  }

  return (request) =>
    new Promise((resolve, reject) => {
      queue.push({ request, resolve, reject });
      if (runningCount > 0) timer ??= setTimeout(startBatch, MAX_WAIT_MS);
      else if (!isScheduled) {
        isScheduled = true;
        setImmediate(startBatch);
      }
    });
}

/**
 * Shares one query among concurrent reads. Otherwise, a burst of clicks would read settings, prices and policies more
 * often than there are connections.
 */
export function createSharedRead<T>(read: () => Promise<T>): () => Promise<T> {
  const readShared = createBatcher(async (requests: readonly undefined[]) => {
    const result = await read();
    return requests.map(() => result);
  });
  return () => readShared(undefined);
}

/**
 * SQLSTATE classes (PostgreSQL, appendix A) of errors that a single row can cause. The statement was rolled
 * back, so the requests can be retried.
 */
const SINGLE_ROW_ERROR_CLASSES: ReadonlySet<string> = new Set([
  '22', // invalid values
  '23', // duplicate keys
  '40', // deadlocks
]);

/** Whether a single request may have made the statement fail, so that the others would succeed without it. */
function mayBeCausedByOneRequest(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return SINGLE_ROW_ERROR_CLASSES.has(error.code?.slice(0, 2) ?? '');
  return error instanceof z.ZodError || error instanceof DatabaseUnverifiedError;
}
