import { inspect } from 'node:util';
import { z } from 'zod';

export const MASK = '[secret]';

/**
 * A password, token, shared secret or auth code. Conversions to text (`String`, template literals,
 * `JSON.stringify`, `util.inspect`, loggers) give `[secret]`. Only {@link Secret.reveal} returns the value.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return MASK;
  }

  toJSON(): string {
    return MASK;
  }

  [inspect.custom](): string {
    return MASK;
  }
}

/** Placeholder for a secret in a described request, replaced when sending: `sha256:` and a salted hash. */
export const secretCommitmentSchema = z.strictObject({ secret: z.string().regex(/^sha256:[0-9a-f]{64}$/) });
export type SecretCommitment = z.output<typeof secretCommitmentSchema>;

export const secretFieldSchema = z.union([z.instanceof(Secret), secretCommitmentSchema]);
