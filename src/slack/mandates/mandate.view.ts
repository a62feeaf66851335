import type { KnownBlock } from '@slack/types';
import { groupBy, present } from '../../lib/collections.ts';
import type { ActiveMandate } from '../../mandates/mandate.ts';
import type { CoveringMandate, MandatePreview, MandateStatus } from '../../mandates/overview.ts';
import type { MandateAct } from '../../mandates/ports.ts';
import type { MandateIssue, MandateTerms } from '../../mandates/terms.ts';
import type { Amount } from '../../money/amount.ts';
import { exactNumber } from '../../money/budget.ts';
import type { OrderCost } from '../../money/prices.ts';
import type { Order } from '../../orders/order.ts';
import { calendarDay, utcDay } from '../../zones/calendar-day.ts';
import { displayName } from '../../zones/names.ts';
import { loggedApprovers } from '../approvals/decision.view.ts';
import type { Capability } from '../capability.ts';
import { askedRenewalText } from '../expiry/due.view.ts';
import { formatDay } from '../expiry/expiry.view.ts';
import {
  type AnyBlock,
  actions,
  button,
  code,
  context,
  count,
  escapeText,
  joinFirst,
  lines,
  type Message,
  mention,
  message,
  moment,
  section,
} from '../kit/blocks.ts';
import { type Page, pageControls } from '../kit/pages.ts';
import { periodText } from '../money/budget.view.ts';
import { amountsText, PRICE_ISSUES } from '../money/price.view.ts';
import { heldReasonText } from './held.view.ts';

/* Texts of mandates: terms, state, daily acts and end. */

const NAMES_IN_LINE = 10;

function names(all: readonly string[], shown = NAMES_IN_LINE): string {
  return escapeText(joinFirst(all.map(displayName), shown));
}

function amount({ currency }: Amount, minor: bigint): string {
  return amountsText([{ currency, minor: exactNumber(minor) }]);
}

/** `*.rest, tag:brand`, as code. */
function patterns({ mandate_names }: MandateTerms): string {
  return mandate_names.map((pattern) => code(pattern)).join(', ');
}

function termsText(terms: MandateTerms): string {
  const { max_price, max_total, span, until, notice } = terms;
  return `Up to ${amountsText([max_price])} per name and year, ${amountsText([max_total])} per calendar ${span}, until ${formatDay(until)}, ${notice} days before expiry`;
}

/** Plain text. */
export function mandateIssueText(issue: MandateIssue): string {
  switch (issue.code) {
    case 'no_names':
      return 'Enter names, such as *.rest, tag:brand or cafe.rest.';
    case 'fits_everything':
      return 'A mandate can’t cover every name. Use *.rest or tag:brand, for example.';
    case 'unreadable_pattern':
      return `“${issue.given}” isn’t a name, *.zone or tag:word.`;
    case 'fits_nothing':
      return `“${issue.given}” matches no watched name.`;
    case 'too_many_names':
      return `At most ${issue.max} patterns. A tag covers many names.`;
    case 'zero':
      return 'Enter an amount above 0.';
    case 'below_max_price':
      return 'This is less than the maximum for one name.';
    case 'other_currency':
      return `Use amounts in ${issue.currency}.`;
    case 'span_unknown':
      return 'Choose a month or a year.';
    case 'not_a_day':
      return 'Enter a date as YYYY-MM-DD.';
    case 'day_past':
      return 'Enter a future date.';
    case 'too_far_ahead':
      return `At most ${issue.max} days from now.`;
    case 'notice_out_of_range':
      return `Enter whole days, from ${issue.min} to ${issue.max}.`;
    case 'no_account':
      return 'This account isn’t linked. Link one with /domain link.';
    case 'demo_account':
      return 'This is a demo account, which renews nothing.';
    default:
      return PRICE_ISSUES[issue.code];
  }
}

/** Covered names on the card; the rest is behind *Details*. */
const COVERED_ON_CARD = 4;

/** Skipped names on the card: a warning has two lines. */
export const HELD_ON_CARD = 2;

/**
 * A pending mandate's coverage, one line each.
 * @param mostHeld names shown per reason for skipping
 */
export function previewLines(
  { names: all, lastYear, nextYear, held, others }: MandatePreview,
  mostHeld: number,
): string[] {
  const years = [
    ...(nextYear === undefined ? [] : [`next year ${yearText(nextYear)}`]),
    ...(lastYear === undefined ? [] : [`last year ${yearText(lastYear)}`]),
  ].join(', ');
  const cost = years === '' ? '' : ` · ${years}`;
  const because = [...groupBy(held, (each) => each.because)].map(
    ([code, group]) =>
      `${names(
        group.map(({ name }) => name),
        mostHeld,
      )} (${heldReasonText(code)})`,
  );
  return [
    `Covers ${count(all.length, 'name')}${all.length > COVERED_ON_CARD ? '' : `: ${names(all)}`}${cost}`,
    ...(because.length === 0 ? [] : [`⚠ Not ${because.join('; ')}`]),
    ...(others.length === 0 ? [] : [`⚠ An older mandate covers ${names(others, mostHeld)}`]),
  ];
}

