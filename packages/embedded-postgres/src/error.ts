export type EmbeddedPostgresProblem =
  | 'unsupported_platform'
  | 'version_mismatch'
  | 'data_missing'
  | 'password_missing'
  | 'in_use'
  | 'port_taken'
  | 'no_permission'
  | 'disk_full'
  | 'start_failed';

/** The message tells the operator what to do. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError';
  readonly problem: EmbeddedPostgresProblem;

  constructor(problem: EmbeddedPostgresProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.problem = problem;
  }
}

/** @param holder the process that uses the folder, as in "process 4711" */
export function createInUseError(folder: string, holder: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'in_use',
    `the embedded database in ${folder} is in use by ${holder}. Only one process can use a DATA_DIR: stop the other one, choose another DATA_DIR, or let both use a PostgreSQL of your own by setting DATABASE_URL`,
  );
}

export function getSystemErrorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/**
 * Explains a file system error to the operator.
 * @param activity what failed, as in "preparing the folder /srv/data"
 */
export function explainFileError(activity: string, error: unknown): Error {
  if (error instanceof EmbeddedPostgresError) return error;
  const options = { cause: error };
  switch (getSystemErrorCode(error)) {
    case 'ENOSPC':
    case 'EDQUOT':
      return new EmbeddedPostgresError('disk_full', `${activity}: the disk is full`, options);
    case 'EACCES':
    case 'EPERM':
      return new EmbeddedPostgresError(
        'no_permission',
        `${activity}: permission denied. Give user ${process.getuid?.() ?? 'running the bot'} write access, choose another DATA_DIR, or set DATABASE_URL`,
        options,
      );
    case 'EROFS':
      return new EmbeddedPostgresError(
        'no_permission',
        `${activity}: the file system is read-only. Choose another DATA_DIR or set DATABASE_URL`,
        options,
      );
    default:
      return new EmbeddedPostgresError(
        'start_failed',
        `${activity}: ${error instanceof Error ? error.message : String(error)}`,
        options,
      );
  }
}

/**
 * Explains the output of PostgreSQL to the operator.
 * @param activity what failed, as in "starting the embedded PostgreSQL"
 * @param output the last lines that PostgreSQL printed
 * @param logFile the file with the whole output
 */
export function explainOutput(activity: string, output: string, logFile: string): EmbeddedPostgresError {
  const quotedOutput = `PostgreSQL says:\n${output.trim() || '(nothing)'}\nThe whole log is in ${logFile}`;
  if (/No space left on device|Disk quota exceeded/i.test(output)) {
    return new EmbeddedPostgresError('disk_full', `${activity}: the disk is full. ${quotedOutput}`);
  }
  if (/could not look up effective user ID/i.test(output)) {
    return new EmbeddedPostgresError(
      'no_permission',
      `${activity}: the user that PostgreSQL runs as has no name on this system (no line in /etc/passwd). Add one, run as another user, or set DATABASE_URL. ${quotedOutput}`,
    );
  }
  if (/permission denied|wrong ownership/i.test(output)) {
    return new EmbeddedPostgresError('no_permission', `${activity}: permission denied. ${quotedOutput}`);
  }
  return new EmbeddedPostgresError(
    'start_failed',
    `${activity}: PostgreSQL exited before it was ready. ${quotedOutput}`,
  );
}
