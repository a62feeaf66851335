import type { KnownBlock } from '@slack/types';
import { dropMissing, groupBy } from '../../lib/collections.ts';
import type { ActiveMandate } from '../../mandates/mandate.ts';
import type { CoveringMandate, MandatePreview, MandateStatus } from '../../mandates/overview.ts';
import type { MandateAct } from '../../mandates/ports.ts';
import type { MandateIssue, MandateTerms } from '../../mandates/terms.ts';
import { toSafeInteger } from '../../money/budget.ts';
import type { OrderCost } from '../../money/prices.ts';
import type { Order } from '../../orders/order.ts';
import { parseMandateTerms } from '../../orders/tasks.ts';
import { formatCalendarDay, getUtcDay } from '../../zones/calendar-day.ts';
import { formatDomainName } from '../../zones/names.ts';
import { findLoggedApprovers } from '../approvals/decision.view.ts';
import type { Capability } from '../capability.ts';
import { renewalText } from '../expiry/due.view.ts';
import { formatDay } from '../expiry/expiry.view.ts';
import {
  type AnyBlock,
  actions,
  button,
  code,
  context,
  escapeText,
  formatCount,
  formatLocalTime,
  joinAtMost,
  joinWords,
  lineSections,
  type Message,
  mention,
  message,
  section,
} from '../kit/blocks.ts';
import { buildPageControls, type Page } from '../kit/pages.ts';
import { periodText } from '../money/budget.view.ts';
import { amountsText, PRICE_ISSUE_TEXTS } from '../money/price.view.ts';
import { holdReasonText } from './held.view.ts';

const MAX_NAMES_IN_LINE = 10;

function joinNames(names: readonly string[], max = MAX_NAMES_IN_LINE): string {
  return escapeText(joinAtMost(names.map(formatDomainName), max));
}

function minorAmountText(currency: string, minor: bigint): string {
  return amountsText([{ currency, minor: toSafeInteger(minor) }]);
}

/** `*.rest, tag:brand` */
function patternsText({ mandate_names }: MandateTerms): string {
  return mandate_names.map((pattern) => code(pattern)).join(', ');
}

function termsText(terms: MandateTerms): string {
  const { max_price, max_total, span, until, notice } = terms;
  return `At most ${amountsText([max_price])} per name and year, and ${amountsText([max_total])} in total per calendar ${span}. Renews names ${notice} days before expiry. Valid until ${formatDay(until)}`;
}

/** `In force until 23 Sept 2027` */
export function inForceText({ input }: Pick<Order, 'input'>): string {
  const terms = parseMandateTerms(input);
  return terms === undefined ? 'In force' : `In force until ${formatDay(terms.until)}`;
}

/** Returns plain text. */
export function mandateIssueText(issue: MandateIssue): string {
  switch (issue.code) {
    case 'no_names':
      return 'Enter names, such as *.rest, tag:brand or cafe.rest.';
    case 'matches_everything':
      return 'A mandate can’t cover every name. Use, for example, *.rest or tag:brand.';
    case 'unreadable_pattern':
      return `I can’t read “${issue.pattern}”. Enter a name, *.rest or tag:brand.`;
    case 'matches_nothing':
      return `“${issue.pattern}” matches no watched name. Check it, or watch the name first.`;
    case 'too_many_names':
      return `Use at most ${issue.max} patterns. To cover many names, use a tag.`;
    case 'zero':
      return 'Enter an amount above 0.';
    case 'below_max_price':
      return 'Enter at least the maximum price of one name.';
    case 'wrong_currency':
      return `Use amounts in ${issue.currency}.`;
    case 'span_unknown':
      return 'Choose a month or a year.';
    case 'invalid_date':
      return 'Enter a date as YYYY-MM-DD.';
    case 'date_in_past':
      return 'Enter a future date.';
    case 'too_far_ahead':
      return `Enter a date within ${issue.max} days from now.`;
    case 'notice_out_of_range':
      return `Enter a number of days from ${issue.min} to ${issue.max}.`;
    case 'no_account':
      return 'This account isn’t linked. Link one with /domain link.';
    case 'demo_account':
      return 'This is a demo account, which can’t renew names. Choose another account.';
    default:
      return PRICE_ISSUE_TEXTS[issue.code];
  }
}

/** The card lists the covered names only if there are at most this many. *Details* always lists them. */
const MAX_COVERED_ON_CARD = 4;

/** Maximum number of held names per reason on the card, so that a warning has at most two lines. */
export const MAX_HELD_ON_CARD = 2;

/**
 * Returns lines about the names that a pending mandate covers or won't renew.
 * @param maxNames maximum number of names per warning
 */
