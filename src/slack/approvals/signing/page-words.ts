import { loadBriefing } from '../../../approvals/briefing.ts';
import type { FactsChange } from '../../../names/ports.ts';
import type { Order } from '../../../orders/order.ts';
import type { PolicyRule } from '../../../policy/policy.ts';
import { policyToYaml } from '../../../policy/yaml.ts';
import { findingLines } from '../../bulk/bulk.view.ts';
import type { SlackContext } from '../../context.ts';
import { asText, plain } from '../../kit/blocks.ts';
import { coveredNamesText, previewLines } from '../../mandates/mandate.view.ts';
import { changeLine } from '../../names/fact-changes.view.ts';
import { impactBlocks } from '../../orders/card.view.ts';
import { formatAccount, itemName, orderTitle } from '../../orders/order.view.ts';
import { refusalText } from '../../orders/refusal.view.ts';
import { readableFields } from '../../orders/statement.view.ts';
import { withPlainNames } from '../../outbound/plain-names.ts';
import { sinceAsked } from './page-words.view.ts';

/* What the pages on which people sign say in the words of the cards. */

/** Markup as a browser shows it. */
function unmarked(mrkdwn: string): string {
  return plain(mrkdwn)
    .replace(/<[^<>|]*\|([^<>]*)>/g, '$1')
    .replace(/<([^<>]*)>/g, '$1')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}

export function pageWords(context: SlackContext) {
  const { directory, currency } = context;
  const unmarkedWithNames = async (mrkdwn: string) => unmarked(await withPlainNames(directory, mrkdwn));
  return {
    words: {
      title: orderTitle,
      fields: readableFields,
      itemName,
      findings: ({ bulk }: Order) => (bulk === undefined ? [] : findingLines(bulk).map(unmarked)),
      changes: ({ names: changed }: FactsChange) => changed.map((change) => unmarked(changeLine(change))),
    },
    refusalText: (refusal: Parameters<typeof refusalText>[0]) => unmarkedWithNames(refusalText(refusal)),
    /** What somebody is called; their id where Slack does not tell. */
    nameOf: async (id: string) => unmarkedWithNames(`<@${id}>`),
    accountOf: (order: Order) => unmarkedWithNames(formatAccount(order)),
    fileOf: (rules: readonly PolicyRule[]) => policyToYaml(rules, currency),
    /** What a waiting mandate would cover, whole. */
    async coverageOf(order: Order): Promise<readonly string[]> {
      const { preview } = await loadBriefing(context, order);
      return preview === undefined
        ? []
        : [...previewLines(preview, preview.names.length), coveredNamesText(preview)].map(unmarked);
    },
    /** What has changed since an order was asked for, and what hangs on its name. */
    async changesOf(order: Order): Promise<readonly string[]> {
      if (order.state !== 'PENDING') return [];
      const briefing = await loadBriefing(context, order);
      const lines = asText(impactBlocks(briefing)).flatMap((text) => text.split('\n'));
      const since = sinceAsked(briefing.history, briefing.decision?.isStricter === true);
      return Promise.all([...since, ...lines].map(unmarkedWithNames));
    },
  };
}
