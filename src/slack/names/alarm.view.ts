import type { SectionBlock } from '@slack/types';
import { present } from '../../collections.ts';
import { HOUR_MS } from '../../duration.ts';
import type { Alarm, AlarmRefusal } from '../../names/alarm.ts';
import {
  type AlarmKind,
  isOfAlarm,
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
  facts,
  header,
  lines,
  type Message,
  mention,
  message,
  moment,
  quote,
  section,
  textMessage,
} from '../kit/blocks.ts';
import { FACT_LABELS, formatValue } from './facts.view.ts';
import { runbookLines } from './runbook.view.ts';

/* What people are told about a change of a name that no order explains. */

/** What has happened, as a whole sentence. */
export const HAPPENED: Readonly<Record<AlarmKind, string>> = {
  registrar: 'It is at another registrar.',
  nameservers: 'Its nameservers have changed.',
  ds: 'Its DNSSEC entry at the zone above has changed.',
  lock_gone: 'A lock that protected it is gone.',
  owner: 'The owner’s record has changed.',
  pending_transfer: 'Somebody is transferring it to another registrar.',
  pending_delete: 'It is being deleted.',
  unregistered: 'Its registry has no record of it any more.',
};

/**
 * The message of an alarm. It says how the alarm stands now.
 *
 * @param privateOrders ids of orders of which it only says that they are
 * @param movedAt when the name was seen at another registrar after this: a transfer has gone through
 */
export function alarmMessage(
  alarm: Alarm,
  now: Date,
  privateOrders: ReadonlySet<string>,
  movedAt?: Date,
): Message {
  const { name, kind } = alarm;
  const title = displayName(name);
  return message(`${escapeText(title)} has changed, and no order explains it: ${HAPPENED[kind]}`, [
    header(`${title}: no order explains this`),
    section(
      `:rotating_light: *${HAPPENED[kind]}*`,
      ...movedDate(alarm),
      ...countdown(alarm, now, movedAt),
      ...standing(alarm),
    ),
    ...facts([
      ...values(alarm),
      ['Last seen as it was', moment(alarm.lastSeenBefore)],
      ['First seen changed', `${moment(alarm.firstSeenAfter)}; seen again ${moment(alarm.raisedAt)}`],
    ]),
    ...lines(['*Orders that I looked at*', ...orderLines(alarm, privateOrders)]),
    ...actions(`alarm_${alarm.id}`, buttons(alarm)),
    context(`Everything known of it: ${code(`/domain name ${name}`)}. What to do stands in the thread.`),
  ]);
}

/** What to do, in the thread of the message. */
export function alarmRunbook({ kind, name }: Alarm, isElsewhere: boolean): Message {
  const title = escapeText(displayName(name));
  return message(`What to do about ${title}`, lines(runbookLines(kind, isElsewhere)));
}

/** Somebody was the first to say that the team made the change of a guarded name. */
export function proposedReply({ proposed }: Alarm): Message {
  return textMessage(
    `:ballot_box_with_check: ${mention(proposed?.by ?? '')} says that this is ours: “${quote(proposed?.reason ?? '')}”. The name is guarded, so another approver or admin has to say so too.`,
  );
}

/** Somebody has said that the team made the change, and that is enough. */
export function explainedReply({ explained }: Alarm): Message {
  return textMessage(
    `:white_check_mark: ${mention(explained?.by ?? '')} says that this is ours: “${quote(explained?.reason ?? '')}”. I raise it no further.`,
  );
}

/** @param unreadable groups of approvers whose members Slack did not tell */
export function escalatedReply(
  { escalatedBy }: Alarm,
  people: readonly string[],
  unreadable: readonly string[],
): Message {
  const told = people.length === 0 ? 'I could reach nobody.' : `I told ${people.map(mention).join(', ')}.`;
  const left =
    unreadable.length === 0
      ? ''
      : ` Slack did not tell me who is in ${unreadable.map(code).join(', ')}: tell them yourself.`;
  return textMessage(`:sos: ${mention(escalatedBy ?? '')} raised this. ${told}${left}`);
}

/** What the owner, approvers and admins are told. */
export function escalationMessage(alarm: Alarm, channelId: string, now: Date, isElsewhere: boolean): Message {
  const where = ` It stands in <#${channelId}>, with what to do in its thread.`;
  const text = `:sos: ${mention(alarm.escalatedBy ?? '')} asks you to look at *${escapeText(displayName(alarm.name))}*: ${HAPPENED[alarm.kind]} No order explains it.${where}`;
  return message(text, [
    section(text, ...movedDate(alarm), ...countdown(alarm, now)),
    ...facts(values(alarm)),
    ...lines(runbookLines(alarm.kind, isElsewhere)),
  ]);
}

function values({ kind, fact, before, after }: Alarm): [string, string][] {
  const label = FACT_LABELS[fact];
  switch (kind) {
    case 'lock_gone':
      return [['Gone', formatValue(fact, after)]];
    case 'owner':
      return [
        [
          'What is seen',
          'What the registry shows of the owner differs from before; I keep only fingerprints of it.',
        ],
      ];
    case 'unregistered':
      return [];
    default:
      return [
        [`${label}, before`, formatValue(fact, before)],
        [`${label}, now`, formatValue(fact, after)],
      ];
  }
}

