import { randomBytes } from 'node:crypto';
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';
import pretty from 'pino-pretty';

/** Has no child loggers, because their bindings wouldn't be masked. */
export type Log = Pick<Logger, 'trace' | 'debug' | 'info' | 'warn' | 'error'>;

/**
 * Writes JSON lines. A `Secret` prints `[secret]`. Fields with certain names are also masked, because libraries pass
 * secrets as plain text.
 * @param level pino level
 * @param destination default: standard output
 */
export function createLog(level: string, destination?: DestinationStream): Log {
  return pino(
    {
      level,
      formatters: { log: maskSecrets },
      timestamp: stdTimeFunctions.isoTime,
      serializers: { err: describeError },
    },
    ...(destination === undefined ? [] : [destination]),
  );
}

/** Writes human-readable lines instead of JSON. */
export function createPrettyOutput(): DestinationStream {
  // Synchronous, so that the last lines before an exit are written.
  return pretty({ sync: true, ignore: 'pid,hostname', colorize: process.stdout.isTTY });
}

/** Field names as libraries spell them. */
const SECRET_NAMES: ReadonlySet<string> = new Set([
  'password',
  'token',
  'auth',
  'authorization',
  'totpSecret',
]);
/** Limits recursion, because values can be circular. */
const MAX_DEPTH = 8;

/** Returns the original object if nothing is masked. */
function maskSecrets(values: Readonly<Record<string, unknown>>, depth = 0): Record<string, unknown> {
  let copy: Record<string, unknown> | undefined;
  for (const name of Object.keys(values)) {
    const value = values[name];
    const masked = SECRET_NAMES.has(name) ? '[secret]' : maskValue(value, depth + 1);
    if (masked !== value) {
      copy ??= { ...values };
      copy[name] = masked;
    }
  }
  return copy ?? values;
}

function maskValue(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return value;
  // `describeError` formats errors, and values with `toJSON` format themselves.
  if (value instanceof Error || 'toJSON' in value) return value;
  if (Array.isArray(value)) return value.map((part) => maskValue(part, depth + 1));
  const parts: Record<string, unknown> = { ...value };
  const masked = maskSecrets(parts, depth);
  return masked === parts ? value : masked;
}

interface DescribedError {
  type: string;
  message: string;
  code?: string;
  stack?: string;
  cause?: DescribedError;
}

/** Prisma's messages quote query values, so only the error code is logged. */
function describeError(error: unknown, depth = 0): DescribedError {
  if (!(error instanceof Error))
    return { type: typeof error, message: 'a value other than an Error was thrown' };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  const isPrismaError = error.name.startsWith('PrismaClient');
  // The message is removed first, because one of its lines may look like a stack frame.
  const frames = error.stack
    ?.replace(error.message, '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line));
  // A connection that fails at several addresses has several errors. The first one explains the failure.
  const cause: unknown = error.cause ?? (error instanceof AggregateError ? error.errors[0] : undefined);
  return {
    type: error.name,
    message: isPrismaError ? '[a database error; see code]' : error.message,
    ...(code === undefined ? {} : { code }),
    ...(frames === undefined ? {} : { stack: frames.slice(0, 12).join('\n') }),
    ...(cause === undefined || depth >= 4 ? {} : { cause: describeError(cause, depth + 1) }),
  };
}

/** A reference that is shown to the user and logged with the error. */
export function createErrorReference(): string {
  return randomBytes(4).toString('hex');
}
