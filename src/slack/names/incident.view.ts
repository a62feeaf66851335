import type { ActionsBlock, KnownBlock, SectionBlock } from '@slack/types';
import { dropMissing } from '../../lib/collections.ts';
import { HOUR_MS } from '../../lib/duration.ts';
import {
  type Incident,
  type IncidentChange,
  type IncidentRefusal,
  isOpen,
  type ListedIncident,
  listIncidentKinds,
} from '../../names/incident.ts';
import {
  computeTransferCountdown,
  DANGERS_WITHOUT_CHANGE,
  type IncidentKind,
  isIncidentOrderId,
  type RuledOutOrder,
} from '../../names/unexplained-changes.ts';
import { formatDomainName } from '../../zones/names.ts';
import { findZoneProfile } from '../../zones/rules.ts';
import { formatDay } from '../expiry/expiry.view.ts';
import {
  actions,
  button,
  code,
  context,
  escapeLine,
  escapeText,
  formatCount,
  formatLocalTime,
  joinWords,
  lineSections,
  type Message,
  mention,
  mentionApprover,
  message,
  removeMarkup,
  section,
  textMessage,
} from '../kit/blocks.ts';
import { buttonsHint } from '../kit/buttons-hint.view.ts';
import { buildPageControls, type Page } from '../kit/pages.ts';
import { BUTTON_ROW_LINES, countPhoneLines, fitLines, MAX_LINES } from '../kit/phone.ts';
import { formatBeforeAfter, formatList, formatShortList, formatValue } from './facts.view.ts';
import { type RegistrarInfo, runbookLines } from './runbook.view.ts';

/** The text after the name in a title, worst kind first. */
const TITLE_ENDINGS: Readonly<Record<IncidentKind, string>> = {
  registrar: 'was transferred away',
  pending_transfer: 'is being transferred away',
  unregistered: 'is no longer registered',
  pending_delete: 'is being deleted',
  nameservers: 'has different nameservers',
  delegation_gone: 'is gone from DNS',
  hold: 'is on hold',
  nameserver_registrable: 'can be taken over: a nameserver’s domain is available',
  all_lame: 'can be taken over: no nameserver answers for it',
  ds: 'has a different DS record',
  owner: 'has a different registrant',
  lock: 'lost its lock',
};
const KINDS_WORST_FIRST = Object.keys(TITLE_ENDINGS);

export const INCIDENT_SENTENCES: Readonly<Record<IncidentKind, string>> = {
  registrar: 'It was transferred to another registrar.',
  nameservers: 'Its nameservers changed.',
  ds: 'Its DS record changed.',
  lock: 'A lock was removed.',
  hold: 'It’s on hold, so it doesn’t resolve.',
  delegation_gone: 'It was removed from its parent zone.',
  owner: 'The registrant changed.',
  pending_transfer: 'It’s being transferred to another registrar.',
  pending_delete: 'It’s being deleted.',
  unregistered: 'The registry no longer has a record of it.',
  nameserver_registrable: 'A nameserver’s domain can be registered by anyone.',
  all_lame: 'No nameserver answers for it.',
};

const MAX_ORDERS_SHOWN = 2;

export interface IncidentPeople {
  readonly owner: string | undefined;
  /** People and groups. */
  readonly approvers: readonly string[];
}

function formatTitle(incident: ListedIncident): string {
  const worstKind = findWorstKind(incident);
  const suffix = DANGERS_WITHOUT_CHANGE.has(worstKind) ? '' : ', and no one here ordered this';
  return `${escapeText(formatDomainName(incident.name))} ${TITLE_ENDINGS[worstKind]}${suffix}`;
}

export function findWorstKind(incident: ListedIncident): IncidentKind {
  const [worstKind = 'nameservers'] = listKindsWorstFirst(incident);
  return worstKind;
}

function listKindsWorstFirst({ changes }: Pick<ListedIncident, 'changes'>): IncidentKind[] {
  return listIncidentKinds({ changes }).toSorted(
    (a, b) => KINDS_WORST_FIRST.indexOf(a) - KINDS_WORST_FIRST.indexOf(b),
  );
}

/**
 * The current message about an incident.
 * @param privateOrderIds ids of orders whose details aren't shown
 * @param transferredAt when the name was seen at another registrar, if the transfer is complete
 */
