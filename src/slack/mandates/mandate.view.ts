import type { KnownBlock } from '@slack/types';
import { groupBy } from '../../lib/collections.ts';
import type { MandateInForce } from '../../mandates/mandate.ts';
import type { CoveringMandate, MandatePreview, MandateStanding } from '../../mandates/overview.ts';
import type { MandateAct } from '../../mandates/ports.ts';
import type { MandateIssue, MandateTerms } from '../../mandates/terms.ts';
import type { Amount } from '../../money/amount.ts';
import { exactNumber } from '../../money/budget.ts';
import type { OrderCost } from '../../money/prices.ts';
import type { Order } from '../../orders/order.ts';
import { utcDay } from '../../zones/calendar-day.ts';
import { displayName } from '../../zones/names.ts';
import { loggedApprovers } from '../approvals/decision.view.ts';
import { formatDay } from '../expiry/expiry.view.ts';
import {
  type AnyBlock,
  actions,
  button,
  code,
  context,
  count,
  escapeText,
  firstOf,
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
import { heldText } from './held.view.ts';

/* Mandates as people read them: what they allow, how they stand, what they do on a day, and how they end. */

const NAMES_IN_LINE = 10;

function names(all: readonly string[], shown = NAMES_IN_LINE): string {
  return escapeText(firstOf(all.map(displayName), shown));
}

function amount({ currency }: Amount, minor: bigint): string {
  return amountsText([{ currency, minor: exactNumber(minor) }]);
}

/** `*.rest, tag:brand`, as code. */
function patterns({ mandate_names }: MandateTerms): string {
  return mandate_names.map((pattern) => code(pattern)).join(', ');
}

/** What a mandate allows, in one line. */
function termsText(terms: MandateTerms): string {
  const { max_price, max_total, span, until, notice } = terms;
  return `Up to ${amountsText([max_price])} for a name and year, ${amountsText([max_total])} in a calendar ${span}, until ${formatDay(until)}, ${notice} days before the expiry`;
}

/** What is wrong with a field of the form, plain text. */
export function mandateIssueText(issue: MandateIssue): string {
  switch (issue.code) {
    case 'no_names':
      return 'Say which names, such as *.rest, tag:brand or cafe.rest.';
    case 'fits_everything':
      return 'Every name there is or will be is too much. Say which, such as *.rest or tag:brand.';
    case 'unreadable_pattern':
      return `“${issue.given}” is neither a name, nor *.zone, nor tag:word.`;
    case 'fits_nothing':
      return `“${issue.given}” fits no name of the watch list.`;
    case 'too_many_names':
      return `At most ${issue.max} patterns. A tag says many names in one.`;
    case 'zero':
      return 'With nothing to spend it would renew nothing.';
    case 'below_max_price':
      return 'This is less than one name may cost.';
    case 'other_currency':
      return `Amounts are in ${issue.currency} here.`;
    case 'span_unknown':
      return 'Choose a month or a year.';
    case 'not_a_day':
      return 'Give a day as YYYY-MM-DD.';
    case 'day_past':
      return 'Give a day that is still to come.';
    case 'too_far_ahead':
      return `At most ${issue.max} days from now.`;
    case 'notice_out_of_range':
      return `Give whole days, from ${issue.min} to ${issue.max}.`;
    case 'no_account':
      return 'There is no such account. Link one with /domain link.';
    case 'demo_account':
      return 'This account is of the demo system, where nothing is renewed.';
    default:
      return PRICE_ISSUES[issue.code];
  }
}

/** So many names that a mandate covers stand on its card; more of them behind *Details*. */
const COVERED_ON_CARD = 4;

/** The same of names for which it does not act: a warning has two lines. */
export const HELD_ON_CARD = 2;

/**
 * What a waiting mandate would cover: a line each.
 * @param mostHeld how many of the names are named for which it does not act, of each reason
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
      )} (${heldText(code)})`,
  );
  return [
    `Covers ${count(all.length, 'name')}${all.length > COVERED_ON_CARD ? '' : `: ${names(all)}`}${cost}`,
    ...(because.length === 0 ? [] : [`⚠ Not ${because.join('; ')}`]),
    ...(others.length === 0 ? [] : [`⚠ An older mandate acts for ${names(others, mostHeld)}`]),
  ];
}

/** Every name that a waiting mandate would cover, in mrkdwn. */
export function coveredNamesText({ names: all }: MandatePreview): string {
  return `*Covers ${count(all.length, 'name')} today*: ${names(all, all.length)}`;
}

function yearText({ sums, unknown }: OrderCost): string {
  const known = sums.length === 0 ? [] : [`about ${amountsText(sums)}`];
  return [...known, ...(unknown === 0 ? [] : [`${unknown} without a price`])].join(', ');
}

function standingBlocks({
  order,
  mandate,
  history,
  period,
  booked,
  reserved,
  coming,
  acts,
}: MandateStanding): AnyBlock[] {
  const { terms } = mandate;
  const left = BigInt(terms.max_total.minor) - booked - reserved;
  const held = acts.filter((act) => act.held !== undefined);
  const approvers = loggedApprovers(history).map(mention).join(', ');
  return [
    section(`*${patterns(terms)}*\n${termsText(terms)}`),
    ...lines([
      `${periodText(period)}: ${amount(terms.max_total, booked)} spent, ${amount(terms.max_total, reserved)} reserved, *${amount(terms.max_total, left)} left*`,
      coming.length === 0
        ? 'Nothing comes in the next 30 days'
        : `Comes in the next 30 days: ${names(coming.map(({ name }) => name))}`,
      ...held.slice(0, NAMES_IN_LINE).map((act) => `⚠ ${heldLine(act)}`),
      held.length > NAMES_IN_LINE &&
        `⚠ And ${count(held.length - NAMES_IN_LINE, 'more name')}, in the audit log`,
    ]),
    context(
      `${mention(order.requesterId)} asked, ${approvers} approved · in force since ${moment(mandate.since)} · ${code(order.id)}`,
    ),
    ...actions(`mandate:${order.id}`, [
      button('mandate_end', 'End it', order.id, {
        style: 'danger',
        label: `End it: the mandate ${order.id}`,
      }),
    ]),
  ];
}

/** Mandates on one page: each has five blocks. */
export const MANDATES_SHOWN = 6;

/** The mandates that are in force. @param hidden how many were asked for in private, so that the reader does not see them */
export function mandatesMessage(page: Page<MandateStanding>, waiting: readonly Order[], hidden = 0): Message {
  const inForce = page.total + hidden;
  const text =
    inForce === 0
      ? 'No mandate is in force: every renewal is asked for.'
      : `${count(inForce, 'mandate')} in force.`;
  return message(text, [
    section(
      `*${text}* A mandate renews names for a year without asking each time, says so a day before, and stops at its ceilings.`,
    ),
    ...page.shown.flatMap(standingBlocks),
    ...pageControls('mandates', page, MANDATES_SHOWN),
    ...(hidden === 0 ? [] : [context(`Asked for in private: ${count(hidden, 'mandate')}.`)]),
    ...waiting.map((order) => context(`Waits for approval: ${code(order.id)}`)),
    ...actions('mandates', [addButton()]),
  ]);
}

/** @param orderId the mandate whose terms the form begins with */
function addButton(orderId = 'new') {
  return button('mandate_add', orderId === 'new' ? 'Ask for a mandate' : 'Ask for it again', orderId, {
    style: 'primary',
  });
}

/** Why a name is not renewed by its mandate, and which order asks for it. */
function heldLine({ name, held, orderId }: MandateAct): string {
  const asked = orderId === undefined ? 'nobody is asked' : `order ${code(orderId)} asks for it`;
  return `${names([name])}: ${held === undefined ? '' : heldText(held)}; ${asked}`;
}

/** What is known of an act when its day is told. */
export interface ToldAct {
  readonly act: MandateAct;
  /** The order that is sent without asking; undefined for a name that is held. */
  readonly order: Order | undefined;
}

/** Acts in one message: each has a row with its button. */
export const ACTS_PER_MESSAGE = 20;

/** What mandates do from a day on, and what they do not. */
export function dayMessage(
  day: string,
  told: readonly ToldAct[],
  { part, isLast }: { readonly part: number; readonly isLast: boolean },
): Message {
  const renewed = told.filter(({ act }) => act.held === undefined);
  const held = told.filter(({ act }) => act.held !== undefined);
  const text = [
    ...(renewed.length === 0
      ? []
      : [`${count(renewed.length, 'name')} will be renewed by mandate, from tomorrow on`]),
    ...(held.length === 0
      ? []
      : [`${count(held.length, 'name')} will not be, and ${held.length === 1 ? 'is' : 'are'} asked for`]),
  ].join('; ');
  const first = told[0]?.act.name;
  return message(first === undefined ? text : `${text}, first ${displayName(first)}.`, [
    section(`*${text}*${part === 0 ? '' : ' (more)'}`),
    ...renewed.map(({ act, order }) => actRow(act, order)),
    ...lines(held.map(({ act }) => `⚠ ${heldLine(act)}`)),
    ...(isLast && renewed.length > 1
      ? actions(`mandate_day:${day}`, [
          button('mandate_stop_all', 'Stop all of them', day, { style: 'danger' }),
        ])
      : []),
    context('`/domain mandates` says which mandates there are, and ends them.'),
  ]);
}

function actRow({ name, amount: price, expiresAt }: MandateAct, order: Order | undefined): AnyBlock {
  const cost = price === undefined ? '' : ` · about ${amountsText([price])}`;
  const ends = ` · ends ${formatDay(utcDay(expiresAt))}`;
  const state = order === undefined ? '' : ` · ${stateText(order)}`;
  const block = section(`*${names([name])}*${cost}${ends}${state}`);
  return order?.state === 'APPROVED'
    ? {
        ...block,
        accessory: button('order_stop', 'Stop', order.id, { label: `Stop the renewal of ${name}` }),
      }
    : block;
}

function stateText({ state, id, mandated }: Order): string {
  switch (state) {
    case 'APPROVED':
      return `goes out from ${mandated === undefined ? 'now' : moment(mandated.sendAfter)} on, order ${code(id)}`;
    case 'CANCELLED':
      return 'stopped';
    case 'SUCCEEDED':
      return 'renewed';
    case 'FAILED':
      return 'not renewed';
    case 'UNKNOWN':
      return 'nobody knows yet whether it was renewed';
    default:
      return 'on its way';
  }
}

/** Said to who has ended a mandate. */
export function endedText(orderId: string): string {
  return `The mandate ${code(orderId)} has ended. What it had not sent is stopped.`;
}

/** How many of a day’s orders were stopped. */
export function stoppedAllText(stopped: number, asked: number): string {
  if (asked === 0) return 'Nothing of that day waits to be sent any more.';
  return stopped === asked
    ? `Stopped: ${count(stopped, 'renewal')}. Nothing of them is sent.`
    : `Stopped: ${stopped} of ${count(asked, 'renewal')}. The threads of the others say why they go on.`;
}

const ENDS = {
  person: 'It was ended',
  over: 'Its time is over',
  requester_left: 'Who asked for it has left',
  owner_left: 'Whose account it uses has left',
  approver_left: 'Somebody who gave it has left',
  database_restored:
    'My database was put back, or I was away for more than a day, so what it has spent is not certain',
  log_differs: 'My database says something else about it than my log',
} as const;

/** A reply in the thread of a mandate, for what happens to it while it is in force; undefined for other events. */
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
      const text = `✅ ${asker}: the mandate is in force. What is due by now is said shortly, and goes out a day later at the earliest.`;
      return message(text, [section(text)]);
    }
    case 'mandate_ending': {
      const until = entry.until === undefined ? 'soon' : moment(entry.until);
      const text = `⚠ ${asker}: the mandate ends ${until}. Ask for it again if it should go on.`;
      return message(text, [section(text), ...actions(`mandate_again:${order.id}`, [addButton(order.id)])]);
    }
    case 'mandate_ended': {
      const because = order.mandateEnd?.because ?? 'over';
      const by = because === 'person' ? ` by ${mention(entry.actor)}` : '';
      const text = `⏹ ${asker}: the mandate has ended. ${ENDS[because]}${by}. What it had not sent is stopped; names that are due are reminded of as usual.`;
      return message(text, [section(text), ...actions(`mandate_again:${order.id}`, [addButton(order.id)])]);
    }
    default:
      return undefined;
  }
}

