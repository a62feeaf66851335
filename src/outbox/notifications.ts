import { z } from 'zod';

/**
 * Notifications: one row per message, and per subject one row of the purpose `plan`, which says when its messages are
 * due. Every change of a subject marks its plan in the same transaction.
 */

/**
 * What messages are about. Place: a channel that refuses messages. Group: an unreadable approver group, per day.
 * Mandate day: what mandates do from that day on. Departure: a person who left and had linked the team's account. Owner left: the names of a person
 * who left.
 * Event: one of the log. Endpoint: one that refuses webhooks. Anchors: those of a day.
 */
export const SUBJECT_KINDS = [
  'order',
  'incident',
  'report',
  'digest',
  'place',
  'group',
  'departure',
  'owner_left',
  'owner_question',
  'proposal',
  'event',
  'webhook_endpoint',
  'anchors',
  'mandate_day',
] as const;
export type SubjectKind = (typeof SUBJECT_KINDS)[number];

export interface Subject {
  readonly kind: SubjectKind;
  readonly id: string;
}

/** A subject as one text, for a {@link Loop}. */
export function keyOfSubject({ kind, id }: Subject): string {
  return `${kind}:${id}`;
}

/** @throws unless {@link keyOfSubject} made the text */
export function subjectOfKey(key: string): Subject {
  const end = key.indexOf(':');
  const kind = SUBJECT_KINDS.find((each) => each === key.slice(0, end));
  if (kind === undefined) throw new Error(`no subject: ${key}`);
  return { kind, id: key.slice(end + 1) };
}

export const messagePlace = z.object({ channelId: z.string(), threadTs: z.string().optional() });
export type MessagePlace = Readonly<z.output<typeof messagePlace>>;

export interface PostedMessage {
  readonly channelId: string;
  readonly ts: string;
}

export interface ShownContent {
  readonly purpose: string;
  /** The version shown or refused. */
  readonly shows: string | undefined;
  /** A hash of the last content; undefined if unknown. The same content isn't sent again. */
  readonly contentHash?: string | undefined;
}

export interface Notification extends ShownContent {
  /** Undefined while it isn't posted. */
  readonly message: PostedMessage | undefined;
  readonly dueAt: Date | undefined;
  /** Failures since the last success. */
  readonly attempts: number;
  /** Slack's code, if it refuses the message everywhere. */
  readonly refused: string | undefined;
}

/** A subject claimed by one process, with its messages in the order they were posted. */
export interface ClaimedSubject extends Subject {
  /** Grows with each change that its messages have to show. */
  readonly version: number;
  /** Not urgent: its messages are only refreshed. */
  readonly isBackground: boolean;
  /** Failures since the last success. */
  readonly attempts: number;
  readonly notifications: readonly Notification[];
  /** For a place or group, Slack's refusal code; for an endpoint, how its last attempt failed. */
  readonly refused: string | undefined;
}

/** The outcome of one pass over the messages of a subject. */
export interface PassOutcome {
  /** Updated messages, with the version they show now. An unchanged one has no new hash. */
  readonly updated: readonly (ShownContent & { readonly shows: string })[];
  /** When more is due without a change; undefined: never. */
  readonly again: Date | undefined;
  /** Whether all messages show the claimed version. */
  readonly isComplete: boolean;
}

/** The outbox. Implemented by the store; leases go by the database's clock. */
export interface NotificationStore {
  /**
   * Claims subjects that are due and unclaimed.
   * @param isBackground refreshes only, or only urgent ones
   * @returns longest due first
   */
  claimDue(now: Date, leaseMs: number, limit: number, isBackground?: boolean): Promise<readonly Subject[]>;
  /** Claims a subject. @returns undefined if it is claimed by another process, postponed, or missing */
  claim(subject: Subject, now: Date, leaseMs: number): Promise<ClaimedSubject | undefined>;
  /** A subject with its messages in one snapshot. */
  read(subject: Subject): Promise<ClaimedSubject | undefined>;
  /** Renews the lease. */
  extend(subject: Subject, leaseMs: number): Promise<void>;
  /**
   * Ends a claim, and saves the updates in any case.
   * @returns false when the subject has changed meanwhile: it is still claimed, so process it again
   */
  release(claim: ClaimedSubject, outcome: PassOutcome): Promise<boolean>;
  /** Processing a subject failed: it isn't tried before `until`. */
  postpone(subject: Subject, until: Date): Promise<void>;
  /**
   * Saves the place of a posted message.
   * @returns false when another process has posted one for the purpose, which stays
   */
  record(subject: Subject, message: ShownContent & PostedMessage): Promise<boolean>;
  /** Slack no longer lets a message be edited: its purpose is free for a new one. */
  retire(subject: Subject, purpose: string): Promise<void>;
  /** Whether a message was retired, and the place of its replacement, or else of the card. */
  replacementOf(
    message: PostedMessage,
  ): Promise<{ readonly subject: Subject; readonly current: PostedMessage | undefined } | undefined>;
  /** One message failed. It isn't tried before `until`, and its content is unknown. */
  putOff(subject: Subject, purpose: string, until: Date): Promise<void>;
  /** Slack refuses a message everywhere. It is tried again for its next version. */
  refuse(
    subject: Subject,
    refused: { readonly purpose: string; readonly shows: string; readonly code: string },
  ): Promise<void>;
  /**
   * Slack refuses a place or a group: admins are notified once. A place is cleared when a message can be posted
   * there.
   */
  noteRefused(subject: Subject, code: string, now: Date): Promise<void>;
  /** The channels where Slack refuses messages, with its error code. */
  refusedChannels(): Promise<readonly { readonly channelId: string; readonly code: string }[]>;
  /** Creates a subject of notifications, if missing. */
  open(subject: Subject, now: Date): Promise<void>;
  /** Queues an update of a subject's messages, although it hasn't changed. */
  request(subject: Subject, now: Date): Promise<void>;
  /**
   * Saves the place of a found message, unless it is known or the subject is missing. Its content is unknown, so it
   * is updated next.
   * @param purposes it takes the first one without a message
   */
  adopt(subject: Subject, message: PostedMessage, purposes: readonly string[], now: Date): Promise<void>;
}
