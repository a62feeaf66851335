import type { SectionBlock } from '@slack/types';
import { accountName } from '../../accounts/account.ts';
import { groupBy, present } from '../../collections.ts';
import type { AnyOrderLogEntry, OrderLogEntry } from '../../events.ts';
import { accountOwner, EVIDENCE, type Order, type OrderItem } from '../../orders/order.ts';
import { pausedReply, tallyText } from '../bulk/bulk.view.ts';
import {
  type AnyBlock,
  actions,
  button,
  capitalized,
  code,
  count,
  escapeText,
  lines,
  type Message,
  mention,
  message,
  moment,
  ownSentence,
  quote,
  section,
  textMessage,
  truncateMarkup,
} from '../kit/blocks.ts';
import { formatList } from '../names/facts.view.ts';
import { answerButtons } from './answer.view.ts';
import { approverName, isRuled, lastProgress, missingLines } from './decision.view.ts';
import { emergencyReply, signedOffReply } from './emergency.view.ts';
import { namesOf } from './impact.view.ts';
import {
  approverList,
  formatLapsed,
  formatPart,
  goesOverXml,
  type HistoryEvent,
  type HistoryEventOf,
  isNotEnough,
  isOnlyAccepted,
  itemName,
  itemText,
  lapsedApprovals,
  nextSteps,
  orderTitle,
  reasonOf,
  resolveButtons,
  resultText,
  retryButtons,
  STATES,
} from './order.view.ts';
import { recordFindingText } from './record-finding.view.ts';
import { retryReasonText, summaryText } from './summary.view.ts';

/* The replies in an order's thread, and its history. */

/** The reply to an event in the card's thread; undefined when the card says enough. */
export function orderReply(
  order: Order,
  event: HistoryEvent,
  approvers: readonly string[],
  now?: Date,
): Message | undefined {
  const asker = mention(order.requesterId);
  const title = escapeText(orderTitle(order));
  switch (event.kind) {
    case 'requested':
      return retriedReply(order, event);
    case 'approved':
      return isNotEnough(event) ? approvedReply(order, event) : lastApprovalReply(event);
    case 'emergency_approved':
      return emergencyReply(order, event);
    case 'signed_off':
      return signedOffReply(order, event);
    case 'asked':
      return askedReply(order, event);
    case 'escalated':
      return escalatedReply(order, event, approvers);
    case 'denied':
      return textMessage(
        `${STATES.DENIED.icon} ${asker}, ${mention(event.actor)} denied this: ${title}.${reasonOf(event)} Nothing was sent.`,
      );
    case 'cancelled':
      return textMessage(`${STATES.CANCELLED.icon} ${asker} cancelled this: ${title}. Nothing was sent.`);
    case 'expired':
      if (event.state !== 'EXPIRED')
        return textMessage(
          `${STATES.EXPIRED.icon} ${asker}, nobody let *${title}* go on in time. What was not sent yet is not sent any more.`,
        );
      return textMessage(
        `${STATES.EXPIRED.icon} ${asker}, nobody approved in time: ${title}. Nothing was sent. Ask again if it is still wanted.`,
      );
    case 'reminded':
      return textMessage(
        `:bell: ${approverList(approvers)}: this still waits for approval: ${title}. It is listed in my Home tab too.`,
      );
    case 'stopped':
      return stoppedReply(order, event);
    case 'paused':
      return pausedReply(order, event.pause, orderTitle(order), approverList(approvers));
    case 'resumed':
      return textMessage(`:arrow_forward: ${mention(event.actor)} lets *${title}* go on.`);
    case 'resolved':
      return resolvedReply(order, event, approvers, now);
    case 'answered_late':
      return lateReply(order, event, approvers);
    case 'shown':
      return registryConfirmedReply(order, event);
    case 'overdue':
      return overdueReply(order, event);
    case 'delegation_seen':
      return delegationReply(order, event);
    case 'finished':
      return finishedReply(order, event, approvers, now);
    default:
      return undefined;
  }
}

/** The actor of an event that the bot itself caused. */
const SYSTEM = 'system';

