import { inspect } from 'node:util';

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
