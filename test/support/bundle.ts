import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type Plugin } from 'rolldown';

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

/**
 * Bundles a TypeScript program with all its imports into one file, which starts faster. It is for processes
 * that are started again and again.
 * @param entry its address
 * @param file where to write it
 */
export async function bundle(entry: URL, file: string): Promise<URL> {
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
