import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ParseArgsConfig } from 'node:util';
import { joinEmbeddedPostgres } from '@domain-steward/embedded-postgres';
import { type DatabaseSettings, type Environment, readDatabaseSettings } from '../../config/environment.ts';
import { hasTables, withSession } from '../../store/session.ts';

/** One of the operator's commands. */
export interface Command {
  /** What follows its name. */
  readonly usage: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** What else there is to know before it is used. */
  readonly details: string;
  readonly options: NonNullable<ParseArgsConfig['options']>;
  /** @returns the exit code, where that is not 0. @throws {UsageError} for arguments that it cannot take */
  run(context: CommandContext): Promise<number | undefined>;
}

export interface CommandContext {
  readonly args: readonly string[];
  readonly values: Readonly<Record<string, unknown>>;
  readonly env: Environment;
  /** Writes a line for the operator. */
  readonly print: (line: string) => void;
}

/** The arguments are not what the command takes. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** A command cannot do its work. The message is for the operator. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

/** The one argument of a command. @param what how the usage names it */
export function onlyArgument(args: readonly string[], what: string): string {
  const [only, ...more] = args;
  if (only === undefined || only === '') throw new UsageError(`${what} is missing.`);
  if (more.length > 0) throw new UsageError(`Expected one ${what}, got ${args.length}.`);
  return only;
}

export const DRY_RUN: Command['options'] = { 'dry-run': { type: 'boolean', default: false } };

/**
 * Runs the work on the database of the settings. The embedded one is started for as long as that takes; one that a bot of
 * this machine runs is used with it.
 */
export async function withDatabase<T>(
  settings: DatabaseSettings,
  print: (line: string) => void,
  work: (url: string) => Promise<T>,
): Promise<T> {
  if (settings.databaseUrl !== undefined) return work(settings.databaseUrl.reveal());
  const embedded = await joinEmbeddedPostgres({ dataDir: settings.dataDir, log: print });
  try {
    return await work(embedded.url);
  } finally {
    await embedded.stop();
  }
}

/**
 * The same on a database that the bot has made.
 * @throws {CommandError} where there is none: one that is made now would only hide that a setting is wrong
 */
export async function withBotDatabase<T>(
  { env, print }: Pick<CommandContext, 'env' | 'print'>,
  work: (url: string) => Promise<T>,
): Promise<T> {
  const settings = readDatabaseSettings(env);
  const folder = join(settings.dataDir, 'postgres');
  if (settings.databaseUrl === undefined && !existsSync(folder))
    throw new CommandError(`There is no database in ${folder}. Check DATABASE_URL and DATA_DIR.`);
  return withDatabase(settings, print, async (url) => {
    if (!(await withSession(url, hasTables)))
      throw new CommandError(
        'The database has no tables of Domain Steward. Check DATABASE_URL and DATA_DIR. The bot creates the tables when it starts; npm run migrate does it without the bot.',
      );
    return work(url);
  });
}

/** A line a table: `orders: 12 rows`. */
export function printChanges(
  changes: readonly { readonly table: string; readonly rows: number }[],
  print: (line: string) => void,
): void {
  for (const { table, rows } of changes) print(`  ${table}: ${rows} ${rows === 1 ? 'row' : 'rows'}`);
}
