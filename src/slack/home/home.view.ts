import type { KnownBlock } from '@slack/types';
import { type Account, formatAccountName, isDemoContext } from '../../accounts/account.ts';
import type { Briefing } from '../../approvals/briefing.ts';
import type { StandIn } from '../../approvals/progress.ts';
import type { MonthCount } from '../../expiry/chart.ts';
import type { Deadline } from '../../expiry/deadline.ts';
import type { ListedName } from '../../expiry/expiry.ts';
import type { RenewalDays } from '../../expiry/ports.ts';
import { dropMissing } from '../../lib/collections.ts';
import type { ActiveMandate } from '../../mandates/mandate.ts';
import type { BudgetStatus } from '../../money/budget.ts';
import type { SpendSum } from '../../money/spend.ts';
import { compareImpacts } from '../../names/impact.ts';
import type { ListedIncident } from '../../names/incident.ts';
import type { PostureSummary } from '../../names/posture.ts';
import type { Order } from '../../orders/order.ts';
import { getOrderTask } from '../../orders/tasks.ts';
import { needsSignatures } from '../../policy/policy.ts';
import { formatDomainName } from '../../zones/names.ts';
import { formatRuleNames, hasPolicyRule } from '../approvals/decision.view.ts';
import { emergencyReviewText, signOffButtons } from '../approvals/emergency.view.ts';
import type { Capability } from '../capability.ts';
import { buildDueStatus, deadlineText, dueTimeText } from '../expiry/due.view.ts';
import { formatDay, formatName } from '../expiry/expiry.view.ts';
import {
  actions,
  button,
  code,
  context,
  divider,
  escapeLine,
  escapeText,
  formatCount,
  formatLocalTime,
  header,
  LIMITS,
  lineSections,
  mention,
  mentionApprover,
  section,
  table,
} from '../kit/blocks.ts';
import { mandateBlocksForHome } from '../mandates/mandate.view.ts';
import { budgetStatusLines, formatOverrunWarning, periodText } from '../money/budget.view.ts';
import { amountsText } from '../money/price.view.ts';
import { sumText } from '../money/spend.view.ts';
import { firstIncidentBlocks } from '../names/incident.view.ts';
import { postureSummaryText } from '../names/posture.view.ts';
import {
  accountLine,
  impactWarningLines,
  systemText,
  type UnusualFact,
  unusualLines,
} from '../orders/card.view.ts';
import { impactChangeLines, worstImpactLine } from '../orders/impact.view.ts';
import {
  anyApproverText,
  decisionButtons,
  formatContext,
  orderDetailsButton,
  orderLine,
  orderLineWithTimes,
  orderTitle,
  resolveButtons,
  unsignedApproveButton,
} from '../orders/order.view.ts';
import { briefStatementText, isStatementShown } from '../orders/statement.view.ts';

export interface HomeData extends Capability {
  readonly account: Account | undefined;
  /** Used by people who have no account of their own. */
  readonly teamAccount?: Account | undefined;
  readonly isAdmin: boolean;
  /** Latest first. */
  readonly incidents: readonly ListedIncident[];
  /** Approver groups whose members Slack didn't return. */
  readonly unreadableGroups: readonly string[];
  readonly ordersToDecide: readonly Order[] | undefined;
  readonly briefings: ReadonlyMap<string, Briefing>;
  /** Orders with an unknown outcome. */
  readonly ordersToResolve: readonly Order[];
  /** Emergency approvals that must still be reviewed. Empty for people who aren't admins. */
  readonly emergencyReviews: readonly { readonly order: Order; readonly canSignOff: boolean }[];
  /** The stand-in while this person is absent. */
  readonly standIn: StandIn | undefined;
  /** Absences for which this person is the stand-in. */
  readonly coveredAbsences: readonly StandIn[];
  readonly openOrders: readonly Order[];
  /** The person's own names; undefined if there are none. */
  readonly ownedNames?: OwnedNames | undefined;
  /** Soonest first. */
  readonly expiringNames: readonly ListedName[];
  readonly renewals: RenewalDays;
  readonly monthCounts: readonly MonthCount[];
  /** Active mandates that the person requested or approved. */
  readonly mandates?: readonly ActiveMandate[] | undefined;
  /** Number of watched names by their worst finding. */
  readonly postureCounts?: PostureSummary['counts'] | undefined;
  readonly money?: HomeMoney | undefined;
}

