import type { Briefing } from '../../../approvals/briefing.ts';
import type { Order } from '../../../orders/order.ts';
import { blocksToLines, formatCount, mention, removeMarkup } from '../../kit/blocks.ts';
import { coveredNamesText, previewLines } from '../../mandates/mandate.view.ts';
import { costFields, impactBlocks, type UnusualFact, unusualLines } from '../../orders/card.view.ts';
import { formatAccount, type HistoryEvent } from '../../orders/order.view.ts';
import { findLoggedApprovers } from '../decision.view.ts';

/** Facts that have their own sections on the page. */
const EXCLUDED_FACTS: ReadonlySet<UnusualFact> = new Set<UnusualFact>(['policy', 'findings', 'impact']);

/** Formats the briefing that is shown next to the statement, as mrkdwn. */
export function buildSigningFacts(order: Order, briefing: Briefing) {
  const { pendingRequirements, history, mandatePreview } = briefing;
  const isPending = order.state === 'PENDING';
  const impact = blocksToLines(impactBlocks(briefing)).flatMap((text) => text.split('\n'));
  return {
    account: formatAccount(order),
    facts: costFields(order, briefing).flatMap(([label, value]) =>
      value === undefined || (label === 'Costs money' && briefing.cost) ? [] : [{ label, value }],
    ),
    unusual: isPending ? unusualLines(order, briefing, EXCLUDED_FACTS) : [],
    changes: isPending
      ? [...listChangesSinceRequest(history, pendingRequirements?.isStricter === true), ...impact]
      : [],
    coverage:
      mandatePreview === undefined
        ? []
        : [...previewLines(mandatePreview, mandatePreview.names.length), coveredNamesText(mandatePreview)],
  };
}

export function listChangesSinceRequest(history: readonly HistoryEvent[], isStricter: boolean): string[] {
  const approvers = findLoggedApprovers(history);
  return [
    ...(isStricter ? ['The policy or settings have become stricter since this was requested.'] : []),
    ...(approvers.length === 0
      ? []
      : [`${formatCount(approvers.length, 'approval')} so far: ${approvers.map(mention).join(', ')}.`]),
  ];
}

/** Converts mrkdwn to plain text for a browser. Removes references to channels, which only Slack can show. */
export function toPlainText(mrkdwn: string): string {
  return removeMarkup(mrkdwn)
    .replace(/ \(<#[^<>]*>\)/g, '')
    .replace(/<[^<>|]*\|([^<>]*)>/g, '$1')
    .replace(/<([^<>]*)>/g, '$1')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}
