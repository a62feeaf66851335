import type { IncidentDecision } from '../ledger/events.ts';
import { compareAndSwap } from '../lib/compare-and-swap.ts';
import type { NamesContext } from './context.ts';
import {
  confirmOwnChange,
  type Incident,
  type IncidentConfirmation,
  type IncidentOutcome,
  type IncidentRefusal,
  isOpen,
  listIncidentKinds,
  markAlarmRaised,
} from './incident.ts';
import { confirmTransfer } from './lookup.ts';
import { GUARDED_TAG } from './portfolio.ts';

const NOT_FOUND: IncidentRefusal = { code: 'incident_not_found' };

async function changeIncident(
  { incidents, pollNotifications, now }: NamesContext,
  id: string,
  applyChange: (incident: Incident) => IncidentOutcome,
  buildDecision: (after: Incident) => IncidentDecision,
): Promise<IncidentOutcome> {
  return compareAndSwap<Incident | undefined, IncidentOutcome>(
    `changing incident ${id}`,
    () => incidents.find(id),
    async (before) => {
      if (before === undefined) return { ok: false, refusal: NOT_FOUND };
      const outcome = applyChange(before);
      if (!outcome.ok) return outcome;
      if (!(await incidents.change(before, outcome.incident, buildDecision(outcome.incident), now())))
        return undefined;
      pollNotifications();
      return outcome;
    },
  );
}

/** If the incident was a transfer, the new registrar's dates are trusted afterwards. */
export async function confirmIncident(
  context: NamesContext,
  id: string,
  confirmation: IncidentConfirmation,
): Promise<IncidentOutcome> {
  const name = (await context.incidents.find(id))?.name;
  const isNameGuarded = name !== undefined && (await isGuarded(context, name));
  const outcome = await changeIncident(
    context,
    id,
    (incident) => confirmOwnChange(incident, confirmation, isNameGuarded),
    ({ explanation }) => ({
      kind: explanation === undefined ? 'incident_proposed' : 'incident_ours',
      actor: confirmation.by,
      reason: confirmation.reason,
    }),
  );
  if (outcome.ok && !isOpen(outcome.incident)) {
    if (isTransferIncident(outcome.incident)) await confirmTransfer(context, outcome.incident.name);
    // The lookup clears the `incident` finding.
    await context.records.requestLookup(outcome.incident.name, context.now());
  }
  return outcome;
}

/** Notifies the owner, approvers and admins. */
export function raiseAlarm(context: NamesContext, id: string, by: string): Promise<IncidentOutcome> {
  return changeIncident(
    context,
    id,
    (incident) => markAlarmRaised(incident, by),
    () => ({ kind: 'incident_raised', actor: by }),
  );
}

export async function isGuarded({ portfolio }: NamesContext, name: string): Promise<boolean> {
  return (await portfolio.findTags([name])).get(name)?.includes(GUARDED_TAG) ?? false;
}

function isTransferIncident(incident: Incident): boolean {
  return listIncidentKinds(incident).some((kind) => kind === 'registrar' || kind === 'pending_transfer');
}