interface OwnedNames {
  readonly count: number;
  /** The next expiring name that the owner hasn't decided on. */
  readonly next: ListedName | undefined;
}

interface HomeMoney {
  readonly month: string;
  readonly spendTotal: SpendSum;
  readonly budgets: readonly BudgetStatus[];
  /** The reader's BCP 47 tag. */
  readonly locale: string;
}

/** The maximum number of orders or names per section. */
export const MAX_HOME_SECTION_ENTRIES = 10;
/** Used if the full tab exceeds Slack's limit on blocks. */
const MAX_SHORT_SECTION_ENTRIES = 5;

export function homeBlocks(data: HomeData): KnownBlock[] {
  const isLinked = data.account !== undefined || data.teamAccount !== undefined;
  const buildBlocks = !data.hasService ? watchOnlyBlocks : isLinked ? memberBlocks : firstStepsBlocks;
  const blocks = buildBlocks(data, MAX_HOME_SECTION_ENTRIES);
  return blocks.length > LIMITS.viewBlocks ? buildBlocks(data, MAX_SHORT_SECTION_ENTRIES) : blocks;
}

function memberBlocks(data: HomeData, maxEntries: number): KnownBlock[] {
  return [
    header('Domain Steward'),
    section(accountSentence(data)),
    ...actions('home', [data.account === undefined && LINK_BUTTON, data.isAdmin && SETTINGS_BUTTON]),
    ...attentionBlocks(data, maxEntries),
    ...openOrderBlocks(data.openOrders, maxEntries),
    ...mandateBlocksForHome(data.mandates ?? []),
    ...moneyBlocks(data.money),
    ...ownedNameBlocks(data),
    ...expiringNameBlocks(data),
  ];
}

/** The sections that may need action soon. */
function attentionBlocks(data: HomeData, maxEntries: number): KnownBlock[] {
  return [
    ...incidentBlocks(data),
    ...postureBlocks(data),
    ...unreadableGroupBlocks(data),
    ...standInBlocks(data),
    ...ordersToDecideBlocks(data, maxEntries),
    ...ordersToResolveBlocks(data.ordersToResolve, maxEntries),
    ...emergencyReviewBlocks(data.emergencyReviews, maxEntries),
  ];
}

/** For a bot without a domain service. Orders sent to an earlier service may still have an unknown outcome. */
function watchOnlyBlocks(data: HomeData, maxEntries: number): KnownBlock[] {
  return [
    header('Domain Steward'),
    section(
      'I watch the expiry, DNS, registrar and certificates of your names. To add names, use `/domain watch`. For all commands, use `/domain help`.',
    ),
    ...actions('home', [data.isAdmin && SETTINGS_BUTTON]),
    ...incidentBlocks(data),
    ...postureBlocks(data),
    ...ordersToResolveBlocks(data.ordersToResolve, maxEntries),
    ...moneyBlocks(data.money),
    ...ownedNameBlocks(data),
    ...expiringNameBlocks(data),
  ];
}

function postureBlocks({ postureCounts }: HomeData): KnownBlock[] {
  return lineSections([postureCounts && postureSummaryText(postureCounts)]);
}

const SETTINGS_BUTTON = button('home_settings', 'Settings', 'settings');
const LINK_BUTTON = button('home_link', 'Link your account', 'link', { style: 'primary' });

function accountSentence({ account, teamAccount }: HomeData): string {
  return account === undefined
    ? `You haven’t linked an account, so your approved orders use the *team’s account*${teamAccount === undefined ? '' : `, ${code(formatAccountName(teamAccount))}`}.`
    : `Your account: ${code(formatAccountName(account))}, ${formatContext(account.context)}. To switch, use \`/domain use\`.`;
}

/** For people without an account: pending orders, then the first steps. */
function firstStepsBlocks(data: HomeData, maxEntries: number): KnownBlock[] {
  return [
    header('Domain Steward'),
    ...attentionBlocks(data, maxEntries),
    ...(data.openOrders.length > 0 ? openOrderBlocks(data.openOrders, maxEntries) : []),
    ...mandateBlocksForHome(data.mandates ?? []),
    ...moneyBlocks(data.money),
    ...ownedNameBlocks(data),
    divider,
    header('First steps'),
    ...lineSections([
      '1. Link your domain service account. I check and encrypt your credentials, and use them only for your orders.',
      '2. Use a command in any channel, for example `/domain renew cafe.rest`. Paid and risky tasks need approval.',
      data.ordersToDecide !== undefined &&
        'You don’t need an account to approve orders. They appear here, and I’ll message you.',
    ]),
    ...actions('home', [LINK_BUTTON, data.isAdmin && SETTINGS_BUTTON]),
    context('You don’t need an account for `/domain expiring` (lists expiring names) or `/domain help`.'),
  ];
}