/** Tells the owner of the account that somebody else has asked again. */
function retriedReply(order: Order, event: HistoryEvent): Message | undefined {
  const owner = accountOwner(order);
  if (order.retryOf === undefined || owner === order.requesterId) return undefined;
  const next =
    event.state === 'APPROVED'
      ? 'It needs no approval.'
      : 'Another person has to approve it: neither of your approvals counts.';
  const whose = order.account.isTeamAccount === true ? 'the team’s' : 'your';
  return textMessage(
    `:repeat: ${mention(owner)}, ${mention(order.requesterId)} asks again for *${escapeText(orderTitle(order))}*, with ${whose} account ${code(accountName(order.account))}: order ${code(order.id)}, after ${code(order.retryOf)} failed. ${next}`,
  );
}

/** Something of an order is no longer sent. If that ends the order, the reply to its end says so. */
function stoppedReply(order: Order, event: HistoryEventOf<'stopped'>): Message | undefined {
  if (ENDED_BY_ITEMS.has(event.state)) return undefined;
  const title = escapeText(orderTitle(order));
  const { names } = event;
  const which = names.length < order.items.length ? ` Not sent: ${formatNames(order, names)}.` : '';
  if (event.state === 'CANCELLED') {
    const what = order.items.some(({ attempts }) => attempts > 0)
      ? 'The service refused what was sent before, so nothing was carried out.'
      : 'Nothing was sent.';
    return textMessage(
      `${STATES.CANCELLED.icon} ${mention(order.requesterId)}, ${mention(event.actor)} stopped this: ${title}. ${what}`,
    );
  }
  return textMessage(
    event.actor === SYSTEM
      ? `${STATES.CANCELLED.icon} ${mention(order.requesterId)}, ${title}: ${ownSentence(summaryText(event.summary))}${which}`
      : `${STATES.CANCELLED.icon} ${mention(order.requesterId)}, ${mention(event.actor)} stopped this: ${title}.${which} What was sent before goes on.`,
  );
}

/** States that follow from the items of an order: the reply to its end gives the result of each. */
const ENDED_BY_ITEMS: ReadonlySet<Order['state']> = new Set(['SUCCEEDED', 'FAILED', 'UNKNOWN']);

function formatNames(order: Order, names: readonly string[]): string {
  return truncateMarkup(names.map((name) => `*${escapeText(itemName(order, name))}*`).join(', '), 1_000);
}

/** An approver’s question. The requester answers in the thread. */
function askedReply(order: Order, event: HistoryEventOf<'asked'>): Message {
  return textMessage(
    `:speech_balloon: ${mention(order.requesterId)}, ${mention(event.actor)} asks about ${escapeText(orderTitle(order))}: “${quote(event.question, 2_000)}” ${order.isPrivate ? `Write ${mention(event.actor)} a direct message` : 'Answer here'}. The time that is left starts anew.`,
  );
}

/** The order has waited for long, and others are called. */
function escalatedReply(
  order: Order,
  { to, toAdmins }: HistoryEventOf<'escalated'>,
  approvers: readonly string[],
): Message {
  const called = present([
    to.length > 0 && `${approverList(to)} should know`,
    toAdmins && 'I am telling the admins',
  ]).join(', and ');
  const can = approvers.length === 0 ? '' : ` ${approverList(approvers)} can approve.`;
  return textMessage(
    `:mega: This still waits for approval, and ${called}: ${escapeText(orderTitle(order))}, asked by ${mention(order.requesterId)}.${can}`,
  );
}

/** The card says who approved, but neither their comment nor what they could not see. */
function lastApprovalReply(event: HistoryEventOf<'approved'>): Message | undefined {
  const said = reasonOf(event);
  const unseen = unseenAtApproval(event);
  return said === '' && unseen === ''
    ? undefined
    : textMessage(
        `:ballot_box_with_check: ${approverName(event.actor, [event])} approved${said === '' ? '.' : `:${said}`}${unseen}`,
      );
}