export function previewLines(
  { names: coveredNames, costAYearAgo, costToday, heldNames, namesCoveredByOthers }: MandatePreview,
  maxNames: number,
): string[] {
  const cost = costToday && yearlyCostText(costToday, costAYearAgo);
  const heldTexts = [...groupBy(heldNames, (heldName) => heldName.holdReason)].map(
    ([holdReason, group]) =>
      `${joinNames(
        group.map(({ name }) => name),
        maxNames,
      )} (${holdReasonText(holdReason)})`,
  );
  return [
    `Covers ${formatCount(coveredNames.length, 'name')}${coveredNames.length > MAX_COVERED_ON_CARD ? '' : `: ${joinNames(coveredNames)}`}${cost === undefined ? '' : ` · ${cost}`}`,
    ...(heldTexts.length === 0 ? [] : [`⚠ Won’t renew ${heldTexts.join('; ')}`]),
    ...(namesCoveredByOthers.length === 0
      ? []
      : [`⚠ An older mandate covers ${joinNames(namesCoveredByOthers, maxNames)}`]),
  ];
}

export function coveredNamesText({ names: coveredNames }: MandatePreview): string {
  return `*Covers ${formatCount(coveredNames.length, 'name')} today*: ${joinNames(coveredNames, coveredNames.length)}`;
}

/** `about €36.00 a year (1 without a price; €30.00 at last year’s prices)` */
function yearlyCostText({ sums, unknown }: OrderCost, costAYearAgo: OrderCost | undefined): string {
  if (sums.length === 0) return 'price unknown';
  const currentText = amountsText(sums);
  const lastYearText =
    costAYearAgo === undefined || costAYearAgo.sums.length === 0
      ? currentText
      : amountsText(costAYearAgo.sums);
  const notes = dropMissing([
    unknown > 0 && `${unknown} without a price`,
    lastYearText !== currentText && `${lastYearText} at last year’s prices`,
  ]);
  return `about ${currentText} a year${notes.length === 0 ? '' : ` (${notes.join('; ')})`}`;
}

function mandateBlocks({
  order,
  mandate,
  history,
  period,
  booked,
  reserved,
  upcomingNames,
  acts,
}: MandateStatus): AnyBlock[] {
  const { terms } = mandate;
  const { currency, minor } = terms.max_total;
  const remaining = BigInt(minor) - booked - reserved;
  const heldActs = acts.filter((act) => act.held !== undefined);
  const approversText = joinWords(findLoggedApprovers(history).map(mention));
  return [
    section(`*${patternsText(terms)}*\n${termsText(terms)}`),
    ...lineSections([
      `${periodText(period)}: ${minorAmountText(currency, booked)} spent, ${minorAmountText(currency, reserved)} reserved, *${minorAmountText(currency, remaining)} left*`,
      upcomingNames.length === 0
        ? 'No renewals in the next 30 days'
        : `Renewals in the next 30 days: ${joinNames(upcomingNames.map(({ name }) => name))}`,
      ...heldActs.slice(0, MAX_NAMES_IN_LINE).map((act) => `⚠ ${heldNameLine(act)}`),
      heldActs.length > MAX_NAMES_IN_LINE &&
        `⚠ The audit log has ${formatCount(heldActs.length - MAX_NAMES_IN_LINE, 'more name')}`,
    ]),
    context(
      `Requested by ${mention(order.requesterId)}, approved by ${approversText} · in force since ${formatLocalTime(mandate.startedAt)} · ${code(order.id)}`,
    ),
    ...actions(`mandate:${order.id}`, [
      button('mandate_end', 'End mandate', order.id, {
        style: 'danger',
        label: `End the mandate ${order.id}`,
      }),
    ]),
  ];
}

export const MANDATES_PER_PAGE = 6;

export function mandatesMessage(
  page: Page<MandateStatus>,
  pendingOrders: readonly Order[],
  hiddenCount = 0,
): Message {
  const totalCount = page.total + hiddenCount;
  const text =
    totalCount === 0
      ? 'No mandate is in force, so every renewal needs a request.'
      : `${formatCount(totalCount, 'mandate')} in force.`;
  return message(text, [
    section(
      `*${text}* A mandate renews names without a request each time, within limits that you set. I announce each renewal a day before.`,
    ),
    ...page.items.flatMap(mandateBlocks),
    ...buildPageControls('mandates', page, MANDATES_PER_PAGE),
    ...(hiddenCount === 0 ? [] : [context(`You can’t see ${formatCount(hiddenCount, 'private mandate')}.`)]),
    ...pendingOrders.map((order) => context(`Waiting for approval: ${code(order.id)}`)),
    ...actions('mandates', [buildRequestButton()]),
  ]);
}

