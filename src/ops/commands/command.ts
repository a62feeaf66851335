import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ParseArgsConfig } from 'node:util';
import { joinEmbeddedPostgres } from '@domain-steward/embedded-postgres';
import { type DatabaseSettings, type Environment, readDatabaseSettings } from '../../config/environment.ts';
import { hasTables, withSession } from '../../store/session.ts';

export interface Command {
  /** The arguments, as shown after the command's name. */
  readonly usage: string;
  readonly summary: string;
  readonly details: string;
  readonly options: NonNullable<ParseArgsConfig['options']>;
  /**
   * @returns the exit code, if not 0
   * @throws {UsageError} for invalid arguments
   */
  run(context: CommandContext): Promise<number | undefined>;
}

export interface CommandContext {
  readonly args: readonly string[];
  readonly optionValues: Readonly<Record<string, unknown>>;
  readonly env: Environment;
  readonly print: (line: string) => void;
}

export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** An error whose message is shown to the operator. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

/** @param argumentName the argument's name in the usage text */
export function requireOneArgument(args: readonly string[], argumentName: string): string {
  const [value, ...others] = args;
  if (value === undefined || value === '') throw new UsageError(`${argumentName} is missing.`);
  if (others.length > 0) throw new UsageError(`Expected one ${argumentName}, got ${args.length}.`);
  return value;
}

export const DRY_RUN_OPTION: Command['options'] = { 'dry-run': { type: 'boolean', default: false } };

/** Without `DATABASE_URL`, uses the embedded database, which is started if no bot on this machine runs it. */
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

/** @throws {CommandError} if the database doesn't exist: creating it would hide a wrong setting */
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

/** Prints one line for each table, such as `orders: 12 rows`. */
export function printRowCounts(
  changes: readonly { readonly table: string; readonly rowCount: number }[],
  print: (line: string) => void,
): void {
  for (const { table, rowCount } of changes)
    print(`  ${table}: ${rowCount} ${rowCount === 1 ? 'row' : 'rows'}`);
}
