import { watchTruncation } from '../src/slack/kit/blocks.ts';

/* In every test process. A warning about too many listeners is a leak, or hides one: it ends the run. */
function failOnLeak(warning: Error): void {
  if (warning.name === 'MaxListenersExceededWarning') throw warning;
}

export function failOnTruncation(what: string, found: number, limit: number): void {
  throw new Error(`${found} ${what} were cut to ${limit}: this list needs pages`);
}
watchTruncation(failOnTruncation);

// A process runs many files, and this one before each of them.
if (!process.listeners('warning').some(({ name }) => name === failOnLeak.name))
  process.on('warning', failOnLeak);
