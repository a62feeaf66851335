import { execFileSync, spawnSync } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

/* Upgrades from a fake last release: this version, tagged in a clone. */

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

/** Creates an `npm` that copies the current build instead of building the tag. Returns its folder. */
async function createFakeNpm(): Promise<string> {
  const npm = join(folder, 'npm');
  await writeFile(
    npm,
    `#!/bin/sh\nset -e\nln -s '${ROOT}/node_modules' node_modules\ncp -r '${ROOT}/dist' dist\necho "npm $*"\n`,
  );
  await chmod(npm, 0o755);
  return folder;
}

function runUpgrade(pathPrefix = '') {
  const { status, stdout, stderr } = spawnSync(process.execPath, [SCRIPT], {
    cwd: join(folder, 'clone'),
    env: { ...process.env, PATH: `${pathPrefix}:${process.env['PATH']}` },
    encoding: 'utf8',
  });
  return { status, output: `${stdout}${stderr}` };
}

test('the script upgrades from the last release before this commit, if there is one', {
  timeout: 300_000,
}, async () => {
  execFileSync('git', ['clone', '--quiet', '--depth=1', `file://${ROOT}`, join(folder, 'clone')]);
  expect(runUpgrade()).toMatchObject({
    status: 0,
    output: expect.stringContaining('nothing to upgrade from'),
  });

  git('tag', 'v0.0.1');
  expect(runUpgrade().output, 'a tag on this commit').toContain('nothing to upgrade from');

  git('commit', '--quiet', '--allow-empty', '-m', 'Go on');
  git('tag', 'not-a-release');
  const { status, output } = runUpgrade(await createFakeNpm());
  expect(output).toContain('The release before this one is v0.0.1');
  expect(output).toContain('npm ci');
  expect(output).toContain('The upgrade held');
  expect(status).toBe(0);
  expect(git('worktree', 'list').trim().split('\n'), 'remaining worktrees').toHaveLength(1);
});

test('the release workflow fetches the tags and runs the upgrade', async () => {
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