function openOrderBlocks(orders: readonly Order[], maxEntries: number): KnownBlock[] {
  return entrySectionBlocks(
    {
      title: 'Your open orders',
      entries: orders.map((order) => [
        {
          ...section(orderLineWithTimes(order)),
          block_id: `open_${order.id}`,
          accessory: orderDetailsButton(order),
        },
      ]),
      emptyText: 'You have no open orders. To see what you can do, use `/domain help`.',
      listCommand: '/domain orders mine',
    },
    maxEntries,
  );
}

export function nonMemberBlocks(): KnownBlock[] {
  return [
    header('Domain Steward'),
    section('Only members of this workspace can use Domain Steward. Ask a member for help.'),
  ];
}

/** Shown if loading fails. */
export function unavailableBlocks(reference: string): KnownBlock[] {
  return [
    header('Domain Steward'),
    section(
      `I can’t load this tab right now. Open it again in a minute. If it still fails, send your admin the reference ${code(reference)}.`,
    ),
  ];
}

const MAX_SHOWN_INCIDENTS = 3;
function incidentBlocks({ incidents }: HomeData): KnownBlock[] {
  return firstIncidentBlocks(incidents, MAX_SHOWN_INCIDENTS);
}

function standInBlocks({ standIn, coveredAbsences: absences }: HomeData): KnownBlock[] {
  return lineSections([
    standIn !== undefined &&
      `${mention(standIn.userId)} is your stand-in until ${formatLocalTime(standIn.until)}. To end this earlier, use \`/domain back\`.`,
    ...absences.map(
      ({ userId, until }) => `You are ${mention(userId)}’s stand-in until ${formatLocalTime(until)}.`,
    ),
  ]);
}

/** Explains why orders may be missing, and what admins can do. */
function unreadableGroupBlocks({ unreadableGroups, ordersToDecide, isAdmin }: HomeData): KnownBlock[] {
  if (unreadableGroups.length === 0) return [];
  const groups = unreadableGroups.map(mentionApprover).join(' and ');
  const sentences = dropMissing([
    `:warning: Slack didn’t return the members of ${groups}.`,
    ordersToDecide === undefined &&
      'If you’re one of them, orders that wait for your approval are missing here. Open this tab again in a minute.',
    isAdmin &&
      'Until this is fixed, only approvers who are listed by name can approve. If it continues, check that the group exists and that I have the permission `usergroups:read`.',
  ]);
  return [context(sentences.join(' '))];
}

interface EntrySection {
  readonly title: string;
  readonly entries: readonly (readonly KnownBlock[])[];
  /** Shown if there are no entries. If undefined, the section is left out. */
  readonly emptyText?: string;
  readonly listCommand: string;
}

function entrySectionBlocks(
  { title, entries, emptyText, listCommand }: EntrySection,
  maxEntries: number,
): KnownBlock[] {
  if (entries.length === 0)
    return emptyText === undefined ? [] : [divider, header(title), section(emptyText)];
  const hiddenCount = entries.length - maxEntries;
  return dropMissing([
    divider,
    header(title),
    ...entries.slice(0, maxEntries).flat(),
    hiddenCount > 0 && context(`There are ${hiddenCount} more. To list all, use \`${listCommand}\`.`),
  ]);
}

/** Empty for people who aren't approvers. */
function ordersToDecideBlocks({ ordersToDecide, briefings }: HomeData, maxEntries: number): KnownBlock[] {
  if (ordersToDecide === undefined) return [];
  return entrySectionBlocks(
    {
      title: 'Waiting for your approval',
      entries: ordersToDecide.map((order) => orderToDecideEntry(order, briefings.get(order.id))),
      emptyText: 'No orders are waiting for your approval.',
      listCommand: '/domain orders pending',
    },
    maxEntries,
  );
}