function unseenAtApproval({ isImpactUnknown }: HistoryEventOf<'approved'>): string {
  return isImpactUnknown === true ? ' What hangs on the name was not known yet at this approval.' : '';
}

/** One of several approvals was given, and more are needed. */
function approvedReply(order: Order, event: HistoryEventOf<'approved'>): Message {
  const lapsed = lapsedApprovals([event]);
  const progress = lastProgress([event]);
  const given = order.approvals.filter(({ userId }) => !lapsed.userIds.includes(userId)).length;
  const missing = Math.max((progress?.requirements[0]?.needed ?? order.approvalsRequired) - given, 1);
  const why = lapsed.isUncertain
    ? 'whoever has approved can press Approve again in a minute'
    : 'only approvers of this moment count';
  const gone = lapsed.userIds.length === 0 ? '' : ` ${formatLapsed(lapsed)}: ${why}.`;
  const more =
    progress !== undefined && isRuled(progress)
      ? `Still needed: ${missingLines(progress).join('; ')}.`
      : `${count(missing, 'more approval')} ${missing === 1 ? 'is' : 'are'} needed.`;
  const stricter =
    progress?.isStricter === true
      ? ' That is more than when this was asked for, for it has changed since.'
      : '';
  return textMessage(
    `:ballot_box_with_check: ${approverName(event.actor, [event])} approved.${reasonOf(event)}${gone} ${more}${stricter}${unseenAtApproval(event)}`,
  );
}

function resolvedReply(
  order: Order,
  event: HistoryEventOf<'resolved'>,
  approvers: readonly string[],
  now: Date | undefined,
): Message {
  const found = event.outcome === 'SUCCEEDED' ? 'done' : 'not done';
  return outcomeReply(
    order,
    `${STATES[event.state].icon} ${mention(order.requesterId)}, ${nameOfActor(event.actor)} settled this as ${found}: ${resolvedTitle(order, event)}.${reasonOf(event)}`,
    approvers,
    now,
  );
}

/** What was settled, which may be some of several names only. */
function resolvedTitle(order: Order, { ctids }: HistoryEventOf<'resolved'>): string {
  const settled = order.items.filter(({ ctid }) => ctids.includes(ctid));
  const title = `*${escapeText(orderTitle(order))}*`;
  if (settled.length === 0 || settled.length === order.items.length) return title;
  const names = formatNames(
    order,
    settled.map(({ name }) => name),
  );
  return `${names} (${escapeText(orderTitle(order))})`;
}

/** The registry shows the end of what the service had only accepted. */
function registryConfirmedReply(order: Order, { name }: HistoryEventOf<'shown'>): Message {
  const shown = itemName(order, name);
  return textMessage(
    `:white_check_mark: ${mention(order.requesterId)}, the registry’s public record shows it now: *${escapeText(orderTitle(order))}* is done for ${escapeText(shown)}.`,
  );
}

/** The registry shows that what the service accepted long ago has not happened. */
function overdueReply(order: Order, about: HistoryEventOf<'overdue'>): Message {
  const name = `*${escapeText(itemName(order, about.name))}*`;
  const since = `${count(about.days, 'day')} after the service accepted this`;
  const said =
    order.task === 'restore'
      ? `the registry still shows ${name} as deleted, ${since}. Ask the service what became of it: the name is lost when its redemption ends.`
      : `the registry does not show the transfer of ${name}, ${since}. Ask the service what became of it; the former registrar may have refused.`;
  return textMessage(`:warning: ${mention(order.requesterId)}, ${said}`);
}

/** Whether the nameservers that were set answer. */
function delegationReply(order: Order, event: HistoryEventOf<'delegation_seen'>): Message {
  const { name, delegation, hosts, hours } = event;
  const shown = escapeText(itemName(order, name));
  const asker = mention(order.requesterId);
  if (delegation === 'answering') {
    return textMessage(`:white_check_mark: ${asker}, all the new nameservers answer for *${shown}*.`);
  }
  return textMessage(
    `:warning: ${asker}, ${hours < 1 ? 'now' : `${count(hours, 'hour')} after the change`} ${formatList(hosts)} ${hosts.length === 1 ? 'does' : 'do'} not answer for *${shown}*. Mail and website fail for whoever asks ${hosts.length === 1 ? 'it' : 'them'}. Set the name up there, or press *Undo* on the card.`,
  );
}