export function coveredNamesText({ names: all }: MandatePreview): string {
  return `*Covers ${count(all.length, 'name')} today*: ${names(all, all.length)}`;
}

function yearText({ sums, unknown }: OrderCost): string {
  const known = sums.length === 0 ? [] : [`about ${amountsText(sums)}`];
  return [...known, ...(unknown === 0 ? [] : [`${unknown} without a price`])].join(', ');
}

function mandateBlocks({
  order,
  mandate,
  history,
  period,
  booked,
  reserved,
  coming,
  acts,
}: MandateStatus): AnyBlock[] {
  const { terms } = mandate;
  const left = BigInt(terms.max_total.minor) - booked - reserved;
  const held = acts.filter((act) => act.held !== undefined);
  const approvers = loggedApprovers(history).map(mention).join(', ');
  return [
    section(`*${patterns(terms)}*\n${termsText(terms)}`),
    ...lines([
      `${periodText(period)}: ${amount(terms.max_total, booked)} spent, ${amount(terms.max_total, reserved)} reserved, *${amount(terms.max_total, left)} left*`,
      coming.length === 0
        ? 'Nothing due in the next 30 days'
        : `Due in the next 30 days: ${names(coming.map(({ name }) => name))}`,
      ...held.slice(0, NAMES_IN_LINE).map((act) => `⚠ ${heldLine(act)}`),
      held.length > NAMES_IN_LINE && `⚠ ${count(held.length - NAMES_IN_LINE, 'more name')} in the audit log`,
    ]),
    context(
      `${mention(order.requesterId)} requested, ${approvers} approved · in force since ${moment(mandate.since)} · ${code(order.id)}`,
    ),
    ...actions(`mandate:${order.id}`, [
      button('mandate_end', 'End', order.id, {
        style: 'danger',
        label: `End the mandate ${order.id}`,
      }),
    ]),
  ];
}

export const MANDATES_SHOWN = 6;

/** Active mandates. @param hidden private ones that the reader can't see */
export function mandatesMessage(page: Page<MandateStatus>, waiting: readonly Order[], hidden = 0): Message {
  const inForce = page.total + hidden;
  const text =
    inForce === 0
      ? 'No mandate is in force: every renewal needs a request.'
      : `${count(inForce, 'mandate')} in force.`;
  return message(text, [
    section(
      `*${text}* A mandate renews names for a year without a request each time. It’s announced a day before, and stops at its limits.`,
    ),
    ...page.shown.flatMap(mandateBlocks),
    ...pageControls('mandates', page, MANDATES_SHOWN),
    ...(hidden === 0 ? [] : [context(`Private: ${count(hidden, 'mandate')}.`)]),
    ...waiting.map((order) => context(`Waiting for approval: ${code(order.id)}`)),
    ...actions('mandates', [addButton()]),
  ]);
}

/** @param orderId the mandate whose terms prefill the form */
function addButton(orderId = 'new') {
  return button('mandate_add', orderId === 'new' ? 'Request a mandate' : 'Request it again', orderId, {
    style: 'primary',
  });
}

/** Why a mandate doesn't renew a name, and the order that requests it. */
function heldLine({ name, held, orderId }: MandateAct): string {
  const order = orderId === undefined ? 'no order was created' : `order ${code(orderId)} was created for it`;
  return `${names([name])}: ${held === undefined ? '' : heldReasonText(held)}; ${order}`;
}

export interface NotifiedAct {
  readonly act: MandateAct;
  /** The order sent automatically; undefined for a skipped name. */
  readonly order: Order | undefined;
}

/** Each has a row with its button. */
export const ACTS_PER_MESSAGE = 20;

export function dayMessage(
  day: string,
  acts: readonly NotifiedAct[],
  { part, isLast, timeZone }: { readonly part: number; readonly isLast: boolean; readonly timeZone: string },
): Message {
  const renewed = acts.filter(({ act }) => act.held === undefined);
  const held = acts.filter(({ act }) => act.held !== undefined);
  const text = [
    ...(renewed.length === 0
      ? []
      : [`${count(renewed.length, 'name')} will be renewed by mandate from tomorrow`]),
    ...(held.length === 0
      ? []
      : [`${count(held.length, 'name')} won’t be and ${held.length === 1 ? 'needs' : 'need'} approval`]),
  ].join('; ');
  const first = acts[0]?.act.name;
  return message(first === undefined ? text : `${text}, first ${displayName(first)}.`, [
    section(`*${text}*${part === 0 ? '' : ' (more)'}`),
    ...renewed.map(({ act, order }) => actRow(act, order, timeZone)),
    ...lines(held.map(({ act }) => `⚠ ${heldLine(act)}`)),
    ...(isLast && renewed.length > 1
      ? actions(`mandate_day:${day}`, [button('mandate_stop_all', 'Stop all', day, { style: 'danger' })])
      : []),
    context(
      present([
        renewed.length > 0 && 'Owners: to tell me, press *Stop*.',
        '`/domain mandates` lists and ends mandates.',
      ]).join(' '),
    ),
  ]);
}

