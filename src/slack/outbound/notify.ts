import { createHash } from 'node:crypto';
import { MINUTE_MS } from '../../lib/duration.ts';
import type { Log } from '../../lib/log.ts';
import { hasPassed } from '../../orders/clock.ts';
import {
  type ClaimedSubject,
  type ClaimOutcome,
  formatSubjectKey,
  type MessagePlace,
  type Notification,
  type NotificationStore,
  type PostedMessage,
  type Subject,
  type SubjectKind,
} from '../../outbox/notifications.ts';
import type { Message } from '../kit/blocks.ts';
import type { SlackDirectory } from './directory.ts';
import { type MessageMetadata, postMessage, updateMessage } from './post-message.ts';
import { computeRetryDelay, isTokenError, isTransient, SlackApiError, type SlackWeb } from './web.ts';

// Sends all messages that aren't direct responses to a person. A planner requests the messages of a subject.
// A message that doesn't show its current version is posted or updated, and recorded immediately.

export interface NotificationSpec {
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
   * Places to try, in order, until one accepts the message. If empty, an existing message is only updated,
   * and dropped if the update fails.
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
export const STATIC_VERSION = 'once';

export function createDirectMessagePlace(directory: SlackDirectory, userId: string) {
  return async () => ({ channelId: await directory.openDirectMessage(userId) });
}

export interface NotificationStatus {
  /**
   * - `current`: posted in the current version.
   * - `pending`: will be retried; an older version may be posted.
   * - `refused`: no place accepts it.
   */
  readonly state: 'current' | 'pending' | 'refused';
  readonly message?: PostedMessage | undefined;
}

export type SendNotification = (spec: NotificationSpec) => Promise<NotificationStatus>;

export interface PlanOutcome {
  /** When the subject is due again if nothing changes. */
  readonly repeatAt?: Date | undefined;
  /** Nothing was sent: the subject must be processed again at `repeatAt`. */
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
export async function notify(deps: NotifierDeps, subject: Subject, isClaimed = false): Promise<void> {
  const { notifications, now, leaseMs } = deps;
  // A process that holds the lease checks for newer versions, so it also sends this change.
  let claim = isClaimed
    ? await notifications.loadSubject(subject)
    : await notifications.claim(subject, now(), leaseMs);
  while (claim !== undefined) {
    const pass = startPass(deps, claim);
    let outcome: PlanOutcome | undefined;
    try {
      outcome = await runWithLease(deps, claim, () =>
        deps.planners[pass.claim.kind](pass.claim, (spec) => syncMessage(pass, spec)),
      );
    } catch (error) {
      const repeatAt = new Date(now().getTime() + computeRetryDelay(error, claim.attempts));
      deps.log.warn(
        { err: error, ...buildSubjectLogField(subject), repeatAt },
        'notifying people failed, will retry',
      );
      return notifications.postponeSubject(subject, repeatAt);
    }
    if (await notifications.release(claim, finishPass(pass, outcome))) return;
    claim = await notifications.loadSubject(subject);
  }
}

/** One pass over the messages of a claimed subject. */
interface NotificationPass extends NotifierDeps {
  readonly claim: ClaimedSubject;
  readonly notificationsByPurpose: Map<string, Notification>;
  readonly updates: ClaimOutcome['updatedMessages'][number][];
  repeatAt: Date | undefined;
  isComplete: boolean;
}

function startPass(deps: NotifierDeps, claim: ClaimedSubject): NotificationPass {
  const notificationsByPurpose = new Map(
    claim.notifications.map((notification) => [notification.purpose, notification]),
  );
  return { ...deps, claim, notificationsByPurpose, updates: [], repeatAt: undefined, isComplete: true };
}

function finishPass(pass: NotificationPass, planOutcome: PlanOutcome | undefined): ClaimOutcome {
  scheduleRepeat(pass, planOutcome?.repeatAt);
  const { updates, repeatAt, isComplete } = pass;
  return {
    updatedMessages: updates,
    repeatAt,
    isComplete: isComplete && planOutcome?.isDeferred === undefined,
  };
}

async function syncMessage(pass: NotificationPass, spec: NotificationSpec): Promise<NotificationStatus> {
  const notification = pass.notificationsByPurpose.get(spec.purpose);
  const postedMessage = notification?.message;
  if (notification?.shownVersion === formatStoredVersion(spec))
    return notification.refusalCode === undefined
      ? { state: 'current', message: postedMessage }
      : { state: 'refused' };
  if (notification?.dueAt !== undefined && !hasPassed(notification.dueAt, pass.now()))
    return reportPending(pass, notification.dueAt, postedMessage);
  if (notification !== undefined && postedMessage !== undefined)
    return updateNotification(pass, spec, postedMessage, notification);
  const delayEnd = await spec.findDelayEnd?.();
  if (delayEnd === undefined) return postNotification(pass, spec);
  scheduleRepeat(pass, delayEnd);
  return { state: 'pending' };
}

async function updateNotification(
  pass: NotificationPass,
  spec: NotificationSpec,
  postedMessage: PostedMessage,
  { shownVersion, contentHash }: Notification,
): Promise<NotificationStatus> {
  const { claim, notifications, web, now, log } = pass;
  const { purpose, occurredAt, metadata } = spec;
  let shownHash: string | undefined;
  try {
    const message = await spec.message(0);
    const hash = hashContent(message, metadata);
    const urgency = claim.isBackground ? 'background' : 'urgent';
    if (hash !== contentHash) await updateMessage(web, postedMessage, message, metadata, urgency);
    shownHash = hash;
  } catch (error) {
    if (!(error instanceof SlackApiError)) throw error;
    // A rate limit delays all updates. The delay isn't saved for this message, so that it can be updated
    // earlier if a person acts.
    if (error.kind === 'rate_limited')
      return reportPending(pass, new Date(now().getTime() + computeRetryDelay(error, 0)), postedMessage);
    if (!cannotUpdate(error, occurredAt, now())) return postponeMessage(pass, purpose, error, postedMessage);
    log.warn({ err: error, ...buildSubjectLogField(claim), purpose }, 'message can no longer be updated');
    const isMessageGone = error.code !== undefined && MESSAGE_GONE_CODES.has(error.code);
    if (isMessageGone || spec.repostKey === undefined || parseRepostKey(shownVersion) !== spec.repostKey) {
      await notifications.retireMessage(claim, purpose);
      pass.notificationsByPurpose.delete(purpose);
      return postNotification(pass, spec);
    }
  }
  pass.updates.push({ purpose, shownVersion: formatStoredVersion(spec), contentHash: shownHash });
  return { state: 'current', message: postedMessage };
}

async function postNotification(pass: NotificationPass, spec: NotificationSpec): Promise<NotificationStatus> {
  const { claim, notifications, now, log } = pass;
  const { purpose, occurredAt, places } = spec;
  const triedChannels = new Set<string>();
  let refusal: SlackApiError | undefined;
  for (const [placeIndex, findPlace] of places.entries()) {
    let channelId: string | undefined;
    try {
      const target = await findPlace();
      channelId = target?.channelId;
      if (target === undefined || triedChannels.has(target.channelId)) continue;
      triedChannels.add(target.channelId);
      return { state: 'current', message: await postInPlace(pass, spec, target, placeIndex) };
    } catch (error) {
      if (!(error instanceof SlackApiError)) throw error;
      if (!cannotPost(error, occurredAt, now())) return postponeMessage(pass, purpose, error, undefined);
      log.warn(
        { err: error, ...buildSubjectLogField(claim), purpose, channelId },
        'message can’t be posted in this place',
      );
      if (spec.alertsAdmins && channelId !== undefined)
        await notifications.markSubjectRefused(
          { kind: 'channel', id: channelId },
          error.code ?? error.kind,
          now(),
        );
      refusal = error;
    }
  }
  if (spec.mustArrive)
    return postponeMessage(pass, purpose, refusal ?? new Error('no place to post the message'), undefined);
  if (refusal !== undefined) {
    const code = refusal.code ?? refusal.kind;
    await notifications.markMessageRefused(claim, {
      purpose,
      shownVersion: formatStoredVersion(spec),
      code,
    });
  }
  return { state: 'refused' };
}

async function postInPlace(
  pass: NotificationPass,
  spec: NotificationSpec,
  place: MessagePlace,
  placeIndex: number,
) {
  if (spec.post !== undefined) return recordPostedMessage(pass, spec, await spec.post(place), undefined);
  const message = await spec.message(placeIndex);
  const postedMessage = await postMessage(pass.web, place, message, spec.metadata);
  return recordPostedMessage(pass, spec, postedMessage, hashContent(message, spec.metadata));
}

/** If another process has also posted the message, the duplicate is recorded with its own purpose. */
async function recordPostedMessage(
  { claim, notifications }: NotificationPass,
  spec: NotificationSpec,
  postedMessage: PostedMessage,
  contentHash: string | undefined,
): Promise<PostedMessage> {
  const { purpose } = spec;
  const details = { shownVersion: formatStoredVersion(spec), contentHash, ...postedMessage };
  if (!(await notifications.recordPosted(claim, { purpose, ...details })))
    await notifications.recordPosted(claim, { purpose: `${purpose}:${postedMessage.ts}`, ...details });
  return postedMessage;
}

async function postponeMessage(
  pass: NotificationPass,
  purpose: string,
  error: unknown,
  postedMessage: PostedMessage | undefined,
): Promise<NotificationStatus> {
  const { claim, notificationsByPurpose, notifications, now, log } = pass;
  const attempts = notificationsByPurpose.get(purpose)?.attempts ?? 0;
  const repeatAt = new Date(now().getTime() + computeRetryDelay(error, attempts));
  log.warn(
    { err: error, ...buildSubjectLogField(claim), purpose, repeatAt },
    'notifying people failed, will retry',
  );
  await notifications.postponeMessage(claim, purpose, repeatAt);
  return reportPending(pass, repeatAt, postedMessage);
}

function reportPending(
  pass: NotificationPass,
  repeatAt: Date,
  postedMessage: PostedMessage | undefined,
): NotificationStatus {
  pass.isComplete = false;
  scheduleRepeat(pass, repeatAt);
  return { state: 'pending', message: postedMessage };
}

/** Keeps an earlier time that is already scheduled. */
function scheduleRepeat(pass: NotificationPass, time: Date | undefined): void {
  if (time !== undefined && (pass.repeatAt === undefined || time < pass.repeatAt)) pass.repeatAt = time;
}

async function runWithLease<T>(deps: NotifierDeps, subject: Subject, run: () => Promise<T>): Promise<T> {
  const { notifications, leaseMs, log } = deps;
  let renewal: Promise<void> | undefined;
  const heartbeat = setInterval(() => {
    renewal = notifications
      .extendLease(subject, leaseMs)
      .catch((err: unknown) =>
        log.warn({ err, ...buildSubjectLogField(subject) }, 'extending the notification lease failed'),
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

function buildSubjectLogField(subject: Subject) {
  return { subject: formatSubjectKey(subject) };
}

/** The first line of the stored version is the repost key. */
function formatStoredVersion({ repostKey, version }: NotificationSpec): string {
  return repostKey === undefined ? version : `${repostKey}\n${version}`;
}

function hashContent({ text, blocks }: Message, metadata: MessageMetadata | undefined): string {
  return createHash('sha256')
    .update(JSON.stringify([text, blocks, metadata]))
    .digest('base64');
}

function parseRepostKey(storedVersion: string | undefined): string | undefined {
  return storedVersion?.split('\n', 1)[0];
}

/** Slack's codes for a message that no longer exists or isn't the bot's. */
const MESSAGE_GONE_CODES: ReadonlySet<string> = new Set([
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
  return MESSAGE_GONE_CODES.has(code) || CANNOT_EDIT_CODES.has(code) || cannotPost(error, occurredAt, now);
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
const PERMANENT_REFUSAL_AFTER_MS = MINUTE_MS;

function cannotPost(error: SlackApiError, occurredAt: Date, now: Date): boolean {
  if (error.code === undefined || isTransient(error)) return false;
  if (CANNOT_POST_CODES.has(error.code)) return true;
  // An invalid token affects every place, so the message waits for a valid one.
  return !isTokenError(error) && now.getTime() - occurredAt.getTime() > PERMANENT_REFUSAL_AFTER_MS;
}
