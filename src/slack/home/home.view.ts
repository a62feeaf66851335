import type { KnownBlock } from '@slack/types';
import { type Account, accountName, isDemoContext } from '../../accounts/account.ts';
import type { Briefing } from '../../approvals/briefing.ts';
import type { StandIn } from '../../approvals/progress.ts';
import type { MonthCount } from '../../expiry/chart.ts';
import type { Deadline } from '../../expiry/deadline.ts';
import type { ListedName } from '../../expiry/expiry.ts';
import type { RenewalDays } from '../../expiry/ports.ts';
import { present } from '../../lib/collections.ts';
import type { MandateInForce } from '../../mandates/mandate.ts';
import type { BudgetStanding } from '../../money/budget.ts';
import type { SpendSum } from '../../money/spend.ts';
import { compareImpacts } from '../../names/impact.ts';
import type { ListedIncident } from '../../names/incident.ts';
import type { Order } from '../../orders/order.ts';
import { taskNamed } from '../../orders/tasks.ts';
import { needsSignatures } from '../../policy/policy.ts';
import { displayName } from '../../zones/names.ts';
import { isRuled, ruleNames } from '../approvals/decision.view.ts';
import { reviewText, signOffButtons } from '../approvals/emergency.view.ts';
import { formatDay } from '../expiry/expiry.view.ts';
import {
  actions,
  button,
  code,
  context,
  count,
  divider,
  escapeText,
  header,
  LIMITS,
  lines,
  mention,
  mentionApprover,
  moment,
  quote,
  section,
  table,
} from '../kit/blocks.ts';
import { homeMandates } from '../mandates/mandate.view.ts';
import { budgetLines, overBudgetFact, periodText } from '../money/budget.view.ts';
import { amountsText } from '../money/price.view.ts';
import { sumText } from '../money/spend.view.ts';
import { firstIncidents } from '../names/incident.view.ts';
import {
  accountLine,
  impactFindings,
  systemText,
  type UnusualFact,
  unusualLines,
} from '../orders/card.view.ts';
import { impactChangeLines, worstImpactLine } from '../orders/impact.view.ts';
import {
  approverList,
  clickButton,
  decisionButtons,
  formatContext,
  lookButton,
  orderLine,
  orderTitle,
  ownOrderLine,
  resolveButtons,
} from '../orders/order.view.ts';
import { briefText, showWhole } from '../orders/statement.view.ts';

/*
 * The Home tab.
 */

/** The content of one person's Home tab. */
export interface HomeData {
  /** The account the person works with. */
  readonly account: Account | undefined;
  /** What a person without an account of their own asks with. */
  readonly teamAccount?: Account | undefined;
  readonly isAdmin: boolean;
  /** What has happened to names and nobody has explained, the latest first. */
  readonly incidents: readonly ListedIncident[];
  /** Approver groups whose members Slack does not tell, as far as they matter to the person. */
  readonly unreadableGroups: readonly string[];
  /** Undefined for people who are no approvers. */
  readonly toDecide: readonly Order[] | undefined;
  /** The briefings of those that are shown, by order id. */
  readonly briefings: ReadonlyMap<string, Briefing>;
  /** Orders whose outcome an approver has to settle. */
  readonly toResolve: readonly Order[];
  /** Orders that an admin approved alone in an emergency, whose review is open; empty for people who are no admins. */
  readonly toReview: readonly { readonly order: Order; readonly canSignOff: boolean }[];
  /** Who stands in for the person, who is away. */
  readonly standIn: StandIn | undefined;
  /** For whom the person stands in. */
  readonly standsInFor: readonly StandIn[];
  /** The person's own open orders. */
  readonly open: readonly Order[];
  /** The names that expire next, soonest first. */
  readonly next: readonly ListedName[];
  /** On which day mandates renew names among these. */
  readonly renewals: RenewalDays;
  /** How many names expire in each month. */
  readonly months: readonly MonthCount[];
  /** Mandates in force that the person asked for or gave. */
  readonly mandates?: readonly MandateInForce[] | undefined;
  /** What the team spends; undefined for people who are not admins. */
  readonly money?: HomeMoney | undefined;
}

/** What was spent this month, and how the budgets stand. */
export interface HomeMoney {
  /** YYYY-MM */
  readonly month: string;
  readonly spent: SpendSum;
  readonly budgets: readonly BudgetStanding[];
  /** BCP 47 tag of the reader. */
  readonly locale: string;
}

/** The most orders or names in one part of the tab. */
export const HOME_LENGTH = 10;
/** The same where all parts together would have more blocks than Slack takes. */
const SHORT_LENGTH = 5;

