import pg from 'pg';
import { expect, test } from 'vitest';
import { batch } from '../../src/store/batch.ts';
import { until } from '../support/demo.ts';

/** Batches queries into statements, which the test answers. */
function arrange(keyOf?: (question: number) => string) {
  const sent: { readonly questions: readonly number[]; answer(): void; fail(error: Error): void }[] = [];
  const ask = batch<number, string>(
    (questions) =>
      new Promise((resolve, reject) => {
        sent.push({
          questions,
          answer: () => resolve(questions.map((question) => `answer ${question}`)),
          fail: reject,
        });
      }),
    keyOf,
  );
  return {
    ask,
    questions: () => sent.map(({ questions }) => questions),
    /** The nth statement, as soon as it was sent. */
    async statement(n: number) {
      await until(`statement ${n} is sent`, () => sent.length > n);
      const statement = sent[n];
      if (statement === undefined) throw new Error(`there is no statement ${n}`);
      return statement;
    },
  };
}

const databaseError = (code: string) => Object.assign(new pg.DatabaseError('no', 2, 'error'), { code });

test('queries of one turn share a statement, and each gets its own answer', async () => {
  const { ask, questions, statement } = arrange();
  const answers = Promise.all([1, 2, 3].map(ask));
  (await statement(0)).answer();
  expect(await answers).toEqual(['answer 1', 'answer 2', 'answer 3']);
  expect(questions()).toEqual([[1, 2, 3]]);
});

test('queries sent meanwhile share the next statement', async () => {
  const { ask, questions, statement } = arrange();
  const first = ask(1);
  const one = await statement(0);
  const later = Promise.all([ask(2), ask(3)]);
  one.answer();
  await first;
  (await statement(1)).answer();
  expect(await later).toEqual(['answer 2', 'answer 3']);
  expect(questions()).toEqual([[1], [2, 3]]);
});

test('a hanging statement doesn’t block others', async () => {
  const { ask, statement } = arrange();
  void ask(1);
  await statement(0);
  const second = ask(2);
  (await statement(1)).answer();
  expect(await second).toBe('answer 2');
});

test('two queries with the same key never share a statement, and the second is still sent', async () => {
  const { ask, questions, statement } = arrange((question) => String(question % 10));
  const answers = Promise.all([1, 2, 11, 21].map(ask));
  for (const n of [0, 1, 2]) (await statement(n)).answer();
  expect(await answers).toEqual(['answer 1', 'answer 2', 'answer 11', 'answer 21']);
  expect(questions()).toEqual([[1, 2], [11], [21]]);
});

test('at most 100 queries share a statement', async () => {
  const { ask, questions, statement } = arrange();
  const answers = Promise.all(Array.from({ length: 250 }, (_, n) => ask(n)));
  for (const n of [0, 1, 2]) (await statement(n)).answer();
  expect(await answers).toHaveLength(250);
  expect(questions().map(({ length }) => length)).toEqual([100, 100, 50]);
});

test.each(['23505', '40P01', '22P05'])('if one query causes %s, the others succeed', async (code) => {
  const { ask, questions, statement } = arrange();
  const answers = Promise.allSettled([1, 2, 3].map(ask));
  (await statement(0)).fail(databaseError(code));
  (await statement(1)).answer();
  (await statement(2)).fail(databaseError(code));
  (await statement(3)).answer();
  expect((await answers).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(questions()).toEqual([[1, 2, 3], [1], [2], [3]]);
});

test.each([
  ['a lost connection', new Error('Connection terminated unexpectedly')],
  ['a statement timeout', databaseError('57014')],
])('%s fails all queries without a retry, since they may have run', async (_what, error) => {
  const { ask, questions, statement } = arrange();
  const answers = Promise.allSettled([1, 2, 3].map(ask));
  (await statement(0)).fail(error);
  expect((await answers).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  expect(questions()).toEqual([[1, 2, 3]]);
});

test('answers that don’t match the queries fail them all', async () => {
  const ask = batch<number, number>(async () => [1]);
  const answers = await Promise.allSettled([ask(1), ask(2)]);
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});
