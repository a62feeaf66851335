import { z } from 'zod';
import { Prisma, type RunStatement } from './database.ts';

/*
 * Reads and writes rows. A zod object defines which columns are read, and how. The field `expiresAt` maps to
 * the column `expires_at`.
 */

const columnNames = new Map<string, string>();

export function toColumnName(field: string): string {
  const cachedName = columnNames.get(field);
  if (cachedName !== undefined) return cachedName;
  const name = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  columnNames.set(field, name);
  return name;
}

/** A row to write. Fields that can be undefined can be omitted, and arrays can be read-only. */
type WritableRow<Fields> = {
  readonly [Field in keyof Fields as undefined extends Fields[Field] ? Field : never]?: Fields[Field];
} & {
  readonly [Field in keyof Fields as undefined extends Fields[Field]
    ? never
    : Field]: Fields[Field] extends (infer Element)[] ? readonly Element[] : Fields[Field];
};

/** How SQL selects a row, and how values are read and written. */
export interface RowMapping<Schema extends z.ZodObject, Computed extends PropertyKey = never> {
  readonly schema: Schema;
  /** For `SELECT` or `RETURNING`. Each column has the name of its field. */
  readonly columns: Prisma.Sql;
  /** The same columns as one JSON value, for aggregates. Timestamps are text. */
  readonly json: Prisma.Sql;
  /** Names of the fields that aren't computed. */
  readonly storedFields: readonly string[];
  read(rows: unknown): z.output<Schema>[];
  /** Picks the {@link storedFields} of a value, for writing. */
  toStoredFields(value: WritableRow<Omit<z.output<Schema>, Computed>>): Readonly<Record<string, unknown>>;
}

/**
 * @param tablePrefix the table's alias with a dot, for example `d.`
 * @param computed expressions for fields that aren't columns
 */
export function defineRow<Schema extends z.ZodObject, Computed extends keyof z.output<Schema> = never>(
  schema: Schema,
  tablePrefix = '',
  computed?: Readonly<Record<Computed, Prisma.Sql>>,
): RowMapping<Schema, Computed> {
  const rowsSchema = z.array(schema);
  const expressions = new Map<string, Prisma.Sql>(Object.entries(computed ?? {}));
  const fields = Object.keys(schema.shape).map((field) => ({
    field,
    sql: expressions.get(field) ?? Prisma.raw(`${tablePrefix}${toColumnName(field)}`),
  }));
  const storedFields = Object.keys(schema.shape).filter((field) => !expressions.has(field));
  const jsonMembers = fields.map(({ field, sql }) => Prisma.sql`${Prisma.raw(`'${field}'`)}, ${sql}`);
  return {
    schema,
    columns: Prisma.join(fields.map(({ field, sql }) => Prisma.sql`${sql} AS ${Prisma.raw(`"${field}"`)}`)),
    json: Prisma.sql`json_build_object(${Prisma.join(jsonMembers)})`,
    storedFields,
    read: (rows) => rowsSchema.parse(rows),
    toStoredFields: (value) => {
      const storedValues: Record<string, unknown> = {};
      for (const field of storedFields) storedValues[field] = Reflect.get(value, field);
      return storedValues;
    },
  };
}

/** Returns `column = value` for each field. Arrays and objects are written as JSON. */
export function assignColumns(fields: Readonly<Record<string, unknown>>): Prisma.Sql {
  return Prisma.join(
    Object.entries(fields).map(
      ([field, value]) => Prisma.sql`${Prisma.raw(toColumnName(field))} = ${toParameter(value)}`,
    ),
  );
}

function toParameter(value: unknown): unknown {
  if (value === undefined || value === null) return null;
  const isPlain = typeof value !== 'object' || value instanceof Date || value instanceof Prisma.Sql;
  return isPlain ? value : toStorableJson(value);
}

/** Returns `column = source.column` for each field. */
export function copyColumns(source: string, fields: readonly string[]): Prisma.Sql {
  return Prisma.raw(
    fields.map((field) => `${toColumnName(field)} = ${source}.${toColumnName(field)}`).join(', '),
  );
}

/** Returns rows for a `FROM` clause, in which columns have the same types as in the table. */
export function buildRecordset(
  table: string,
  rows: readonly Readonly<Record<string, unknown>>[],
): Prisma.Sql {
  const records = rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([field, value]) => [toColumnName(field), value])),
  );
  return Prisma.sql`json_populate_recordset(NULL::${Prisma.raw(table)}, ${toStorableJson(records)}::json)`;
}

/**
 * Inserts rows in the given order. All rows must have the same fields.
 * @param suffix for example `ON CONFLICT …` or `RETURNING …`
 */
export async function insertRows(
  run: RunStatement,
  table: string,
  rows: readonly Readonly<Record<string, unknown>>[],
  suffix: Prisma.Sql = Prisma.empty,
): Promise<unknown> {
  const [firstRow] = rows;
  if (firstRow === undefined) return [];
  const columns = Prisma.raw(Object.keys(firstRow).map(toColumnName).join(', '));
  return run(Prisma.sql`
    INSERT INTO ${Prisma.raw(table)} (${columns}) SELECT ${columns} FROM ${buildRecordset(table, rows)} ${suffix}`);
}

/** Inserts rows like {@link insertRows}, but updates existing rows with the same key. */
export function upsertRows(
  run: RunStatement,
  table: string,
  keyFields: readonly string[],
  rows: readonly Readonly<Record<string, unknown>>[],
): Promise<unknown> {
  const otherFields = Object.keys(rows[0] ?? {}).filter((field) => !keyFields.includes(field));
  const keyColumns = Prisma.raw(keyFields.map(toColumnName).join(', '));
  return insertRows(
    run,
    table,
    rows,
    Prisma.sql`ON CONFLICT (${keyColumns}) DO UPDATE SET ${copyColumns('excluded', otherFields)}`,
  );
}

/** Formats bytes so that `bytea` can read them in JSON. */
export function formatBytea(bytes: Uint8Array): string {
  return `\\x${Buffer.from(bytes).toString('hex')}`;
}

/** For a nullable column. NULL is read as undefined. */
export function optional<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullable().transform((value) => value ?? undefined);
}

export function jsonColumn<Output>(schema: z.ZodType<Output>) {
  return z.json().transform((value) => (value === null ? undefined : schema.parse(value)));
}

export const optionalText = optional(z.string());

/** An encrypted secret in a row that was read without Prisma. */
export const sealedBytes = z.instanceof(Uint8Array).transform((bytes) => Uint8Array.from(bytes));

/**
 * PostgreSQL accepts neither NUL nor lone surrogates, which a response from the service can contain. They are replaced
 * by U+FFFD, so that the outcome can be stored.
 */
export function toStorableJson(value: unknown): string {
  const json = JSON.stringify(value);
  // JSON escapes both. Text can look like such an escape, so each string is checked below.
  if (!/\\u(?:0000|d[89a-f])/.test(json)) return json;
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'string' ? part.replace(/[\0\p{Surrogate}]/gu, '\uFFFD') : part,
  );
}
