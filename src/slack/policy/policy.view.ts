import type { Button, KnownBlock } from '@slack/types';
import type { ProposalOf } from '../../approvals/proposals/proposal.ts';
import { dropMissing } from '../../lib/collections.ts';
import { toLoggedChanges } from '../../policy/change-log.ts';
import type { PolicySettings } from '../../policy/evaluate.ts';
import type { PolicyRule } from '../../policy/policy.ts';
import type { PolicyDraft, PublishedPolicy } from '../../policy/ports.ts';
import {
  type Role,
  STARTING_POINT_NAMES,
  type StartingPoint,
  type StartingPointName,
} from '../../policy/starting-points.ts';
import {
  type AnyBlock,
  actions,
  button,
  code,
  context,
  divider,
  escapeLine,
  formatCount,
  formatLocalTime,
  lineSections,
  type Message,
  mention,
  menu,
  message,
  section,
  truncateMarkup,
} from '../kit/blocks.ts';
import { buttonsHint } from '../kit/buttons-hint.view.ts';
import { buildPageControls, slicePage } from '../kit/pages.ts';
import { confirmersText } from '../proposals/admin-proposal.view.ts';
import { type ProposalView, proposalActions } from '../proposals/proposal.view.ts';
import { implicitRuleSentences, ruleChangeLine, ruleSentence } from './policy-rule.view.ts';

/** Each rule needs two blocks. */
export const RULES_PER_PAGE = 10;
/* Maximum lengths of a rule's sentence and of the list without buttons, within Slack's limits. */
const MAX_SENTENCE_LENGTH = 600;
const MAX_LIST_LENGTH = 4_000;

export interface PolicyView {
  /** Undefined before the first version. */
  readonly published: PublishedPolicy | undefined;
  readonly draft: PolicyDraft | undefined;
  readonly settings: PolicySettings;
  readonly reader: { readonly userId: string; readonly isAdmin: boolean; readonly locale: string };
  /** Why no signed policy is in force. Undefined if one is, or if none is needed. */
  readonly charterNotice?: string | undefined;
  readonly offset: number;
  /** The outcome of the reader's last action, which is shown first. */
  readonly note?: string | undefined;
}

/** A button's value. It contains the rule's name, so a click on an outdated list can't move another rule. */
function formatRuleButtonValue(position: number, name: string): string {
  return `${position} ${name}`;
}

export function parseRuleButtonValue(value: string): { readonly position: number; readonly name: string } {
  const [, position = '0', name = value] = /^(\d+) (.*)$/s.exec(value) ?? [];
  return { position: Number(position), name };
}

const STARTING_POINT_LABELS: Readonly<Record<StartingPointName, string>> = {
  small_team: 'Small team',
  agency: 'Agency',
  company: 'Company',
  regulated: 'Regulated',
};

/** The policy in force. For admins, also the draft with buttons. */
export function policyMessage(view: PolicyView): Message {
  const { published, draft, settings, reader } = view;
  const rulesInForce = published?.rules ?? [];
  const hasRuleButtons = reader.isAdmin && draft === undefined;
  const implicitLines = [
    rulesInForce.length === 0 ? '_The settings decide:_' : '_If no rule matches, the settings decide:_',
    ...implicitRuleSentences(settings).map((sentence) => `• ${sentence}`),
  ];
  return message(view.note ?? 'The policy: who approves what', [
    view.note !== undefined && section(view.note),
    section(`*Who approves what*\n${inForceText(published, view.charterNotice)}`),
    ...(hasRuleButtons ? ruleRows(rulesInForce, view) : numberedRules(rulesInForce, reader.locale)),
    ...lineSections(implicitLines),
    ...(reader.isAdmin && draft !== undefined ? draftBlocks(draft, view) : []),
    ...(reader.isAdmin ? adminButtons(view) : readerButtons(view)),
    context(
      'For each name, the first matching rule applies. To test a request, use `/domain policy test renew cafe.rest 2`.',
    ),
  ]);
}

function inForceText(published: PublishedPolicy | undefined, charterNotice: string | undefined): string {
  if (charterNotice !== undefined)
    return published === undefined
      ? charterNotice
      : `${charterNotice}\nThe latest version is ${published.version}.`;
  if (published === undefined) return 'No rules are in effect yet, so only the settings apply.';
  const { version, publishedBy, confirmedBy, confirmedAt } = published;
  return `Version ${version} is in force, published by ${mention(publishedBy)}, confirmed by ${mention(confirmedBy)} (${formatLocalTime(confirmedAt)}).`;
}

function ruleText(rule: PolicyRule, position: number, locale: string): string {
  return truncateMarkup(
    `*${position}.* ${ruleSentence(rule, locale)}\n_“${escapeLine(rule.name, 80)}”_`,
    MAX_SENTENCE_LENGTH,
  );
}

