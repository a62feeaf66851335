import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type Plugin } from 'rolldown';
import { inject } from 'vitest';

const SOURCES = ['src/', 'packages/'].map((folder) => new URL(`../../${folder}`, import.meta.url).href);

/** Sources find files beside them by their own address, which the bundle does not have. */
const keepAddresses: Plugin = {
  name: 'addresses of sources',
  transform(code, id) {
    const { href } = pathToFileURL(id);
    if (!SOURCES.some((folder) => href.startsWith(folder)) || !code.includes('import.meta.url')) return null;
    return code.replaceAll('import.meta.url', JSON.stringify(href));
  },
};

/** By the address of the program. The process lives on from one file of tests to the next. */
const bundles = new Map<string, Promise<URL>>();

/**
 * Bundles a TypeScript program with all its imports into one file, which starts faster. It is for processes
 * that are started again and again. A process of tests bundles each program once.
 * @param entry its address
 */
export function bundled(entry: URL): Promise<URL> {
  const made = bundles.get(entry.href) ?? bundle(entry);
  bundles.set(entry.href, made);
  return made;
}

async function bundle(entry: URL): Promise<URL> {
  const file = join(inject('bundleDir'), `${basename(entry.pathname, '.ts')}-${process.pid}.mjs`);
  await build({
    input: fileURLToPath(entry),
    platform: 'node',
    resolve: { conditionNames: ['source', 'node', 'default'] },
    // `pg` asks for it, and it is not installed.
    external: ['pg-native'],
    plugins: [keepAddresses],
    logLevel: 'silent',
    output: { file, format: 'esm', codeSplitting: false },
  });
  return pathToFileURL(file);
}