/** If the entry can't show everything that is sent, a button that opens the details replaces Approve. */
function orderToDecideEntry(order: Order, briefing: Briefing | undefined): KnownBlock[] {
  const entry = section(decisionText(order, briefing));
  const statement = order.bulk === undefined ? briefing?.statement : undefined;
  const fieldsText =
    statement === undefined || isStatementShown([entry], statement)
      ? ''
      : briefStatementText(statement, order);
  const details = fieldsText === '' ? [] : [section(fieldsText)];
  const isFullyShown = isStatementShown([entry, ...details], statement);
  return [
    entry,
    ...(isFullyShown ? details : [context('To see everything and approve, click *Look at it*.')]),
    ...actions(`home_${order.id}`, [
      ...decisionButtons(order, isFullyShown),
      isFullyShown && unsignedApproveButton(order),
      (isFullyShown || needsSignatures(order.requirements)) && orderDetailsButton(order),
    ]),
  ];
}

function ordersToResolveBlocks(orders: readonly Order[], maxEntries: number): KnownBlock[] {
  return entrySectionBlocks(
    {
      title: 'Outcome unknown',
      entries: orders.map((order) => [
        section(`${orderLine(order)}\nCheck with the domain service whether it was carried out.`),
        ...actions(`settle_${order.id}`, [...resolveButtons(order), orderDetailsButton(order)]),
      ]),
      listCommand: '/domain orders',
    },
    maxEntries,
  );
}

/** For orders whose price wasn't calculated. */
function chargeTexts(order: Order): string[] {
  switch (getOrderTask(order.task).findCharge(order.items.map(({ name }) => name))) {
    case 'yes':
      return ['costs money'];
    case 'assumed':
      return ['probably costs money'];
    case 'not_stated':
      return ['price unknown'];
    case 'no':
      return [];
  }
}

function emergencyReviewBlocks(orders: HomeData['emergencyReviews'], maxEntries: number): KnownBlock[] {
  return entrySectionBlocks(
    {
      title: 'Emergency approvals to sign off',
      entries: orders.map(({ order, canSignOff }) => [
        section(`${emergencyReviewText(order)}${canSignOff ? '' : '\nAnother admin has to sign off on it.'}`),
        ...actions(`review_${order.id}`, [
          ...(canSignOff ? signOffButtons(order) : []),
          orderDetailsButton(order),
        ]),
      ]),
      listCommand: '/domain orders review',
    },
    maxEntries,
  );
}

/** Facts that the entry shows elsewhere, and findings about rows, which only the details show. */
const OMITTED_FACTS: ReadonlySet<UnusualFact> = new Set<UnusualFact>([
  'price',
  'account',
  'budget',
  'findings',
  'impact',
]);

/** The worst impact, or the whole impact if it has changed since the request. */
function impactLines(briefing: Briefing): string[] {
  const { impact } = briefing;
  if (impact === 'none') return [];
  if (impact === 'unseen') return [worstImpactLine(impact)];
  return impactChangeLines(compareImpacts(impact.atRequest, impact.latest)).length > 0
    ? impactWarningLines(briefing)
    : [worstImpactLine(impact.latest)];
}

function decisionText(order: Order, briefing: Briefing | undefined): string {
  const demoPrefix = isDemoContext(order.account.context) ? 'DEMO · ' : '';
  const { cost, budgetComparison } = briefing ?? {};
  const exceededBudgets = budgetComparison?.exceeded ?? [];
  const price = cost === undefined || cost.sums.length === 0 ? undefined : `about ${amountsText(cost.sums)}`;
  return dropMissing([
    [
      `*${demoPrefix}${escapeText(orderTitle(order))}*`,
      ...(cost === undefined ? chargeTexts(order) : dropMissing([price])),
    ].join(' · '),
    cost !== undefined && cost.sums.length === 0 && ':warning: This costs money (price unknown)',
    cost !== undefined &&
      cost.sums.length > 0 &&
      cost.unknown > 0 &&
      `:warning: Price unknown for ${formatCount(cost.unknown, 'name')}`,
    `Requested by ${mention(order.requesterId)}${order.reason === undefined ? '' : `: “${escapeLine(order.reason)}”`}${order.expiresAt === undefined ? '' : ` · approve by ${formatLocalTime(order.expiresAt)}`}`,
    exceededBudgets.length > 0 && formatOverrunWarning(exceededBudgets),
    ...ruleLines(order),
    ...(briefing === undefined ? [] : impactLines(briefing)),
    accountLine(order),
    ...(briefing === undefined ? [] : unusualLines(order, briefing, OMITTED_FACTS)),
    dropMissing([
      systemText(order),
      order.approvalsRequired > 1 && `needs ${formatCount(order.approvalsRequired, 'approval')}`,
      code(order.id),
    ]).join(' · '),
  ]).join('\n');
}

