import { compareAndSwap } from '../compare-and-swap.ts';
import type { AlarmDecision } from '../events.ts';
import { type Alarm, type AlarmChange, type AlarmRefusal, escalate, sayOurs } from './alarm.ts';
import type { AlarmStore } from './ports.ts';

/** What people do about alarms. */
export interface Alarms {
  find(id: string): Promise<Alarm | undefined>;
  /** The latest first. */
  ofName(name: string, limit: number): Promise<readonly Alarm[]>;
  /** A person says that the team made the change. */
  sayOurs(id: string, said: { readonly by: string; readonly reason: string }): Promise<AlarmChange>;
  /** A person has the name's owner, the approvers and the admins told. */
  escalate(id: string, by: string): Promise<AlarmChange>;
}

/** What {@link createAlarms} needs. */
export interface AlarmDeps {
  readonly store: AlarmStore;
  readonly isGuarded: (name: string) => Promise<boolean>;
  /** The name is rightly with another registrar, whose dates are trusted from now on. */
  readonly trustRegistrar: (name: string) => Promise<void>;
  /** Called when an alarm has changed and Slack has to be told. */
  readonly changed: (id: string) => void;
  readonly now: () => Date;
}

const NOT_FOUND: AlarmRefusal = { code: 'no_such_alarm' };

/** Joins the pure decisions with the store. */
export function createAlarms({ store, isGuarded, trustRegistrar, changed, now }: AlarmDeps): Alarms {
  /**
   * When two people act at the same moment, the second one reads again and decides on what the
   * first one did.
   */
  async function change(
    id: string,
    decide: (alarm: Alarm) => AlarmChange,
    decisionOf: (after: Alarm) => AlarmDecision,
  ): Promise<AlarmChange> {
    return compareAndSwap<Alarm | undefined, AlarmChange>(
      `changing alarm ${id}`,
      () => store.find(id),
      async (before) => {
        if (before === undefined) return { ok: false, refusal: NOT_FOUND };
        const decided = decide(before);
        if (!decided.ok) return decided;
        if (!(await store.change(before, decided.alarm, decisionOf(decided.alarm), now()))) return undefined;
        changed(id);
        return decided;
      },
    );
  }

  return {
    find: store.find,
    ofName: store.ofName,
    async sayOurs(id, said) {
      const name = (await store.find(id))?.name;
      const guarded = name !== undefined && (await isGuarded(name));
      const outcome = await change(
        id,
        (alarm) => sayOurs(alarm, said, guarded),
        ({ explained }) => ({
          kind: explained === undefined ? 'alarm_proposed' : 'alarm_explained',
          actor: said.by,
          reason: said.reason,
        }),
      );
      if (outcome.ok && outcome.alarm.state === 'explained' && isOfTransfer(outcome.alarm)) {
        await trustRegistrar(outcome.alarm.name);
      }
      return outcome;
    },
    escalate: (id, by) =>
      change(
        id,
        (alarm) => escalate(alarm, by),
        () => ({ kind: 'alarm_escalated', actor: by }),
      ),
  };
}

function isOfTransfer({ kind }: Alarm): boolean {
  return kind === 'registrar' || kind === 'pending_transfer';
}
