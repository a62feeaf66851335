import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Builds the page, so that tests use the current sources. */
export default function setup(): void {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  execFileSync(process.execPath, ['scripts/build.mjs', '--page'], { cwd: root, stdio: 'inherit' });
}
