/*
 * In every process that runs tests. A warning about listeners that pile up is a leak, or hides one: it ends the run.
 */
function failOnLeak(warning: Error): void {
  if (warning.name === 'MaxListenersExceededWarning') throw warning;
}

// A process runs many files, and this one before each of them.
if (!process.listeners('warning').some(({ name }) => name === failOnLeak.name))
  process.on('warning', failOnLeak);
