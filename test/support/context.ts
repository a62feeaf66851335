import type { SendingContext } from '../../src/orders/context.ts';
import type { SlackContext } from '../../src/slack/context.ts';

/** Members that a test uses; for stores and similar objects, their functions. */
type Known = {
  readonly [Key in keyof SendingContext]?: NonNullable<SendingContext[Key]> extends (
    ...args: never
  ) => unknown
    ? SendingContext[Key]
    : Partial<SendingContext[Key]>;
};

/** A context with the members that a test uses; reading another one throws. */
export function contextWith<Given extends Known>(
  given: Given,
): SendingContext & Omit<Given, keyof SendingContext> {
  return throwOnUnknown(given, 'orders') as SendingContext & Omit<Given, keyof SendingContext>;
}

/** The parts of a member that a test uses. */
type Part<Member> = Member extends (...args: never) => unknown
  ? Member
  : Member extends object
    ? { readonly [Key in keyof Member]?: Part<Member[Key]> }
    : Member;

/** A Slack context with the members that a test uses; reading another one throws. */
export function slackContextWith({
  orders = {},
  ...given
}: Omit<Part<SlackContext>, 'orders'> & { readonly orders?: Known }): SlackContext {
  return throwOnUnknown({ ...given, orders: contextWith(orders) }, 'slack') as SlackContext;
}

function throwOnUnknown<Given extends object>(given: Given, context: string): Given {
  return new Proxy(given, {
    get(target, name) {
      if (name in target) return Reflect.get(target, name);
      throw new Error(`the ${context} context of this test has no ${String(name)}`);
    },
  });
}
