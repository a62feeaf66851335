// Builds the program, the packages and the demo, and their pages with rolldown. With `--page`, the pages alone.
import { spawnSync } from 'node:child_process';
import { cp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

const root = fileURLToPath(new URL('..', import.meta.url));
const workspacePage = join(root, 'packages/slack-workspace/page');
const demoPage = join(root, 'demo/page');

if (!process.argv.includes('--page')) compile();
await buildPage([workspacePage], join(root, 'packages/slack-workspace/dist/page'));
await buildPage([workspacePage, demoPage], join(root, 'dist/demo/page'));

function compile() {
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const { status } = spawnSync(process.execPath, [compiler, '-b', 'tsconfig.build.json', 'demo'], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(status ?? 1);
}

/**
 * A page in one script, and the files that a browser reads as they are.
 *
 * @param folders what the last one has goes before what those before it have
 */
async function buildPage(folders, target) {
  await build({
    input: join(folders.at(-1), 'main.tsx'),
    platform: 'browser',
    resolve: { conditionNames: ['source', 'browser', 'default'] },
    transform: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    logLevel: 'warn',
    output: { file: join(target, 'main.js'), format: 'esm', codeSplitting: false, sourcemap: true },
  });
  for (const folder of folders) {
    const files = await readdir(folder, { recursive: true });
    const assets = files.filter((file) => /\.(html|css|svg)$/.test(file));
    await Promise.all(assets.map((file) => cp(join(folder, file), join(target, file))));
  }
}
