import { setTruncationHandler } from '../src/slack/kit/blocks.ts';

/* Runs in every test process. A warning about too many listeners indicates a leak, so it ends the run. */
function failOnLeak(warning: Error): void {
  if (warning.name === 'MaxListenersExceededWarning') throw warning;
}

export function failOnTruncation(items: string, found: number, limit: number): void {
  throw new Error(`${found} ${items} were cut to ${limit}: this list needs pages`);
}
setTruncationHandler(failOnTruncation);

// This file runs before each test file of a process.
if (!process.listeners('warning').some(({ name }) => name === failOnLeak.name))
  process.on('warning', failOnLeak);