export function incidentMessage(
  incident: Incident,
  now: Date,
  privateOrderIds: ReadonlySet<string>,
  transferredAt: Date | undefined,
): Message {
  if (!isOpen(incident)) return endedMessage(incident);
  const title = formatTitle(incident);
  const titleLine = `:rotating_light: *${title}*`;
  const statusLines = [
    [seenLine(incident), ...countdownParts(incident, now, transferredAt)].join(' · '),
    ...stateLines(incident),
  ];
  const ordersLine = checkedOrdersLine(incident, privateOrderIds);
  const usedLines = [titleLine, ...statusLines, ordersLine].reduce(
    (sum, line) => sum + countPhoneLines(line),
    BUTTON_ROW_LINES,
  );
  // Changes that don't fit are in the thread.
  const shownChanges = fitLines(
    changeLines(incident.changes, formatShortList),
    Math.max(MAX_LINES.alarm - usedLines, 1),
  );
  const content = message(`${title}. ${removeMarkup(shownChanges.join('. '))}`, [
    section(titleLine),
    ...lineSections(shownChanges),
    section(...statusLines),
    context(ordersLine),
    ...incidentButtons(incident),
  ]);
  return { ...content, textOnlyHint: buttonsHint(`/domain name ${incident.name}`) };
}

/** This message is short, because the thread has the history. */
function endedMessage(incident: Incident): Message {
  const name = escapeText(formatDomainName(incident.name));
  const changes = changeLines(incident.changes)
    .map((line) => removeMarkup(line.replace(/^\*([^*]+)\*/, '$1:')))
    .join('; ');
  const { explanation } = incident;
  const title =
    explanation === undefined
      ? `:white_check_mark: *${name} is back to normal* since ${formatLocalTime(incident.overAt ?? incident.openedAt)}`
      : `:white_check_mark: *${name}: it was us*`;
  const details =
    explanation === undefined
      ? []
      : [`${mention(explanation.by)} says it was us: “${escapeLine(explanation.reason)}”`];
  return message(removeMarkup(title), [section(title, ...details), context(changes)]);
}

export function incidentRunbook(
  incident: Incident,
  registrarInfo: RegistrarInfo,
  people: IncidentPeople,
  privateOrderIds: ReadonlySet<string>,
): Message {
  const displayName = escapeText(formatDomainName(incident.name));
  return message(`What to do about ${displayName}`, [
    section(mentionPeople(people), ...expiryChangeLines(incident.changes)),
    ...lineSections(runbookLines(listIncidentKinds(incident), registrarInfo)),
    ...lineSections(['*Orders checked*', ...orderLines(incident, privateOrderIds)]),
    context(`Details: ${code(`/domain name ${incident.name}`)}`),
  ]);
}

/** Announces another change and mentions everyone again. */
export function addedChangesReply(changes: readonly IncidentChange[], people: IncidentPeople): Message {
  const sentences = [...new Set(changes.map(({ kind }) => INCIDENT_SENTENCES[kind]))].join(' ');
  const text = `:rotating_light: *${sentences}* ${mentionPeople(people)}`;
  return message(`${sentences} ${mentionPeople(people)}`, [
    section(text),
    ...lineSections([...changeLines(changes), ...expiryChangeLines(changes)]),
  ]);
}

export function backToNormalReply({ overAt, openedAt }: Incident): Message {
  return textMessage(
    `:white_check_mark: Everything has been back to normal since ${formatLocalTime(overAt ?? openedAt)}. Find out who did it, because it could happen again.`,
  );
}

/** Sent when the first of two people confirms a change to a guarded name. */
export function proposedExplanationReply({ proposedExplanation }: Incident): Message {
  return textMessage(
    `:ballot_box_with_check: ${mention(proposedExplanation?.by ?? '')} says it was us: “${escapeLine(proposedExplanation?.reason ?? '')}”. The name is guarded, so another approver or admin has to confirm.`,
  );
}

export function confirmedExplanationReply({ explanation }: Incident): Message {
  return textMessage(
    `:white_check_mark: ${mention(explanation?.by ?? '')} says it was us: “${escapeLine(explanation?.reason ?? '')}”. The incident is closed.`,
  );
}

/** @param unreadableGroups approver groups that Slack can't look up */
export function alarmRaisedReply(
  { raisedBy }: Incident,
  notifiedIds: readonly string[],
  unreadableGroups: readonly string[],
): Message {
  const notifiedNote =
    notifiedIds.length === 0
      ? 'I couldn’t reach anyone.'
      : `I notified ${joinWords(notifiedIds.map(mention))}.`;
  const unreadableNote =
    unreadableGroups.length === 0
      ? ''
      : ` Slack didn’t return the members of ${unreadableGroups.map(code).join(', ')}. Notify them yourself.`;
  return textMessage(`:sos: ${mention(raisedBy ?? '')} raised the alarm. ${notifiedNote}${unreadableNote}`);
}

