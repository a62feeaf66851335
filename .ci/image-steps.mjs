// Runs the Dockerfile's steps in an empty folder, without Docker, so that they have only what they copy.
// Prints the size of the image's files and starts its program.
//   node .ci/image-steps.mjs [FOLDER]
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const MIB = 1024 ** 2;
/** node:24-slim takes up to 80 MB of the image's 250 MB, both as pulled. */
const MAX_MIB = 170;

const given = process.argv[2];
const folder = given ?? mkdtempSync(join(tmpdir(), 'domain-steward-image-'));
try {
  const stages = readStages(readFileSync(join(root, 'Dockerfile'), 'utf8'));
  for (const stage of stages) carryOut(stage, new Map(stages.map(({ name }) => [name, join(folder, name)])));
  for (const name of ['embedded', 'image']) {
    const app = join(folder, name, 'app');
    const size = sizeOf(app) / MIB;
    process.stdout.write(`${name}: ${size.toFixed(0)} MiB besides Node's image\n`);
    if (name === 'image' && size > MAX_MIB) throw new Error(`the image is larger than ${MAX_MIB} MiB`);
    if (name === 'embedded') runEmbedded(app);
    const { status, stderr } = run(['node', 'dist/cli.js', '--help'], app);
    if (status !== 0) throw new Error(`the CLI failed: ${stderr}`);
    const started = run(['node', 'dist/main.js'], app, { PATH: process.env.PATH });
    if (started.status !== 1 || !started.stderr.startsWith('Invalid settings'))
      throw new Error(`the program failed: ${started.stderr}`);
  }
} finally {
  if (given === undefined) rmSync(folder, { recursive: true, force: true });
}

/** The stages of a Dockerfile. The last one has no name and is called `image`. */
function readStages(text) {
  const lines = text
    .replace(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => /^[A-Z]+ /.test(line));
  const stages = [];
  for (const line of lines) {
    const [word, ...rest] = line.trim().split(/\s+/);
    if (word === 'FROM') stages.push({ from: rest[0], name: rest[2] ?? 'image', steps: [] });
    else stages.at(-1).steps.push({ word, rest, line: line.slice(word.length + 1) });
  }
  return stages;
}

function carryOut({ from, name, steps }, folders) {
  const stage = folders.get(name);
  const base = folders.get(from);
  if (base === undefined) mkdirSync(join(stage, 'app'), { recursive: true });
  else cpSync(base, stage, { recursive: true, verbatimSymlinks: true });
  const app = join(stage, 'app');
  for (const { word, rest, line } of steps) {
    if (word === 'COPY') copy(rest, app, folders);
    // Only Docker creates folders outside of `app`.
    if (word !== 'RUN' || line.startsWith('install -d')) continue;
    const { status } = spawnSync('sh', ['-c', line], { cwd: app, stdio: ['ignore', 'ignore', 'inherit'] });
    if (status !== 0) throw new Error(`step failed: ${line}`);
  }
}

function copy(words, app, folders) {
  const from = /^--from=(.+)$/.exec(words.find((word) => word.startsWith('--from=')) ?? '')?.[1];
  const paths = words.filter((word) => !word.startsWith('--'));
  const target = paths.pop();
  for (const path of paths) {
    const source = from === undefined ? join(root, path) : join(folders.get(from), path);
    if (!existsSync(source)) throw new Error(`nothing to copy: ${path}`);
    const isFolder = statSync(source).isDirectory();
    const into =
      isFolder || !(target.endsWith('/') || paths.length > 1) ? target : join(target, basename(path));
    cpSync(source, join(app, into), {
      recursive: true,
      verbatimSymlinks: true,
      // What .dockerignore excludes.
      filter: (each) => from !== undefined || !/\/(dist|test|generated|node_modules)$/.test(each),
    });
  }
}

/** Checks that the embedded database's programs are complete, by migrating a database and backing it up. */
function runEmbedded(app) {
  const data = mkdtempSync(join(tmpdir(), 'domain-steward-image-data-'));
  try {
    const env = { PATH: process.env.PATH, DATA_DIR: data };
    for (const command of [['migrate'], ['backup', join(data, 'backup.sql.gz')]]) {
      const { status, stderr } = run(['node', 'dist/cli.js', ...command], app, env);
      if (status !== 0) throw new Error(`${command[0]} failed: ${stderr}`);
    }
  } finally {
    rmSync(data, { recursive: true, force: true });
  }
}

function sizeOf(path) {
  return readdirSync(path, { withFileTypes: true }).reduce((sum, entry) => {
    const each = join(path, entry.name);
    if (entry.isDirectory()) return sum + sizeOf(each);
    return entry.isFile() ? sum + statSync(each).size : sum;
  }, 0);
}

function run([program, ...args], cwd, env = process.env) {
  return spawnSync(program, args, { cwd, env, encoding: 'utf8', timeout: 60_000 });
}
