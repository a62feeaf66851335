import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { replay } from './machine.ts';
import { sequenceOf } from './sequence.ts';

/*
 * What is made of 10,000 random lives of names (dates, doubts, incidents, evidence) is what was recorded. With RECORD=1 the
 * answers are recorded anew; who does that says in the commit what differs and why.
 */

const SEQUENCES = 10_000;
const DIGEST_LENGTH = 8;
const SHOWN = 3;
const FIXTURE = new URL('../../fixtures/name-replay.txt', import.meta.url);

test('the records of 10,000 names say what they said when they were recorded', async () => {
  const answers: string[] = [];
  for (let seed = 0; seed < SEQUENCES; seed += 1) answers.push(await answerTo(seed));
  const digests = answers.map((answer) =>
    createHash('sha256').update(answer).digest('hex').slice(0, DIGEST_LENGTH),
  );
  if (process.env['RECORD'] !== undefined) await writeFile(FIXTURE, `${digests.join('\n')}\n`);
  const recorded = (await readFile(FIXTURE, 'utf8')).trimEnd().split('\n');
  const different = digests.flatMap((digest, seed) => (digest === recorded[seed] ? [] : [seed]));
  const shown = different.slice(0, SHOWN).map((seed) => `${seed}:\n${answers[seed]}`);
  expect(shown.join('\n\n'), `${different.length} of ${SEQUENCES} sequences give another answer`).toBe('');
}, 120_000);

async function answerTo(seed: number): Promise<string> {
  const sequence = sequenceOf(seed);
  const { steps, evidence } = await replay(sequence);
  const lines = steps.map((known, n) => `${sequence.steps[n]?.kind} ${JSON.stringify(known)}`);
  return [...lines, evidence].join('\n');
}
