import type { Json, JsonObject } from '../src/protocol.ts';

export type { Json, JsonObject };

/* Reads fields of blocks that an app sent. Any field may be missing. */

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Undefined if the field is missing or not a string. */
export function textOf(object: JsonObject | undefined, field: string): string | undefined {
  const value = object?.[field];
  return typeof value === 'string' ? value : undefined;
}

export function numberOf(object: JsonObject | undefined, field: string): number | undefined {
  const value = object?.[field];
  return typeof value === 'number' ? value : undefined;
}

export function objectOf(object: JsonObject | undefined, field: string): JsonObject | undefined {
  const value = object?.[field];
  return isObject(value) ? value : undefined;
}

export function listOf(object: JsonObject | undefined, field: string): Json[] {
  const value = object?.[field];
  return Array.isArray(value) ? value : [];
}

export function objectsOf(object: JsonObject | undefined, field: string): JsonObject[] {
  return listOf(object, field).filter(isObject);
}

/** The unparsed text of a text object (`plain_text` or `mrkdwn`). */
export function displayTextOf(object: JsonObject | undefined, field: string): string {
  return textOf(objectOf(object, field), 'text') ?? '';
}
