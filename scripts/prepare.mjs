// Builds after an installation, so that the built code matches the sources. Without development dependencies
// (`npm ci --omit=dev`), it builds in a separate folder with a full installation and copies the results back.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const RESULTS = ['dist', 'packages/embedded-postgres/dist'];

// TypeScript and Prisma are always installed: `@prisma/client` depends on them.
if (existsSync(join(root, 'node_modules/rolldown'))) {
  npm(root, ['run', 'build']);
} else {
  const folder = mkdtempSync(join(tmpdir(), 'domain-steward-build-'));
  try {
    const excluded = new Set(['node_modules', 'dist', '.git', 'data', 'docs', 'bench', 'test']);
    cpSync(root, folder, { recursive: true, filter: (path) => !excluded.has(basename(path)) });
    npm(folder, ['ci', '--include=dev', '--no-audit', '--no-fund']);
    for (const result of RESULTS) {
      rmSync(join(root, result), { recursive: true, force: true });
      cpSync(join(folder, result), join(root, result), { recursive: true });
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs the npm that runs this script, but without its `--omit`. */
function npm(cwd, args) {
  const { npm_config_omit: _omit, NODE_ENV: _environment, npm_execpath: path, ...env } = process.env;
  const command = path === undefined ? ['npm'] : [process.execPath, path];
  const { status } = spawnSync(command[0], [...command.slice(1), ...args], { cwd, env, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