/** Whether a mandate has said with its coming into force what an event says. */
export function isSaidInForce(
  { task, state }: Pick<Order, 'task' | 'state'>,
  { kind }: { readonly kind: string },
): boolean {
  return task === 'mandate' && state === 'SUCCEEDED' && kind === 'finished';
}

/** Said where a mandate covers a name. */
export function coveredText({ given, isOverBefore }: CoveringMandate): string {
  if (given === undefined)
    return isOverBefore
      ? ':warning: A private mandate covers it and ends before it would renew it.'
      : ':repeat: A private mandate renews it.';
  const {
    order,
    mandate: { terms },
  } = given;
  if (isOverBefore)
    return `:warning: A mandate covers it and ends ${formatDay(terms.until)}, before it would renew it: order ${code(order.id)}.`;
  return `:repeat: A mandate renews it up to ${amountsText([terms.max_price])}, ${terms.notice} days before: order ${code(order.id)}.`;
}

/** Each has a line of its own above. */
const UNCOVERED_IN_LINE = 3;

/** The last line of a digest: names that are lost if nobody presses anything. */
export function uncoveredText(uncovered: readonly string[]): string {
  const one = uncovered.length === 1;
  const named = escapeText(firstOf(uncovered.map(displayName), UNCOVERED_IN_LINE));
  return `:warning: Nobody looks after ${named}: ${one ? 'it has' : 'they have'} no owner, no mandate renews ${one ? 'it' : 'them'}, and nobody has asked.`;
}

/** The mandates of a person, for their Home tab. */
export function homeMandates(given: readonly MandateInForce[]): KnownBlock[] {
  if (given.length === 0) return [];
  return [
    section('*Mandates that you asked for or gave*'),
    ...lines(
      given.map(
        ({ order, mandate: { terms } }) => `${patterns(terms)} · ${termsText(terms)} · ${code(order.id)}`,
      ),
    ),
    context('`/domain mandates` says what they did and ends them.'),
  ];
}

export const MANDATE_GONE =
  'This mandate is not kept any more. Close this and look at `/domain mandates` again.';