/** The service answered after the order, or its name, had ended without that answer. */
function lateReply(
  order: Order,
  { n, agrees, outcome, resolvedBy }: HistoryEventOf<'answered_late'>,
  approvers: readonly string[],
): Message | undefined {
  const item = order.items.find((each) => each.n === n);
  if (item === undefined) return undefined;
  const name = order.items.length > 1 ? `*${escapeText(itemName(order, item.name))}* of ` : '';
  const title = `${name}*${escapeText(orderTitle(order))}*`;
  if (resolvedBy === undefined) return lostReply(order, item, outcome, title, approvers);
  if (agrees) {
    const said = `:incoming_envelope: The service has answered after all, and agrees with what was settled: ${title}.`;
    const secret = item.result?.hasSecret === true;
    return message(said, [
      section(said),
      ...actions(`late_${order.id}`, secret ? [revealButton(order)] : []),
    ]);
  }
  const wasDone = outcome === 'SUCCEEDED';
  const lead = `:rotating_light: ${mention(order.requesterId)}, ${approverList(approvers)}: the service has answered after all, and contradicts what was settled: ${title}.`;
  return message(lead, [
    section(lead),
    section(
      `${capitalized(nameOfActor(resolvedBy))} settled it as ${wasDone ? 'not done' : 'done'}. The service says that it ${wasDone ? 'was' : 'was not'} carried out.`,
    ),
    ...lines(itemLines(order, item)),
    section(
      wasDone
        ? 'It is not asked for again: there is no Retry any more, and a Retry that still waits is not sent. If it was sent again already, look at the domain service whether it was done twice.'
        : 'Look at the domain service. If it is still wanted, ask for it again with `/domain`.',
    ),
  ]);
}

/** A request had left, and the order did not know about it when it ended. */
function lostReply(
  order: Order,
  item: OrderItem,
  outcome: 'SUCCEEDED' | 'FAILED' | 'UNKNOWN',
  title: string,
  approvers: readonly string[],
): Message {
  const lead = `:rotating_light: ${mention(order.requesterId)}, ${approverList(approvers)}: my database has lost that a request was sent: ${title}.`;
  return message(lead, [
    section(lead),
    ...lines(itemLines(order, item)),
    section(
      outcome === 'FAILED'
        ? 'That request was not carried out. Look at the domain service before you ask for it again.'
        : 'Look at the domain service whether it was carried out, and whether it was done twice. If it was asked for again meanwhile, deny that order.',
    ),
  ]);
}

function nameOfActor(actor: string): string {
  return actor === EVIDENCE ? 'the registry’s public record' : mention(actor);
}

function finishedReply(
  order: Order,
  event: HistoryEventOf<'finished'>,
  approvers: readonly string[],
  now: Date | undefined,
): Message | undefined {
  // It has been settled since; the reply to that says more.
  if (event.state === 'UNKNOWN' && order.state !== 'UNKNOWN') return undefined;
  // The reply to the settling says it already.
  if (event.through === 'resolved') return undefined;
  return outcomeReply(
    order,
    `${STATES[order.state].icon} ${mention(order.requesterId)}: ${formatOutcome(order)}`,
    approvers,
    now,
  );
}

/** `*Renewed cafe.rest for 2 years*.`, `*Restore cafe.rest*: accepted by the service, not done yet.` */
function formatOutcome(order: Order): string {
  const isDone = order.state === 'SUCCEEDED' && !isOnlyAccepted(order, order.state);
  const title = `*${escapeText(orderTitle(order, isDone ? 'done' : 'to do'))}*`;
  if (isDone) return `${title}${formatPart(order)}.`;
  const words = isOnlyAccepted(order, order.state)
    ? 'accepted by the service, not done yet'
    : (OUTCOME_WORDS[order.state] ?? STATES[order.state].line.toLowerCase());
  return `${title}: ${words}${formatPart(order)}.`;
}

