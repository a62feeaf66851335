import type { ActionsBlock, KnownBlock, SectionBlock } from '@slack/types';
import { present } from '../../lib/collections.ts';
import { HOUR_MS } from '../../lib/duration.ts';
import {
  type Incident,
  type IncidentChange,
  type IncidentRefusal,
  isOpen,
  kindsOf,
  type ListedIncident,
} from '../../names/incident.ts';
import {
  type IncidentKind,
  isOfIncident,
  type RuledOutOrder,
  transferCountdown,
} from '../../names/unexplained-changes.ts';
import { displayName } from '../../zones/names.ts';
import { zoneFor } from '../../zones/rules.ts';
import { formatDay } from '../expiry/expiry.view.ts';
import {
  actions,
  button,
  code,
  context,
  count,
  escapeText,
  lines,
  type Message,
  mention,
  mentionApprover,
  message,
  moment,
  plain,
  quote,
  section,
  textMessage,
} from '../kit/blocks.ts';
import { buttonsHint } from '../kit/buttons-hint.view.ts';
import { type Page, pageControls } from '../kit/pages.ts';
import { fitLines, MOST_LINES, phoneLines, ROW_OF_BUTTONS } from '../kit/phone.ts';
import { briefList, formatList, formatValue } from './facts.view.ts';
import { type RunbookName, runbookLines } from './runbook.view.ts';

/* What people are told about what has happened to a name and no order explains. */

/** What has happened, as the end of a title that begins with the name. From the worst to the least severe. */
const TITLES: Readonly<Record<IncidentKind, string>> = {
  registrar: 'is being taken',
  pending_transfer: 'is being taken',
  unregistered: 'is registered no longer',
  pending_delete: 'is being deleted',
  nameservers: 'leads elsewhere',
  delegation_gone: 'is gone from the DNS',
  hold: 'is on hold',
  nameserver_registrable: 'can be taken: a domain that it hangs on is free',
  all_lame: 'can be taken: none of its nameservers knows it',
  ds: 'has another DNSSEC entry',
  owner: 'has another owner’s record',
  lock: 'has lost its lock',
};
/** Dangers that nobody’s change has brought about. */
const DANGERS: ReadonlySet<IncidentKind> = new Set(['nameserver_registrable', 'all_lame']);
const WORST_FIRST = Object.keys(TITLES);

/** What has happened, as a whole sentence. */
export const HAPPENED: Readonly<Record<IncidentKind, string>> = {
  registrar: 'It is at another registrar.',
  nameservers: 'Its nameservers have changed.',
  ds: 'Its DNSSEC entry at the zone above has changed.',
  lock: 'A lock that protected it is gone.',
  hold: 'It is on hold, so it resolves nowhere.',
  delegation_gone: 'It is gone from the zone above.',
  owner: 'The owner’s record has changed.',
  pending_transfer: 'Somebody is transferring it to another registrar.',
  pending_delete: 'It is being deleted.',
  unregistered: 'Its registry has no record of it any more.',
  nameserver_registrable: 'It is delegated to a server of a domain that anybody can register.',
  all_lame: 'None of the nameservers that it is delegated to knows it.',
};

const ORDERS_SHOWN = 2;

/** What stays the same of all messages of an incident. */
export interface IncidentPeople {
  /** Who owns the name. */
  readonly owner: string | undefined;
  /** People and groups. */
  readonly approvers: readonly string[];
}

/** `cafe.rest is being taken, and no order explains it` */
function titleOf(incident: ListedIncident): string {
  const worst = worstOf(incident);
  const why = DANGERS.has(worst) ? '' : ', and no order explains it';
  return `${escapeText(displayName(incident.name))} ${TITLES[worst]}${why}`;
}

/** The kind by which an incident is called. */
export function worstOf(incident: ListedIncident): IncidentKind {
  const kinds = kindsOf(incident).toSorted((a, b) => WORST_FIRST.indexOf(a) - WORST_FIRST.indexOf(b));
  const [worst = 'nameservers'] = kinds;
  return worst;
}

/**
 * The message of an incident, as it stands now.
 * @param privateOrders ids of orders of which it only says that they are
 * @param movedAt when the name was seen at another registrar after this: a transfer has gone through
 */