/** The Home tab of a member of the workspace. */
export function homeBlocks(data: HomeData): KnownBlock[] {
  const blocks =
    data.account === undefined && data.teamAccount === undefined ? firstStepsBlocks : memberBlocks;
  const full = blocks(data, HOME_LENGTH);
  return full.length > LIMITS.viewBlocks ? blocks(data, SHORT_LENGTH) : full;
}

/** @param length the most orders in one part */
function memberBlocks(data: HomeData, length: number): KnownBlock[] {
  return [
    header('Domain Steward'),
    section(worksAs(data)),
    ...actions('home', [data.account === undefined && LINK_BUTTON, data.isAdmin && SETTINGS_BUTTON]),
    ...incidentPart(data),
    ...unreadablePart(data),
    ...standInPart(data),
    ...waitingPart(data, length),
    ...unresolvedPart(data.toResolve, length),
    ...reviewPart(data.toReview, length),
    ...openPart(data.open, length),
    ...homeMandates(data.mandates ?? []),
    ...moneyPart(data.money),
    ...expiringPart(data),
  ];
}

const SETTINGS_BUTTON = button('home_settings', 'Settings', 'settings');
const LINK_BUTTON = button('home_link', 'Link your account', 'link', { style: 'primary' });

/** Whose account the person's orders go out with. */
function worksAs({ account, teamAccount }: HomeData): string {
  return account === undefined
    ? `You have no account of your own. Your approved orders use the *team’s account*${teamAccount === undefined ? '' : `, ${code(accountName(teamAccount))}`}.`
    : `Your account: ${code(accountName(account))}, ${formatContext(account.context)}. Change it with \`/domain use\`.`;
}

/** For people without an account: what waits for them, then how to begin. */
function firstStepsBlocks(data: HomeData, length: number): KnownBlock[] {
  return [
    header('Domain Steward'),
    ...incidentPart(data),
    ...unreadablePart(data),
    ...standInPart(data),
    ...waitingPart(data, length),
    ...unresolvedPart(data.toResolve, length),
    ...reviewPart(data.toReview, length),
    ...(data.open.length > 0 ? openPart(data.open, length) : []),
    ...homeMandates(data.mandates ?? []),
    ...moneyPart(data.money),
    divider,
    header('First steps'),
    ...lines([
      '1. Link your account at the domain service. Your credentials are checked, encrypted, and used only for your orders.',
      '2. Use a command in any channel I’m in, for example `/domain renew cafe.rest`. Paid and risky tasks wait for an approver.',
      data.toDecide !== undefined &&
        'You don’t need an account to approve: orders waiting for you appear here, and I’ll message you.',
    ]),
    ...actions('home', [LINK_BUTTON, ...(data.isAdmin ? [SETTINGS_BUTTON] : [])]),
    context('Without an account: `/domain expiring` lists what expires, `/domain help` shows everything.'),
  ];
}

function openPart(orders: readonly Order[], length: number): KnownBlock[] {
  return part(
    {
      title: 'Your open orders',
      entries: orders.map((order) => [
        { ...section(ownOrderLine(order)), block_id: `open_${order.id}`, accessory: lookButton(order) },
      ]),
      none: 'None. `/domain help` shows what you can do.',
      more: '/domain orders mine',
    },
    length,
  );
}

/** The Home tab of somebody from another workspace. */
export function strangerBlocks(): KnownBlock[] {
  return [
    header('Domain Steward'),
    section('Only members of this workspace can use Domain Steward. Ask a member to do it for you.'),
  ];
}

/** The Home tab while some of its content cannot be read. */
export function unavailableBlocks(reference: string): KnownBlock[] {
  return [
    header('Domain Steward'),
    section(
      `I can’t load your orders right now. Open this tab again in a minute. Reference ${code(reference)}.`,
    ),
  ];
}

/** What is unusual stands before everything that waits. */
const INCIDENTS_SHOWN = 3;
function incidentPart({ incidents }: HomeData): KnownBlock[] {
  return firstIncidents(incidents, INCIDENTS_SHOWN);
}

/** The absences that concern the person. */
function standInPart({ standIn, standsInFor }: HomeData): KnownBlock[] {
  return lines([
    standIn !== undefined &&
      `${mention(standIn.userId)} stands in for you until ${moment(standIn.until)}. \`/domain back\` ends it earlier.`,
    ...standsInFor.map(({ userId, until }) => `You stand in for ${mention(userId)} until ${moment(until)}.`),
  ]);
}

