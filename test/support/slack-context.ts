import type { SlackContext } from '../../src/slack/context.ts';

/** Members that a test uses; for nested contexts and stores, their functions. */
type Known = {
  readonly [Key in keyof SlackContext]?: NonNullable<SlackContext[Key]> extends (...args: never) => unknown
    ? SlackContext[Key]
    :
        | Partial<SlackContext[Key]>
        | { readonly [Part in keyof SlackContext[Key]]?: Partial<SlackContext[Key][Part]> };
};

/** A Slack context with the members that a test uses; reading another one throws. */
export function slackContextWith(given: Known): SlackContext {
  return new Proxy(given, {
    get(target, name) {
      if (name in target) return Reflect.get(target, name);
      throw new Error(`the context of this test has no ${String(name)}`);
    },
  }) as SlackContext;
}
