import { z } from 'zod';

/**
 * The outbox has one row per message. Each subject also has a row with the purpose `plan`, which says when its next
 * messages are due. Every change of a subject marks this row as outdated in the same transaction.
 */

/**
 * What messages are about:
 * - `channel`: a channel that refuses messages.
 * - `group`: an approver group that can't be read, reported once a day.
 * - `mandate_day`: what mandates do on one day.
 * - `departure`: a person who linked the team's account and has left.
 * - `owner_left`: the names of a person who has left.
 * - `event`: an event in the log.
 * - `webhook_endpoint`: an endpoint that refuses webhooks.
 * - `anchors`: the anchors of one day.
 */
export const SUBJECT_KINDS = [
  'order',
  'incident',
  'report',
  'digest',
  'channel',
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

/** The subject's key in a `Loop`. */
export function formatSubjectKey({ kind, id }: Subject): string {
  return `${kind}:${id}`;
}

/** @throws unless the key is from {@link formatSubjectKey} */
export function parseSubjectKey(key: string): Subject {
  const separatorIndex = key.indexOf(':');
  const kind = SUBJECT_KINDS.find((subjectKind) => subjectKind === key.slice(0, separatorIndex));
  if (kind === undefined) throw new Error(`not a subject key: ${key}`);
  return { kind, id: key.slice(separatorIndex + 1) };
}

export const messagePlaceSchema = z.object({ channelId: z.string(), threadTs: z.string().optional() });
export type MessagePlace = Readonly<z.output<typeof messagePlaceSchema>>;

export interface PostedMessage {
  readonly channelId: string;
  readonly ts: string;
}

export interface ShownContent {
  readonly purpose: string;
  /** The version that the message shows, or that Slack refused. */
  readonly shownVersion: string | undefined;
  /** Hash of the last content, to skip identical updates; undefined if unknown. */
  readonly contentHash?: string | undefined;
}

export interface Notification extends ShownContent {
  readonly message: PostedMessage | undefined;
  readonly dueAt: Date | undefined;
  /** Failures since the last success. */
  readonly attempts: number;
  /** Slack's error code, if it refuses the message in every channel. */
  readonly refusalCode: string | undefined;
}

/** A subject that one process has claimed, with its messages in the order they were posted. */
export interface ClaimedSubject extends Subject {
  /** Incremented by each change that the subject's messages must show. */
  readonly version: number;
  /** The messages only need a refresh, which isn't urgent. */
  readonly isBackground: boolean;
  /** Failures since the last success. */
  readonly attempts: number;
  readonly notifications: readonly Notification[];
  /** For a channel or group, Slack's error code; for a webhook endpoint, its last failure. */
  readonly refusalCode: string | undefined;
}

export interface ClaimOutcome {
  /** Updated messages, with the version that they now show. An unchanged message has no new hash. */
  readonly updatedMessages: readonly (ShownContent & { readonly shownVersion: string })[];
  /** When the subject is processed again even without a change; undefined if never. */
  readonly repeatAt: Date | undefined;
  /** Whether all messages show the claimed version. */
  readonly isComplete: boolean;
}

/** The outbox. Implemented by the store. Leases use the database's clock. */
export interface NotificationStore {
  /**
   * Claims due subjects that no other process has claimed.
   * @param isBackground whether to claim refreshes or urgent subjects
   * @returns longest overdue first
   */
  claimDueSubjects(
    now: Date,
    leaseMs: number,
    limit: number,
    isBackground?: boolean,
  ): Promise<readonly Subject[]>;
  /** @returns undefined if another process has claimed the subject, or if it is postponed or missing */
  claim(subject: Subject, now: Date, leaseMs: number): Promise<ClaimedSubject | undefined>;
  /** Loads a subject and its messages in one snapshot. */
  loadSubject(subject: Subject): Promise<ClaimedSubject | undefined>;
  extendLease(subject: Subject, leaseMs: number): Promise<void>;
  /**
   * Ends a claim and saves the updates.
   * @returns false if the subject has changed meanwhile. It stays claimed and must be processed again
   */
  release(claim: ClaimedSubject, outcome: ClaimOutcome): Promise<boolean>;
  /** Delays a subject that failed. */
  postponeSubject(subject: Subject, until: Date): Promise<void>;
  /**
   * Saves where a message was posted.
   * @returns false if another process has already posted a message for this purpose. That message is kept
   */
  recordPosted(subject: Subject, message: ShownContent & PostedMessage): Promise<boolean>;
  /** Records that Slack no longer allows edits of a message. Another message can then be posted for its purpose. */
  retireMessage(subject: Subject, purpose: string): Promise<void>;
  /** If a message was retired, returns its subject and its replacement or, if it has none, the card. */
  findReplacement(
    message: PostedMessage,
  ): Promise<{ readonly subject: Subject; readonly currentMessage: PostedMessage | undefined } | undefined>;
  /** Delays a message that failed. Its content is then unknown. */
  postponeMessage(subject: Subject, purpose: string, until: Date): Promise<void>;
  /** Records that Slack refuses a message in every channel. The message's next version is tried again. */
  markMessageRefused(
    subject: Subject,
    refusal: { readonly purpose: string; readonly shownVersion: string; readonly code: string },
  ): Promise<void>;
  /** Records that Slack refuses a channel or group, and notifies admins once. A successful post clears the channel. */
  markSubjectRefused(subject: Subject, code: string, now: Date): Promise<void>;
  listRefusedChannels(): Promise<readonly { readonly channelId: string; readonly code: string }[]>;
  addSubjectIfMissing(subject: Subject, now: Date): Promise<void>;
  /** Queues an update of a subject's messages without a change of the subject. */
  requestUpdate(subject: Subject, now: Date): Promise<void>;
  /**
   * Saves where a message was found, unless it is already known or the subject is missing. The message is updated next,
   * because its content is unknown.
   * @param purposes the message gets the first purpose that has no message
   */
  adoptMessage(
    subject: Subject,
    message: PostedMessage,
    purposes: readonly string[],
    now: Date,
  ): Promise<void>;
}
