import { firstChannel } from '@domain-steward/slack-workspace/page/conversation';
import { objectsOf, textOf } from '@domain-steward/slack-workspace/page/json';
import type { Message, Snapshot } from '@domain-steward/slack-workspace/protocol';
import { asker, at, type NextTarget, type Path, type Situation } from './guide-steps.ts';

/*
 * The second path, *Lose a domain*: what is in use is not deleted by one click, and what is stolen is told.
 */

export type LoseStepName = 'delete' | 'confirm' | 'theft' | 'alarm';

const TITLES: Readonly<Record<LoseStepName, string>> = {
  delete: 'Delete a name in use',
  confirm: 'See what stops you',
  theft: 'Let it be stolen',
  alarm: 'Hear of it',
};

const COMMAND = '/domain delete cafe.rest';
/** What is noted among what was seen when the form is open in which the name is typed again. */
const CONFIRM_SEEN = 'confirm';

/** How far the second path is, and what comes next. */
export function loseProgressOf(situation: Situation): Path<LoseStepName> {
  const { snapshot, seen } = situation;
  const draft = latest(Object.values(snapshot.messages).flat().filter(hasConfirm));
  const alarm = latest(alarmsOf(snapshot));
  const done: Record<LoseStepName, boolean> = {
    delete: draft !== undefined || seen.includes(CONFIRM_SEEN) || alarm !== undefined,
    confirm: seen.includes(CONFIRM_SEEN) || alarm !== undefined,
    theft: alarm !== undefined,
    alarm: alarm !== undefined && alarmsOf(snapshot).some(({ ts }) => seen.includes(ts)),
  };
  const names: LoseStepName[] = ['delete', 'confirm', 'theft', 'alarm'];
  const current = names.find((name) => !done[name]);
  return {
    steps: names.map((name) => ({ name, title: TITLES[name], done: done[name] })),
    current,
    target: current === undefined ? undefined : targetOf(current, situation, draft, alarm),
  };
}

/** What of the second path is on the screen, to be noted as seen. */
export function loseSeen({ snapshot, place }: Pick<Situation, 'snapshot' | 'place'>): string | undefined {
  if (snapshot.views.at(-1)?.callback_id === 'confirm') return CONFIRM_SEEN;
  return alarmsOf(snapshot).find(({ ts }) => place.thread === ts)?.ts;
}

function targetOf(
  step: LoseStepName,
  { snapshot, place }: Situation,
  draft: Message | undefined,
  alarm: Message | undefined,
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
    case 'alarm':
      return alarm && at(place, alarm.channel, { kind: 'thread', ts: alarm.ts });
  }
}

function alarmsOf({ messages }: Snapshot): Message[] {
  return Object.values(messages)
    .flat()
    .filter(({ metadata, thread_ts }) => metadata?.event_type === 'domain_alarm' && thread_ts === undefined);
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