/** Rules without buttons, as many as fit. */
function numberedRules(rules: readonly PolicyRule[], locale: string): AnyBlock[] {
  const rows = rules.map((rule, index) => ruleText(rule, index + 1, locale));
  let length = 0;
  const fittingRows = rows.filter((text) => {
    length += text.length + 1;
    return length <= MAX_LIST_LENGTH;
  });
  const omittedCount = rows.length - fittingRows.length;
  return lineSections(
    omittedCount === 0
      ? fittingRows
      : [...fittingRows, `… and ${formatCount(omittedCount, 'more rule')} in the YAML file.`],
  );
}

function ruleRows(rules: readonly PolicyRule[], view: PolicyView): AnyBlock[] {
  const page = slicePage(rules, view.offset, RULES_PER_PAGE);
  return page.items.flatMap((rule, index): AnyBlock[] => {
    const position = page.offset + index + 1;
    const value = formatRuleButtonValue(position, rule.name);
    const rowButton = (actionId: string, text: string, style?: 'danger') =>
      button(actionId, text, value, { style, label: `${text} rule ${position}` });
    return [
      section(ruleText(rule, position, view.reader.locale)),
      ...actions(`policy_rule_${position}`, [
        rowButton('policy_edit', 'Edit…'),
        position !== 1 && rowButton('policy_up', 'Move up'),
        rowButton('policy_remove', 'Remove', 'danger'),
      ]),
    ];
  });
}

function draftBlocks(draft: PolicyDraft, view: PolicyView): AnyBlock[] {
  const { rules, changedBy, changedAt, proposal } = draft;
  const effectText =
    proposal === undefined
      ? 'It takes effect when it’s published and another admin confirms it.'
      : `Published by ${mention(proposal.proposer)} (${formatLocalTime(proposal.proposedAt)}). It takes effect when *another admin* clicks Confirm.`;
  return [
    divider,
    section(
      `*The draft*, last changed by ${mention(changedBy)} (${formatLocalTime(changedAt)}).\n${effectText}${rules.length === 0 ? '\n_It has no rules._' : ''}`,
    ),
    ...ruleRows(rules, view),
  ];
}

function adminButtons(view: PolicyView): AnyBlock[] {
  const { draft, published, reader, offset } = view;
  const proposal = draft?.proposal;
  const currentRules = draft?.rules ?? published?.rules ?? [];
  return [
    ...buildPageControls('policy', slicePage(currentRules, offset, RULES_PER_PAGE), RULES_PER_PAGE),
    ...(draft === undefined
      ? []
      : proposal === undefined || proposal.proposer === reader.userId
        ? actions('policy_draft', draftButtons(draft))
        : proposalActions(proposal, [confirmButton(draft.revision), discardButton(draft.revision)])),
    ...actions('policy', [
      button('policy_add', 'Add a rule…', 'new', { style: 'primary' }),
      button('policy_download', 'Download YAML', draft?.revision ?? 'current'),
      button('policy_upload', 'Upload YAML…', 'yaml'),
    ]),
    startingPointMenu(),
  ];
}

function draftButtons({ revision, proposal }: PolicyDraft): Button[] {
  return [
    ...(proposal === undefined
      ? [button('policy_publish', 'Publish', revision, { style: 'primary' as const })]
      : []),
    discardButton(revision),
  ];
}

function discardButton(revision: string): Button {
  return button('policy_discard', 'Discard draft', revision, { style: 'danger' });
}

function confirmButton(revision: string): Button {
  return button('policy_confirm', 'Confirm', revision, { style: 'primary' });
}

/** Choosing a starting point opens its form. */
function startingPointMenu(): AnyBlock {
  return menu(
    'policy_starts',
    'policy_start',
    'Start from a template…',
    STARTING_POINT_NAMES.map((name) => ({ text: STARTING_POINT_LABELS[name], value: name })),
  );
}

function readerButtons({ published, draft }: PolicyView): AnyBlock[] {
  return dropMissing([
    ...(published === undefined
      ? []
      : actions('policy', [button('policy_download', 'Download YAML', 'current')])),
    draft !== undefined && context('Admins are editing a draft (not in force yet).'),
  ]);
}

function changeBlocks(
  oldRules: readonly PolicyRule[],
  newRules: readonly PolicyRule[],
  locale: string,
): AnyBlock[] {
  const changeLines = toLoggedChanges(oldRules, newRules).map((change) =>
    truncateMarkup(ruleChangeLine(change, newRules, locale), MAX_SENTENCE_LENGTH),
  );
  const shownLines = changeLines.slice(0, RULES_PER_PAGE * 2);
  const omittedCount = changeLines.length - shownLines.length;
  return lineSections([
    ...shownLines,
    ...(omittedCount === 0 ? [] : [`… and ${formatCount(omittedCount, 'more change')}.`]),
  ]);
}