export function incidentMessage(
  incident: Incident,
  now: Date,
  privateOrders: ReadonlySet<string>,
  movedAt: Date | undefined,
): Message {
  if (!isOpen(incident)) return endedMessage(incident);
  const title = titleOf(incident);
  const head = `:rotating_light: *${title}*`;
  const stands = [
    [seenLine(incident), ...countdown(incident, now, movedAt)].join(' · '),
    ...standing(incident),
  ];
  const looked = lookedAt(incident, privateOrders);
  const taken = [head, ...stands, looked].reduce((sum, line) => sum + phoneLines(line), ROW_OF_BUTTONS);
  // The thread has what does not fit.
  const shown = fitLines(factLines(incident.changes, briefList), Math.max(MOST_LINES.alarm - taken, 1));
  const shownMessage = message(`${title}. ${plain(shown.join('. '))}`, [
    section(head),
    ...lines(shown),
    section(...stands),
    context(looked),
    ...incidentButtons(incident),
  ]);
  return { ...shownMessage, textOnlyHint: buttonsHint(`/domain name ${incident.name}`) };
}

/** What has ended is short. The thread keeps the story. */
function endedMessage(incident: Incident): Message {
  const name = escapeText(displayName(incident.name));
  const what = factLines(incident.changes)
    .map((line) => plain(line))
    .join('; ');
  const { explained } = incident;
  const title =
    explained === undefined
      ? `:white_check_mark: *${name} is as it was* since ${moment(incident.overAt ?? incident.openedAt)}`
      : `:white_check_mark: *${name}: this was us*`;
  const said =
    explained === undefined
      ? []
      : [`${mention(explained.by)} says that it is ours: “${quote(explained.reason)}”`];
  return message(plain(title), [section(title, ...said), context(what)]);
}

/** What to do, in the thread of the message, for those who are called. */
export function incidentRunbook(
  incident: Incident,
  name: RunbookName,
  people: IncidentPeople,
  privateOrders: ReadonlySet<string>,
): Message {
  const title = escapeText(displayName(incident.name));
  return message(`What to do about ${title}`, [
    section(called(people), ...movedDate(incident.changes)),
    ...lines(runbookLines(kindsOf(incident), name)),
    ...lines(['*Orders that I looked at*', ...orderLines(incident, privateOrders)]),
    context(`Everything known of it: ${code(`/domain name ${incident.name}`)}`),
  ]);
}

/** Something more was noticed: those who were called are called again. */
export function joinedReply(changes: readonly IncidentChange[], people: IncidentPeople): Message {
  const happened = [...new Set(changes.map(({ kind }) => HAPPENED[kind]))].join(' ');
  const text = `:rotating_light: *${happened}* ${called(people)}`;
  return message(`${happened} ${called(people)}`, [
    section(text),
    ...lines([...factLines(changes), ...movedDate(changes)]),
  ]);
}

/** Everything is as it was before. */
export function overReply({ overAt, openedAt }: Incident): Message {
  return textMessage(
    `:white_check_mark: Everything is as it was before, seen ${moment(overAt ?? openedAt)}. Find out all the same who did it: what was possible once is possible again.`,
  );
}

/** Somebody was the first to say that the team made the change of a guarded name. */
export function proposedReply({ proposed }: Incident): Message {
  return textMessage(
    `:ballot_box_with_check: ${mention(proposed?.by ?? '')} says that this is ours: “${quote(proposed?.reason ?? '')}”. The name is guarded, so another approver or admin has to say so too.`,
  );
}

/** Somebody has said that the team made the change, and that is enough. */
export function oursReply({ explained }: Incident): Message {
  return textMessage(
    `:white_check_mark: ${mention(explained?.by ?? '')} says that this is ours: “${quote(explained?.reason ?? '')}”. I raise it no further.`,
  );
}

/** @param unreadable groups of approvers whose members Slack did not tell */
export function raisedReply(
  { raisedBy }: Incident,
  people: readonly string[],
  unreadable: readonly string[],
): Message {
  const told = people.length === 0 ? 'I could reach nobody.' : `I told ${people.map(mention).join(', ')}.`;
  const left =
    unreadable.length === 0
      ? ''
      : ` Slack did not tell me who is in ${unreadable.map(code).join(', ')}: tell them yourself.`;
  return textMessage(`:sos: ${mention(raisedBy ?? '')} raised this. ${told}${left}`);
}