/** A transfer moves the date forward, as a renewal does. */
function movedDate({ expiry }: Alarm): string[] {
  return expiry === undefined
    ? []
    : [
        `Its expiry moved with it, from ${formatDay(expiry.before.slice(0, 10))} to ${formatDay(expiry.after.slice(0, 10))}. That is a transfer, not a renewal.`,
      ];
}

/** Until when it can be objected to. */
function countdown({ kind, name, state, lastSeenBefore }: Alarm, now: Date, movedAt?: Date): string[] {
  if (kind !== 'pending_transfer' || state === 'explained') return [];
  if (movedAt !== undefined) {
    return [
      `*It has gone through*: since ${moment(movedAt)} the name is seen at another registrar. Ask the service to have it returned.`,
    ];
  }
  const { goesThroughAt, msLeft } = transferCountdown(
    { lastSeenBefore },
    now,
    zoneFor(name).transfer.autoApproveDays,
  );
  if (msLeft === 0) {
    return [
      `:hourglass: Since ${moment(goesThroughAt)} it may have gone through by itself. Object all the same.`,
    ];
  }
  const hours = Math.floor(msLeft / HOUR_MS);
  const left =
    hours < 1
      ? 'less than an hour'
      : hours < 48
        ? count(hours, 'hour')
        : `${count(Math.floor(hours / 24), 'day')} and ${count(hours % 24, 'hour')}`;
  return [
    `:hourglass_flowing_sand: *It goes through by itself ${moment(goesThroughAt)}* at the earliest, unless it is objected to: *${left} left*.`,
  ];
}

function standing({ state, proposed, explained, escalatedBy }: Alarm): string[] {
  if (explained !== undefined)
    return [
      `:white_check_mark: ${mention(explained.by)} says that it is ours: “${quote(explained.reason)}”.`,
    ];
  return present([
    state === 'escalated' && `:sos: Raised by ${mention(escalatedBy ?? '')}.`,
    proposed !== undefined &&
      `:ballot_box_with_check: ${mention(proposed.by)} says that it is ours: “${quote(proposed.reason)}”. The name is guarded: another approver or admin has to say so too.`,
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

function orderLines({ name, orders }: Alarm, privateOrders: ReadonlySet<string>): string[] {
  if (orders.length === 0) return ['• None: I sent nothing for this name.'];
  const hidden = orders.filter(({ id }) => privateOrders.has(id)).length;
  const shown = orders.filter(({ id }) => !privateOrders.has(id)).map(orderLine);
  const where = `Who may see ${hidden === 1 ? 'it' : 'them'} finds ${hidden === 1 ? 'it' : 'them'} with ${code(`/domain orders ${name}`)}.`;
  return hidden === 0 ? shown : [...shown, `• ${count(hidden, 'private order')}. ${where}`];
}

function orderLine({ id, task, why }: RuledOutOrder): string {
  if (isOfAlarm(id)) return `• The transfer that was expected: ${WHY[why]}.`;
  return task === 'lapse'
    ? `• ${TASKS[task]}: ${WHY[why]}.`
    : `• ${TASKS[task]}, order ${code(id)}: ${WHY[why]}.`;
}

function buttons({ id, name, state, explained }: Alarm) {
  if (explained !== undefined) return [];
  const title = displayName(name);
  return present([
    button('alert_ours', 'It was us', id, { label: `It was us: ${title}` }),
    state !== 'escalated' &&
      button('alert_raise', 'Raise it', id, { style: 'danger', label: `Raise it: ${title}` }),
  ]);
}

/** Why nothing was done about an alarm. */
export function alarmRefusalText(refusal: AlarmRefusal): string {
  switch (refusal.code) {
    case 'no_such_alarm':
      return 'I do not know this alarm any more. `/domain name` shows what is known of the name.';
    case 'explained_already':
      return `${mention(refusal.by)} said already that this was ours. If that is wrong, tell them and the approvers.`;
    case 'escalated_already':
      return `${mention(refusal.by)} raised this already: owner, approvers and admins were told.`;
    case 'needs_another_person':
      return 'You said so already. The name is guarded, so another approver or admin has to say it too.';
  }
}

/** Why a person may not say that a change was ours. */
export const NOT_ALLOWED = {
  nobody: 'Only approvers and admins can say that a change was ours. Tell one of them, or press *Raise it*.',
  unknown: 'Slack does not tell me at the moment whether you are an approver. Try again in a minute.',
} as const;

/** What it means to say that a change was ours. */
export function oursIntro(name: string, isGuarded: boolean): SectionBlock[] {
  const advice = isGuarded
    ? 'The name is guarded: two persons have to say so.'
    : 'If you are not sure, do not.';
  return lines([
    `You say that the change of *${escapeText(displayName(name))}* was made by this team. From then on I take it for right and raise it no further. ${advice}`,
  ]);
}

export function raisedText(name: string): string {
  return `You raised ${code(displayName(name))}: its owner, the approvers and the admins are told.`;
}
