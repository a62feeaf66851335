import { z } from 'zod';
import type { AlarmRefusal } from '../../names/alarm.ts';
import { waitingFor } from '../../orders/approvers.ts';
import { displayName } from '../../zones/names.ts';
import {
  type ActionCall,
  type Feature,
  type FormFeature,
  type Interaction,
  isAdmin,
  type Submitted,
} from '../feature.ts';
import { code, escapeText, lines, mention } from '../kit/blocks.ts';
import { fieldsOf, neededReason, readForm } from '../kit/form.ts';
import { openForm } from '../orders/ordering.ts';

/*
 * The buttons of an alarm. A button carries the alarm's id; on a click everything is read and checked again.
 */

const NOT_ALLOWED =
  'Only approvers and admins can say that a change was ours. Tell one of them, or press *Raise it*.';

function refusalText(refusal: AlarmRefusal): string {
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

/** Why a person may not act on alarms; undefined for approvers and admins. */
async function refusalOfPerson(call: Interaction): Promise<string | undefined> {
  if (isAdmin(call.deps, call.person)) return undefined;
  const { isApprover, unreadableGroups } = await waitingFor(call.deps.orders, call.person.id, []);
  if (isApprover) return undefined;
  if (unreadableGroups.length > 0) {
    return 'Slack does not tell me at the moment whether you are an approver. Try again in a minute.';
  }
  return NOT_ALLOWED;
}

const ours = z.object({ reason: neededReason('Who did it, where, and why. Stands in the thread.') });

const oursForm: FormFeature<'alert_ours'> = {
  form: {
    name: 'alert_ours',
    title: 'This was us',
    submit: 'It was us',
    fields: fieldsOf(ours),
  },

  async render(call, origin) {
    const alarm = await call.deps.names.alarms.find(origin.subject ?? '');
    const intro =
      alarm === undefined
        ? []
        : lines([
            `You say that the change of *${escapeText(displayName(alarm.name))}* was made by this team. From then on I take it for right and raise it no further. ${
              (await call.deps.names.isGuarded(alarm.name))
                ? 'The name is guarded: two persons have to say so.'
                : 'If you are not sure, do not.'
            }`,
          ]);
    return { intro };
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
    return outcome.ok ? { say: undefined } : { errors: { reason: refusalText(outcome.refusal) } };
  },
};

async function openOurs(call: ActionCall): Promise<void> {
  const alarm = await call.deps.names.alarms.find(call.value);
  if (alarm === undefined) return call.respond(refusalText({ code: 'no_such_alarm' }));
  if (alarm.explained !== undefined) {
    const { by } = alarm.explained;
    return call.respond(refusalText({ code: 'explained_already', by }));
  }
  const notAllowed = await refusalOfPerson(call);
  if (notAllowed !== undefined) return call.respond(notAllowed);
  if (alarm.proposed?.by === call.person.id && (await call.deps.names.isGuarded(alarm.name))) {
    return call.respond(refusalText({ code: 'needs_another_person' }));
  }
  await openForm(call, oursForm, { channelId: call.channelId ?? '', subject: alarm.id });
}

async function raise(call: ActionCall): Promise<void> {
  const outcome = await call.deps.names.alarms.escalate(call.value, call.person.id);
  if (!outcome.ok) return call.respond(refusalText(outcome.refusal));
  await call.respondIfLate(
    `You raised ${code(displayName(outcome.alarm.name))}: its owner, the approvers and the admins are told.`,
  );
}

export const alarms = {
  forms: [oursForm],
  actions: [
    { id: 'alert_ours', run: openOurs },
    { id: 'alert_raise', run: raise },
  ],
} as const satisfies Feature;
