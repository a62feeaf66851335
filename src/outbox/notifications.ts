import { z } from 'zod';

/*
 * What people are told: one row for each message, and for each subject one row of the purpose `plan`, which says when its
 * messages have to be looked at. Whatever changes a subject marks its plan in the same transaction.
 */

/**
 * What messages are about. A place is one where nothing can be posted any more, a group an approver group that cannot be read
 * on a day, a mandate day what mandates do from that day on, a departure somebody who has left and had linked the team's account,
 * an event one of the log, an endpoint one that takes no webhooks, anchors those of a day.
 */
export const SUBJECT_KINDS = [
  'order',
  'incident',
  'report',
  'digest',
  'place',
  'group',
  'departure',
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

/** @throws for a text that {@link keyOfSubject} has not made */
export function subjectOfKey(key: string): Subject {
  const end = key.indexOf(':');
  const kind = SUBJECT_KINDS.find((each) => each === key.slice(0, end));
  if (kind === undefined) throw new Error(`no subject: ${key}`);
  return { kind, id: key.slice(end + 1) };
}

/** Where a message is posted: a conversation, or a thread of it. */
export const messagePlace = z.object({ channelId: z.string(), threadTs: z.string().optional() });
export type MessagePlace = Readonly<z.output<typeof messagePlace>>;

/** Where a message stands in Slack. */
export interface PostedMessage {
  readonly channelId: string;
  readonly ts: string;
}

/** Content of a message. */
export interface ShownContent {
  readonly purpose: string;
  /** The version that it shows, or that was refused. */
  readonly shows: string | undefined;
  /** A hash of what was sent last; undefined where that isn't known. The same content isn't sent again. */
  readonly contentHash?: string | undefined;
}

/** One message of a subject. */
export interface Notification extends ShownContent {
  /** Where it stands; undefined while it is not posted. */
  readonly message: PostedMessage | undefined;
  /** It is not tried before. */
  readonly dueAt: Date | undefined;
  /** How often it has failed since it last succeeded. */
  readonly attempts: number;
  /** Slack’s code, where it takes the message nowhere. */
  readonly refused: string | undefined;
}

/** A subject whose messages one process has to itself, with these messages in the sequence in which they were posted. */
export interface ClaimedSubject extends Subject {
  /** Grows with each change that its messages have to show. */
  readonly version: number;
  /** Nobody waits for it: its messages are only refreshed. */
  readonly isBackground: boolean;
  /** How often looking at it has failed since it last succeeded. */
  readonly attempts: number;
  readonly notifications: readonly Notification[];
  /** Of a place or a group: the code with which Slack refused it; of an endpoint, how its last attempt failed. */
  readonly refused: string | undefined;
}

/** The outcome of one pass over the messages of a subject. */
export interface PassOutcome {
  /** Messages that were updated, with what they show now. One that stays as it was has no new hash. */
  readonly updated: readonly (ShownContent & { readonly shows: string })[];
  /** When there is more to do although nothing changes; undefined: never. */
  readonly again: Date | undefined;
  /** Whether all messages show the version that was claimed. */
  readonly isComplete: boolean;
}

/** The outbox. Implemented by the store; leases go by the database’s clock. */
export interface NotificationStore {
  /**
   * Claims subjects that are due and that no process has.
   * @param isBackground those that are only refreshed, or those for which somebody waits
   * @returns the longest due first
   */
  claimDue(now: Date, leaseMs: number, limit: number, isBackground?: boolean): Promise<readonly Subject[]>;
  /** Claims a subject. @returns undefined while another process has it, or it is put off, or there is none */
  claim(subject: Subject, now: Date, leaseMs: number): Promise<ClaimedSubject | undefined>;
  /** A subject with its messages as they are at one moment. */
  read(subject: Subject): Promise<ClaimedSubject | undefined>;
  /** Says that the process is alive. */
  extend(subject: Subject, leaseMs: number): Promise<void>;
  /**
   * Ends a claim, and keeps what was updated in any case.
   * @returns false when the subject has moved on: it is still claimed, so look again
   */
  release(claim: ClaimedSubject, outcome: PassOutcome): Promise<boolean>;
  /** Looking at a subject has failed: nobody tries before `until`. */
  postpone(subject: Subject, until: Date): Promise<void>;
  /**
   * Keeps where a message stands that was posted.
   * @returns false when another process has posted one for the purpose, which stays
   */
  record(subject: Subject, message: ShownContent & PostedMessage): Promise<boolean>;
  /** Slack doesn't let a message be edited any more: its purpose is free for a new one. */
  retire(subject: Subject, purpose: string): Promise<void>;
  /** Whether a message was retired, and where the current message of its purpose, or else the card, stands. */
  replacementOf(
    message: PostedMessage,
  ): Promise<{ readonly subject: Subject; readonly current: PostedMessage | undefined } | undefined>;
  /** One message failed. It isn't tried before `until`, and its content is unknown. */
  putOff(subject: Subject, purpose: string, until: Date): Promise<void>;
  /**
   * Slack takes a message nowhere. It is tried again when there is another version of it.
   */
  refuse(
    subject: Subject,
    refused: { readonly purpose: string; readonly shows: string; readonly code: string },
  ): Promise<void>;
  /** Slack refuses a place or a group: admins are told once. A place is forgotten when something can be posted there. */
  noteRefused(subject: Subject, code: string, now: Date): Promise<void>;
  /** The channels where Slack refuses messages, with its error code. */
  refusedChannels(): Promise<readonly { readonly channelId: string; readonly code: string }[]>;
  /** Makes a subject one of which people are told, unless it is known. */
  open(subject: Subject, now: Date): Promise<void>;
  /** Has the messages of a subject brought up to date, although it has not changed. */
  request(subject: Subject, now: Date): Promise<void>;
  /**
   * Keeps where a message stands that was found, unless it is known or there is no such subject. What it shows is not known, so it is
   * updated next.
   * @param purposes it is for the first of them that no message has
   */
  adopt(subject: Subject, message: PostedMessage, purposes: readonly string[], now: Date): Promise<void>;
}