/** What the owner, approvers and admins are told: what, since and until when, and where it is said what to do. */
export function raisedMessage(incident: Incident, channelId: string, now: Date): Message {
  const title = titleOf(incident);
  const head = [
    `:sos: *${title}*`,
    `${mention(incident.raisedBy ?? '')} asks you to look at it. What to do stands in <#${channelId}>, in its thread.`,
  ];
  const seen = [seenLine(incident), ...countdown(incident, now, undefined)].join(' · ');
  const taken = [...head, seen].reduce((sum, line) => sum + phoneLines(line), ROW_OF_BUTTONS);
  const shown = message(`${title}. ${plain(head[1] ?? '')}`, [
    section(...head),
    ...lines(fitLines(factLines(incident.changes, briefList), Math.max(MOST_LINES.alarm - taken, 1))),
    section(seen),
    ...incidentButtons(incident),
  ]);
  return { ...shown, textOnlyHint: buttonsHint(`/domain name ${incident.name}`) };
}

/** What stands on every order about a name while an incident of it is open. */
export function openIncidentLine(incident: ListedIncident): string {
  const since = incident.changes[0]?.firstSeenAfter ?? incident.openedAt;
  const what = `${escapeText(displayName(incident.name))} ${TITLES[worstOf(incident)]}`;
  return `:rotating_light: *${what}* since ${moment(since)}${whereText(incident)}`;
}

function listedLine(incident: ListedIncident): string {
  return `:rotating_light: *${titleOf(incident)}*${whereText(incident)}. ${code(`/domain name ${incident.name}`)}`;
}

/** No domain name is one word. */
export const EVERY_NAME = 'all';
/** More incidents than anybody turns pages through. */
export const MAX_LISTED = 1_000;

/** The first open incidents of a list, and the button that shows the others. */
export function firstIncidents(
  incidents: readonly ListedIncident[],
  length: number,
  entryOf: (incident: ListedIncident) => readonly KnownBlock[] = (each) => [section(listedLine(each))],
  name = EVERY_NAME,
): KnownBlock[] {
  const left = incidents.length - length;
  return [
    ...incidents.slice(0, length).flatMap(entryOf),
    ...(left > 0 ? [section(`:rotating_light: And ${count(left, 'more open incident')}.`)] : []),
    ...actions('incidents', [left > 0 && button('incidents_all', 'Show all', name)]),
  ];
}

/** Incidents on one page: each has two blocks. */
export const INCIDENTS_SHOWN = 10;

/** A page of open incidents with their buttons. @param of a name, or {@link EVERY_NAME} */
export function incidentsMessage(page: Page<ListedIncident>, of: string): Message {
  const title = `${count(page.total, 'open incident')}${of === EVERY_NAME ? '' : ` of ${escapeText(displayName(of))}`}`;
  return message(title, [
    section(`*${title}*`),
    ...page.shown.flatMap((incident) => [
      section(listedLine(incident), HAPPENED[worstOf(incident)]),
      ...incidentButtons(incident, 'listed_incident'),
    ]),
    ...pageControls('incidents', page, INCIDENTS_SHOWN, of),
  ]);
}

function whereText({ channelId }: ListedIncident): string {
  return channelId === undefined ? '' : ` (<#${channelId}>)`;
}

function called({ owner, approvers }: IncidentPeople): string {
  const people = [...(owner === undefined ? [] : [mention(owner)]), ...approvers.map(mentionApprover)];
  return people.length === 0 ? 'Nobody is set whom I could call.' : `For ${[...new Set(people)].join(', ')}`;
}

/**
 * What was and what is, a line a kind; of several changes of one kind, from the first to the last. The worst first.
 * @param list how several hosts are written
 */
