import { firstChannel } from '@domain-steward/slack-workspace/page/conversation';
import type { Target } from '@domain-steward/slack-workspace/page/host';
import { isObject, type JsonObject, objectsOf, textOf } from '@domain-steward/slack-workspace/page/json';
import type { Place } from '@domain-steward/slack-workspace/page/place';
import type { Message, Snapshot, User } from '@domain-steward/slack-workspace/protocol';
import type { SeenRequest } from './host.ts';

/*
 * The guided path of a first visit: how far somebody is, told from what happened and not from what was clicked, and
 * what to click next.
 */

export type StepName = 'link' | 'renew' | 'approve' | 'result' | 'digest';

/** What to use next: something of the workspace, the demonstration's clock, or its thief. */
export type NextTarget = Target | { kind: 'time' } | { kind: 'theft' };

/** How far a path is. */
export interface Path<Name extends string> {
  steps: { name: Name; title: string; done: boolean }[];
  /** The first step that is not done; undefined at the end of the path. */
  current: Name | undefined;
  target: NextTarget | undefined;
}

export interface Situation {
  snapshot: Snapshot;
  place: Place;
  requests: readonly SeenRequest[];
  /** `ts` of results, digests and incidents that somebody has looked at. */
  seen: readonly string[];
}

const TITLES: Readonly<Record<StepName, string>> = {
  link: 'Link an account',
  renew: 'Ask for a renewal',
  approve: 'Approve it',
  result: 'Read the result',
  digest: 'See what expires',
};

const DROPPED = ['DENIED', 'EXPIRED', 'CANCELLED'];
const WAITING = ['PENDING', 'DRAFT'];
const ENDED = ['SUCCEEDED', 'FAILED', 'UNKNOWN'];

interface OrderMessage {
  message: Message;
  state: string;
}

/** The card of the latest renewal that somebody still wants. */
export function latestRenewal({ messages }: Snapshot): OrderMessage | undefined {
  return Object.values(messages)
    .flat()
    .flatMap((message) => {
      const payload = message.metadata?.event_payload;
      const state = textOf(payload, 'state');
      const isCard = message.thread_ts === undefined && textOf(payload, 'task') === 'renew';
      return isCard && state !== undefined && !DROPPED.includes(state) ? [{ message, state }] : [];
    })
    .sort((a, b) => (a.message.ts < b.message.ts ? 1 : -1))[0];
}

/** The newest message with buttons of the expiry reminders. */
export function latestDigest({ messages }: Snapshot): Message | undefined {
  return Object.values(messages)
    .flat()
    .filter(({ blocks, thread_ts }) => thread_ts === undefined && blocks.some(isReminder))
    .sort((a, b) => (a.ts < b.ts ? 1 : -1))[0];
}

function isReminder(block: JsonObject): boolean {
  return [block['accessory'], ...objectsOf(block, 'elements')].some(
    (element) => isObject(element) && textOf(element, 'action_id')?.startsWith('reminder_') === true,
  );
}

/** The one who asks in the story. */
export function asker({ users }: Snapshot): User | undefined {
  return users.find(({ role }) => role === 'asks');
}

/** How far the story is, and what comes next. */
export function progressOf(situation: Situation): Path<StepName> {
  const { snapshot, requests, seen } = situation;
  const order = latestRenewal(snapshot);
  const digest = latestDigest(snapshot);
  const linked = requests.some(
    ({ task, carriedOut, status }) => task === 'session.create' && carriedOut && status === 200,
  );
  const ended = order !== undefined && ENDED.includes(order.state);
  const done: Record<StepName, boolean> = {
    link: linked || order !== undefined,
    renew: order !== undefined,
    approve: order !== undefined && !WAITING.includes(order.state),
    result: ended && seen.includes(order.message.ts),
    digest: digest !== undefined && seen.includes(digest.ts),
  };
  const names: StepName[] = ['link', 'renew', 'approve', 'result', 'digest'];
  const current = names.find((name) => !done[name]);
  return {
    steps: names.map((name) => ({ name, title: TITLES[name], done: done[name] })),
    current,
    target: current === undefined ? undefined : targetOf(current, situation, order, digest),
  };
}

function targetOf(
  step: StepName,
  situation: Situation,
  order: OrderMessage | undefined,
  digest: Message | undefined,
): NextTarget | undefined {
  const { snapshot, place } = situation;
  switch (step) {
    case 'link':
    case 'renew': {
      const alice = asker(snapshot);
      if (alice !== undefined && snapshot.me !== alice.id) return { kind: 'person', user: alice.id };
      if (snapshot.views.at(-1)?.callback_id === step) return { kind: 'form', callbackId: step };
      const text = step === 'link' ? '/domain link' : '/domain renew cafe.rest 2 -- the client paid';
      return at(place, firstChannel(snapshot), { kind: 'composer', text });
    }
    case 'approve': {
      if (order === undefined) return undefined;
      const me = snapshot.users.find(({ id }) => id === snapshot.me);
      if (me?.role !== 'approves') {
        const bob = snapshot.users.find(({ role }) => role === 'approves');
        return bob && { kind: 'person', user: bob.id };
      }
      return at(place, order.message.channel, {
        kind: 'action',
        ts: order.message.ts,
        actionId: 'order_approve',
      });
    }
    case 'result':
      if (order === undefined || !ENDED.includes(order.state)) return undefined;
      return at(place, order.message.channel, { kind: 'thread', ts: order.message.ts });
    case 'digest':
      return digest === undefined ? { kind: 'time' } : { kind: 'channel', channel: digest.channel };
  }
}

/** What to use in a channel; from elsewhere, the way there. */
export function at(place: Place, channel: string | undefined, target: NextTarget): NextTarget {
  return channel === undefined || (place.channel === channel && place.home !== true)
    ? target
    : { kind: 'channel', channel };
}
