import { createHash } from 'node:crypto';
import { z } from 'zod';

/*
 * A backup is an SQL script in the format of `pg_dump --data-only`, compressed with gzip. `zcat FILE | psql` loads it
 * into a database that has the schema. The first line contains the format and the required schema. The last line
 * contains the number of rows and a hash of everything before it. A restore reads only names and rows from the file,
 * and never runs its SQL.
 */

const FIRST_LINE_PREFIX = '-- domain-steward backup ';
const LAST_LINE_PREFIX = '-- end of backup ';

export const manifestSchema = z.object({
  format: z.literal(1),
  takenAt: z.coerce.date(),
  /** Oldest first. */
  migrations: z.array(z.string()),
  tables: z.array(z.object({ name: z.string(), columns: z.array(z.string()) })),
  /** The last value of each sequence, by name. */
  sequences: z.record(z.string(), z.string()),
  /** Approved orders without a known result, and orders waiting for approval. */
  orders: z.object({ underWay: z.number(), waiting: z.number() }),
  /** IDs of the keys that decrypt values in the backup. */
  keys: z.array(z.string()),
});
export type BackupManifest = z.output<typeof manifestSchema>;

const trailerSchema = z.object({ rows: z.record(z.string(), z.number()), sha256: z.string() });

/** The file isn't a backup, is truncated or was changed. The message is for the operator. */
export class BackupFileError extends Error {
  override readonly name = 'BackupFileError';
}

export type BackupTable = BackupManifest['tables'][number];

export const quoteIdentifier = (name: string) => `"${name.replaceAll('"', '""')}"`;

export function buildCopyStatement(
  { name, columns }: BackupTable,
  direction: 'TO STDOUT' | 'FROM STDIN',
): string {
  return `COPY public.${quoteIdentifier(name)} (${columns.map(quoteIdentifier).join(', ')}) ${direction}`;
}

/**
 * Streams a backup.
 * @param readRows reads a table's rows in PostgreSQL's text format, in chunks of any size
 */
export async function* writeBackup(
  manifest: BackupManifest,
  readRows: (table: BackupTable) => AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  const rowCounts: Record<string, number> = {};
  const hashBytes = (bytes: Buffer | string) => {
    hash.update(bytes);
    return Buffer.from(bytes);
  };
  yield hashBytes(`${FIRST_LINE_PREFIX}${JSON.stringify(manifest)}\n`);
  for (const table of manifest.tables) {
    yield hashBytes(`${buildCopyStatement(table, 'FROM STDIN')};\n`);
    let count = 0;
    for await (const bytes of readRows(table)) {
      // Every line feed ends a row, because line feeds in values are escaped.
      for (const byte of bytes) if (byte === LINE_FEED) count += 1;
      yield hashBytes(bytes);
    }
    rowCounts[table.name] = count;
    yield hashBytes(END_OF_ROWS);
  }
  for (const [name, value] of Object.entries(manifest.sequences)) {
    yield hashBytes(`SELECT pg_catalog.setval('public.${quoteIdentifier(name)}', ${value}, true);\n`);
  }
  yield Buffer.from(
    `${LAST_LINE_PREFIX}${JSON.stringify({ rows: rowCounts, sha256: hash.digest('hex') })}\n`,
  );
}

const LINE_FEED = 10;
const END_OF_ROWS = '\\.\n';

export class BackupReader {
  readonly #lines: AsyncIterator<Buffer>;
  readonly #hash = createHash('sha256');
  readonly #rowCounts: Record<string, number> = {};

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#lines = splitLines(chunks);
  }

  /** @throws {BackupFileError} if the file isn't a backup or has a newer format */
  async readManifest(): Promise<BackupManifest> {
    const line = await this.#readLine().catch(() => undefined);
    if (line?.toString().startsWith(FIRST_LINE_PREFIX) !== true)
      throw new BackupFileError('This file isn’t a backup of Domain Steward.');
    const parsed = manifestSchema.safeParse(parseJson(line.toString().slice(FIRST_LINE_PREFIX.length)));
    if (!parsed.success)
      throw new BackupFileError('This backup is from another release: its first line can’t be read.');
    return parsed.data;
  }

  /** Tables must be read completely, and in the manifest's order. */
  async *readRows(table: BackupTable): AsyncGenerator<Buffer> {
    const statement = (await this.#readLine()).toString();
    if (statement !== `${buildCopyStatement(table, 'FROM STDIN')};\n`) throw createDamagedError();
    for (let count = 0; ; count += 1) {
      const line = await this.#readLine();
      if (line.equals(Buffer.from(END_OF_ROWS))) {
        this.#rowCounts[table.name] = count;
        return;
      }
      yield line;
    }
  }

  /**
   * Checks the number of rows and the hash against the last line.
   * @throws {BackupFileError} if they differ
   */
  async verifyTrailer(): Promise<void> {
    for (;;) {
      const digest = this.#hash.copy().digest('hex');
      const line = (await this.#readLine()).toString();
      if (!line.startsWith(LAST_LINE_PREFIX)) continue;
      const trailer = trailerSchema.safeParse(parseJson(line.slice(LAST_LINE_PREFIX.length)));
      const actualRowCounts = JSON.stringify(this.#rowCounts);
      if (
        !trailer.success ||
        trailer.data.sha256 !== digest ||
        JSON.stringify(trailer.data.rows) !== actualRowCounts
      )
        throw createDamagedError();
      return;
    }
  }

  async #readLine(): Promise<Buffer> {
    const { value, done } = await this.#lines.next().catch(() => {
      throw createDamagedError();
    });
    if (done === true) throw createDamagedError();
    this.#hash.update(value);
    return value;
  }
}

function createDamagedError(): BackupFileError {
  return new BackupFileError(
    'This backup is truncated or was changed. Nothing was restored; use another one.',
  );
}

async function* splitLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let lineChunks: Buffer[] = [];
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      yield Buffer.concat([...lineChunks, chunk.subarray(start, end + 1)]);
      lineChunks = [];
      start = end + 1;
    }
    if (start < chunk.length) lineChunks.push(chunk.subarray(start));
  }
  if (lineChunks.length > 0) yield Buffer.concat(lineChunks);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