/** @param orderId the mandate whose terms prefill the form */
function buildRequestButton(orderId = 'new') {
  return button('mandate_add', orderId === 'new' ? 'Request a mandate…' : 'Request it again…', orderId, {
    style: 'primary',
  });
}

/** Says why a mandate doesn't renew a name, and which order asks for approval of the renewal. */
function heldNameLine({ name, held, orderId }: MandateAct): string {
  const order = orderId === undefined ? 'No order was created' : `Order ${code(orderId)} asks for approval`;
  return `${joinNames([name])}: ${held === undefined ? '' : holdReasonText(held)}. ${order}`;
}

export interface NotifiedAct {
  readonly act: MandateAct;
  /** The order that is sent automatically; undefined for a held name. */
  readonly order: Order | undefined;
}

export const ACTS_PER_MESSAGE = 20;

export function mandateDayMessage(
  day: string,
  acts: readonly NotifiedAct[],
  { part, isLast, timeZone }: { readonly part: number; readonly isLast: boolean; readonly timeZone: string },
): Message {
  const renewalActs = acts.filter(({ act }) => act.held === undefined);
  const heldActs = acts.filter(({ act }) => act.held !== undefined);
  const hasUpcomingRenewal = renewalActs.some(({ order }) => order === undefined || isUpcoming(order));
  const text = dayMessageTitle(renewalActs.length, heldActs.length, hasUpcomingRenewal);
  const firstName = acts[0]?.act.name;
  return message(firstName === undefined ? text : `${text}. The first is ${formatDomainName(firstName)}.`, [
    section(`*${text}*${part === 0 ? '' : ' (more)'}`),
    ...renewalActs.map(({ act, order }) => actRow(act, order, timeZone)),
    ...lineSections(heldActs.map(({ act }) => `⚠ ${heldNameLine(act)}`)),
    ...(isLast && renewalActs.length > 1 && hasUpcomingRenewal
      ? actions(`mandate_day:${day}`, [button('mandate_stop_all', 'Stop all', day, { style: 'danger' })])
      : []),
    context(
      dropMissing([
        hasUpcomingRenewal && '*Stop* cancels only this renewal; reminders for the name continue.',
        'To see or end mandates, use `/domain mandates`.',
      ]).join(' '),
    ),
  ]);
}

function dayMessageTitle(renewedCount: number, heldCount: number, hasUpcomingRenewal: boolean): string {
  const heldNamesText = formatCount(heldCount, 'name');
  if (renewedCount === 0)
    return `Mandates can’t renew ${heldNamesText}, so ${heldCount === 1 ? 'it needs' : 'they need'} approval`;
  const renewedNamesText = formatCount(renewedCount, 'name');
  const renewedText = hasUpcomingRenewal
    ? `Mandates will renew ${renewedNamesText} starting tomorrow`
    : `Renewals by mandates: ${renewedNamesText}`;
  const heldText = `${heldNamesText} ${heldCount === 1 ? 'needs' : 'need'} approval`;
  return heldCount === 0 ? renewedText : `${renewedText}, but ${heldText}`;
}

function isUpcoming({ state }: Order): boolean {
  return state === 'APPROVED';
}

function actRow(
  { name, amount: price, expiresAt }: MandateAct,
  order: Order | undefined,
  timeZone: string,
): AnyBlock {
  const cost = price === undefined ? undefined : `about ${amountsText([price])}`;
  const canStop = order !== undefined && isUpcoming(order);
  const parts = [
    `*${joinNames([name])}*`,
    !canStop && cost,
    `expires ${formatDay(getUtcDay(expiresAt))}`,
    order && (canStop ? upcomingText(order, cost, timeZone) : stateText(order)),
  ];
  const block = section(dropMissing(parts).join(' · '));
  return canStop
    ? {
        ...block,
        accessory: button('order_stop', 'Stop', order.id, { label: `Stop the renewal of ${name}` }),
      }
    : block;
}

function upcomingText(
  { id, sendAfter, createdAt }: Order,
  cost: string | undefined,
  timeZone: string,
): string {
  const day = formatDay(formatCalendarDay(sendAfter ?? createdAt, timeZone));
  return `${renewalText(day, cost === undefined ? '' : `, ${cost}`)}, unless it’s stopped · order ${code(id)}`;
}

function stateText({ state }: Order): string {
  switch (state) {
    case 'CANCELLED':
      return 'stopped';
    case 'SUCCEEDED':
      return 'renewed';
    case 'FAILED':
      return 'not renewed';
    case 'UNKNOWN':
      return 'outcome unknown';
    default:
      return 'being sent';
  }
}

