import type { SlackContext } from '../../src/slack/context.ts';

/** Members that a test sets. Nested contexts and stores need only some of their members. */
type TestMembers = {
  readonly [Key in keyof SlackContext]?: NonNullable<SlackContext[Key]> extends (...args: never) => unknown
    ? SlackContext[Key]
    :
        | Partial<SlackContext[Key]>
        | { readonly [Part in keyof SlackContext[Key]]?: Partial<SlackContext[Key][Part]> };
};

/** A Slack context with only these members; reading another one throws. */
export function slackContextWith(members: TestMembers): SlackContext {
  return new Proxy(members, {
    get(target, name) {
      if (name in target) return Reflect.get(target, name);
      throw new Error(`the context of this test has no ${String(name)}`);
    },
  }) as SlackContext;
}