/** The direct message to the owner, approvers and admins. */
export function alarmRaisedMessage(incident: Incident, channelId: string, now: Date): Message {
  const title = formatTitle(incident);
  const headLines = [
    `:sos: *${title}*`,
    `${mention(incident.raisedBy ?? '')} raised the alarm. The thread in <#${channelId}> says what to do.`,
  ];
  const timeLine = [seenLine(incident), ...countdownParts(incident, now, undefined)].join(' · ');
  const usedLines = [...headLines, timeLine].reduce(
    (sum, line) => sum + countPhoneLines(line),
    BUTTON_ROW_LINES,
  );
  const content = message(`${title}. ${removeMarkup(headLines[1] ?? '')}`, [
    section(...headLines),
    ...lineSections(
      fitLines(changeLines(incident.changes, formatShortList), Math.max(MAX_LINES.alarm - usedLines, 1)),
    ),
    section(timeLine),
    ...incidentButtons(incident),
  ]);
  return { ...content, textOnlyHint: buttonsHint(`/domain name ${incident.name}`) };
}

export function openIncidentLine(incident: ListedIncident): string {
  const firstSeenAt = incident.changes[0]?.afterFirstSeenAt ?? incident.openedAt;
  const title = `${escapeText(formatDomainName(incident.name))} ${TITLE_ENDINGS[findWorstKind(incident)]}`;
  return `:rotating_light: *${title}* since ${formatLocalTime(firstSeenAt)}${channelSuffix(incident)}`;
}

function incidentLine(incident: ListedIncident): string {
  return `:rotating_light: *${formatTitle(incident)}*${channelSuffix(incident)}. ${code(`/domain name ${incident.name}`)}`;
}

/** Can't be a domain name, because it has no dot. */
export const EVERY_NAME = 'all';
/** Nobody pages through more incidents. */
export const MAX_LISTED_INCIDENTS = 1_000;

/** The first open incidents, and a button that shows all of them. */
export function firstIncidentBlocks(
  incidents: readonly ListedIncident[],
  shownCount: number,
  renderEntry: (incident: ListedIncident) => readonly KnownBlock[] = (entry) => [
    section(incidentLine(entry)),
  ],
  name = EVERY_NAME,
): KnownBlock[] {
  const remainingCount = incidents.length - shownCount;
  return [
    ...incidents.slice(0, shownCount).flatMap(renderEntry),
    ...(remainingCount > 0
      ? [section(`:rotating_light: ${formatCount(remainingCount, 'more open incident')}.`)]
      : []),
    ...actions('incidents', [remainingCount > 0 && button('incidents_all', 'Show all', name)]),
  ];
}

/** Each incident has two blocks. */
export const INCIDENTS_PER_PAGE = 10;

/** @param name a name, or {@link EVERY_NAME} */
export function incidentsMessage(page: Page<ListedIncident>, name: string): Message {
  const title = `${formatCount(page.total, 'open incident')}${name === EVERY_NAME ? '' : ` of ${escapeText(formatDomainName(name))}`}`;
  return message(title, [
    section(`*${title}*`),
    ...page.items.flatMap((incident) => [
      section(incidentLine(incident), INCIDENT_SENTENCES[findWorstKind(incident)]),
      ...incidentButtons(incident, 'listed_incident'),
    ]),
    ...buildPageControls('incidents', page, INCIDENTS_PER_PAGE, name),
  ]);
}

function channelSuffix({ channelId }: ListedIncident): string {
  return channelId === undefined ? '' : ` (<#${channelId}>)`;
}

function mentionPeople({ owner, approvers }: IncidentPeople): string {
  const people = [...(owner === undefined ? [] : [mention(owner)]), ...approvers.map(mentionApprover)];
  return people.length === 0
    ? 'There’s no owner or approver to notify.'
    : `${[...new Set(people)].join(', ')}: please check this.`;
}

/** The values before and after each change, worst first. Changes of the same kind share a line. */
function changeLines(changes: readonly IncidentChange[], formatHosts = formatList): string[] {
  // A new registrar already shows that the transfer is complete.
  const isTransferred = changes.some(({ kind }) => kind === 'registrar');
  const kinds = listKindsWorstFirst({ changes }).filter(
    (kind) => kind !== 'pending_transfer' || !isTransferred,
  );
  return kinds.flatMap((kind) => {
    const sameKindChanges = changes.filter((change) => change.kind === kind);
    const [first, last] = [sameKindChanges[0], sameKindChanges.at(-1)];
    return first === undefined || last === undefined
      ? []
      : changeLine({ ...last, before: first.before }, formatHosts);
  });
}

