// Runs failed test files again, one at a time: some have time limits, and four of them share a machine.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** More failures than this aren't due to a busy machine. */
const MAX_FILES = 6;
const [report = ''] = process.argv.slice(2);
const { testResults } = JSON.parse(readFileSync(report, 'utf8'));
const failed = testResults.filter(({ status }) => status === 'failed').map(({ name }) => name);
// Without a failed test, an error outside any test ended the run.
if (failed.length === 0 || failed.length > MAX_FILES) process.exit(1);
process.stdout.write(`\nRunning the failed files again, one at a time:\n${failed.join('\n')}\n\n`);
const args = ['run', '--project', 'deep', '--no-file-parallelism', ...failed];
process.exit(spawnSync('npx', ['vitest', ...args], { stdio: 'inherit' }).status ?? 1);
