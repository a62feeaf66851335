import { setTimeout as sleep } from 'node:timers/promises';
import { EmbeddedPostgresError } from '@domain-steward/embedded-postgres';
import { startBot } from './app/bot.ts';
import { StartError } from './app/start.ts';
import { ConfigError, loadEnvironment, readConfig } from './config/environment.ts';
import { createLog, createPrettyOutput } from './lib/log.ts';
import { MigrationError } from './store/migrate.ts';

/** Docker kills the process 10 s after the signal. */
const STOP_TIMEOUT_MS = 9_500;

/** Errors whose message tells the operator what to do. */
const OPERATOR_ERRORS = [ConfigError, StartError, MigrationError, EmbeddedPostgresError];

async function main(): Promise<void> {
  const stopController = new AbortController();
  const botPromise = Promise.resolve().then(() => {
    const env = loadEnvironment();
    const config = readConfig(env);
    const log = createLog(config.logLevel, config.logFormat === 'pretty' ? createPrettyOutput() : undefined);
    for (const [variable, meant] of config.typos)
      log.warn({ variable, meant }, 'unknown variable; did you mean …?');
    // A library's error in one request must not end the bot. All state is in the database.
    process.on('unhandledRejection', (err) => log.error({ err }, 'unhandled rejection'));
    return startBot(config, { log, signal: stopController.signal });
  });
  // Installed before the start completes, because process 1 of a container ignores signals without a handler.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      stopController.abort();
      const stopPromise = botPromise.then(
        (bot) => bot.stopBot(),
        () => undefined,
      );
      Promise.race([stopPromise, sleep(STOP_TIMEOUT_MS)]).then(
        () => process.exit(0),
        () => process.exit(1),
      );
    });
  }
  try {
    await botPromise;
  } catch (error) {
    if (stopController.signal.aborted) process.exit(0);
    const isOperatorError = OPERATOR_ERRORS.some((type) => error instanceof type);
    const text = error instanceof Error ? (isOperatorError ? error.message : error.stack) : String(error);
    process.stderr.write(`${text}\n`);
    process.exit(1);
  }
}

await main();
