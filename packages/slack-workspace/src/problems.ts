import type { Json, JsonObject } from './protocol.ts';

/** Content that Slack refuses, with its JSON pointer (`/blocks/0/text/text`). */
export interface Problem {
  message: string;
  pointer: string;
  /** Slack may accept the content, but the local workspace doesn't support it. */
  isUnsupported?: true;
}

/** Formats a problem as an entry of Slack's `response_metadata.messages`. */
export function describeProblem(problem: Problem): string {
  return `${problem.message} [json-pointer:${problem.pointer}]`;
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Undefined if the field is missing or isn't text. */
export function getString(object: JsonObject, field: string): string | undefined {
  const value = object[field];
  return typeof value === 'string' ? value : undefined;
}

export function getObjects(object: JsonObject, field: string): JsonObject[] {
  const value = object[field];
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** Checks fields of JSON objects and collects the problems. A value is returned only if its type is right. */
export class Checker {
  readonly problems: Problem[] = [];

  add(message: string, pointer: string): void {
    this.problems.push({ message, pointer });
  }

  /** @param subject for example "the block `carousel`" */
  addUnsupported(subject: string, pointer: string): void {
    const message = `the local workspace does not support ${subject}`;
    this.problems.push({ message, pointer, isUnsupported: true });
  }

  string(
    object: JsonObject,
    field: string,
    pointer: string,
    rule: { max?: number; min?: number; required?: boolean; oneOf?: readonly string[] },
  ): string | undefined {
    const value = object[field];
    const fieldPointer = `${pointer}/${field}`;
    if (value === undefined) {
      if (rule.required) this.add(`missing required field: ${field}`, pointer);
      return undefined;
    }
    if (typeof value !== 'string') {
      this.add('must be a string', fieldPointer);
      return undefined;
    }
    if (rule.max !== undefined && value.length > rule.max) {
      this.add(`must be less than ${rule.max + 1} characters`, fieldPointer);
    }
    if (value.length < (rule.min ?? 0))
      this.add(`must be more than ${(rule.min ?? 0) - 1} characters`, fieldPointer);
    if (rule.oneOf && !rule.oneOf.includes(value)) this.add(`must be a valid enum value`, fieldPointer);
    return value;
  }

  boolean(object: JsonObject, field: string, pointer: string): void {
    const value = object[field];
    if (value !== undefined && typeof value !== 'boolean')
      this.add('must be a boolean', `${pointer}/${field}`);
  }

  integer(object: JsonObject, field: string, pointer: string, min: number, max: number): void {
    const value = object[field];
    if (value === undefined) return;
    if (typeof value !== 'number' || !Number.isInteger(value)) {
      this.add('must be an integer', `${pointer}/${field}`);
    } else if (value < min || value > max) {
      this.add(`must be between ${min} and ${max}`, `${pointer}/${field}`);
    }
  }

  list(
    object: JsonObject,
    field: string,
    pointer: string,
    rule: { min?: number; max: number; required?: boolean },
  ): Json[] {
    const value = object[field];
    const fieldPointer = `${pointer}/${field}`;
    if (value === undefined) {
      if (rule.required) this.add(`missing required field: ${field}`, pointer);
      return [];
    }
    if (!Array.isArray(value)) {
      this.add('must be an array', fieldPointer);
      return [];
    }
    if (value.length > rule.max) this.add(`no more than ${rule.max} items allowed`, fieldPointer);
    if (value.length < (rule.min ?? 0))
      this.add(`no fewer than ${rule.min ?? 0} items allowed`, fieldPointer);
    return value;
  }

  /** Like {@link list}, but returns only objects, with their pointers. */
  objects(
    object: JsonObject,
    field: string,
    pointer: string,
    rule: { min?: number; max: number; required?: boolean },
  ): { item: JsonObject; pointer: string }[] {
    return this.list(object, field, pointer, rule).flatMap((item, index) => {
      const itemPointer = `${pointer}/${field}/${index}`;
      if (isObject(item)) return [{ item, pointer: itemPointer }];
      this.add('must provide an object', itemPointer);
      return [];
    });
  }

  child(object: JsonObject, field: string, pointer: string, required = false): JsonObject | undefined {
    const value = object[field];
    if (value === undefined) {
      if (required) this.add(`missing required field: ${field}`, pointer);
      return undefined;
    }
    if (isObject(value)) return value;
    this.add('must provide an object', `${pointer}/${field}`);
    return undefined;
  }

  /** Refuses all other fields, because the local workspace would ignore them. */
  rejectUnknownFields(object: JsonObject, allowedFields: readonly string[], pointer: string): void {
    for (const field of Object.keys(object)) {
      if (!allowedFields.includes(field))
        this.addUnsupported(`the field \`${field}\``, `${pointer}/${field}`);
    }
  }

  /** Checks a text object (`plain_text` or `mrkdwn`). */
  text(
    object: JsonObject,
    field: string,
    pointer: string,
    rule: { max: number; plain?: boolean; required?: boolean },
  ): void {
    const text = this.child(object, field, pointer, rule.required);
    if (text) this.textObject(text, `${pointer}/${field}`, rule);
  }

  textObject(text: JsonObject, pointer: string, rule: { max: number; plain?: boolean }): void {
    const type = this.string(text, 'type', pointer, {
      required: true,
      oneOf: rule.plain ? ['plain_text'] : ['plain_text', 'mrkdwn'],
    });
    this.string(text, 'text', pointer, { required: true, min: 1, max: rule.max });
    this.rejectUnknownFields(text, ['type', 'text', type === 'mrkdwn' ? 'verbatim' : 'emoji'], pointer);
  }
}
