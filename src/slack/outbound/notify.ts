import { createHash } from 'node:crypto';
import { MINUTE_MS } from '../../lib/duration.ts';
import type { Log } from '../../lib/log.ts';
import { hasPassed } from '../../orders/clock.ts';
import {
  type ClaimedSubject,
  formatSubjectKey,
  type MessagePlace,
  type Notification,
  type NotificationStore,
  type PassOutcome,
  type PostedMessage,
  type Subject,
  type SubjectKind,
} from '../../outbox/notifications.ts';
import type { Message } from '../kit/blocks.ts';
import type { SlackDirectory } from './directory.ts';
import { type MessageMetadata, postMessage, updateMessage } from './post-message.ts';
import { computeRetryDelay, isTokenError, isTransient, SlackApiError, type SlackWeb } from './web.ts';

// All messages that aren't responses to a person's action are sent here. A planner lists the messages of each
// subject. Messages that don't show their current version are posted or updated, and recorded immediately.

export interface WantedNotification {
  readonly purpose: string;
  /** The version of the content. If the version changes, the message is updated. */
  readonly version: string;
  /**
   * The part of the version that people must see. If it changes and Slack no longer allows edits, the message
   * is reposted. Default: the whole version.
   */
  readonly repostKey?: string;
  /** When the reported event happened. */
  readonly occurredAt: Date;
  /**
   * The message is posted in the first place that accepts it. Without places, it is only updated, and dropped
   * if that fails.
   */
  readonly places: readonly (() => Promise<MessagePlace | undefined>)[];
  readonly message: (placeIndex: number) => Message | Promise<Message>;
  readonly metadata?: MessageMetadata;
  readonly post?: (place: MessagePlace) => Promise<PostedMessage>;
  /** Returns when the message may be posted. Called only until the message is posted. */
  readonly findDelayEnd?: () => Promise<Date | undefined>;
  /** Whether the message is retried until a place accepts it. */
  readonly mustArrive?: true;
  /** Whether admins are alerted if a place refuses the message. */
  readonly alertsAdmins?: true;
}

/** The version of messages that are never updated. */
export const ONCE = 'once';

export function createDirectMessagePlace(directory: SlackDirectory, userId: string) {
  return async () => ({ channelId: await directory.openDirectMessage(userId) });
}

export interface SentNotification {
  /**
   * - `current`: posted in the current version.
   * - `pending`: will be retried; an older version may be posted.
   * - `refused`: no place accepts it.
   */
  readonly state: 'current' | 'pending' | 'refused';
  readonly message?: PostedMessage | undefined;
}

export type SendNotification = (wanted: WantedNotification) => Promise<SentNotification>;

export interface PlanOutcome {
  /** When the subject is due again if nothing changes. */
  readonly repeatAt?: Date | undefined;
  /** Nothing was posted: the busy subject waits until `repeatAt`. */
  readonly isDeferred?: true;
}

/** Sends the messages of a subject, in the order of their dependencies. */
export type NotificationPlanner = (
  claim: ClaimedSubject,
  send: SendNotification,
) => Promise<PlanOutcome | undefined>;

export interface NotifierDeps {
  readonly notifications: NotificationStore;
  readonly planners: Readonly<Record<SubjectKind, NotificationPlanner>>;
  readonly web: SlackWeb;
  readonly now: () => Date;
  readonly log: Log;
  readonly leaseMs: number;
}

/** How long a process may send a subject's messages if it doesn't renew the lease. */
export const NOTIFICATION_LEASE_MS = 12_000;
const RENEWALS_PER_LEASE = 4;

/**
 * Brings the messages of a subject up to date. Idempotent. If a place fails, only that place is delayed.
 * @param isClaimed whether this process has already claimed the subject
 */
export async function notify(context: NotifierDeps, subject: Subject, isClaimed = false): Promise<void> {
  const { notifications, now, leaseMs } = context;
  // If another process holds the lease, it also posts this change, because it checks for newer versions.
  let claim = isClaimed
    ? await notifications.read(subject)
    : await notifications.claim(subject, now(), leaseMs);
  while (claim !== undefined) {
    const pass = startPass(context, claim);
    let outcome: PlanOutcome | undefined;
    try {
      outcome = await runWithLease(context, claim, () =>
        context.planners[pass.claim.kind](pass.claim, (wanted) => syncMessage(pass, wanted)),
      );
    } catch (error) {
      const repeatAt = new Date(now().getTime() + computeRetryDelay(error, claim.attempts));
      context.log.warn(
        { err: error, ...buildSubjectField(subject), repeatAt },
        'notifying people failed, will retry',
      );
      return notifications.postpone(subject, repeatAt);
    }
    if (await notifications.release(claim, toPassOutcome(pass, outcome))) return;
    claim = await notifications.read(subject);
  }
}

/** One pass over the messages of a claimed subject. */
interface Pass extends NotifierDeps {
  readonly claim: ClaimedSubject;
  readonly sentByPurpose: Map<string, Notification>;
  readonly updated: PassOutcome['updated'][number][];
  repeatAt: Date | undefined;
  isComplete: boolean;
}

