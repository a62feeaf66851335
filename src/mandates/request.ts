import { type Account, isDemoContext } from '../accounts/account.ts';
import type { OrdersContext } from '../orders/context.ts';
import type { OrderRequest } from '../orders/request-context.ts';
import { type RequestOutcome, requestOrder } from '../orders/request-order.ts';
import { getUtcDay } from '../zones/calendar-day.ts';
import { type MandateIssue, readTerms, type TermsInput } from './terms.ts';

export interface MandateRequest
  extends Pick<
    OrderRequest,
    'requesterId' | 'channelId' | 'threadTs' | 'isPrivate' | 'reason' | 'deliveryId'
  > {
  readonly terms: TermsInput;
  /** The account that the renewals use; undefined if there is none. */
  readonly account: Account | undefined;
}

export type MandateRequestOutcome =
  | RequestOutcome
  | { readonly kind: 'invalid_terms'; readonly issues: readonly MandateIssue[] };

/** Requests a mandate if its terms are valid and each pattern matches at least one name today. */
export async function requestMandate(
  deps: OrdersContext,
  { terms, account, ...request }: MandateRequest,
): Promise<MandateRequestOutcome> {
  const parsed = readTerms(terms, deps.ruleFacts.currency, getUtcDay(deps.now()));
  const issues: MandateIssue[] = parsed.ok
    ? await findUnmatchedPatterns(deps, parsed.terms.mandate_names)
    : [...parsed.issues];
  if (account === undefined) issues.push({ field: 'account', code: 'no_account' });
  else if (isDemoContext(account.context)) issues.push({ field: 'account', code: 'demo_account' });
  if (!parsed.ok || issues.length > 0) return { kind: 'invalid_terms', issues };
  return requestOrder(deps, { ...request, task: 'mandate', input: parsed.terms, secret: undefined, account });
}

async function findUnmatchedPatterns(
  { ruleFacts }: OrdersContext,
  patterns: readonly string[],
): Promise<MandateIssue[]> {
  const matches = await Promise.all(patterns.map((pattern) => ruleFacts.findMatchingNames([pattern])));
  return patterns.flatMap((given, index) =>
    matches[index]?.length === 0 ? [{ field: 'mandate_names', code: 'matches_nothing', given }] : [],
  );
}