function actRow(
  { name, amount: price, expiresAt }: MandateAct,
  order: Order | undefined,
  timeZone: string,
): AnyBlock {
  const cost = price === undefined ? undefined : `about ${amountsText([price])}`;
  const isAhead = order?.state === 'APPROVED';
  const facts = [
    `*${names([name])}*`,
    !isAhead && cost,
    `expires ${formatDay(utcDay(expiresAt))}`,
    order && (isAhead ? aheadText(order, cost, timeZone) : stateText(order)),
  ];
  const block = section(present(facts).join(' · '));
  return isAhead
    ? {
        ...block,
        accessory: button('order_stop', 'Stop', order.id, { label: `Stop the renewal of ${name}` }),
      }
    : block;
}

/** With the sentence of the question to the owner. */
function aheadText({ id, sendAfter, createdAt }: Order, cost: string | undefined, timeZone: string): string {
  const day = formatDay(calendarDay(sendAfter ?? createdAt, timeZone));
  return `${askedRenewalText(day, cost === undefined ? '' : `, ${cost}`)} · order ${code(id)}`;
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

export function endedText(orderId: string): string {
  return `The mandate ${code(orderId)} ended. Its unsent orders are stopped.`;
}

export function stoppedAllText(stopped: number, candidates: number): string {
  if (candidates === 0) return 'Nothing of that day is waiting to be sent.';
  return stopped === candidates
    ? `Stopped ${count(stopped, 'renewal')}. They won’t be sent.`
    : `Stopped ${stopped} of ${count(candidates, 'renewal')}. The others’ threads say why they continue.`;
}

const ENDS = {
  person: 'It was ended',
  over: 'It expired',
  requester_left: 'Its requester left',
  owner_left: 'Its account’s owner left',
  approver_left: 'One of its approvers left',
  database_restored:
    'The database was restored, or the bot was down for more than a day, so its spending is uncertain',
  log_differs: 'The database and the log disagree about it',
} as const;

/** Thread reply for events of an active mandate; undefined for other events. */
export function mandateReply(
  order: Order,
  entry: {
    readonly kind: string;
    readonly until?: Date | undefined;
    readonly because?: unknown;
    readonly actor: string;
  },
): Message | undefined {
  const asker = mention(order.requesterId);
  switch (entry.kind) {
    case 'in_force': {
      const text = `✅ ${asker}: the mandate is in force. Renewals already due are announced shortly and sent a day later at the earliest.`;
      return message(text, [section(text)]);
    }
    case 'mandate_ending': {
      const until = entry.until === undefined ? 'soon' : moment(entry.until);
      const text = `⚠ ${asker}: the mandate ends ${until}. Request it again to keep it.`;
      return message(text, [section(text), ...actions(`mandate_again:${order.id}`, [addButton(order.id)])]);
    }
    case 'mandate_ended': {
      const because = order.mandateEnd?.because ?? 'over';
      const by = because === 'person' ? ` by ${mention(entry.actor)}` : '';
      const text = `⏹ ${asker}: the mandate ended. ${ENDS[because]}${by}. Its unsent orders are stopped; reminders continue as usual.`;
      return message(text, [section(text), ...actions(`mandate_again:${order.id}`, [addButton(order.id)])]);
    }
    default:
      return undefined;
  }
}

/** Whether the activation message already mentions an event. */
export function isAnnouncedInForce(
  { task, state }: Pick<Order, 'task' | 'state'>,
  { kind }: { readonly kind: string },
): boolean {
  return task === 'mandate' && state === 'SUCCEEDED' && kind === 'finished';
}

export function coveredText({ given, isOverBefore }: CoveringMandate): string {
  if (given === undefined)
    return isOverBefore
      ? ':warning: A private mandate covers it but ends before renewing it.'
      : ':repeat: A private mandate renews it.';
  const {
    order,
    mandate: { terms },
  } = given;
  if (isOverBefore)
    return `:warning: A mandate covers it but ends ${formatDay(terms.until)}, before renewing it: order ${code(order.id)}.`;
  return `:repeat: A mandate renews it ${terms.notice} days before expiry, up to ${amountsText([terms.max_price])}: order ${code(order.id)}.`;
}

/** Each has its own line above. */
const UNCOVERED_IN_LINE = 3;

/** Last line of a digest: names lost without action. */
export function uncoveredText(uncovered: readonly string[], { hasService }: Capability): string {
  const named = escapeText(joinFirst(uncovered.map(displayName), UNCOVERED_IN_LINE));
  const missing = hasService ? 'no owner, no mandate and no open order' : 'no owner';
  return `:warning: Nobody is responsible for ${named}: ${missing}.`;
}

export function homeMandates(given: readonly ActiveMandate[]): KnownBlock[] {
  if (given.length === 0) return [];
  return [
    section('*Mandates you requested or approved*'),
    ...lines(
      given.map(
        ({ order, mandate: { terms } }) => `${patterns(terms)} · ${termsText(terms)} · ${code(order.id)}`,
      ),
    ),
    context('`/domain mandates` shows what they did and ends them.'),
  ];
}

export const MANDATE_GONE = 'This mandate no longer exists. Close this and check `/domain mandates`.';
