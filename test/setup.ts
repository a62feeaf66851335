/*
 * In every process that runs tests. A warning about listeners that pile up is a leak, or hides one: it ends the run.
 */
process.on('warning', (warning) => {
  if (warning.name === 'MaxListenersExceededWarning') throw warning;
});
