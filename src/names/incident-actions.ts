import type { IncidentDecision } from '../ledger/events.ts';
import { compareAndSwap } from '../lib/compare-and-swap.ts';
import {
  type Incident,
  type IncidentDecided,
  type IncidentRefusal,
  isOpen,
  kindsOf,
  type ListedIncident,
  raise,
  type SaidOurs,
  sayOurs,
} from './incident.ts';
import type { IncidentStore } from './ports.ts';

/** What people do about incidents. */
export interface Incidents {
  find(id: string): Promise<Incident | undefined>;
  /** Those of names that are open, or were raised. */
  openOf(names: readonly string[]): Promise<readonly ListedIncident[]>;
  /** Those of all names, the latest first. */
  allOpen(limit: number): Promise<readonly ListedIncident[]>;
  /** A person says that the team made the change. */
  sayOurs(id: string, said: SaidOurs): Promise<IncidentDecided>;
  /** A person has the name's owner, the approvers and the admins told. */
  raise(id: string, by: string): Promise<IncidentDecided>;
}

/** What {@link createIncidents} needs. */
export interface IncidentDeps {
  readonly store: IncidentStore;
  readonly isGuarded: (name: string) => Promise<boolean>;
  /** The name is rightly with another registrar, whose dates are trusted from now on. */
  readonly trustRegistrar: (name: string) => Promise<void>;
  /** Called when an incident has changed and people have to be told. */
  readonly changed: (id: string) => void;
  readonly now: () => Date;
}

const NOT_FOUND: IncidentRefusal = { code: 'no_such_incident' };

/** Joins the pure decisions with the store. */
export function createIncidents({ store, isGuarded, trustRegistrar, changed, now }: IncidentDeps): Incidents {
  /**
   * When two people act at the same moment, the second one reads again and decides on what the
   * first one did.
   */
  async function change(
    id: string,
    decide: (incident: Incident) => IncidentDecided,
    decisionOf: (after: Incident) => IncidentDecision,
  ): Promise<IncidentDecided> {
    return compareAndSwap<Incident | undefined, IncidentDecided>(
      `changing incident ${id}`,
      () => store.find(id),
      async (before) => {
        if (before === undefined) return { ok: false, refusal: NOT_FOUND };
        const decided = decide(before);
        if (!decided.ok) return decided;
        if (!(await store.change(before, decided.incident, decisionOf(decided.incident), now())))
          return undefined;
        changed(id);
        return decided;
      },
    );
  }

  return {
    find: store.find,
    openOf: store.openOf,
    allOpen: store.allOpen,
    async sayOurs(id, said) {
      const name = (await store.find(id))?.name;
      const guarded = name !== undefined && (await isGuarded(name));
      const outcome = await change(
        id,
        (incident) => sayOurs(incident, said, guarded),
        ({ explained }) => ({
          kind: explained === undefined ? 'incident_proposed' : 'incident_ours',
          actor: said.by,
          reason: said.reason,
        }),
      );
      if (outcome.ok && !isOpen(outcome.incident) && isOfTransfer(outcome.incident)) {
        await trustRegistrar(outcome.incident.name);
      }
      return outcome;
    },
    raise: (id, by) =>
      change(
        id,
        (incident) => raise(incident, by),
        () => ({ kind: 'incident_raised', actor: by }),
      ),
  };
}

function isOfTransfer(incident: Incident): boolean {
  return kindsOf(incident).some((kind) => kind === 'registrar' || kind === 'pending_transfer');
}