const OUTCOME_WORDS: Partial<Readonly<Record<Order['state'], string>>> = {
  FAILED: 'failed',
  UNKNOWN: 'the outcome is not known',
};

function revealButton(order: Order) {
  return button(
    'order_reveal',
    order.task === 'authcode' ? 'Show the auth code, once' : 'Show the password, once',
    order.id,
    { style: 'primary' },
  );
}

/** The state of an order, item by item, and what can be done about it. */
function outcomeReply(
  order: Order,
  lead: string,
  approvers: readonly string[],
  now: Date | undefined,
): Message {
  const secret = order.state === 'SUCCEEDED' && order.items.some(({ result }) => result?.hasSecret === true);
  return message(lead, [
    section(lead),
    ...(order.bulk === undefined
      ? lines(order.items.flatMap((item) => itemLines(order, item)))
      : [
          section(`${tallyText(order)}. What became of each row stands in a file in this thread.`),
          ...lines(reasonLines(order)),
        ]),
    ...(order.state === 'UNKNOWN' ? unknownHelp(order, approvers) : []),
    ...actions(`result_${order.id}`, [
      secret && revealButton(order),
      ...(order.state === 'UNKNOWN' ? resolveButtons(order) : []),
      ...retryButtons(order, now),
      ...answerButtons(order),
    ]),
  ]);
}

/** The limit for all items of an order together, in characters. */
const ITEMS_LENGTH = 9_000;

function itemLines(order: Order, item: OrderItem): string[] {
  if (order.items.length === 1) return [...resultText(item, 'full'), ...nextSteps(order, item)];
  const known = resultText(item);
  const name = escapeText(itemName(order, item.name));
  const line = [`${ITEM_ICONS[item.state]} *${name}*: ${itemText(order, item).toLowerCase()}`, ...known].join(
    ' · ',
  );
  return [truncateMarkup(line, Math.floor(ITEMS_LENGTH / order.items.length))];
}

/** Why rows of a file did not succeed, the most frequent reason first, in the words of its first row. */
function reasonLines(order: Order): string[] {
  const reasonOfItem = (item: OrderItem) =>
    [itemText(order, item).toLowerCase(), ...resultText(item, 'shared')].join(' · ');
  // The service may repeat the name in its answer. For other names the reason is the same.
  const reasonWithoutName = (item: OrderItem) => reasonOfItem(item).replaceAll(item.name, '');
  const groups = (['FAILED', 'UNKNOWN'] as const)
    .flatMap((state) => {
      const items = order.items.filter((item) => item.state === state);
      return [...groupBy(items, reasonWithoutName).values()].flatMap((same) => {
        const [first] = same;
        return first === undefined ? [] : [{ state, reason: reasonOfItem(first), same }];
      });
    })
    .sort((a, b) => b.same.length - a.same.length);
  const left = groups.slice(SHOWN_REASONS).reduce((sum, { same }) => sum + same.length, 0);
  return present([
    ...groups.slice(0, SHOWN_REASONS).map(({ state, reason, same }) => {
      const names = namesOf({ names: same.map(({ name }) => name), count: same.length });
      return truncateMarkup(`${ITEM_ICONS[state]} *${names}*: ${reason}`, REASON_LENGTH);
    }),
    left !== 0 && `${count(left, 'other row')} ended for other reasons: see the file.`,
  ]);
}

const SHOWN_REASONS = 5;
/** The limit for one line, in characters. */
const REASON_LENGTH = 900;

const ITEM_ICONS: Readonly<Record<OrderItem['state'], string>> = {
  WAITING: STATES.PENDING.icon,
  SENT: STATES.EXECUTING.icon,
  SUCCEEDED: STATES.SUCCEEDED.icon,
  FAILED: STATES.FAILED.icon,
  UNKNOWN: STATES.UNKNOWN.icon,
};

