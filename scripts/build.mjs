// Builds the program, the packages and the demo; and the demo's page with rolldown. With `--page`, the page alone.
import { spawnSync } from 'node:child_process';
import { cp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

const root = fileURLToPath(new URL('..', import.meta.url));

if (!process.argv.includes('--page')) compile();
await buildPage(join(root, 'packages/slack-workspace/page'), join(root, 'dist/demo/page'));

function compile() {
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const { status } = spawnSync(process.execPath, [compiler, '-b', 'tsconfig.build.json', 'demo'], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(status ?? 1);
}

/** The page in one script, and the files that a browser reads as they are. */
async function buildPage(sources, target) {
  await build({
    input: join(sources, 'main.tsx'),
    platform: 'browser',
    transform: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    logLevel: 'warn',
    output: { file: join(target, 'main.js'), format: 'esm', codeSplitting: false, sourcemap: true },
  });
  const files = await readdir(sources, { recursive: true });
  const assets = files.filter((file) => /\.(html|css|svg)$/.test(file));
  await Promise.all(assets.map((file) => cp(join(sources, file), join(target, file))));
}
