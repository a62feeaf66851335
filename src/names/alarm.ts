import { randomUUID } from 'node:crypto';
import type { NameChange, RuledOutOrder, UnexplainedChange } from './unexplained-changes.ts';

/*
 * An alarm: a change of a name that no order explains, and what people did about it. Pure; the store commits every
 * change by compare-and-swap on `version`.
 */

export const ALARM_STATES = ['raised', 'explained', 'escalated'] as const;
export type AlarmState = (typeof ALARM_STATES)[number];

/** An alarm that a look at a name has raised. */
export interface NewAlarm extends Omit<NameChange, 'expiry'> {
  readonly id: string;
  /** In ASCII. */
  readonly name: string;
  readonly expiry: NameChange['expiry'] | undefined;
  /** When a second look confirmed it. */
  readonly raisedAt: Date;
  /** Orders that were considered, the latest first. */
  readonly orders: readonly RuledOutOrder[];
}

/** An alarm as it stands. */
export interface Alarm extends NewAlarm {
  readonly version: number;
  readonly state: AlarmState;
  /** Who was first to say that the team made the change, where a second person has to agree. */
  readonly proposed: { readonly by: string; readonly reason: string } | undefined;
  readonly explained: { readonly by: string; readonly reason: string } | undefined;
  readonly escalatedBy: string | undefined;
  /** Where people were told of it; undefined while nobody was. */
  readonly channelId: string | undefined;
}

/** Why a person may not do something about an alarm. */
export type AlarmRefusal =
  | { readonly code: 'no_such_alarm' }
  /** Somebody has already said whose change it is. */
  | { readonly code: 'explained_already'; readonly by: string }
  | { readonly code: 'escalated_already'; readonly by: string }
  /** A guarded name needs another person to agree. */
  | { readonly code: 'needs_another_person' };

export type AlarmChange =
  | { readonly ok: true; readonly alarm: Alarm }
  | { readonly ok: false; readonly refusal: AlarmRefusal };

const MAX_ORDERS = 10;

/** The alarms of one look. Locks that change at the same time are one alarm. */
export function newAlarms(name: string, unexplained: readonly UnexplainedChange[], at: Date): NewAlarm[] {
  const [first, ...others] = unexplained.filter(({ change }) => change.kind === 'lock_gone');
  const after = [first, ...others].flatMap((lock) => lock?.change.after ?? []).sort();
  const locks = first === undefined ? [] : [{ ...first, change: { ...first.change, after } }];
  return [...unexplained.filter(({ change }) => change.kind !== 'lock_gone'), ...locks].map(
    ({ change, orders }) => {
      const about = { id: randomUUID(), name, ...change, expiry: change.expiry };
      return { ...about, raisedAt: at, orders: orders.slice(0, MAX_ORDERS) };
    },
  );
}

/** A person says that the team made the change. For a guarded name two people have to say so. */
export function sayOurs(
  alarm: Alarm,
  said: { readonly by: string; readonly reason: string },
  isGuarded: boolean,
): AlarmChange {
  if (alarm.explained !== undefined) {
    return { ok: false, refusal: { code: 'explained_already', by: alarm.explained.by } };
  }
  if (isGuarded && alarm.proposed === undefined) {
    return { ok: true, alarm: { ...alarm, proposed: said } };
  }
  if (isGuarded && alarm.proposed?.by === said.by) {
    return { ok: false, refusal: { code: 'needs_another_person' } };
  }
  return { ok: true, alarm: { ...alarm, state: 'explained', explained: said } };
}

/** A person has the name's owner, the approvers and the admins told. It is done once. */
export function escalate(alarm: Alarm, by: string): AlarmChange {
  if (alarm.explained !== undefined) {
    return { ok: false, refusal: { code: 'explained_already', by: alarm.explained.by } };
  }
  if (alarm.escalatedBy !== undefined) {
    return { ok: false, refusal: { code: 'escalated_already', by: alarm.escalatedBy } };
  }
  return { ok: true, alarm: { ...alarm, state: 'escalated', escalatedBy: by } };
}
