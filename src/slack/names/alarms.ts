import { z } from 'zod';
import { waitingFor } from '../../orders/approvers.ts';
import {
  type ActionCall,
  type Feature,
  type FormFeature,
  type Interaction,
  isAdmin,
  type Submitted,
} from '../feature.ts';
import { fieldsOf, neededReason, readForm } from '../kit/form.ts';
import { openForm } from '../orders/ordering.ts';
import { alarmRefusalText, NOT_ALLOWED, oursIntro, raisedText } from './alarm.view.ts';

/*
 * The buttons of an alarm. A button carries the alarm's id; on a click everything is read and checked again.
 */

/** Why a person may not act on alarms; undefined for approvers and admins. */
async function refusalOfPerson(call: Interaction): Promise<string | undefined> {
  if (isAdmin(call.deps, call.person)) return undefined;
  const { isApprover, unreadableGroups } = await waitingFor(call.deps.orders, call.person.id, []);
  if (isApprover) return undefined;
  return unreadableGroups.length > 0 ? NOT_ALLOWED.unknown : NOT_ALLOWED.nobody;
}

const ours = z.object({ reason: neededReason('Who did it, where, and why. Stands in the thread.') });

const oursForm: FormFeature<'alert_ours'> = {
  form: { name: 'alert_ours', title: 'This was us', submit: 'It was us', fields: fieldsOf(ours) },

  async render(call, origin) {
    const alarm = await call.deps.names.alarms.find(origin.subject ?? '');
    if (alarm === undefined) return { intro: [] };
    return { intro: oursIntro(alarm.name, await call.deps.names.isGuarded(alarm.name)) };
  },

  async submit(call): Promise<Submitted> {
    const read = readForm(ours, call.values);
    if ('errors' in read) return read;
    const notAllowed = await refusalOfPerson(call);
    if (notAllowed !== undefined) return { errors: { reason: notAllowed } };
    const outcome = await call.deps.names.alarms.sayOurs(call.origin.subject ?? '', {
      by: call.person.id,
      reason: read.value.reason,
    });
    return outcome.ok ? { say: undefined } : { errors: { reason: alarmRefusalText(outcome.refusal) } };
  },
};

async function openOurs(call: ActionCall): Promise<void> {
  const alarm = await call.deps.names.alarms.find(call.value);
  if (alarm === undefined) return call.respond(alarmRefusalText({ code: 'no_such_alarm' }));
  if (alarm.explained !== undefined) {
    const { by } = alarm.explained;
    return call.respond(alarmRefusalText({ code: 'explained_already', by }));
  }
  const notAllowed = await refusalOfPerson(call);
  if (notAllowed !== undefined) return call.respond(notAllowed);
  if (alarm.proposed?.by === call.person.id && (await call.deps.names.isGuarded(alarm.name))) {
    return call.respond(alarmRefusalText({ code: 'needs_another_person' }));
  }
  await openForm(call, oursForm, { channelId: call.channelId ?? '', subject: alarm.id });
}

async function raise(call: ActionCall): Promise<void> {
  const outcome = await call.deps.names.alarms.escalate(call.value, call.person.id);
  if (!outcome.ok) return call.respond(alarmRefusalText(outcome.refusal));
  await call.respondIfLate(raisedText(outcome.alarm.name));
}

export const alarms = {
  forms: [oursForm],
  actions: [
    { id: 'alert_ours', run: openOurs },
    { id: 'alert_raise', run: raise },
  ],
} as const satisfies Feature;
