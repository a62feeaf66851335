/* Runs each test file again that failed in the run of all tests, one at a time: some bound how long something takes, and four of them share a machine. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** More than a busy machine explains. */
const MAX_FILES = 6;
const [report = ''] = process.argv.slice(2);
const { testResults } = JSON.parse(readFileSync(report, 'utf8'));
const failed = testResults.filter(({ status }) => status === 'failed').map(({ name }) => name);
// Without a failed test, an error outside any test ended the run.
if (failed.length === 0 || failed.length > MAX_FILES) process.exit(1);
process.stdout.write(`\nRunning alone what failed:\n${failed.join('\n')}\n\n`);
const args = ['run', '--project', 'deep', '--no-file-parallelism', ...failed];
process.exit(spawnSync('npx', ['vitest', ...args], { stdio: 'inherit' }).status ?? 1);
