import { loadBriefing } from '../../../approvals/briefing.ts';
import type { ProposedNameChanges } from '../../../names/portfolio.ts';
import type { Order } from '../../../orders/order.ts';
import type { PolicyRule } from '../../../policy/policy.ts';
import { formatPolicyYaml } from '../../../policy/yaml.ts';
import { findingLines } from '../../bulk/bulk.view.ts';
import type { SlackContext } from '../../context.ts';
import { nameChangeLine } from '../../names/name-changes.view.ts';
import { formatItemName, orderTitle } from '../../orders/order.view.ts';
import { refusalText } from '../../orders/refusal.view.ts';
import { listReadableFields } from '../../orders/statement.view.ts';
import { replaceMentions } from '../../outbound/plain-names.ts';
import { buildSigningFacts, toPlainText } from './page-texts.view.ts';

/* Texts of the signing pages. They match the texts of the cards. */

export function createPageTexts(context: SlackContext) {
  const { directory, currency } = context;
  const toBrowserText = async (mrkdwn: string) => toPlainText(await replaceMentions(directory, mrkdwn));
  const toBrowserTexts = (texts: readonly string[]) => Promise.all(texts.map(toBrowserText));
  return {
    formatters: {
      formatTitle: orderTitle,
      formatFields: listReadableFields,
      formatItemName,
      formatFindings: ({ bulk }: Order) => (bulk === undefined ? [] : findingLines(bulk).map(toPlainText)),
      formatNameChanges: ({ names: nameChanges }: ProposedNameChanges) =>
        nameChanges.map((change) => toPlainText(nameChangeLine(change))),
    },
    formatRefusal: (refusal: Parameters<typeof refusalText>[0]) => toBrowserText(refusalText(refusal)),
    /** Falls back to the user ID. */
    loadDisplayName: async (id: string) => toBrowserText(`<@${id}>`),
    formatPolicyFile: (rules: readonly PolicyRule[]) => formatPolicyYaml(rules, currency),
    async loadOrderFacts(order: Order) {
      const signingFacts = buildSigningFacts(order, await loadBriefing(context, order));
      const facts = await Promise.all(
        signingFacts.facts.map(async ({ label, value }) => ({
          label,
          lines: await toBrowserTexts(value.split('\n')),
        })),
      );
      return {
        account: await toBrowserText(signingFacts.account),
        facts,
        unusualTexts: await toBrowserTexts(signingFacts.unusual.flatMap((text) => text.split('\n'))),
        changesSinceRequest: await toBrowserTexts(signingFacts.changes),
        coverageTexts: signingFacts.coverage.map(toPlainText),
      };
    },
  };
}