function changeLine({ kind, fact, before, after }: IncidentChange, formatHosts: typeof formatList): string {
  const newValue = formatValue(fact, after, formatHosts);
  const values = formatBeforeAfter(formatValue(fact, before, formatHosts), newValue);
  switch (kind) {
    case 'registrar':
      return `*Registrar* ${values}`;
    case 'nameservers':
      return `*Nameservers* ${values}`;
    case 'delegation_gone':
      return `*Delegation* ${values}`;
    case 'ds':
      return `*DS* ${values}`;
    case 'lock':
      return `*Status removed* ${newValue}`;
    case 'hold':
      return `*On hold* ${newValue}`;
    case 'owner':
      return '*Registrant* changed (I only store a hash)';
    case 'pending_transfer':
      return '*Transfer* to another registrar in progress';
    case 'pending_delete':
      return `*Deletion* ${newValue}`;
    case 'unregistered':
      return '*Registration* not found at the registry';
    case 'nameserver_registrable':
      return `*Available to anyone* ${newValue}`;
    case 'all_lame':
      return `*Lame nameservers* ${newValue}`;
  }
}

/** A transfer can extend the registration, like a renewal. */
function expiryChangeLines(changes: readonly IncidentChange[]): string[] {
  return changes.flatMap(({ expiry }) =>
    expiry === undefined
      ? []
      : `The transfer also changed the expiry date from ${formatDay(expiry.before.slice(0, 10))} to ${formatDay(expiry.after.slice(0, 10))}. The name wasn’t renewed.`,
  );
}

function seenLine({ changes, openedAt }: Incident): string {
  const firstSeenAt = changes[0]?.afterFirstSeenAt ?? openedAt;
  return `Since ${formatLocalTime(firstSeenAt)} · seen again ${formatLocalTime(openedAt)}`;
}

/** The time until the transfer completes, which is the deadline for an objection. */
function countdownParts(incident: Incident, now: Date, transferredAt: Date | undefined): string[] {
  const transfer = incident.changes.find(({ kind }) => kind === 'pending_transfer');
  if (transfer === undefined || !isOpen(incident)) return [];
  if (transferredAt !== undefined)
    return [`completed, at another registrar since ${formatLocalTime(transferredAt)}`];
  const { completesAt, msLeft } = computeTransferCountdown(
    transfer,
    now,
    findZoneProfile(incident.name).transfer.autoApproveDays,
  );
  if (msLeft === 0) return [`may have completed ${formatLocalTime(completesAt)}, object anyway`];
  const hours = Math.floor(msLeft / HOUR_MS);
  const timeLeft =
    hours < 1
      ? 'less than an hour'
      : hours < 48
        ? formatCount(hours, 'hour')
        : `${formatCount(Math.floor(hours / 24), 'day')} and ${formatCount(hours % 24, 'hour')}`;
  return [`completes ${formatLocalTime(completesAt)} (*${timeLeft} left*)`];
}

function stateLines({ state, proposedExplanation, raisedBy }: Incident): string[] {
  return dropMissing([
    state === 'raised' && `:sos: ${mention(raisedBy ?? '')} raised the alarm`,
    proposedExplanation !== undefined &&
      `:ballot_box_with_check: ${mention(proposedExplanation.by)} says it was us: “${escapeLine(proposedExplanation.reason)}”. Another approver or admin has to confirm.`,
  ]);
}

const TASK_LABELS: Readonly<Record<RuledOutOrder['task'], string>> = {
  create: 'Registration',
  transfer: 'Transfer',
  renew: 'Renewal',
  restore: 'Restore',
  delete: 'Deletion',
  nameservers: 'Nameservers',
  'owner-change': 'Owner change',
  authcode: 'Auth code',
  lapse: 'The decision to let it lapse',
};

const RULED_OUT_TEXTS: Readonly<Record<RuledOutOrder['reason'], string>> = {
  refused: 'refused by the service',
  task_mismatch: 'can’t cause this change',
  sent_later: 'sent after the change was seen',
  too_old: 'sent too long before the change',
  content_mismatch: 'requested a different change',
  used: 'caused another change',
};