function factLines(changes: readonly IncidentChange[], list = formatList): string[] {
  const kinds = kindsOf({ changes }).toSorted((a, b) => WORST_FIRST.indexOf(a) - WORST_FIRST.indexOf(b));
  return kinds.flatMap((kind) => {
    const of = changes.filter((change) => change.kind === kind);
    const [first, last] = [of[0], of.at(-1)];
    return first === undefined || last === undefined ? [] : factLine({ ...last, before: first.before }, list);
  });
}

function factLine({ kind, fact, before, after }: IncidentChange, list: typeof formatList): string {
  const now = formatValue(fact, after, list);
  const values = `${formatValue(fact, before, list)} → ${now}`;
  switch (kind) {
    case 'registrar':
      return `*Registrar* ${values}`;
    case 'nameservers':
      return `*Nameservers* ${values}`;
    case 'delegation_gone':
      return `*Delegation* ${values}`;
    case 'ds':
      return `*DNSSEC* ${values}`;
    case 'lock':
      return `*Lock gone* ${now}`;
    case 'hold':
      return `*On hold* ${now}`;
    case 'owner':
      return '*Owner’s record* another one; I keep only fingerprints of it';
    case 'pending_transfer':
      return '*Transfer* to another registrar under way';
    case 'pending_delete':
      return `*Deletion* ${now}`;
    case 'unregistered':
      return '*Registration* none at its registry';
    case 'nameserver_registrable':
      return `*Free for anybody* ${now}`;
    case 'all_lame':
      return `*Servers that do not know it* ${now}`;
  }
}

/** A transfer moves the date forward, as a renewal does. */
function movedDate(changes: readonly IncidentChange[]): string[] {
  return changes.flatMap(({ expiry }) =>
    expiry === undefined
      ? []
      : `Its expiry moved with it, from ${formatDay(expiry.before.slice(0, 10))} to ${formatDay(expiry.after.slice(0, 10))}. That is a transfer, not a renewal.`,
  );
}

function seenLine({ changes, openedAt }: Incident): string {
  const since = changes[0]?.firstSeenAfter ?? openedAt;
  return `Since ${moment(since)} · seen again ${moment(openedAt)}`;
}

/** Until when it can be objected to. */
function countdown(incident: Incident, now: Date, movedAt: Date | undefined): string[] {
  const transfer = incident.changes.find(({ kind }) => kind === 'pending_transfer');
  if (transfer === undefined || !isOpen(incident)) return [];
  if (movedAt !== undefined) return [`it has gone through: at another registrar since ${moment(movedAt)}`];
  const { goesThroughAt, msLeft } = transferCountdown(
    transfer,
    now,
    zoneFor(incident.name).transfer.autoApproveDays,
  );
  if (msLeft === 0)
    return [`since ${moment(goesThroughAt)} it may have gone through by itself: object all the same`];
  const hours = Math.floor(msLeft / HOUR_MS);
  const left =
    hours < 1
      ? 'less than an hour'
      : hours < 48
        ? count(hours, 'hour')
        : `${count(Math.floor(hours / 24), 'day')} and ${count(hours % 24, 'hour')}`;
  return [`it goes through by itself ${moment(goesThroughAt)}: *${left} left*`];
}

function standing({ state, proposed, raisedBy }: Incident): string[] {
  return present([
    state === 'raised' && `:sos: Raised by ${mention(raisedBy ?? '')}`,
    proposed !== undefined &&
      `:ballot_box_with_check: ${mention(proposed.by)} says that it is ours: “${quote(proposed.reason)}”. Another approver or admin has to say so too.`,
  ]);
}