/** Says what is missing, and why to those who can do something about it. */
function unreadablePart({ unreadableGroups, toDecide, isAdmin }: HomeData): KnownBlock[] {
  if (unreadableGroups.length === 0) return [];
  const groups = unreadableGroups.map(mentionApprover).join(' and ');
  const said = present([
    `:warning: Slack didn’t return the members of ${groups}.`,
    toDecide === undefined &&
      'If you belong to it, orders waiting for your approval are missing here. Open this tab again in a minute.',
    isAdmin &&
      'Until it does, its members can’t approve; people listed by name can. If this persists, check that the group exists and that I have the permission `usergroups:read`.',
  ]);
  return [context(said.join(' '))];
}

/** A list of orders in the tab. */
interface Part {
  readonly title: string;
  /** The blocks of each order. */
  readonly entries: readonly (readonly KnownBlock[])[];
  /** Said where there are no orders; without it the whole part is left out then. */
  readonly none?: string;
  /** The command that shows all of them. */
  readonly more: string;
}

/** @param length the most entries that are shown */
function part({ title, entries, none, more }: Part, length: number): KnownBlock[] {
  if (entries.length === 0) return none === undefined ? [] : [divider, header(title), section(none)];
  const left = entries.length - length;
  return present([
    divider,
    header(title),
    ...entries.slice(0, length).flat(),
    left > 0 && context(`${left} more: \`${more}\`.`),
  ]);
}

/** Empty for people who are no approvers. */
function waitingPart({ toDecide, briefings }: HomeData, length: number): KnownBlock[] {
  if (toDecide === undefined) return [];
  return part(
    {
      title: 'Waiting for your approval',
      entries: toDecide.map((order) => waitingEntry(order, briefings.get(order.id))),
      none: 'Nothing is waiting for you.',
      more: '/domain orders pending',
    },
    length,
  );
}

/** An order to decide about. What does not stand here whole is looked at first, and approved there. */
function waitingEntry(order: Order, briefing: Briefing | undefined): KnownBlock[] {
  const entry = section(decisionText(order, briefing));
  const statement = order.bulk === undefined ? briefing?.statement : undefined;
  const sent = statement === undefined || showWhole([entry], statement) ? '' : briefText(statement);
  const details = sent === '' ? [] : [section(sent)];
  const isWhole = showWhole([entry, ...details], statement);
  return [
    entry,
    ...(isWhole ? details : [context('Not everything is shown here.')]),
    ...actions(`home_${order.id}`, [
      ...decisionButtons(order, isWhole),
      isWhole && clickButton(order),
      (isWhole || needsSignatures(order.demand)) && lookButton(order),
    ]),
  ];
}

function unresolvedPart(orders: readonly Order[], length: number): KnownBlock[] {
  return part(
    {
      title: 'Outcome unknown',
      entries: orders.map((order) => [
        section(`${orderLine(order)}\nCheck at the domain service whether it was carried out.`),
        ...actions(`settle_${order.id}`, [...resolveButtons(order), lookButton(order)]),
      ]),
      more: '/domain orders',
    },
    length,
  );
}

/** Whether an order costs money, where no price says so; that it does not is no news. */
function moneyWords(order: Order): string[] {
  switch (taskNamed(order.task).charge(order.items.map(({ name }) => name))) {
    case 'yes':
      return ['costs money'];
    case 'assumed':
      return ['assumed to cost money'];
    case 'not_stated':
      return ['cost not stated'];
    case 'no':
      return [];
  }
}

function reviewPart(orders: HomeData['toReview'], length: number): KnownBlock[] {
  return part(
    {
      title: 'To sign off',
      entries: orders.map(({ order, canSignOff }) => [
        section(`${reviewText(order)}${canSignOff ? '' : '\nAnother admin has to sign it off.'}`),
        ...actions(`review_${order.id}`, [...(canSignOff ? signOffButtons(order) : []), lookButton(order)]),
      ]),
      more: '/domain orders review',
    },
    length,
  );
}

/** The entry of an order shows these in words of its own. Findings are about rows, which *Look at it* shows. */
const SHOWN: ReadonlySet<UnusualFact> = new Set<UnusualFact>([
  'price',
  'account',
  'budget',
  'findings',
  'impact',
]);

/** The worst of the impact; all of it once it has changed. */
function impactShown(briefing: Briefing): string[] {
  const { impact } = briefing;
  if (impact === 'none') return [];
  if (impact === 'unseen') return [worstImpactLine(impact)];
  return impactChangeLines(compareImpacts(impact.asked, impact.latest)).length > 0
    ? impactFindings(briefing)
    : [worstImpactLine(impact.latest)];
}