export function mandateEndedText(orderId: string): string {
  return `You ended the mandate ${code(orderId)} and stopped its unsent orders.`;
}

export function renewalsStoppedText(stoppedCount: number, candidateCount: number): string {
  if (candidateCount === 0)
    return 'There’s nothing to stop, because all renewals of that day were sent or stopped.';
  return stoppedCount === candidateCount
    ? `You stopped ${formatCount(stoppedCount, 'renewal')}.`
    : `You stopped ${stoppedCount} of ${formatCount(candidateCount, 'renewal')}. The threads of the others say why they continue.`;
}

/** Omits the cause `person`, because its text mentions who ended the mandate. */
const END_REASONS = {
  expired: 'the mandate expired',
  requester_left: 'the mandate ended, because its requester left',
  owner_left: 'the mandate ended, because its account’s owner left',
  approver_left: 'the mandate ended, because one of its approvers left',
  database_restored:
    'the mandate ended. The database was restored, or the bot was down for more than a day, so I don’t know how much it has spent',
  log_differs: 'the mandate ended, because the database and the log disagree about it',
} as const;

/** The thread reply to an event of an active mandate. Undefined for other events. */
export function mandateReply(
  order: Order,
  event: {
    readonly kind: string;
    readonly until?: Date | undefined;
    readonly actor: string;
  },
): Message | undefined {
  const requester = mention(order.requesterId);
  switch (event.kind) {
    case 'in_force': {
      const text = `✅ ${requester}: the mandate is in force. I’ll announce each renewal at least a day before I send it.`;
      return message(text, [section(text)]);
    }
    case 'mandate_ending': {
      const until = event.until === undefined ? 'soon' : formatLocalTime(event.until);
      const text = `⚠ ${requester}: the mandate ends ${until}. If you still need it, request it again.`;
      return message(text, [
        section(text),
        ...actions(`mandate_again:${order.id}`, [buildRequestButton(order.id)]),
      ]);
    }
    case 'mandate_ended': {
      const cause = order.mandateEnd?.cause ?? 'expired';
      const lead =
        cause === 'person'
          ? `${event.actor === order.requesterId ? '' : `${requester}: `}${mention(event.actor)} ended the mandate`
          : `${requester}: ${END_REASONS[cause]}`;
      const text = `⏹ ${lead}. Its unsent orders were stopped. Reminders continue as usual.`;
      return message(text, [
        section(text),
        ...actions(`mandate_again:${order.id}`, [buildRequestButton(order.id)]),
      ]);
    }
    default:
      return undefined;
  }
}

/** Whether the “in force” message already reports the event. */
export function isReportedByInForceMessage(
  { task, state }: Pick<Order, 'task' | 'state'>,
  { kind }: { readonly kind: string },
): boolean {
  return task === 'mandate' && state === 'SUCCEEDED' && kind === 'finished';
}

export function coverageText({ mandate: visibleMandate, endsBeforeRenewal }: CoveringMandate): string {
  if (visibleMandate === undefined)
    return endsBeforeRenewal
      ? ':warning: A private mandate covers it, but ends before it can renew it.'
      : ':repeat: A private mandate renews it.';
  const {
    order,
    mandate: { terms },
  } = visibleMandate;
  if (endsBeforeRenewal)
    return `:warning: A mandate (${code(order.id)}) covers it, but ends ${formatDay(terms.until)}, before it can renew it.`;
  return `:repeat: A mandate (${code(order.id)}) renews it ${terms.notice} days before expiry for at most ${amountsText([terms.max_price])}.`;
}

/** Maximum number of names in the line. Each name also has its own line above. */
const MAX_UNHANDLED_IN_LINE = 3;

/** The last line of a digest: names that are lost unless someone acts. */
export function unhandledNamesText(unhandledNames: readonly string[], { hasService }: Capability): string {
  const nameList = escapeText(joinAtMost(unhandledNames.map(formatDomainName), MAX_UNHANDLED_IN_LINE));
  const missingText = hasService ? 'no owner, mandate or open order' : 'no owner';
  return `:warning: No one is handling ${nameList}: ${missingText}.`;
}

export function mandateBlocksForHome(mandates: readonly ActiveMandate[]): KnownBlock[] {
  if (mandates.length === 0) return [];
  return [
    section('*Mandates you requested or approved*'),
    ...lineSections(
      mandates.map(
        ({ order, mandate: { terms } }) => `${patternsText(terms)} · ${termsText(terms)} · ${code(order.id)}`,
      ),
    ),
    context('To see their renewals or end them, use `/domain mandates`.'),
  ];
}

export const MANDATE_NOT_FOUND =
  'This mandate no longer exists. Close the form and check `/domain mandates`.';
