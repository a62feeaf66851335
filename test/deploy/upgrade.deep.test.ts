import { execFileSync, spawnSync } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

/* The upgrade from the last release, with an invented release: this version, tagged in a clone. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SCRIPT = join(ROOT, '.ci/upgrade-story.mjs');

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'domain-steward-upgrade-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const git = (...args: readonly string[]) =>
  execFileSync('git', ['-c', 'user.name=Test', '-c', 'user.email=test@example.com', ...args], {
    cwd: join(folder, 'clone'),
    encoding: 'utf8',
  });

/** Instead of building the tag like `npm ci`, copies the current build. */
async function fakeNpm(): Promise<string> {
  const npm = join(folder, 'npm');
  await writeFile(
    npm,
    `#!/bin/sh\nset -e\nln -s '${ROOT}/node_modules' node_modules\ncp -r '${ROOT}/dist' dist\necho "npm $*"\n`,
  );
  await chmod(npm, 0o755);
  return folder;
}

function upgrade(path = '') {
  const { status, stdout, stderr } = spawnSync(process.execPath, [SCRIPT], {
    cwd: join(folder, 'clone'),
    env: { ...process.env, PATH: `${path}:${process.env['PATH']}` },
    encoding: 'utf8',
  });
  return { status, output: `${stdout}${stderr}` };
}

test('works from the last tag before this commit; before the first release there is nothing to do', {
  timeout: 300_000,
}, async () => {
  execFileSync('git', ['clone', '--quiet', '--depth=1', `file://${ROOT}`, join(folder, 'clone')]);
  expect(upgrade()).toMatchObject({ status: 0, output: expect.stringContaining('nothing to upgrade from') });

  git('tag', 'v0.0.1');
  expect(upgrade().output, 'the tag of this commit is not one before it').toContain(
    'nothing to upgrade from',
  );

  git('commit', '--quiet', '--allow-empty', '-m', 'Go on');
  git('tag', 'not-a-release');
  const { status, output } = upgrade(await fakeNpm());
  expect(output).toContain('The release before this one is v0.0.1');
  expect(output).toContain('npm ci');
  expect(output).toContain('The upgrade held');
  expect(status).toBe(0);
  expect(git('worktree', 'list').trim().split('\n'), 'worktrees that are left').toHaveLength(1);
});

test('runs for every release: its workflow has the tags, and runs the checks of every change', async () => {
  const workflow = z.object({
    jobs: z.object({
      check: z.object({
        steps: z.array(
          z.looseObject({
            uses: z.string().optional(),
            run: z.string().optional(),
            with: z.unknown().optional(),
          }),
        ),
      }),
    }),
  });
  const { jobs } = workflow.parse(parse(await readFile(join(ROOT, '.github/workflows/release.yml'), 'utf8')));
  const checkout = jobs.check.steps.find(({ uses }) => uses?.startsWith('actions/checkout'));
  expect(checkout?.with).toEqual({ 'fetch-depth': 0 });
  expect(jobs.check.steps.map(({ run }) => run)).toContain('bash .ci/run');
  expect(await readFile(join(ROOT, '.ci/run'), 'utf8')).toContain('\nnode .ci/upgrade-story.mjs\n');
});
