// Builds dist/: the program, and the page of the local workspace with the library it uses in the browser.
// With `--page`, the page alone.
import { spawnSync } from 'node:child_process';
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const sources = join(root, 'src/demo/page');
const page = join(root, 'dist/demo/page');
const { resolve } = createRequire(import.meta.url);

/** What the page imports by name, and the address at which the browser finds it. */
const LIBRARIES = {
  preact: '/vendor/preact.mjs',
  'preact/hooks': '/vendor/preact-hooks.mjs',
  'preact/jsx-runtime': '/vendor/preact-jsx-runtime.mjs',
};

if (!process.argv.includes('--page')) compile('tsconfig.build.json');
compile('tsconfig.page.json');
await mkdir(join(page, 'vendor'), { recursive: true });
await Promise.all([
  ...ownModules(await readdir(page, { recursive: true })),
  ...libraries(),
  ...(await assets()),
]);

function compile(project) {
  const { status } = spawnSync(
    process.execPath,
    [join(root, 'node_modules/typescript/bin/tsc'), '-p', project],
    {
      cwd: root,
      stdio: 'inherit',
    },
  );
  if (status !== 0) process.exit(status ?? 1);
}

function ownModules(files) {
  return files
    .filter((file) => file.endsWith('.js'))
    .map((file) => addressed(join(page, file), join(page, file)));
}

function libraries() {
  return Object.entries(LIBRARIES).map(([name, address]) => addressed(resolve(name), join(page, address)));
}

async function assets() {
  const files = await readdir(sources, { recursive: true });
  return files
    .filter((file) => /\.(html|css|svg)$/.test(file))
    .map((file) => cp(join(sources, file), join(page, file)));
}

/**
 * Writes a module with the addresses of libraries in place of their names. A browser needs an import map for names,
 * and the page's content security policy allows no inline script, which is what an import map is.
 */
async function addressed(from, to) {
  const text = await readFile(from, 'utf8');
  const written = text.replace(/\bfrom\s*(["'])(preact(?:\/[\w-]+)*)\1/g, (_import, quote, name) => {
    const address = LIBRARIES[name];
    if (address === undefined)
      throw new Error(`building the page: ${from} imports ${name}, which is not served`);
    return `from ${quote}${address}${quote}`;
  });
  const bare = written.replace(/^\/\/# sourceMappingURL=.*$/m, (line) => (from === to ? line : ''));
  if (from !== to || bare !== text) await writeFile(to, bare);
}
