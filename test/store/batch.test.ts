import pg from 'pg';
import { expect, test } from 'vitest';
import { batch } from '../../src/store/batch.ts';
import { until } from '../support/demo.ts';

/** Questions in the batches they were asked in; answered when a test says so. */
function scripted(keyOf?: (question: number) => string) {
  const asked: { readonly questions: readonly number[]; answer(): void; fail(error: Error): void }[] = [];
  const ask = batch<number, string>(
    (questions) =>
      new Promise((resolve, reject) => {
        asked.push({
          questions,
          answer: () => resolve(questions.map((question) => `answer ${question}`)),
          fail: reject,
        });
      }),
    keyOf,
  );
  return {
    ask,
    questions: () => asked.map(({ questions }) => questions),
    /** The nth statement, as soon as it was sent. */
    async statement(n: number) {
      await until(`statement ${n} is sent`, () => asked.length > n);
      const statement = asked[n];
      if (statement === undefined) throw new Error(`there is no statement ${n}`);
      return statement;
    },
  };
}

const databaseError = (code: string) => Object.assign(new pg.DatabaseError('no', 2, 'error'), { code });

test('questions of one turn share a statement, and each gets its own answer', async () => {
  const { ask, questions, statement } = scripted();
  const answers = Promise.all([1, 2, 3].map(ask));
  (await statement(0)).answer();
  expect(await answers).toEqual(['answer 1', 'answer 2', 'answer 3']);
  expect(questions()).toEqual([[1, 2, 3]]);
});

test('questions asked meanwhile share the next one', async () => {
  const { ask, questions, statement } = scripted();
  const first = ask(1);
  const one = await statement(0);
  const later = Promise.all([ask(2), ask(3)]);
  one.answer();
  await first;
  (await statement(1)).answer();
  expect(await later).toEqual(['answer 2', 'answer 3']);
  expect(questions()).toEqual([[1], [2, 3]]);
});

test('a hanging statement blocks no other', async () => {
  const { ask, statement } = scripted();
  void ask(1);
  await statement(0);
  const second = ask(2);
  (await statement(1)).answer();
  expect(await second).toBe('answer 2');
});

test('two questions with one key never share a statement, and the second one is not forgotten', async () => {
  const { ask, questions, statement } = scripted((question) => String(question % 10));
  const answers = Promise.all([1, 2, 11, 21].map(ask));
  for (const n of [0, 1, 2]) (await statement(n)).answer();
  expect(await answers).toEqual(['answer 1', 'answer 2', 'answer 11', 'answer 21']);
  expect(questions()).toEqual([[1, 2], [11], [21]]);
});

test('at most a hundred share a statement', async () => {
  const { ask, questions, statement } = scripted();
  const answers = Promise.all(Array.from({ length: 250 }, (_, n) => ask(n)));
  for (const n of [0, 1, 2]) (await statement(n)).answer();
  expect(await answers).toHaveLength(250);
  expect(questions().map(({ length }) => length)).toEqual([100, 100, 50]);
});

test.each(['23505', '40P01', '22P05'])(
  'if one of them causes %s, the others succeed without it',
  async (code) => {
    const { ask, questions, statement } = scripted();
    const answers = Promise.allSettled([1, 2, 3].map(ask));
    (await statement(0)).fail(databaseError(code));
    (await statement(1)).answer();
    (await statement(2)).fail(databaseError(code));
    (await statement(3)).answer();
    expect((await answers).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(questions()).toEqual([[1, 2, 3], [1], [2], [3]]);
  },
);

test.each([
  ['a database that is away', new Error('Connection terminated unexpectedly')],
  ['a statement that took too long', databaseError('57014')],
])('%s fails all of them, and nothing is asked again: it may have been done', async (_what, error) => {
  const { ask, questions, statement } = scripted();
  const answers = Promise.allSettled([1, 2, 3].map(ask));
  (await statement(0)).fail(error);
  expect((await answers).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  expect(questions()).toEqual([[1, 2, 3]]);
});

test('answers that don’t match the questions go to nobody', async () => {
  const ask = batch<number, number>(async () => [1]);
  const answers = await Promise.allSettled([ask(1), ask(2)]);
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});
