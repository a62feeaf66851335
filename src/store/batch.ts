import pg from 'pg';
import { z } from 'zod';
import { DatabaseUnverifiedError } from './known-server.ts';

/** The most questions that share a statement. */
const MAX_BATCH_SIZE = 100;

interface Waiting<Question, Answer> {
  readonly question: Question;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Lets questions that come in one turn of the event loop share one statement.
 *
 * When one question makes the statement fail, each is asked alone; when the database is away, all fail.
 * @param ask answers the questions in their sequence, in one transaction
 * @param keyOf two questions with one key never share a statement
 */
export function batch<Question, Answer>(
  ask: (questions: readonly Question[]) => Promise<readonly Answer[]>,
  keyOf?: (question: Question) => string,
): (question: Question) => Promise<Answer> {
  let waiting: Waiting<Question, Answer>[] = [];

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
    void answer(take());
    if (waiting.length > 0) setImmediate(go);
  }

  return (question) =>
    new Promise((resolve, reject) => {
      waiting.push({ question, resolve, reject });
      if (waiting.length === 1) setImmediate(go);
    });
}

/** SQLSTATE classes (PostgreSQL, appendix A) of errors that one row can cause. The statement was rolled back. */
const BLAME_OF_ONE: ReadonlySet<string> = new Set([
  '22', // its values
  '23', // a key that another one holds
  '40', // a deadlock
]);

/** Whether one question may have made a statement fail, so that the others would succeed without it. */
function isOfOne(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return BLAME_OF_ONE.has(error.code?.slice(0, 2) ?? '');
  return error instanceof z.ZodError || error instanceof DatabaseUnverifiedError;
}
