import { watchTruncation } from '../src/slack/kit/blocks.ts';

/* Runs in every test process. A warning about too many listeners is, or hides, a leak, so it ends the run. */
function failOnLeak(warning: Error): void {
  if (warning.name === 'MaxListenersExceededWarning') throw warning;
}

export function failOnTruncation(what: string, found: number, limit: number): void {
  throw new Error(`${found} ${what} were cut to ${limit}: this list needs pages`);
}
watchTruncation(failOnTruncation);

// This file runs before each test file of a process.
if (!process.listeners('warning').some(({ name }) => name === failOnLeak.name))
  process.on('warning', failOnLeak);
