import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';

/*
 * A minimal bench run, which fails if something that the benchmarks use no longer exists. One row stands for
 * all that need separate processes.
 */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const figures = z.array(z.number().positive()).min(1);
const results = z.object({
  machine: z.array(z.string()).min(2),
  // A line without comparison has no reference and no target.
  results: z.array(
    z.object({
      row: z.string(),
      ours: figures,
      theirs: figures.or(z.tuple([])),
      met: z.boolean().nullable(),
    }),
  ),
});

test('a bench run measures rows, prints a table and saves JSON', { timeout: 90_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'domain-steward-bench-smoke-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const json = join(folder, 'results.json');
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      '--import',
      './scripts/typescript.mjs',
      'bench/main.ts',
      '--quick',
      '--only',
      'orders,vault',
      '--json',
      json,
    ],
    { cwd: ROOT },
  );
  expect(stdout).toContain(`Node ${process.version}`);
  expect(stdout).toMatch(/^orders +orders approved until settled, one process/m);
  const saved = results.parse(JSON.parse(await readFile(json, 'utf8')));
  expect(saved.results.map(({ row }) => row)).toEqual(['orders', 'orders', 'vault']);
});
