import { type Account, isDemoContext } from '../accounts/account.ts';
import type { OrdersContext } from '../orders/context.ts';
import type { OrderRequest } from '../orders/request-context.ts';
import { type RequestOutcome, requestOrder } from '../orders/request-order.ts';
import { getUtcDay } from '../zones/calendar-day.ts';
import { type MandateIssue, parseTerms, type TermsInput } from './terms.ts';

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
  const parsedTerms = parseTerms(terms, deps.ruleFacts.currency, getUtcDay(deps.now()));
  const issues: MandateIssue[] = parsedTerms.ok
    ? await findUnmatchedPatterns(deps, parsedTerms.terms.mandate_names)
    : [...parsedTerms.issues];
  if (account === undefined) issues.push({ field: 'account', code: 'no_account' });
  else if (isDemoContext(account.context)) issues.push({ field: 'account', code: 'demo_account' });
  if (!parsedTerms.ok || issues.length > 0) return { kind: 'invalid_terms', issues };
  return requestOrder(deps, {
    ...request,
    task: 'mandate',
    input: parsedTerms.terms,
    secret: undefined,
    account,
  });
}

async function findUnmatchedPatterns(
  { ruleFacts }: OrdersContext,
  patterns: readonly string[],
): Promise<MandateIssue[]> {
  const matchingNames = await Promise.all(patterns.map((pattern) => ruleFacts.findMatchingNames([pattern])));
  return patterns.flatMap((pattern, index) =>
    matchingNames[index]?.length === 0
      ? [{ field: 'mandate_names', code: 'matches_nothing', pattern: pattern }]
      : [],
  );
}
