import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

/* The worked examples in CONTRIBUTING.md match the code, and name every file to change. */

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

/** Removes indentation, so that a snippet matches without its context. */
function removeIndentation(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n');
}

/** Parses a section's code blocks that name their file. */
function parseExamples(section: string): Example[] {
  const start = GUIDE.indexOf(`## ${section}\n`);
  expect(start, `CONTRIBUTING.md has a section “${section}”`).toBeGreaterThan(-1);
  const end = GUIDE.indexOf('\n## ', start);
  return [...GUIDE.slice(start, end).matchAll(/```ts\n *\/\/ (\S+)\n(.*?)```/gs)].map(
    ([, file = '', code = '']) => ({ file, code: removeIndentation(code) }),
  );
}

/** Lists the source files that match a pattern. */
function findFiles(pattern: RegExp, ...folders: readonly string[]): string[] {
  return folders
    .flatMap((folder) => readdirSync(join(ROOT, folder), { withFileTypes: true, recursive: true }))
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .filter((file) => !file.includes('/generated/') && pattern.test(readFileSync(join(ROOT, file), 'utf8')))
    .sort();
}

test.each(['Add a task', 'Add a zone', 'Add a subcommand'])('the examples of “%s” match the code', (name) => {
  const examples = parseExamples(name);
  expect(examples.length, `examples in “${name}”`).toBeGreaterThan(0);
  for (const { file, code } of examples) {
    expect(
      removeIndentation(readFileSync(join(ROOT, file), 'utf8')),
      `${file} as CONTRIBUTING.md shows it`,
    ).toContain(code);
  }
});

test('the example names exactly the files that name a task', () => {
  const named = new Set(parseExamples('Add a task').map(({ file }) => file));
  // These list only some tasks, so a new task needn't be added.
  const partialLists = [
    ...['src/policy/starting-points.ts', 'src/money/prices.ts', 'src/slack/money/price.view.ts'],
    'src/slack/orders/thread.view.ts',
  ];
  const files = findFiles(/owner-?change/i, 'src', 'demo', ...PACKAGES).filter(
    (file) => !partialLists.includes(file),
  );
  expect([...named].sort()).toEqual(files);
});

test('the example names exactly the files that name a zone', () => {
  const named = parseExamples('Add a zone').map(({ file }) => file);
  expect(findFiles(/from '[./a-z]*\/rest\.ts'/, 'src')).toEqual(named);
});

test('the example names exactly the files that name a subcommand', () => {
  const named = parseExamples('Add a subcommand').map(({ file }) => file);
  expect(findFiles(/\bwhoami(?:'|: )/, 'src')).toEqual(named.toSorted());
});

test('the tests named in CONTRIBUTING.md exist', () => {
  const files = [...GUIDE.matchAll(/`(test\/[\w/.-]+\.ts)`/g)].map(([, file = '']) => file);
  expect(files.length).toBeGreaterThan(3);
  for (const file of files) expect(() => readFileSync(join(ROOT, file)), file).not.toThrow();
});
