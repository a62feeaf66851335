import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';

/* Links, files and scripts named in the documents exist. */

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DOCUMENTS = [
  ...['README.md', '.github/CONTRIBUTING.md', '.github/SECURITY.md', 'CHANGELOG.md'].map((name) =>
    join(ROOT, name),
  ),
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(ROOT, 'docs', name)),
  ...readdirSync(join(ROOT, 'packages')).map((name) => join(ROOT, 'packages', name, 'README.md')),
  join(ROOT, 'deploy/README.md'),
].map((path) => [relative(ROOT, path), path] as const);

const { scripts } = z
  .object({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')));

describe.each(DOCUMENTS)('%s', (_name, path) => {
  const text = readFileSync(path, 'utf8');

  test('links only to existing files and headings', () => {
    const broken = [...text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].flatMap(
      ([link, file = '', heading]) => {
        const target = file === '' ? path : join(dirname(path), file);
        if (!existsSync(target)) return [link];
        return heading === undefined || listAnchors(target).includes(heading) ? [] : [link];
      },
    );
    expect(broken).toEqual([]);
  });

  test('names only existing source files', () => {
    const missing = [...text.matchAll(/`([\w./-]+\.(?:tsx?|mjs|prisma))`/g)]
      .map(([, file = '']) => file)
      .filter(
        (file) =>
          file.includes('/') &&
          ![ROOT, join(ROOT, 'src'), dirname(path)].some((base) => existsSync(join(base, file))),
      );
    expect(missing).toEqual([]);
  });

  test('names only existing scripts', () => {
    const missing = [...text.matchAll(/npm run ([\w:-]+)/g)]
      .map(([, script = '']) => script)
      .filter((script) => scripts[script] === undefined);
    expect(missing).toEqual([]);
  });
});

/** Excludes tables and examples. People don't finish longer pages. */
const MAX_WORDS = 1_000;

test.each(DOCUMENTS.filter(([name]) => /^docs\/[^/]+$/.test(name)))(
  '%s has at most 1,000 words',
  (_name, path) => {
    const text = readFileSync(path, 'utf8').replace(/^```[\s\S]*?^```$|^\|.*$/gm, '');
    expect(text.split(/\s+/).length, 'words').toBeLessThanOrEqual(MAX_WORDS);
  },
);

/** Lists the anchors that GitHub generates from a document's headings. */
function listAnchors(path: string): string[] {
  if (!path.endsWith('.md')) return [];
  return [...readFileSync(path, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\d\s-]/gu, '')
      .trim()
      .replaceAll(' ', '-'),
  );
}
