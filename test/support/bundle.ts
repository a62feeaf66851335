import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type Plugin } from 'rolldown';
import { inject } from 'vitest';

const SOURCES = ['src/', 'packages/'].map((folder) => new URL(`../../${folder}`, import.meta.url).href);

/** Sources find neighboring files by their own URL, which would differ in the bundle. */
const keepSourceUrls: Plugin = {
  name: 'addresses of sources',
  transform(code, id) {
    const { href } = pathToFileURL(id);
    if (!SOURCES.some((folder) => href.startsWith(folder)) || !code.includes('import.meta.url')) return null;
    return code.replaceAll('import.meta.url', JSON.stringify(href));
  },
};

/** Bundles by the program's URL. Several test files share a process. */
const bundles = new Map<string, Promise<URL>>();

/**
 * Bundles a TypeScript program with all its imports into one file, which starts faster, for processes that are started
 * often. Each test process bundles a program once.
 * @param entry the program's URL
 */
export function bundleOnce(entry: URL): Promise<URL> {
  const bundled = bundles.get(entry.href) ?? bundle(entry);
  bundles.set(entry.href, bundled);
  return bundled;
}

async function bundle(entry: URL): Promise<URL> {
  const file = join(inject('bundleDir'), `${basename(entry.pathname, '.ts')}-${process.pid}.mjs`);
  await build({
    input: fileURLToPath(entry),
    platform: 'node',
    resolve: { conditionNames: ['source', 'node', 'default'] },
    // An optional dependency of `pg`, which isn't installed.
    external: ['pg-native'],
    plugins: [keepSourceUrls],
    logLevel: 'silent',
    output: { file, format: 'esm', codeSplitting: false },
  });
  return pathToFileURL(file);
}
