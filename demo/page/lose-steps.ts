import { firstChannel } from '@domain-steward/slack-workspace/page/conversation';
import { objectsOf, textOf } from '@domain-steward/slack-workspace/page/json';
import type { Message, Snapshot } from '@domain-steward/slack-workspace/protocol';
import { asker, at, type NextTarget, type Path, type Situation } from './guide-steps.ts';

/*
 * The second path, *Lose a domain*: what is in use is not deleted by one click, and what is stolen is told.
 */

export type LoseStepName = 'delete' | 'confirm' | 'theft' | 'incident';

const TITLES: Readonly<Record<LoseStepName, string>> = {
  delete: 'Delete a name in use',
  confirm: 'See what stops you',
  theft: 'Let it be stolen',
  incident: 'Hear of it',
};

const COMMAND = '/domain delete cafe.rest';
/** What is noted among what was seen when the form is open in which the name is typed again. */
const CONFIRM_SEEN = 'confirm';

/** How far the second path is, and what comes next. */
export function loseProgressOf(situation: Situation): Path<LoseStepName> {
  const { snapshot, seen } = situation;
  const draft = latest(Object.values(snapshot.messages).flat().filter(hasConfirm));
  const incident = latest(incidentsOf(snapshot));
  const done: Record<LoseStepName, boolean> = {
    delete: draft !== undefined || seen.includes(CONFIRM_SEEN) || incident !== undefined,
    confirm: seen.includes(CONFIRM_SEEN) || incident !== undefined,
    theft: incident !== undefined,
    incident: incident !== undefined && incidentsOf(snapshot).some(({ ts }) => seen.includes(ts)),
  };
  const names: LoseStepName[] = ['delete', 'confirm', 'theft', 'incident'];
  const current = names.find((name) => !done[name]);
  return {
    steps: names.map((name) => ({ name, title: TITLES[name], done: done[name] })),
    current,
    target: current === undefined ? undefined : targetOf(current, situation, draft, incident),
  };
}

/** What of the second path is on the screen, to be noted as seen. */
export function loseSeen({ snapshot, place }: Pick<Situation, 'snapshot' | 'place'>): string | undefined {
  if (snapshot.views.at(-1)?.callback_id === 'confirm') return CONFIRM_SEEN;
  return incidentsOf(snapshot).find(({ ts }) => place.thread === ts)?.ts;
}

function targetOf(
  step: LoseStepName,
  { snapshot, place }: Situation,
  draft: Message | undefined,
  incident: Message | undefined,
): NextTarget | undefined {
  switch (step) {
    case 'delete':
    case 'confirm': {
      const alice = asker(snapshot);
      if (alice !== undefined && snapshot.me !== alice.id) return { kind: 'person', user: alice.id };
      return draft === undefined
        ? at(place, firstChannel(snapshot), { kind: 'composer', text: COMMAND })
        : at(place, draft.channel, { kind: 'action', ts: draft.ts, actionId: 'order_confirm' });
    }
    case 'theft':
      return { kind: 'theft' };
    case 'incident':
      return incident && at(place, incident.channel, { kind: 'thread', ts: incident.ts });
  }
}

function incidentsOf({ messages }: Snapshot): Message[] {
  return Object.values(messages)
    .flat()
    .filter(
      ({ metadata, thread_ts }) => metadata?.event_type === 'domain_incident' && thread_ts === undefined,
    );
}

function latest(messages: readonly Message[]): Message | undefined {
  return messages.toSorted((a, b) => (a.ts < b.ts ? 1 : -1))[0];
}

function hasConfirm({ blocks, text }: Message): boolean {
  return (
    text.includes('cafe.rest') &&
    blocks.some((block) =>
      objectsOf(block, 'elements').some((element) => textOf(element, 'action_id') === 'order_confirm'),
    )
  );
}