export function policyProposalView(proposal: ProposalOf<'policy'>): ProposalView {
  const { payload, proposer, state, endedBy = '' } = proposal;
  const { version, before, rules } = payload;
  return {
    question({ locale }) {
      const question = message('A new policy needs your confirmation', [
        section(
          `:scales: *${mention(proposer)} published new approval rules.* They take effect when another admin confirms them. Changes:`,
        ),
        ...changeBlocks(before, rules, locale),
        ...proposalActions(proposal, [confirmButton(proposal.id)]),
        context(
          'To see the whole policy, use `/domain policy`. To test it on past orders, use `/domain policy replay 90`.',
        ),
      ]);
      return { ...question, textOnlyHint: buttonsHint('/domain policy') };
    },
    outcome({ locale }) {
      if (state !== 'confirmed')
        return message('The new policy won’t take effect', [
          section(
            ':wastebasket: *The new policy won’t take effect*, because someone changed or discarded the draft.',
          ),
        ]);
      return message(`Version ${version} of the policy is in force`, [
        section(
          `:white_check_mark: *Version ${version} of the policy is in force*, published by ${mention(proposer)}, confirmed by ${mention(endedBy)}. Changes:`,
        ),
        ...changeBlocks(before, rules, locale),
      ]);
    },
  };
}

export function publishedMessage(
  { before, rules }: ProposalOf<'policy'>['payload'],
  locale: string,
  confirmers: readonly string[],
): Message {
  return message('Published, another admin has to confirm', [
    section(':outbox_tray: *Published.* The policy takes effect when another admin confirms it. Changes:'),
    ...changeBlocks(before, rules, locale),
    section(confirmersText(confirmers, '/domain policy')),
  ]);
}

/** Shown above the policy after its draft was edited. */
export const NOTES = {
  noRule: ':information_source: This rule no longer exists. Here’s the current draft.',
  stale:
    ':information_source: Nothing was done, because the draft was changed, discarded or confirmed in the meantime. Here’s the current state.',
  discarded: ':wastebasket: The draft was discarded.',
  noDifference:
    ':information_source: The draft is the same as the policy in force, so there’s nothing to publish. Change a rule, or discard the draft.',
  replaced: ':white_check_mark: I replaced the draft.',
  cannotSign:
    ':information_source: Nothing was done, because a rule requires signed approvals and signing isn’t set up. Ask the operator to set SIGNING_ROOTS, and PUBLIC_URL to an address with `https` (or `localhost`). `/domain key` shows the passkeys.',
} as const;

export function alreadyPublishedNote(publisherId: string, readerId: string): string {
  return `:information_source: ${publisherId === readerId ? 'You' : mention(publisherId)} already published this draft. Another admin has to click Confirm.`;
}

/** @param position from 1 */
export function savedNote(position: number): string {
  return `:white_check_mark: I saved rule ${position} to the draft.`;
}

export const NOT_PUBLISHED =
  'Nothing was done, because someone changed, discarded or confirmed the draft. Check it with `/domain policy`. If the draft was changed, publish it again.';

export function unknownSubcommandText(word: string): string {
  return `I don’t know ${code(`/domain policy ${word}`)}. \`/domain policy\` shows who approves what, \`/domain policy test renew cafe.rest 2\` tests a request, \`/domain policy replay 90\` tests the draft on past orders.`;
}

export const DRAFT_TEXTS = {
  ruleGone:
    'Nothing was saved, because someone changed or removed this rule in the meantime. Close the form and open the rule again from /domain policy.',
  draftChanged:
    'Nothing was saved, because someone changed the draft in the meantime. Close the form and open it again from /domain policy.',
  unreadableRule: 'I can’t read this rule. Check its fields.',
  nobodyHasRole: 'Choose at least one person or group.',
  ruleIntro: (currency: string) =>
    `The draft takes effect when it’s published and another admin confirms it. Amounts are in ${currency}.`,
  fileIntro: 'The draft takes effect when it’s published and another admin confirms it.',
  policyTooLong: 'The current policy is too long for the field below. Attach a file to replace it.',
} as const;

/** Describes a starting point, above the form for its roles. */
export function startingPointIntro({ name, rules }: StartingPoint, replacesRules: boolean): KnownBlock[] {
  const replacementNote = replacesRules ? ' This replaces the draft’s current rules.' : '';
  return [
    section(
      `*${STARTING_POINT_LABELS[name]}*: ${rules.length} rules. Choose the people for each role. You can change the rules later.${replacementNote}`,
    ),
    ...rules.map((rule) => context(`• ${rule.rule_name}`)),
  ];
}

export const ROLE_LABELS: Readonly<Record<Role, string>> = {
  managers: 'Managers',
  finance: 'Finance',
  legal: 'Legal',
  brand_owners: 'Brand owners',
  security: 'Security',
};