function startPass(context: NotifierDeps, claim: ClaimedSubject): Pass {
  const sentByPurpose = new Map(claim.notifications.map((sent) => [sent.purpose, sent]));
  return { ...context, claim, sentByPurpose, updated: [], repeatAt: undefined, isComplete: true };
}

function toPassOutcome(pass: Pass, planned: PlanOutcome | undefined): PassOutcome {
  scheduleRepeat(pass, planned?.repeatAt);
  const { updated, repeatAt, isComplete } = pass;
  return { updated, repeatAt, isComplete: isComplete && planned?.isDeferred === undefined };
}

async function syncMessage(pass: Pass, wanted: WantedNotification): Promise<SentNotification> {
  const sent = pass.sentByPurpose.get(wanted.purpose);
  const postedMessage = sent?.message;
  if (sent?.shownVersion === formatStoredVersion(wanted))
    return sent.refusalCode === undefined
      ? { state: 'current', message: postedMessage }
      : { state: 'refused' };
  if (sent?.dueAt !== undefined && !hasPassed(sent.dueAt, pass.now()))
    return reportPending(pass, sent.dueAt, postedMessage);
  if (sent !== undefined && postedMessage !== undefined)
    return updateNotification(pass, wanted, postedMessage, sent);
  const delayEnd = await wanted.findDelayEnd?.();
  if (delayEnd === undefined) return postNotification(pass, wanted);
  scheduleRepeat(pass, delayEnd);
  return { state: 'pending' };
}

async function updateNotification(
  pass: Pass,
  wanted: WantedNotification,
  postedMessage: PostedMessage,
  { shownVersion, contentHash }: Notification,
): Promise<SentNotification> {
  const { claim, notifications, web, now, log } = pass;
  const { purpose, occurredAt, metadata } = wanted;
  let shownHash: string | undefined;
  try {
    const message = await wanted.message(0);
    const hash = hashContent(message, metadata);
    const urgency = claim.isBackground ? 'background' : 'urgent';
    if (hash !== contentHash) await updateMessage(web, postedMessage, message, metadata, urgency);
    shownHash = hash;
  } catch (error) {
    if (!(error instanceof SlackApiError)) throw error;
    // A rate limit slows down all updates, but must not delay this message after a person acted.
    if (error.kind === 'rate_limited')
      return reportPending(pass, new Date(now().getTime() + computeRetryDelay(error, 0)), postedMessage);
    if (!cannotUpdate(error, occurredAt, now())) return postponeMessage(pass, purpose, error, postedMessage);
    log.warn({ err: error, ...buildSubjectField(claim), purpose }, 'a message can no longer be updated');
    const isMessageGone = error.code !== undefined && GONE_CODES.has(error.code);
    if (
      isMessageGone ||
      wanted.repostKey === undefined ||
      parseRepostKey(shownVersion) !== wanted.repostKey
    ) {
      await notifications.retire(claim, purpose);
      pass.sentByPurpose.delete(purpose);
      return postNotification(pass, wanted);
    }
  }
  pass.updated.push({ purpose, shownVersion: formatStoredVersion(wanted), contentHash: shownHash });
  return { state: 'current', message: postedMessage };
}

async function postNotification(pass: Pass, wanted: WantedNotification): Promise<SentNotification> {
  const { claim, notifications, now, log } = pass;
  const { purpose, occurredAt, places } = wanted;
  const triedChannels = new Set<string>();
  let refusal: SlackApiError | undefined;
  for (const [index, place] of places.entries()) {
    let channelId: string | undefined;
    try {
      const target = await place();
      channelId = target?.channelId;
      if (target === undefined || triedChannels.has(target.channelId)) continue;
      triedChannels.add(target.channelId);
      return { state: 'current', message: await postInPlace(pass, wanted, target, index) };
    } catch (error) {
      if (!(error instanceof SlackApiError)) throw error;
      if (!cannotPost(error, occurredAt, now())) return postponeMessage(pass, purpose, error, undefined);
      log.warn(
        { err: error, ...buildSubjectField(claim), purpose, channelId },
        'a message can’t be posted here',
      );
      if (wanted.alertsAdmins && channelId !== undefined)
        await notifications.markSubjectRefused(
          { kind: 'channel', id: channelId },
          error.code ?? error.kind,
          now(),
        );
      refusal = error;
    }
  }
  if (wanted.mustArrive)
    return postponeMessage(pass, purpose, refusal ?? new Error('no place is known'), undefined);
  if (refusal !== undefined) {
    const code = refusal.code ?? refusal.kind;
    await notifications.markMessageRefused(claim, {
      purpose,
      shownVersion: formatStoredVersion(wanted),
      code,
    });
  }
  return { state: 'refused' };
}

async function postInPlace(pass: Pass, wanted: WantedNotification, place: MessagePlace, index: number) {
  if (wanted.post !== undefined) return recordPosted(pass, wanted, await wanted.post(place), undefined);
  const message = await wanted.message(index);
  const postedMessage = await postMessage(pass.web, place, message, wanted.metadata);
  return recordPosted(pass, wanted, postedMessage, hashContent(message, wanted.metadata));
}

