import { z } from 'zod';
import type { Core } from '../core.ts';
import { SlackError } from '../errors.ts';
import type { Json, JsonObject } from '../protocol.ts';

export interface Method {
  /** Any one of these scopes is enough. If empty, no scope is needed. */
  scopes: readonly string[];
  tokenType: 'bot' | 'app';
  /** @throws SlackError if Slack would reject the call */
  run(core: Core, args: JsonObject): JsonObject;
}

export function defineMethod<S extends z.ZodType>(
  scopes: readonly string[],
  schema: S,
  run: (core: Core, args: z.infer<S>) => JsonObject,
  tokenType: Method['tokenType'] = 'bot',
): Method {
  return {
    scopes,
    tokenType,
    run: (core, args) => {
      const parsed = schema.safeParse(args);
      if (parsed.success) return run(core, parsed.data);
      const messages = parsed.error.issues.map(
        (issue) => `[ERROR] ${issue.message} [json-pointer:/${issue.path.join('/')}]`,
      );
      throw new SlackError('invalid_arguments', { response_metadata: { messages } });
    },
  };
}

function parseJson(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** Accepts JSON values, and JSON as text for form-encoded requests. */
export const jsonArgument: z.ZodType<Json> = z.preprocess(parseJson, z.json());
export const objectArgument: z.ZodType<JsonObject> = z.preprocess(parseJson, z.record(z.string(), z.json()));
export const booleanArgument = z.preprocess(parseJson, z.boolean());
export const numberArgument = z.preprocess(parseJson, z.number());
