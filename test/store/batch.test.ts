import pg from 'pg';
import { expect, test } from 'vitest';
import { createBatcher } from '../../src/store/batch.ts';
import { until } from '../support/demo.ts';

/** Batches queries into statements, which the test answers. */
function createTestBatcher(keyOf?: (question: number) => string) {
  const statements: { readonly questions: readonly number[]; answer(): void; fail(error: Error): void }[] =
    [];
  const ask = createBatcher<number, string>(
    (questions) =>
      new Promise((resolve, reject) => {
        statements.push({
          questions,
          answer: () => resolve(questions.map((question) => `answer ${question}`)),
          fail: reject,
        });
      }),
    keyOf,
  );
  return {
    ask,
    questions: () => statements.map(({ questions }) => questions),
    /** Waits for the nth statement. */
    async waitForStatement(n: number) {
      await until(`statement ${n} is sent`, () => statements.length > n);
      const statement = statements[n];
      if (statement === undefined) throw new Error(`there is no statement ${n}`);
      return statement;
    },
  };
}

const databaseError = (code: string) => Object.assign(new pg.DatabaseError('no', 2, 'error'), { code });

test('queries of one turn share a statement, and each gets its own answer', async () => {
  const { ask, questions, waitForStatement } = createTestBatcher();
  const answers = Promise.all([1, 2, 3].map(ask));
  (await waitForStatement(0)).answer();
  expect(await answers).toEqual(['answer 1', 'answer 2', 'answer 3']);
  expect(questions()).toEqual([[1, 2, 3]]);
});

test('queries that arrive while a statement runs share the next one', async () => {
  const { ask, questions, waitForStatement } = createTestBatcher();
  const firstAnswer = ask(1);
  const firstStatement = await waitForStatement(0);
  const laterAnswers = Promise.all([ask(2), ask(3)]);
  firstStatement.answer();
  await firstAnswer;
  (await waitForStatement(1)).answer();
  expect(await laterAnswers).toEqual(['answer 2', 'answer 3']);
  expect(questions()).toEqual([[1], [2, 3]]);
});

test('a hanging statement doesn’t block others', async () => {
  const { ask, waitForStatement } = createTestBatcher();
  void ask(1);
  await waitForStatement(0);
  const second = ask(2);
  (await waitForStatement(1)).answer();
  expect(await second).toBe('answer 2');
});

test('two queries with the same key never share a statement, and the second is still sent', async () => {
  const { ask, questions, waitForStatement } = createTestBatcher((question) => String(question % 10));
  const answers = Promise.all([1, 2, 11, 21].map(ask));
  for (const n of [0, 1, 2]) (await waitForStatement(n)).answer();
  expect(await answers).toEqual(['answer 1', 'answer 2', 'answer 11', 'answer 21']);
  expect(questions()).toEqual([[1, 2], [11], [21]]);
});

test('at most 100 queries share a statement', async () => {
  const { ask, questions, waitForStatement } = createTestBatcher();
  const answers = Promise.all(Array.from({ length: 250 }, (_, n) => ask(n)));
  for (const n of [0, 1, 2]) (await waitForStatement(n)).answer();
  expect(await answers).toHaveLength(250);
  expect(questions().map(({ length }) => length)).toEqual([100, 100, 50]);
});

test.each(['23505', '40P01', '22P05'])('if one query causes %s, the others succeed', async (code) => {
  const { ask, questions, waitForStatement } = createTestBatcher();
  const answers = Promise.allSettled([1, 2, 3].map(ask));
  (await waitForStatement(0)).fail(databaseError(code));
  (await waitForStatement(1)).answer();
  (await waitForStatement(2)).fail(databaseError(code));
  (await waitForStatement(3)).answer();
  expect((await answers).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(questions()).toEqual([[1, 2, 3], [1], [2], [3]]);
});

test.each([
  ['a lost connection', new Error('Connection terminated unexpectedly')],
  ['a statement timeout', databaseError('57014')],
])('%s fails all queries without a retry, since they may have run', async (_what, error) => {
  const { ask, questions, waitForStatement } = createTestBatcher();
  const answers = Promise.allSettled([1, 2, 3].map(ask));
  (await waitForStatement(0)).fail(error);
  expect((await answers).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  expect(questions()).toEqual([[1, 2, 3]]);
});

test('all queries fail if their number doesn’t match the answers', async () => {
  const ask = createBatcher<number, number>(async () => [1]);
  const answers = await Promise.allSettled([ask(1), ask(2)]);
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});
