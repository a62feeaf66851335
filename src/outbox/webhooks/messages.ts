import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { type HoldReason, holdReasonSchema } from '../../mandates/codes.ts';
import { DANGER_CODES, type DangerCode } from '../../names/posture.ts';
import {
  DANGERS_WITHOUT_CHANGE,
  INCIDENT_KINDS,
  type IncidentKind,
} from '../../names/unexplained-changes.ts';
import { ORDER_TASK_NAMES } from '../../orders/order.ts';
import { getOrderTask } from '../../orders/tasks.ts';
import type { LifecyclePhase } from '../../zones/lifecycle.ts';

/**
 * Notifications outside of Slack, as Standard Webhooks. A body contains only codes, names, ids and times, and a
 * sentence built from them. It never contains entered text or a secret.
 */

const nameSchema = z.string();
const valuesSchema = z.array(z.string()).readonly().exactOptional();

/** The phases of a name's lifecycle in which a last reminder is sent. */
const LAST_REMINDER_PHASES = [
  'registered',
  'auto_renew_grace',
  'redemption',
  'pending_delete',
  'released',
  'expired',
  'deleted',
] as const satisfies readonly LifecyclePhase[];

const DATA_SCHEMAS = {
  'incident.opened': z.strictObject({
    name: nameSchema,
    incident_id: z.string(),
    code: z.enum(INCIDENT_KINDS),
    before: valuesSchema,
    after: valuesSchema,
  }),
  /** Another change was detected, or a person raised the alarm. */
  'incident.changed': z.strictObject({
    name: nameSchema,
    incident_id: z.string(),
    code: z.enum([...INCIDENT_KINDS, 'raised']),
    before: valuesSchema,
    after: valuesSchema,
  }),
  /** The team made the change, or it was reverted. */
  'incident.closed': z.strictObject({
    name: nameSchema,
    incident_id: z.string(),
    code: z.enum(['ours', 'over']),
  }),
  'finding.opened': z.strictObject({ name: nameSchema, code: z.enum(DANGER_CODES) }),
  'finding.closed': z.strictObject({ name: nameSchema, code: z.enum(DANGER_CODES) }),
  'reminder.last': z.strictObject({
    name: nameSchema,
    code: z.enum(LAST_REMINDER_PHASES),
    expires: z.iso.date(),
  }),
  /** `names` is omitted for private orders. */
  'order.unknown': z.strictObject({
    order_id: z.string(),
    code: z.literal('unknown'),
    task: z.enum(ORDER_TASK_NAMES),
    names: valuesSchema,
  }),
  /** `order_id` is the regular order that replaces the renewal, if any. */
  'mandate.held': z.strictObject({
    name: nameSchema,
    order_id: z.string().exactOptional(),
    mandate: z.string(),
    code: holdReasonSchema,
  }),
  /** `anchor` is the verifier's input: the seal's number and the SHA-256 of its canonical form. */
  'seal.created': z.strictObject({
    code: z.literal('sealed'),
    anchor: z.string().regex(/^\d+:[0-9a-f]{64}$/),
    seal: z.looseObject({ n: z.int(), to: z.int() }),
  }),
  'slack.unreachable': z.strictObject({ code: z.string(), since: z.iso.datetime() }),
  test: z.strictObject({ code: z.enum(['asked', 'monthly']) }),
} as const;

export type WebhookType = keyof typeof DATA_SCHEMAS;

export type WebhookEvent = {
  readonly [Type in WebhookType]: {
    readonly type: Type;
    readonly at: Date;
    readonly data: Readonly<z.output<(typeof DATA_SCHEMAS)[Type]>>;
  };
}[WebhookType];

function buildBodySchema<Type extends WebhookType>(type: Type) {
  return z.strictObject({
    type: z.literal(type),
    timestamp: z.iso.datetime(),
    data: DATA_SCHEMAS[type].extend({ text: z.string() }),
  });
}

export const webhookBodySchema = z.discriminatedUnion('type', [
  buildBodySchema('incident.opened'),
  buildBodySchema('incident.changed'),
  buildBodySchema('incident.closed'),
  buildBodySchema('finding.opened'),
  buildBodySchema('finding.closed'),
  buildBodySchema('reminder.last'),
  buildBodySchema('order.unknown'),
  buildBodySchema('mandate.held'),
  buildBodySchema('seal.created'),
  buildBodySchema('slack.unreachable'),
  buildBodySchema('test'),
]);

const INCIDENT_TEXTS: Readonly<Record<IncidentKind, string>> = {
  registrar: 'its registrar changed',
  nameservers: 'its nameservers changed',
  ds: 'its DS records changed',
  lock: 'a lock was removed',
  hold: 'it is on hold, so it doesn’t resolve',
  delegation_gone: 'its delegation is gone, so it doesn’t resolve',
  nameserver_registrable: 'a nameserver’s domain can be registered by anyone',
  all_lame: 'no nameserver answers for it',
  pending_transfer: 'it is being transferred',
  pending_delete: 'it is about to be deleted',
  owner: 'its registrant changed',
  unregistered: 'it is no longer registered',
};

const FINDING_TEXTS: Readonly<Record<DangerCode, string>> = {
  expired: 'it has expired or was deleted',
  all_lame: 'no nameserver answers for it',
  nameserver_registrable: 'a nameserver’s domain can be registered by anyone',
  dnssec_broken: 'its DNSSEC is broken',
  certificate_expired: 'its certificate has expired',
  incident: 'it has an unexplained change',
};

const CLOSED_FINDING_TEXTS: Readonly<Record<DangerCode, string>> = {
  expired: 'it is registered again',
  all_lame: 'its nameservers answer for it again',
  nameserver_registrable: 'all its nameservers’ domains are registered',
  dnssec_broken: 'its DNSSEC is no longer broken',
  certificate_expired: 'its certificate is valid again',
  incident: 'its unexplained change is resolved',
};