const MAX_SHOWN_REQUIREMENTS = 3;

/** The approvals that each policy rule required when the order was requested. */
function ruleLines({ requirements }: Order): string[] {
  if (!hasPolicyRule(requirements.list)) return [];
  const shownLines = requirements.list
    .slice(0, MAX_SHOWN_REQUIREMENTS)
    .map(
      ({ rule, needed, approvers }) =>
        `Needs ${formatCount(needed, 'approval')} from ${anyApproverText(approvers, needed)}: ${formatRuleNames([rule])}`,
    );
  const hiddenCount = requirements.list.length - shownLines.length;
  return hiddenCount === 0
    ? shownLines
    : [...shownLines, `Needs approvals for ${formatCount(hiddenCount, 'more rule')}`];
}

function moneyBlocks(money: HomeMoney | undefined): KnownBlock[] {
  if (money === undefined || (money.spendTotal.nameCount === 0 && money.budgets.length === 0)) return [];
  const { month, spendTotal, budgets, locale } = money;
  const spentText =
    spendTotal.nameCount === 0
      ? 'nothing'
      : `${sumText(spendTotal, locale)}, for ${formatCount(spendTotal.nameCount, 'name')}`;
  return [
    divider,
    header('Money'),
    ...lineSections([`Spent in ${periodText(month)}: ${spentText}`, ...budgetStatusLines(budgets, locale)]),
    context('Prices are from your price list. For details and the forecast, use `/domain spend`.'),
  ];
}

function ownedNameBlocks({ ownedNames, renewals }: HomeData): KnownBlock[] {
  if (ownedNames === undefined) return [];
  const { count: nameCount, next } = ownedNames;
  const dueStatus = next && buildDueStatus(next);
  return [
    section(
      `*Your names*: ${nameCount} (\`/domain names owner:me\`)`,
      next !== undefined &&
        dueStatus !== undefined &&
        `Next decision due: ${formatName(next.domain.name)} · ${dueTimeText(dueStatus)} · ${deadlineText(dueStatus, [], renewals.get(next.domain.name))}`,
    ),
  ];
}

function expiringNameBlocks({ expiringNames: names, renewals, monthCounts }: HomeData): KnownBlock[] {
  const headingBlocks = [divider, header('Expiring next')];
  if (names.length === 0) {
    return [
      ...headingBlocks,
      section(
        'No watched names expire within a year. To add names, use `/domain watch NAME` or `/domain import`.',
      ),
    ];
  }
  return dropMissing([
    ...headingBlocks,
    monthCounts.some(({ count }) => count > 0) &&
      table({
        caption: 'Expirations by month',
        columns: ['Month', 'Names'],
        rows: monthCounts.map(({ label, count }) => [label, String(count)]),
        pageSize: monthCounts.length,
      }),
    table({
      caption: 'Next to expire',
      columns: ['Name', 'Days left', 'To do', 'Expires'],
      rows: names
        .slice(0, MAX_HOME_SECTION_ENTRIES)
        .map((listed) => [formatDomainName(listed.domain.name), ...deadlineCells(listed, renewals)]),
    }),
    context('To see prices or renew names, use `/domain expiring`.'),
  ]);
}

const ACTION_TEXTS: Readonly<Record<Deadline['action'], string>> = {
  renew: 'Renew',
  restore: 'Restore',
  check: 'Check the domain service',
  none: 'Nothing',
};

function deadlineCells({ domain, deadline }: ListedName, renewals: RenewalDays): readonly string[] {
  if (deadline === undefined) return ['', 'Expiry unknown', ''];
  const { action, until, daysLeft, phase } = deadline;
  const dueText =
    until === undefined ? (action === 'none' || action === 'check' ? '' : 'now') : formatDay(until);
  const hasMandate = phase === 'registered' && renewals.has(domain.name);
  return [
    daysLeft === undefined ? '' : String(daysLeft),
    hasMandate ? 'A mandate renews it' : ACTION_TEXTS[action],
    dueText,
  ];
}