function unknownHelp(order: Order, approvers: readonly string[]): AnyBlock[] {
  const unknown = order.items.filter((item) => item.state === 'UNKNOWN');
  const overXml = goesOverXml(order);
  const known = unknown.map((item) => {
    const how = overXml
      ? 'sent over XML, where a client transaction has no place'
      : `client transaction ${code(item.ctid)}`;
    return `${escapeText(itemName(order, item.name))}: ${how}${item.sentAt === undefined ? '' : `, sent ${moment(item.sentAt)}`}`;
  });
  return [
    ...lines(known.map((line) => truncateMarkup(line, 300)).slice(0, 20)),
    section(
      `It is not sent again by itself. ${approverList(approvers)}: look at the domain service whether it was carried out, then press what you found.`,
    ),
  ];
}

const EVENT_WORDS: Readonly<Record<OrderLogEntry['kind'], string>> = {
  requested: 'asked',
  confirmed: 'confirmed',
  approved: 'approved',
  emergency_approved: 'approved alone in an emergency',
  signed_off: 'emergency approval signed off',
  denied: 'denied',
  cancelled: 'cancelled',
  expired: 'expired',
  reminded: 'approvers reminded',
  escalated: 'others called, because it still waited',
  asked: 'asked back',
  claimed: 'being carried out',
  sending: 'request sent',
  retry_scheduled: 'not carried out by the service, waiting to send again',
  answered: 'service answered',
  answered_late: 'service answered after it was settled',
  shown: 'seen at the registry',
  overdue: 'accepted long ago, and the registry shows that it has not happened',
  delegation_seen: 'looked whether the new nameservers answer',
  stopped: 'stopped: what was not sent is not sent any more',
  paused: 'paused: nothing more is sent until somebody resumes it',
  resumed: 'resumed',
  hinted: 'public records show, as a hint:',
  invalidated: 'stopped, because the database was put back or had slept',
  released: 'given back',
  resolved: 'resolved',
  in_force: 'in force',
  mandate_ending: 'ends soon',
  mandate_ended: 'mandate ended',
  finished: 'ended:',
};

/** Used where the database had lost that a request was sent. */
const LOST_EVENT_WORDS: Partial<Readonly<Record<OrderLogEntry['kind'], string>>> = {
  answered_late: 'end of a request that the database had lost',
  invalidated: 'stopped, because the database had lost that it was sent',
};

function eventWords(entry: OrderLogEntry): string {
  const isLost = entry.kind === 'invalidated' ? 'ctid' in entry : !('resolvedBy' in entry);
  return (isLost ? LOST_EVENT_WORDS[entry.kind] : undefined) ?? EVENT_WORDS[entry.kind];
}

/** The most characters of an order's history that are shown, the newest ones. */
const HISTORY_LENGTH = 5_000;

/** What happened to an order, oldest first. */
export function orderHistory(history: readonly OrderLogEntry[]): SectionBlock[] {
  const all = history.map(historyLine);
  let room = HISTORY_LENGTH;
  const newest = all.reverse().filter((line) => {
    room -= line.length;
    return room >= 0;
  });
  const left = all.length - newest.length;
  return lines(['*History*', ...(left === 0 ? [] : [`${left} earlier`]), ...newest.reverse()]);
}

function historyLine(entry: OrderLogEntry): string {
  const who = entry.actor === SYSTEM ? '' : ` by ${nameOfActor(entry.actor)}`;
  const { ctid, question, outcome, reason, seen, hint, why }: AnyOrderLogEntry = entry;
  const said = reason ?? (seen && recordFindingText(seen)) ?? question ?? (hint && recordFindingText(hint));
  const more = [
    ctid && code(ctid),
    outcome?.toLowerCase(),
    said && `“${quote(said)}”`,
    why && `(${escapeText(retryReasonText(why))})`,
    entry.kind === 'finished' && entry.state.toLowerCase(),
  ].filter(Boolean);
  return `${moment(entry.at)}: ${eventWords(entry)}${who}${more.length === 0 ? '' : ` ${more.join(' ')}`}`;
}
