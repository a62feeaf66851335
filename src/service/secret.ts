import { inspect } from 'node:util';
import { z } from 'zod';

/** What a secret looks like to anybody who may not see it. */
export const MASK = '[secret]';

/**
 * A value that must never be seen: a password, token, shared secret or auth code.
 *
 * Every way in which JavaScript turns a value into text (`String`, template literals, `JSON.stringify`,
 * `util.inspect`, loggers built on them) gives `[secret]`. Only {@link Secret.reveal} opens it, and only the
 * codecs, the vault and the view that shows a secret to its owner call that.
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

/**
 * Stands in a described request in the place of a secret, which is put there when the request is sent: `sha256:` and a hash
 * over the secret and a salt.
 */
export const secretCommitment = z.strictObject({ secret: z.string().regex(/^sha256:[0-9a-f]{64}$/) });
export type SecretCommitment = z.output<typeof secretCommitment>;

/** A field of a task's input that is a secret, or stands for one. */
export const secretField = z.union([z.instanceof(Secret), secretCommitment]);
