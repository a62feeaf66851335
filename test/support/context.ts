import type { SendingContext } from '../../src/orders/context.ts';
import type { SlackContext } from '../../src/slack/context.ts';

/** Members that a test sets. Stores and similar objects need only some of their functions. */
type TestMembers = {
  readonly [Key in keyof SendingContext]?: NonNullable<SendingContext[Key]> extends (
    ...args: never
  ) => unknown
    ? SendingContext[Key]
    : Partial<SendingContext[Key]>;
};

/** A context with only these members; reading another one throws. */
export function contextWith<Members extends TestMembers>(
  members: Members,
): SendingContext & Omit<Members, keyof SendingContext> {
  return throwOnUnknown(members, 'orders') as SendingContext & Omit<Members, keyof SendingContext>;
}

/** A member without some of its nested members. */
type Part<Member> = Member extends (...args: never) => unknown
  ? Member
  : Member extends object
    ? { readonly [Key in keyof Member]?: Part<Member[Key]> }
    : Member;

/** A Slack context with only these members; reading another one throws. */
export function slackContextWith({
  orders = {},
  ...given
}: Omit<Part<SlackContext>, 'orders'> & { readonly orders?: TestMembers }): SlackContext {
  return throwOnUnknown({ ...given, orders: contextWith(orders) }, 'slack') as SlackContext;
}

function throwOnUnknown<Members extends object>(members: Members, context: string): Members {
  return new Proxy(members, {
    get(target, name) {
      if (name in target) return Reflect.get(target, name);
      throw new Error(`the ${context} context of this test has no ${String(name)}`);
    },
  });
}