const TASKS: Readonly<Record<RuledOutOrder['task'], string>> = {
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

const WHY: Readonly<Record<RuledOutOrder['why'], string>> = {
  refused: 'the service refused it',
  other_task: 'it does not change this',
  sent_later: 'it was sent after the change had been seen',
  too_old: 'it was sent too long before',
  other_content: 'it asked for something else',
  used: 'it explains another change already',
};

/** The orders that were looked at, in one line. */
function lookedAt({ changes }: Incident, privateOrders: ReadonlySet<string>): string {
  const orders = ordersOf(changes);
  const hidden = orders.filter(({ id }) => privateOrders.has(id)).length;
  const shown = orders.filter(({ id }) => !privateOrders.has(id) && !isOfIncident(id));
  const texts = shown.map(({ id, task }) => (task === 'lapse' ? TASKS[task] : `${TASKS[task]} ${code(id)}`));
  if (orders.length === 0) return 'Looked at: no order, I sent none';
  const more = texts.length - ORDERS_SHOWN;
  return `Looked at: ${present([
    ...texts.slice(0, ORDERS_SHOWN),
    more > 0 && `${more} more (see the thread)`,
    hidden > 0 && count(hidden, 'private order'),
  ]).join(', ')}`;
}

/** Each order once, with why it does not explain the latest change. */
function ordersOf(changes: readonly IncidentChange[]): readonly RuledOutOrder[] {
  return [...new Map(changes.flatMap(({ orders }) => orders.map((order) => [order.id, order]))).values()];
}

function orderLines({ name, changes }: Incident, privateOrders: ReadonlySet<string>): string[] {
  const orders = ordersOf(changes);
  if (orders.length === 0) return ['• None: I sent nothing for this name.'];
  const hidden = orders.filter(({ id }) => privateOrders.has(id)).length;
  const shown = orders.filter(({ id }) => !privateOrders.has(id)).map(orderLine);
  const where = `Who may see ${hidden === 1 ? 'it' : 'them'} finds ${hidden === 1 ? 'it' : 'them'} with ${code(`/domain orders ${name}`)}.`;
  return hidden === 0 ? shown : [...shown, `• ${count(hidden, 'private order')}. ${where}`];
}

function orderLine({ id, task, why }: RuledOutOrder): string {
  if (isOfIncident(id)) return `• The transfer that was expected: ${WHY[why]}.`;
  return task === 'lapse'
    ? `• ${TASKS[task]}: ${WHY[why]}.`
    : `• ${TASKS[task]}, order ${code(id)}: ${WHY[why]}.`;
}

/** @param row the beginning of the row's id: messages of an incident are found by it */
export function incidentButtons({ id, name, state }: ListedIncident, row = 'incident'): ActionsBlock[] {
  const title = displayName(name);
  return actions(`${row}_${id}`, [
    state === 'open' &&
      button('alert_raise', 'Raise it', id, { style: 'danger', label: `Raise it: ${title}` }),
    button('alert_ours', 'It was us', id, { label: `It was us: ${title}` }),
  ]);
}

/** Why nothing was done about an incident. */
export function incidentRefusalText(refusal: IncidentRefusal): string {
  switch (refusal.code) {
    case 'no_such_incident':
      return 'I do not know this incident any more. `/domain name` shows what is known of the name.';
    case 'explained_already':
      return `${mention(refusal.by)} said already that this was ours. If that is wrong, tell them and the approvers.`;
    case 'raised_already':
      return `${mention(refusal.by)} raised this already: owner, approvers and admins were told.`;
    case 'over':
      return 'Everything is as it was before, so there is nothing to say any more. `/domain name` shows what happened.';
    case 'needs_another_person':
      return 'You said so already. The name is guarded, so another approver or admin has to say it too.';
    case 'changed':
      return 'The incident has changed, so nothing was confirmed. Check the changes above, then confirm again.';
  }
}

/** Why a person may not say that a change was ours. */
export const NOT_ALLOWED = {
  nobody: 'Only approvers and admins can say that a change was ours. Tell one of them, or press *Raise it*.',
  unknown: 'Slack does not tell me at the moment whether you are an approver. Try again in a minute.',
} as const;

/** The changes that a person is about to call the team's own. */
export function oursIntro({ name, changes, proposed }: Incident, isGuarded: boolean): SectionBlock[] {
  const advice = isGuarded
    ? 'The name is guarded, so two people have to confirm it.'
    : 'If you are not sure, do not confirm it.';
  return lines(
    present([
      `You confirm that your team made all of these changes to *${escapeText(displayName(name))}*:`,
      ...factLines(changes),
      proposed !== undefined && `${mention(proposed.by)} confirmed them: “${quote(proposed.reason)}”`,
      `They are then treated as expected. ${advice}`,
    ]),
  );
}

export function raisedText(name: string): string {
  return `You raised the alarm for ${code(displayName(name))}. The incident’s thread says who I could reach.`;
}