/** What an approver has to know, as on the card but in few lines. */
function decisionText(order: Order, briefing: Briefing | undefined): string {
  const demo = isDemoContext(order.account.context) ? 'DEMO · ' : '';
  const { cost, budgets } = briefing ?? {};
  const over = budgets?.over ?? [];
  const price = cost === undefined || cost.sums.length === 0 ? undefined : `about ${amountsText(cost.sums)}`;
  return present([
    [
      `*${demo}${escapeText(orderTitle(order))}*`,
      ...(cost === undefined ? moneyWords(order) : present([price])),
    ].join(' · '),
    cost !== undefined && cost.sums.length === 0 && ':warning: Costs money, price unknown',
    cost !== undefined &&
      cost.sums.length > 0 &&
      cost.unknown > 0 &&
      `:warning: Price unknown for ${count(cost.unknown, 'name')}`,
    `${mention(order.requesterId)}${order.reason === undefined ? '' : `: “${quote(order.reason)}”`}${order.expiresAt === undefined ? '' : ` · open until ${moment(order.expiresAt)}`}`,
    over.length > 0 && overBudgetFact(over),
    ...ruleLines(order),
    ...(briefing === undefined ? [] : impactShown(briefing)),
    accountLine(order),
    ...(briefing === undefined ? [] : unusualLines(order, briefing, SHOWN)),
    present([
      systemText(order),
      order.approvalsRequired > 1 && `needs ${count(order.approvalsRequired, 'approval')}`,
      code(order.id),
    ]).join(' · '),
  ]).join('\n');
}

/** The most requirements of an order in a list. */
const SHOWN_REQUIREMENTS = 3;

/** Whose approval it needed by which rule when it was asked for; empty where only the settings say so. */
function ruleLines({ demand }: Order): string[] {
  if (!isRuled(demand)) return [];
  const shown = demand.requirements
    .slice(0, SHOWN_REQUIREMENTS)
    .map(
      ({ rule, needed, approvers }) =>
        `Needs ${count(needed, 'approval')} of ${approverList(approvers)}: ${ruleNames([rule])}`,
    );
  const left = demand.requirements.length - shown.length;
  return left === 0 ? shown : [...shown, `Needs the approvals of ${count(left, 'more rule')}`];
}

/** What the team spends. Empty while nothing was bought and there is no budget. */
function moneyPart(money: HomeMoney | undefined): KnownBlock[] {
  if (money === undefined || (money.spent.names === 0 && money.budgets.length === 0)) return [];
  const { month, spent, budgets, locale } = money;
  const sum = spent.names === 0 ? 'nothing' : `${sumText(spent, locale)}, for ${count(spent.names, 'name')}`;
  return [
    divider,
    header('Money'),
    ...lines([`Spent in ${periodText(month)}: ${sum}.`, ...budgetLines(budgets, locale)]),
    context('By your price list. Details and forecast: `/domain spend`.'),
  ];
}

function expiringPart({ next, renewals, months }: HomeData): KnownBlock[] {
  const title = [divider, header('Expiring next')];
  if (next.length === 0) {
    return [
      ...title,
      section(
        'No watched name expires within a year. Add names with `/domain watch NAME` or `/domain import`.',
      ),
    ];
  }
  return present([
    ...title,
    months.some(({ count }) => count > 0) &&
      table({
        caption: 'Names that expire, by month',
        columns: ['Month', 'Names'],
        rows: months.map(({ label, count }) => [label, String(count)]),
        pageSize: months.length,
      }),
    table({
      caption: 'Next to expire',
      columns: ['Name', 'Days left', 'To do', 'Expires'],
      rows: next
        .slice(0, HOME_LENGTH)
        .map((listed) => [displayName(listed.domain.name), ...deadlineCells(listed, renewals)]),
    }),
    context('Prices and renewals: `/domain expiring`'),
  ]);
}

const TO_DO: Readonly<Record<Deadline['action'], string>> = {
  renew: 'Renew',
  restore: 'Restore',
  check: 'Check the service',
  none: 'Nothing',
};

/** The days that are left, what can be done about a name or will be, and when that or the name ends. */
function deadlineCells({ domain, deadline }: ListedName, renewals: RenewalDays): readonly string[] {
  if (deadline === undefined) return ['', 'Date unknown', ''];
  const { action, until, daysLeft, phase } = deadline;
  const when =
    until === undefined ? (action === 'none' || action === 'check' ? '' : 'now') : formatDay(until);
  const isDecided = phase === 'registered' && renewals.has(domain.name);
  return [
    daysLeft === undefined ? '' : String(daysLeft),
    isDecided ? 'A mandate renews it' : TO_DO[action],
    when,
  ];
}
