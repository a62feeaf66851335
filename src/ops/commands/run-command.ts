import { parseArgs } from 'node:util';
import { EmbeddedPostgresError } from '@domain-steward/embedded-postgres';
import { ConfigError, loadEnvironment } from '../../config/environment.ts';
import { BackupFileError } from '../../store/backup-file.ts';
import { MigrationError } from '../../store/migrate.ts';
import { DatabaseAccessError } from '../../store/session.ts';
import { backupCommand } from './backup.ts';
import { type Command, CommandError, UsageError } from './command.ts';
import { doctorCommand } from './doctor.ts';
import { forgetPersonCommand } from './forget-person.ts';
import { keyFingerprintCommand } from './key-fingerprint.ts';
import { manifestCommand } from './manifest.ts';
import { migrateCommand } from './migrate.ts';
import { purgeCommand } from './purge.ts';
import { restoreCommand } from './restore.ts';

export interface Output {
  print(line: string): void;
  printError(line: string): void;
}

const COMMANDS: ReadonlyMap<string, Command> = new Map([
  ['manifest', manifestCommand],
  ['doctor', doctorCommand],
  ['backup', backupCommand],
  ['restore', restoreCommand],
  ['migrate', migrateCommand],
  ['forget-person', forgetPersonCommand],
  ['purge', purgeCommand],
  ['key:fingerprint', keyFingerprintCommand],
]);

const EXIT_CODE_FAILED = 1;
const EXIT_CODE_INVALID_ARGUMENTS = 2;

/** Errors whose messages tell the operator what to do. */
const OPERATOR_ERRORS = [
  BackupFileError,
  CommandError,
  ConfigError,
  DatabaseAccessError,
  EmbeddedPostgresError,
  MigrationError,
];

/** @returns the exit code */
export async function runCommand(
  [name, ...commandArguments]: readonly string[],
  { print, printError }: Output,
): Promise<number> {
  const command = name === undefined ? undefined : COMMANDS.get(name);
  if (name === undefined || command === undefined) {
    const isHelpRequest = name === '--help' || name === '-h' || name === 'help';
    (isHelpRequest ? print : printError)(formatOverview(isHelpRequest ? undefined : name));
    return isHelpRequest ? 0 : EXIT_CODE_INVALID_ARGUMENTS;
  }
  try {
    const { values: optionValues, positionals: args } = parseArgs({
      args: commandArguments,
      options: { ...command.options, help: { type: 'boolean', short: 'h' } },
      allowPositionals: true,
    });
    if (optionValues['help'] === true) {
      print(formatUsage(name, command));
      return 0;
    }
    return (await command.run({ args, optionValues, env: loadEnvironment(), print })) ?? 0;
  } catch (error) {
    if (error instanceof UsageError || isParseArgsError(error)) {
      // Omits Node's advice about arguments that start with a hyphen, because no command accepts any.
      const [problem] = error.message.split('. To specify');
      printError(`${problem}\n\n${formatUsage(name, command)}`);
      return EXIT_CODE_INVALID_ARGUMENTS;
    }
    printError(formatError(error));
    return EXIT_CODE_FAILED;
  }
}

/** Includes the stack trace only for unexpected errors. */
function formatError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const isExpected = OPERATOR_ERRORS.some((type) => error instanceof type) || 'syscall' in error;
  return (isExpected ? error.message : error.stack) ?? error.message;
}

function isParseArgsError(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
}

function formatUsage(name: string, { usage, summary, details }: Command): string {
  const [npmArguments, nodeArguments] =
    usage === '' ? [name, name] : [`${name} -- ${usage}`, `${name} ${usage}`];
  return `Usage: npm run ${npmArguments}\n       node dist/cli.js ${nodeArguments}\n\nTo ${summary}.\n${details}`;
}

function formatOverview(unknownCommand: string | undefined): string {
  const lines = [...COMMANDS].map(
    ([name, { usage, summary }]) => `  ${`${name} ${usage}`.trim()}\n      ${summary}`,
  );
  const problem = unknownCommand === undefined ? '' : `Unknown command ${unknownCommand}.\n\n`;
  return `${problem}Usage: node dist/cli.js COMMAND …\n\n${lines.join('\n')}`;
}
