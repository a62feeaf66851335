// Builds the program, the packages and the demo, and their pages with rolldown. `--compile` builds no pages,
// `--page` only the pages, and `--signing-page` only the program's own pages, which are all an image needs.
import { spawnSync } from 'node:child_process';
import { cp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

const root = fileURLToPath(new URL('..', import.meta.url));
const workspacePage = join(root, 'packages/slack-workspace/page');
const demoPage = join(root, 'demo/page');
const signingPage = join(root, 'src/web/page');

const mode = process.argv[2];
if (mode === undefined || mode === '--compile') compile();
if (mode !== '--compile') await buildSigningPage();
if (mode === undefined || mode === '--page') {
  await buildPage([workspacePage], join(root, 'packages/slack-workspace/dist/page'));
  await buildPage([workspacePage, demoPage], join(root, 'dist/demo/page'));
}

function compile() {
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const { status } = spawnSync(process.execPath, [compiler, '-b', 'src', 'packages/ledger-verify', 'demo'], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(status ?? 1);
}

async function buildSigningPage() {
  const target = join(root, 'dist/web/page');
  await build({
    input: join(signingPage, 'main.ts'),
    platform: 'browser',
    logLevel: 'warn',
    output: { file: join(target, 'page.js'), format: 'iife', minify: true },
  });
  await cp(join(signingPage, 'page.css'), join(target, 'page.css'));
}

/** @param folders files in later folders override those in earlier ones */
async function buildPage(folders, target) {
  await build({
    input: join(folders.at(-1), 'main.tsx'),
    platform: 'browser',
    resolve: { conditionNames: ['source', 'browser', 'default'] },
    tsconfig: join(demoPage, 'tsconfig.json'),
    logLevel: 'warn',
    output: { file: join(target, 'main.js'), format: 'esm', codeSplitting: false, sourcemap: true },
  });
  for (const folder of folders) {
    const files = await readdir(folder, { recursive: true });
    const assets = files.filter((file) => /\.(html|css|svg|woff2)$/.test(file));
    await Promise.all(assets.map((file) => cp(join(folder, file), join(target, file))));
  }
}