/** If another process has posted the message too, the duplicate gets its own purpose. */
async function recordPosted(
  { claim, notifications }: Pass,
  wanted: WantedNotification,
  postedMessage: PostedMessage,
  contentHash: string | undefined,
): Promise<PostedMessage> {
  const { purpose } = wanted;
  const details = { shownVersion: formatStoredVersion(wanted), contentHash, ...postedMessage };
  if (!(await notifications.recordPosted(claim, { purpose, ...details })))
    await notifications.recordPosted(claim, { purpose: `${purpose}:${postedMessage.ts}`, ...details });
  return postedMessage;
}

async function postponeMessage(
  pass: Pass,
  purpose: string,
  error: unknown,
  postedMessage: PostedMessage | undefined,
): Promise<SentNotification> {
  const { claim, sentByPurpose, notifications, now, log } = pass;
  const attempts = sentByPurpose.get(purpose)?.attempts ?? 0;
  const repeatAt = new Date(now().getTime() + computeRetryDelay(error, attempts));
  log.warn(
    { err: error, ...buildSubjectField(claim), purpose, repeatAt },
    'notifying people failed, will retry',
  );
  await notifications.postponeMessage(claim, purpose, repeatAt);
  return reportPending(pass, repeatAt, postedMessage);
}

function reportPending(
  pass: Pass,
  repeatAt: Date,
  postedMessage: PostedMessage | undefined,
): SentNotification {
  pass.isComplete = false;
  scheduleRepeat(pass, repeatAt);
  return { state: 'pending', message: postedMessage };
}

/** Keeps an earlier time that is already scheduled. */
function scheduleRepeat(pass: Pass, time: Date | undefined): void {
  if (time !== undefined && (pass.repeatAt === undefined || time < pass.repeatAt)) pass.repeatAt = time;
}

async function runWithLease<T>(context: NotifierDeps, subject: Subject, run: () => Promise<T>): Promise<T> {
  const { notifications, leaseMs, log } = context;
  let renewal: Promise<void> | undefined;
  const heartbeat = setInterval(() => {
    renewal = notifications
      .extendLease(subject, leaseMs)
      .catch((err: unknown) =>
        log.warn({ err, ...buildSubjectField(subject) }, 'saving notifications failed'),
      );
  }, leaseMs / RENEWALS_PER_LEASE);
  try {
    return await run();
  } finally {
    clearInterval(heartbeat);
    // A renewal that is still pending could claim the lease again after it is released.
    await renewal;
  }
}

function buildSubjectField(subject: Subject) {
  return { subject: formatSubjectKey(subject) };
}

/** The first line of the stored version is the repost key. */
function formatStoredVersion({ repostKey, version }: WantedNotification): string {
  return repostKey === undefined ? version : `${repostKey}\n${version}`;
}

function hashContent({ text, blocks }: Message, metadata: MessageMetadata | undefined): string {
  return createHash('sha256')
    .update(JSON.stringify([text, blocks, metadata]))
    .digest('base64');
}

function parseRepostKey(shows: string | undefined): string | undefined {
  return shows?.split('\n', 1)[0];
}

/** Slack's codes for a message that no longer exists or isn't the bot's. */
const GONE_CODES: ReadonlySet<string> = new Set([
  'channel_not_found',
  'is_archived',
  'is_inactive',
  'message_not_found',
  'not_in_channel',
]);

/** Slack's codes for a message that can't be edited. */
const CANNOT_EDIT_CODES: ReadonlySet<string> = new Set(['cant_update_message', 'edit_window_closed']);

function cannotUpdate(error: SlackApiError, occurredAt: Date, now: Date): boolean {
  const { code = '' } = error;
  return GONE_CODES.has(code) || CANNOT_EDIT_CODES.has(code) || cannotPost(error, occurredAt, now);
}

/** Slack's codes for a channel or person that the bot can't post to. */
const CANNOT_POST_CODES: ReadonlySet<string> = new Set([
  'channel_not_found',
  'not_in_channel',
  'is_archived',
  'restricted_action',
  'restricted_action_read_only_channel',
  'restricted_action_thread_only_channel',
  'restricted_action_non_threadable_channel',
  'restricted_action_thread_locked',
  'cannot_dm_bot',
  'cannot_reply_to_message',
  'messages_tab_disabled',
  'team_access_not_granted',
  'thread_not_found',
  'user_disabled',
  'user_not_found',
]);

/** After this time, a refusal with an unknown code counts as permanent. */
const MAX_BLOCKED_MS = MINUTE_MS;

function cannotPost(error: SlackApiError, occurredAt: Date, now: Date): boolean {
  if (error.code === undefined || isTransient(error)) return false;
  if (CANNOT_POST_CODES.has(error.code)) return true;
  // If Slack refuses the token, it does so everywhere, so the message waits for a valid one.
  return !isTokenError(error) && now.getTime() - occurredAt.getTime() > MAX_BLOCKED_MS;
}