function checkedOrdersLine({ changes }: Incident, privateOrderIds: ReadonlySet<string>): string {
  const orders = listUniqueOrders(changes);
  const privateCount = orders.filter(({ id }) => privateOrderIds.has(id)).length;
  const shownOrders = orders.filter(({ id }) => !privateOrderIds.has(id) && !isIncidentOrderId(id));
  const orderTexts = shownOrders.map(({ id, task }) =>
    task === 'lapse' ? TASK_LABELS[task] : `${TASK_LABELS[task]} ${code(id)}`,
  );
  if (orders.length === 0) return 'No orders were sent for it';
  const hiddenCount = orderTexts.length - MAX_ORDERS_SHOWN;
  return `Recent orders don’t explain this: ${dropMissing([
    ...orderTexts.slice(0, MAX_ORDERS_SHOWN),
    hiddenCount > 0 && `${hiddenCount} more (see the thread)`,
    privateCount > 0 && formatCount(privateCount, 'private order'),
  ]).join(', ')}`;
}

/** Lists each order once, with the reason why it didn't cause the latest change. */
function listUniqueOrders(changes: readonly IncidentChange[]): readonly RuledOutOrder[] {
  return [...new Map(changes.flatMap(({ orders }) => orders.map((order) => [order.id, order]))).values()];
}

function orderLines({ name, changes }: Incident, privateOrderIds: ReadonlySet<string>): string[] {
  const orders = listUniqueOrders(changes);
  if (orders.length === 0) return ['• I sent no orders for this name.'];
  const privateCount = orders.filter(({ id }) => privateOrderIds.has(id)).length;
  const shownLines = orders.filter(({ id }) => !privateOrderIds.has(id)).map(orderLine);
  const accessHint = `People with access can see ${privateCount === 1 ? 'it' : 'them'} with ${code(`/domain orders ${name}`)}.`;
  return privateCount === 0
    ? shownLines
    : [...shownLines, `• ${formatCount(privateCount, 'private order')}. ${accessHint}`];
}

function orderLine({ id, task, reason }: RuledOutOrder): string {
  if (isIncidentOrderId(id)) return `• The expected transfer: ${RULED_OUT_TEXTS[reason]}.`;
  return task === 'lapse'
    ? `• ${TASK_LABELS[task]}: ${RULED_OUT_TEXTS[reason]}.`
    : `• ${TASK_LABELS[task]}, order ${code(id)}: ${RULED_OUT_TEXTS[reason]}.`;
}

export function incidentButtons(
  { id, name, state }: ListedIncident,
  blockIdPrefix = 'incident',
): ActionsBlock[] {
  const displayName = formatDomainName(name);
  return actions(`${blockIdPrefix}_${id}`, [
    state === 'open' &&
      button('alert_raise', 'Raise the alarm', id, {
        style: 'danger',
        label: `Raise the alarm: ${displayName}`,
      }),
    button('alert_ours', 'It was us', id, { label: `It was us: ${displayName}` }),
  ]);
}

export function incidentRefusalText(refusal: IncidentRefusal): string {
  switch (refusal.code) {
    case 'incident_not_found':
      return 'This incident no longer exists. `/domain name` shows what’s known about the name.';
    case 'already_explained':
      return `${mention(refusal.by)} already confirmed this. If that’s wrong, tell them and the approvers.`;
    case 'already_raised':
      return `${mention(refusal.by)} already raised the alarm. I notified the owner, the approvers and the admins.`;
    case 'over':
      return 'Everything is back to normal, so there’s nothing to confirm. `/domain name` shows what happened.';
    case 'needs_another_person':
      return 'You already confirmed this. The name is guarded, so another approver or admin has to confirm too.';
    case 'changed':
      return 'The incident changed, so nothing was confirmed. Check the changes above, then confirm again.';
  }
}

export const NOT_ALLOWED = {
  notApprover: 'Only approvers and admins can confirm this. Ask one of them, or click *Raise the alarm*.',
  approverUnknown: 'Slack can’t confirm right now that you’re an approver. Try again in a minute.',
} as const;

export function confirmationIntro(
  { name, changes, proposedExplanation }: Incident,
  isGuarded: boolean,
): SectionBlock[] {
  const advice = isGuarded
    ? 'The name is guarded, so two people have to confirm.'
    : 'If you’re not sure, don’t confirm.';
  return lineSections(
    dropMissing([
      `Confirm that your team made all of these changes to *${escapeText(formatDomainName(name))}*:`,
      ...changeLines(changes),
      proposedExplanation !== undefined &&
        `${mention(proposedExplanation.by)} confirmed them: “${escapeLine(proposedExplanation.reason)}”`,
      `I’ll then treat them as expected. ${advice}`,
    ]),
  );
}

export function alarmRaisedText(name: string): string {
  return `You raised the alarm for ${code(formatDomainName(name))}. The incident’s thread lists who I could reach.`;
}
