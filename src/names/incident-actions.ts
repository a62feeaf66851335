import type { IncidentDecision } from '../ledger/events.ts';
import { compareAndSwap } from '../lib/compare-and-swap.ts';
import type { NamesContext } from './context.ts';
import {
  confirmAsOurs,
  type Incident,
  type IncidentDecided,
  type IncidentRefusal,
  incidentKinds,
  isOpen,
  type OursClaim,
  raise,
} from './incident.ts';
import { confirmTransfer } from './lookup.ts';
import { GUARDED } from './portfolio.ts';

const NOT_FOUND: IncidentRefusal = { code: 'no_such_incident' };

/** On a conflict, reads again and decides on the new state. */
async function change(
  { incidents, notifyDue, now }: NamesContext,
  id: string,
  decide: (incident: Incident) => IncidentDecided,
  decisionOf: (after: Incident) => IncidentDecision,
): Promise<IncidentDecided> {
  return compareAndSwap<Incident | undefined, IncidentDecided>(
    `changing incident ${id}`,
    () => incidents.find(id),
    async (before) => {
      if (before === undefined) return { ok: false, refusal: NOT_FOUND };
      const decided = decide(before);
      if (!decided.ok) return decided;
      if (!(await incidents.change(before, decided.incident, decisionOf(decided.incident), now())))
        return undefined;
      notifyDue();
      return decided;
    },
  );
}

/** After a transfer, the new registrar's dates are trusted. */
export async function confirmIncidentAsOurs(
  context: NamesContext,
  id: string,
  said: OursClaim,
): Promise<IncidentDecided> {
  const name = (await context.incidents.find(id))?.name;
  const guarded = name !== undefined && (await isGuarded(context, name));
  const outcome = await change(
    context,
    id,
    (incident) => confirmAsOurs(incident, said, guarded),
    ({ explained }) => ({
      kind: explained === undefined ? 'incident_proposed' : 'incident_ours',
      actor: said.by,
      reason: said.reason,
    }),
  );
  if (outcome.ok && !isOpen(outcome.incident)) {
    if (isOfTransfer(outcome.incident)) await confirmTransfer(context, outcome.incident.name);
    // Its finding is closed by a lookup.
    await context.records.requestLookup(outcome.incident.name, context.now());
  }
  return outcome;
}

/** Notifies owner, approvers and admins. */
export function raiseIncident(context: NamesContext, id: string, by: string): Promise<IncidentDecided> {
  return change(
    context,
    id,
    (incident) => raise(incident, by),
    () => ({ kind: 'incident_raised', actor: by }),
  );
}

/** Whether a name has the tag for names that must not be lost. */
export async function isGuarded({ portfolio }: NamesContext, name: string): Promise<boolean> {
  return (await portfolio.tagsOf([name])).get(name)?.includes(GUARDED) ?? false;
}

function isOfTransfer(incident: Incident): boolean {
  return incidentKinds(incident).some((kind) => kind === 'registrar' || kind === 'pending_transfer');
}
