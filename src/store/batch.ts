import pg from 'pg';
import { z } from 'zod';
import { DatabaseUnverifiedError } from './known-server.ts';

const MAX_BATCH_SIZE = 100;
/** The longest wait for the previous statement, so that a hanging one doesn't block the others. */
const MAX_WAIT_MS = 25;

interface Waiting<Question, Answer> {
  readonly question: Question;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Answers questions that come at the same time with one statement: those of one turn of the event loop, and those that
 * come while another statement of the kind is running. A single question isn't slowed down.
 *
 * If one question makes the statement fail, each is retried alone; if the database is unreachable, all fail.
 * @param ask answers the questions in order, in one transaction
 * @param keyOf two questions with one key never share a statement
 */
export function batch<Question, Answer>(
  ask: (questions: readonly Question[]) => Promise<readonly Answer[]>,
  keyOf?: (question: Question) => string,
): (question: Question) => Promise<Answer> {
  let waiting: Waiting<Question, Answer>[] = [];
  let underWay = 0;
  let isSoon = false;
  let impatience: NodeJS.Timeout | undefined;

  /** Takes the questions of the next statement; the others stay. */
  function take(): Waiting<Question, Answer>[] {
    const keys = new Set<string>();
    const taken: Waiting<Question, Answer>[] = [];
    const left: Waiting<Question, Answer>[] = [];
    for (const each of waiting) {
      const key = keyOf?.(each.question);
      if (taken.length === MAX_BATCH_SIZE || (key !== undefined && keys.has(key))) left.push(each);
      else taken.push(each);
      if (key !== undefined) keys.add(key);
    }
    waiting = left;
    return taken;
  }

  async function answer(asked: readonly Waiting<Question, Answer>[]): Promise<void> {
    try {
      const answers = await ask(asked.map(({ question }) => question));
      if (answers.length !== asked.length)
        throw new Error(`${asked.length} questions, ${answers.length} answers`);
      for (const [index, found] of answers.entries()) asked[index]?.resolve(found);
    } catch (error) {
      if (asked.length > 1 && isOfOne(error)) await Promise.all(asked.map((each) => answer([each])));
      else for (const { reject } of asked) reject(error);
    }
  }

  function go(): void {
    isSoon = false;
    clearTimeout(impatience);
    impatience = undefined;
    if (waiting.length === 0) return;
    underWay += 1;
    void answer(take()).finally(() => {
      underWay -= 1;
      if (underWay === 0) go();
    });
    if (waiting.length > 0) impatience = setTimeout(go, MAX_WAIT_MS);
  }

  return (question) =>
    new Promise((resolve, reject) => {
      waiting.push({ question, resolve, reject });
      if (underWay > 0) impatience ??= setTimeout(go, MAX_WAIT_MS);
      else if (!isSoon) {
        isSoon = true;
        setImmediate(go);
      }
    });
}

/**
 * Concurrent reads share one query that is the same for all of them. Otherwise a burst of clicks reads settings, prices
 * and policies more often than there are connections.
 */
export function shareRead<T>(read: () => Promise<T>): () => Promise<T> {
  const ask = batch(async (questions: readonly undefined[]) => {
    const answer = await read();
    return questions.map(() => answer);
  });
  return () => ask(undefined);
}

/** SQLSTATE classes (PostgreSQL, appendix A) of errors that a single row can cause. The statement was rolled back. */
const BLAME_OF_ONE: ReadonlySet<string> = new Set([
  '22', // invalid values
  '23', // duplicate keys
  '40', // deadlocks
]);

/** Whether one question may have made the statement fail, so that the others would succeed without it. */
function isOfOne(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return BLAME_OF_ONE.has(error.code?.slice(0, 2) ?? '');
  return error instanceof z.ZodError || error instanceof DatabaseUnverifiedError;
}
