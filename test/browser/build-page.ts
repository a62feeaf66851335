import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Builds the page, so that what is tested is what stands in the sources. */
export default function setup(): void {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  execFileSync(process.execPath, ['scripts/build.mjs', '--page'], { cwd: root, stdio: 'inherit' });
}
