import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

/* The worked examples of CONTRIBUTING.md are the real code, and name every place to change. */

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const GUIDE = readFileSync(join(ROOT, '.github/CONTRIBUTING.md'), 'utf8');

const PACKAGES = ['sandbox-service', 'slack-workspace'].flatMap((name) =>
  ['src', 'page']
    .map((folder) => `packages/${name}/${folder}`)
    .filter((path) => existsSync(join(ROOT, path))),
);

interface Example {
  readonly file: string;
  readonly code: string;
}

/** Text without the indentation of its lines, so that a snippet can be shown without its context. */
function flat(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n');
}

/** The code blocks of a section that name their file. */
function examplesOf(section: string): Example[] {
  const start = GUIDE.indexOf(`## ${section}\n`);
  expect(start, `CONTRIBUTING.md has a section “${section}”`).toBeGreaterThan(-1);
  const end = GUIDE.indexOf('\n## ', start);
  return [...GUIDE.slice(start, end).matchAll(/```ts\n *\/\/ (\S+)\n(.*?)```/gs)].map(
    ([, file = '', code = '']) => ({ file, code: flat(code) }),
  );
}

/** The source files that match. The local workspace is excluded, because it names no task. */
function filesWith(pattern: RegExp, ...folders: readonly string[]): string[] {
  return folders
    .flatMap((folder) => readdirSync(join(ROOT, folder), { withFileTypes: true, recursive: true }))
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .filter((file) => !file.includes('/generated/') && pattern.test(readFileSync(join(ROOT, file), 'utf8')))
    .sort();
}

test.each(['Add a task', 'Add a zone', 'Add a subcommand'])('%s: the examples match the code', (name) => {
  const examples = examplesOf(name);
  expect(examples.length, `examples in “${name}”`).toBeGreaterThan(0);
  for (const { file, code } of examples) {
    expect(flat(readFileSync(join(ROOT, file), 'utf8')), `${file} as CONTRIBUTING.md shows it`).toContain(
      code,
    );
  }
});

test('a task is named in the files of the example, and in no other', () => {
  const named = new Set(examplesOf('Add a task').map(({ file }) => file));
  // These list only some of the tasks: a new one need not be among them.
  const picking = [
    ...['src/policy/starting-points.ts', 'src/money/prices.ts', 'src/slack/money/price.view.ts'],
    'src/slack/orders/thread.view.ts',
  ];
  const files = filesWith(/owner-?change/i, 'src', 'demo', ...PACKAGES).filter(
    (file) => !picking.includes(file),
  );
  expect([...named].sort()).toEqual(files);
});

test('a zone is named in its own file and in the list', () => {
  const named = examplesOf('Add a zone').map(({ file }) => file);
  expect(filesWith(/from '[./a-z]*\/rest\.ts'/, 'src')).toEqual(named);
});

test('a subcommand is named in the file of its subject, in the table and in help', () => {
  const named = examplesOf('Add a subcommand').map(({ file }) => file);
  expect(filesWith(/\bwhoami(?:'|: )/, 'src')).toEqual(named.toSorted());
});

test('the tests that it refers to exist', () => {
  const files = [...GUIDE.matchAll(/`(test\/[\w/.-]+\.ts)`/g)].map(([, file = '']) => file);
  expect(files.length).toBeGreaterThan(3);
  for (const file of files) expect(() => readFileSync(join(ROOT, file)), file).not.toThrow();
});
