import { getFirstChannelId } from '@domain-steward/slack-workspace/page/conversation';
import type { HighlightTarget } from '@domain-steward/slack-workspace/page/host';
import { type JsonObject, objectsOf, textOf } from '@domain-steward/slack-workspace/page/json';
import type { Place } from '@domain-steward/slack-workspace/page/place';
import type { Message, Snapshot } from '@domain-steward/slack-workspace/protocol';
import type { SeenRequest } from '../../host.ts';

/* Guided paths: a person's progress, derived from events instead of clicks, and what to click next. */

export interface Situation {
  readonly snapshot: Snapshot;
  readonly place: Place;
  readonly requests: readonly SeenRequest[];
  /** Titles of the ceremonies that were finished on the bot's pages. */
  readonly ceremonies: readonly string[];
  /** The state that the person has seen: `ts` of messages, and keywords of the paths. */
  readonly seen: readonly string[];
  /** The open side panel. */
  readonly panel?: PanelName | undefined;
}

export type PanelName = 'requests' | 'webhooks';

/** The element to use next: in the workspace, the demo's clock, or one of its panels. */
export type NextTarget =
  | HighlightTarget
  | { readonly kind: 'time' }
  | { readonly kind: 'panel'; readonly panel: PanelName };

/** An action of the demo that the guide offers. */
export interface Deed {
  readonly route: `/local/${string}`;
  readonly text: string;
  readonly busy: string;
}

export interface Step {
  readonly title: string;
  readonly text: string;
  isDone(situation: Situation): boolean;
  /** The element to use next; undefined while something is running, or if a deed comes next. */
  next?(situation: Situation): NextTarget | undefined;
  readonly deed?: Deed;
}

export interface GuidedPath {
  readonly title: string;
  readonly steps: readonly Step[];
  /** Shown at the end. */
  readonly text: string;
  /** Parts of the current screen to record as seen. */
  seenNow(situation: Situation): readonly (string | undefined)[];
}

export interface Progress {
  readonly steps: readonly { readonly title: string; readonly done: boolean }[];
  /** The first undone step; undefined at the end of the path. */
  readonly current: Step | undefined;
  readonly target: NextTarget | undefined;
}

export function progressOf({ steps }: GuidedPath, situation: Situation): Progress {
  const current = steps.find((step) => !step.isDone(situation));
  return {
    steps: steps.map((step) => ({ title: step.title, done: step.isDone(situation) })),
    current,
    target: current?.next?.(situation),
  };
}

/** If the channel isn't open, the target is the channel itself. */
export function targetInChannel(place: Place, channel: string | undefined, target: NextTarget): NextTarget {
  return channel === undefined || (place.channel === channel && place.home !== true)
    ? target
    : { kind: 'channel', channel };
}

/** If another person is selected, the target is the switch to this person. */
export function targetForPerson(
  { snapshot }: Situation,
  person: string,
  target: NextTarget | undefined,
): NextTarget | undefined {
  return snapshot.me === person ? target : { kind: 'person', user: person };
}

export const PEOPLE = { alice: 'U0ALICE', bob: 'U0BOB', carol: 'U0CAROL', ada: 'U0ADA' } as const;

export function targetComposer(situation: Situation, person: string, text: string): NextTarget | undefined {
  const { snapshot, place } = situation;
  return targetForPerson(
    situation,
    person,
    targetInChannel(place, getFirstChannelId(snapshot), { kind: 'composer', text }),
  );
}

export function messagesOf({ messages }: Snapshot): Message[] {
  return Object.values(messages).flat();
}

export function findNewest(messages: readonly Message[]): Message | undefined {
  return messages.toSorted((a, b) => (a.ts < b.ts ? 1 : -1))[0];
}

export function isAbout({ metadata, thread_ts }: Message, event: string, name: string): boolean {
  const { event_type, event_payload } = metadata ?? {};
  const names = textOf(event_payload, 'name') ?? textOf(event_payload, 'names');
  return thread_ts === undefined && event_type === event && names === name;
}

export function stateOf({ metadata }: Message): string {
  return textOf(metadata?.event_payload, 'state') ?? '';
}

const DROPPED_STATES: readonly string[] = ['DENIED', 'EXPIRED', 'CANCELLED'];
export const WAITING_STATES: readonly string[] = ['PENDING', 'DRAFT'];
export const ENDED_STATES: readonly string[] = ['SUCCEEDED', 'FAILED', 'UNKNOWN'];

/** Finds the card of the latest order, unless it was denied, cancelled or expired. */
export function findLatestOrder(snapshot: Snapshot, task: string, name: string): Message | undefined {
  return findNewest(
    messagesOf(snapshot).filter(
      (message) =>
        isAbout(message, 'domain_order', name) &&
        textOf(message.metadata?.event_payload, 'task') === task &&
        !DROPPED_STATES.includes(stateOf(message)),
    ),
  );
}

/** Whether a message has a button or menu with this id prefix. */
export function hasAction({ blocks }: Pick<Message, 'blocks'>, actionId: string): boolean {
  const elements = (block: JsonObject) => [
    ...objectsOf(block, 'elements'),
    ...objectsOf({ all: [block['accessory'] ?? null] }, 'all'),
  ];
  return blocks.some((block) =>
    elements(block).some((element) => textOf(element, 'action_id')?.startsWith(actionId) === true),
  );
}

/** @param ending the end of the step's sentence about the digest */
export function createDigestStep(ending: string): Step {
  return {
    title: 'See what expires',
    text: `Click +7 days and let a week pass: names that expire soon are listed in the channel, ${ending}`,
    isDone: ({ snapshot, seen }) => seen.includes(findLatestDigest(snapshot)?.ts ?? ''),
    next({ snapshot }) {
      const digest = findLatestDigest(snapshot);
      return digest === undefined ? { kind: 'time' } : { kind: 'channel', channel: digest.channel };
    },
  };
}

export function findLatestDigest(snapshot: Snapshot): Message | undefined {
  return findNewest(
    messagesOf(snapshot).filter(
      (message) =>
        message.thread_ts === undefined &&
        message.ephemeral_to === undefined &&
        hasAction(message, 'reminder_'),
    ),
  );
}
