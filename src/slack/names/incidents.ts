import { z } from 'zod';
import { loadApproverStatus } from '../../approvals/approvers.ts';
import { checkIncidentOpen, hashIncident } from '../../names/incident.ts';
import {
  type ActionCall,
  type Feature,
  type FormFeature,
  type Interaction,
  isAdmin,
  type SubmissionResult,
} from '../feature.ts';
import { type FormOrigin, formView, parseForm, requiredReasonField, toFields } from '../kit/form.ts';
import { createPageActions, type PageRequest, slicePage } from '../kit/pages.ts';
import { openForm, renderForm } from '../open-form.ts';
import {
  alarmRaisedText,
  confirmationIntro,
  EVERY_NAME,
  INCIDENTS_PER_PAGE,
  incidentRefusalText,
  incidentsMessage,
  MAX_LISTED_INCIDENTS,
  NOT_ALLOWED,
} from './incident.view.ts';

/* Incident buttons. They contain only the incident's id, so each click reads and checks its current state. */

/** @returns the refusal; undefined for approvers and admins */
async function checkCanConfirm(call: Interaction): Promise<string | undefined> {
  if (isAdmin(call.context, call.person)) return undefined;
  const { isApprover, unreadableGroups } = await loadApproverStatus(call.context.orders, call.person.id, []);
  if (isApprover) return undefined;
  return unreadableGroups.length > 0 ? NOT_ALLOWED.approverUnknown : NOT_ALLOWED.notApprover;
}

const confirmSchema = z.object({
  reason: requiredReasonField('Say who did it, where and why. Shown in the thread.'),
});

const confirmForm: FormFeature<'alert_ours'> = {
  form: { name: 'alert_ours', title: 'It was us', submit: 'Confirm', fields: toFields(confirmSchema) },

  async render(call, origin) {
    const { id } = parseSubject(origin);
    const incident = await call.context.names.incidents.find(id);
    if (incident === undefined) return { intro: [] };
    return {
      intro: confirmationIntro(incident, await call.context.names.isGuarded(incident.name)),
      origin: { ...origin, subject: `${id} ${hashIncident(incident)}` },
    };
  },

  async submit(call): Promise<SubmissionResult> {
    const parsed = parseForm(confirmSchema, call.values);
    if ('errors' in parsed) return parsed;
    const refusal = await checkCanConfirm(call);
    if (refusal !== undefined) return { errors: { reason: refusal } };
    const { id, shownHash } = parseSubject(call.origin);
    const confirmation = { by: call.person.id, reason: parsed.value.reason, shownHash };
    const outcome = await call.context.names.incidents.confirmOwnChange(id, confirmation);
    if (outcome.ok) return { reply: undefined };
    const refusalMessage = incidentRefusalText(outcome.refusal);
    if (outcome.refusal.code !== 'changed') return { errors: { reason: refusalMessage } };
    const view = await renderForm(confirmForm, call, call.origin, call.values);
    return { view: formView({ ...view, warnings: [refusalMessage] }) };
  },
};

/** The incident's id, and the hash of the state that the form shows. */
function parseSubject({ subject = '' }: FormOrigin): { readonly id: string; readonly shownHash: string } {
  const [id = '', shownHash = ''] = subject.split(' ');
  return { id, shownHash };
}

async function openConfirmForm(call: ActionCall): Promise<void> {
  const incident = await call.context.names.incidents.find(call.value);
  if (incident === undefined) return call.respond(incidentRefusalText({ code: 'incident_not_found' }));
  const closedRefusal = checkIncidentOpen(incident);
  if (closedRefusal !== undefined) return call.respond(incidentRefusalText(closedRefusal));
  const refusal = await checkCanConfirm(call);
  if (refusal !== undefined) return call.respond(refusal);
  if (
    incident.proposedExplanation?.by === call.person.id &&
    (await call.context.names.isGuarded(incident.name))
  ) {
    return call.respond(incidentRefusalText({ code: 'needs_another_person' }));
  }
  await openForm(call, confirmForm, { channelId: call.channelId ?? '', subject: incident.id });
}

async function raiseAlarm(call: ActionCall): Promise<void> {
  const outcome = await call.context.names.incidents.raiseAlarm(call.value, call.person.id);
  if (!outcome.ok) return call.respond(incidentRefusalText(outcome.refusal));
  await call.respondIfLate(alarmRaisedText(outcome.incident.name));
}

async function buildIncidentsPage({ context }: ActionCall, { of: name, offset }: PageRequest) {
  const { incidents } = context.names;
  const openIncidents =
    name === EVERY_NAME
      ? await incidents.listAllOpen(MAX_LISTED_INCIDENTS)
      : await incidents.listOpen([name]);
  return incidentsMessage(slicePage(openIncidents, offset, INCIDENTS_PER_PAGE), name);
}

export const incidents = {
  forms: [confirmForm],
  actions: [
    { id: 'alert_ours', run: openConfirmForm },
    { id: 'alert_raise', run: raiseAlarm },
    {
      id: 'incidents_all',
      run: async (call) => call.respond(await buildIncidentsPage(call, { of: call.value, offset: 0 })),
    },
    ...createPageActions('incidents', async (call: ActionCall, request) =>
      call.respond(await buildIncidentsPage(call, request), { replace: true }),
    ),
  ],
} as const satisfies Feature;