const REMINDER_TEXTS: Readonly<Record<LifecyclePhase, (expires: string) => string>> = {
  registered: (expires) => `expires on ${expires}, and this is the last reminder`,
  auto_renew_grace: (expires) => `expired on ${expires} and can still be renewed`,
  redemption: (expires) => `expired on ${expires} and can still be restored`,
  pending_delete: (expires) => `expired on ${expires} and is about to be released`,
  released: (expires) => `expired on ${expires} and can be registered by anyone`,
  expired: (expires) => `expired on ${expires}`,
  deleted: () => 'was deleted',
};

const HOLD_REASON_TEXTS: Readonly<Record<HoldReason, string>> = {
  price_unknown: 'its price is unknown',
  price_above: 'its price is above the mandate’s maximum',
  total_spent: 'the mandate’s remaining total is too low',
  day_full: 'the daily limit is reached, and this was the last day for it',
  budget_empty: 'the remaining budget is too low',
  owner_left: 'its owner has left',
  incident_open: 'it has an open incident',
  account_gone: 'the mandate’s account is no longer linked',
  other_account: 'it was last renewed with another account',
  date_in_doubt: 'the registry shows another expiry date',
  policy_asks_more: 'the policy requires more approvals than the mandate got',
  policy_refuses: 'the policy doesn’t allow it',
  earlier_unknown: 'the outcome of an earlier renewal is unknown',
  too_late: 'it was too late to announce it a day before',
  not_announced: 'it couldn’t be announced a day before',
  moved_out: 'the mandate no longer covers it',
  renewed_meanwhile: 'it was renewed in the meantime',
  set_to_lapse: 'it is set to lapse',
  mandate_ended: 'the mandate has ended',
};

/** For example `16 Dec 2026`. In UTC, because a name's expiry date is the same for everyone. */
const DAY_FORMAT = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', dateStyle: 'medium' });
/** For example `Wed, 25 Nov 2026, 10:00 UTC`. In UTC, because the reader's time zone is unknown. */
const TIME_FORMAT = new Intl.DateTimeFormat('en-GB', {
  timeZone: 'UTC',
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZoneName: 'short',
});

function formatIncident(name: string, code: IncidentKind, notOrderedText: string): string {
  return `${name}: ${INCIDENT_TEXTS[code]}${DANGERS_WITHOUT_CHANGE.has(code) ? '' : `, and ${notOrderedText}`}.`;
}

function formatEventText(event: WebhookEvent): string {
  switch (event.type) {
    case 'incident.opened':
      return formatIncident(event.data.name, event.data.code, 'no one here ordered this');
    case 'incident.changed':
      return event.data.code === 'raised'
        ? `${event.data.name}: the alarm was raised. Its owner, the approvers and the admins are notified.`
        : formatIncident(event.data.name, event.data.code, 'no one here ordered this either');
    case 'incident.closed':
      return event.data.code === 'ours'
        ? `${event.data.name}: its incident is closed. It was the team’s own change.`
        : `${event.data.name}: its incident is closed. Everything is back to normal.`;
    case 'finding.opened':
      return `${event.data.name}: ${FINDING_TEXTS[event.data.code]}.`;
    case 'finding.closed':
      return `${event.data.name}: ${CLOSED_FINDING_TEXTS[event.data.code]}.`;
    case 'reminder.last':
      return `${event.data.name} ${REMINDER_TEXTS[event.data.code](DAY_FORMAT.format(new Date(event.data.expires)))}.`;
    case 'order.unknown':
      return formatUnknownOrder(event.data);
    case 'mandate.held':
      return `${event.data.name} wasn’t renewed by its mandate: ${HOLD_REASON_TEXTS[event.data.code]}.`;
    case 'seal.created':
      return `The ledger is sealed up to event ${event.data.seal.to}, and its anchor is ${event.data.anchor}.`;
    case 'slack.unreachable':
      return `Slack hasn’t answered since ${TIME_FORMAT.format(new Date(event.data.since))}, so no one is notified there.`;
    case 'test':
      return event.data.code === 'asked'
        ? 'This is a test requested by an admin.'
        : 'This is the monthly test. Nothing to do.';
  }
}

function formatUnknownOrder({
  order_id: id,
  task,
  names,
}: z.output<(typeof DATA_SCHEMAS)['order.unknown']>): string {
  const sentence = `outcome of order ${id} is unknown. An approver has to mark it as done or failed.`;
  const [first, ...others] = names ?? [];
  if (first === undefined) return `The ${sentence}`;
  const othersText = others.length === 0 ? '' : ` and ${others.length} more`;
  return `${getOrderTask(task).words.verb} ${first}${othersText}: the ${sentence}`;
}

/** Webhooks with the same subject are sent in order. */
function formatSubjectKey(event: WebhookEvent): string {
  if ('name' in event.data) return `name:${event.data.name}`;
  if ('order_id' in event.data) return `order:${event.data.order_id}`;
  return event.type;
}

export interface Webhook {
  /** The `webhook-id`, the same for all endpoints and attempts. */
  readonly id: string;
  readonly subject: string;
  readonly at: Date;
  /** The signed bytes, the same in all attempts. */
  readonly body: string;
}

export function buildWebhook(event: WebhookEvent): Webhook {
  const { type, at, data } = event;
  const body = webhookBodySchema.parse({
    type,
    timestamp: at.toISOString(),
    data: { ...data, text: formatEventText(event) },
  });
  return {
    id: `msg_${randomUUID().replaceAll('-', '')}`,
    subject: formatSubjectKey(event),
    at,
    body: JSON.stringify(body),
  };
}
