import type { SendingContext } from '../../src/orders/context.ts';

/** Members that a test uses; of stores and the like, the functions that it uses. */
type Known = {
  readonly [Key in keyof SendingContext]?: NonNullable<SendingContext[Key]> extends (
    ...args: never
  ) => unknown
    ? SendingContext[Key]
    : Partial<SendingContext[Key]>;
};

/** A context with the members that a test uses; another one throws when it is read. */
export function contextWith<Given extends Known>(
  given: Given,
): SendingContext & Omit<Given, keyof SendingContext> {
  return new Proxy(given, {
    get(target, name) {
      if (name in target) return Reflect.get(target, name);
      throw new Error(`this test has no context.${String(name)}`);
    },
  }) as SendingContext & Omit<Given, keyof SendingContext>;
}
