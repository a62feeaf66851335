import { filterStillDueReminders } from '../../expiry/digest.ts';
import type { ListedName } from '../../expiry/expiry.ts';
import { parseOwner } from '../../expiry/owner-question.ts';
import type { DueReminder } from '../../expiry/plan.ts';
import type { DigestReply, PlannedReminder } from '../../expiry/ports.ts';
import { dropMissing, groupBy, splitIntoChunks } from '../../lib/collections.ts';
import type { MessagePlace } from '../../outbox/notifications.ts';
import {
  loadDomainWaitingCostCalculator,
  loadRenewalCapability,
  loadRenewalDays,
  loadWaitingCostCalculator,
} from '../approvals/waiting.ts';
import type { SlackContext } from '../context.ts';
import { type Message, textMessage } from '../kit/blocks.ts';
import { type NotificationPlanner, STATIC_VERSION } from '../outbound/notify.ts';
import { partBlocks } from './digest.view.ts';
import {
  createDigestViews,
  createThreadPlace,
  type DigestViews,
  loadDueForecast,
  toSchedule,
} from './digest-notifications.ts';
import { isQuestionOpen, NOTHING_TO_ANSWER, questionMessage } from './owner-question.view.ts';

/*
 * An owner's messages for one day, with questions and reminders. The first message is a direct message, and the others
 * are replies in its thread. Answers update the questions.
 */

const NAMES_PER_MESSAGE = 20;

/** One message in the owner's thread, with questions and reminders that were planned at the same time. */
export interface OwnerThreadPart {
  readonly owner: string;
  readonly purpose: string;
  readonly plannedAt: Date;
  readonly questions: readonly ListedName[];
  /** Number of unanswered questions in all messages. */
  readonly openCount: number;
  /** Reminders about names that have no question. */
  readonly reminders: readonly DueReminder<PlannedReminder>[];
  /** Reminders in this message and in later messages that were planned at the same time. */
  readonly remainingReminders: readonly DueReminder<PlannedReminder>[];
}

/** @param isFirst whether the message starts the thread */
type ThreadPartView = (part: OwnerThreadPart, isFirst: boolean) => Promise<Message>;

export function createOwnerDayPlanner(
  context: SlackContext,
  { question = createQuestionView(context), digest = createDigestViews(context) }: Partial<OwnerViews> = {},
): NotificationPlanner {
  return async ({ id, notifications }, send) => {
    const parts = await loadThreadParts(context, id);
    const firstNotification = notifications.find(({ message }) => message !== undefined);
    const firstPurpose = firstNotification?.purpose ?? parts[0]?.purpose;
    let thread = firstNotification?.message;
    for (const part of parts) {
      const isFirst = part.purpose === firstPurpose;
      const view = part.questions.length > 0 ? question : createReminderView(context, digest);
      const result = await send({
        purpose: part.purpose,
        version: buildVersion(part, isFirst),
        occurredAt: part.plannedAt,
        places: [
          thread === undefined ? () => findOwnerPlace(context, part.owner) : createThreadPlace(thread),
        ],
        message: () => view(part, isFirst),
      });
      if (result.state === 'refused') await context.reminders.redirectOwnerReminders(id, context.now());
      if (result.message === undefined) return undefined;
      thread ??= result.message;
    }
    // Clears messages about names that now have other owners.
    const purposes = new Set(parts.map(({ purpose }) => purpose));
    for (const { purpose, message, shownVersion } of notifications) {
      if (purposes.has(purpose) || message === undefined || shownVersion === STATIC_VERSION) continue;
      const emptyMessage = () => textMessage(NOTHING_TO_ANSWER);
      await send({ purpose, version: 'empty', occurredAt: context.now(), places: [], message: emptyMessage });
    }
    return undefined;
  };
}

export interface OwnerViews {
  readonly question: ThreadPartView;
  readonly digest: Pick<DigestViews, 'renderHead' | 'renderReply'>;
}

async function loadThreadParts(context: SlackContext, id: string): Promise<readonly OwnerThreadPart[]> {
  const { expiry, reminders, loadSettings, now } = context;
  const [allQuestions, claimedReminders, settings] = await Promise.all([
    expiry.loadAskedNames(id),
    reminders.listOwnerReminders(id),
    loadSettings(),
  ]);
  const questions = allQuestions.filter(({ domain }) => domain.ownerLeftAt === undefined);
  const askedNames = new Set(questions.map(({ domain }) => domain.name));
  const owner = parseOwner(id);
  const dueReminders = filterStillDueReminders(claimedReminders, toSchedule(settings, now())).filter(
    ({ name, watched }) => watched.owner === owner && !askedNames.has(name),
  );
  const entries = [
    ...questions.map((question) => ({ at: question.domain.question?.at ?? now(), question })),
    ...dueReminders.map((reminder) => ({ at: reminder.watched.claimedAt, reminder })),
  ];
  const openCount = questions.filter(isQuestionOpen).length;
  return [...groupBy(entries, ({ at }) => at.getTime())]
    .sort(([a], [b]) => a - b)
    .flatMap(([time, group]) =>
      splitIntoChunks(group, NAMES_PER_MESSAGE).map((chunk, index) => ({
        owner,
        purpose: `part:${new Date(time).toISOString()}:${index + 1}`,
        plannedAt: new Date(time),
        openCount,
        questions: dropMissing(chunk.map((entry) => 'question' in entry && entry.question)),
        reminders: dropMissing(chunk.map((entry) => 'reminder' in entry && entry.reminder)),
        remainingReminders: dropMissing(
          group.slice(index * NAMES_PER_MESSAGE).map((entry) => 'reminder' in entry && entry.reminder),
        ),
      })),
    );
}

/** Answers change the version of a message with questions. Other messages never change. */
function buildVersion({ openCount, questions }: OwnerThreadPart, isFirst: boolean): string {
  if (questions.length === 0) return STATIC_VERSION;
  // The first message shows the number of all unanswered questions.
  return JSON.stringify([
    isFirst ? openCount : 0,
    ...questions.map(({ domain: { name, question, lapse } }) => [name, question?.kept, lapse]),
  ]);
}

/** Slack accepts messages to deactivated people, but nobody reads them. */
async function findOwnerPlace({ directory }: SlackContext, owner: string): Promise<MessagePlace | undefined> {
  return (await directory.findMembership(owner)) === 'left'
    ? undefined
    : { channelId: await directory.openDirectMessage(owner) };
}

async function loadDigestPart(
  context: SlackContext,
  { owner, reminders, remainingReminders }: OwnerThreadPart,
): Promise<Omit<DigestReply, 'remainingCount'>> {
  const schedule = toSchedule(await context.loadSettings(), context.now());
  const { renewals } = await loadDueForecast(context, schedule, remainingReminders);
  const digestId = remainingReminders[0]?.watched.digestId ?? '';
  return { digestId, destination: owner, reminders, renewals, disputed: [], hasMore: false };
}

/** Without questions, the message looks like a digest. */
function createReminderView(context: SlackContext, digest: OwnerViews['digest']): ThreadPartView {
  return async (part, isFirst) => {
    const { remainingReminders, reminders } = part;
    const content = await loadDigestPart(context, part);
    return isFirst
      ? digest.renderHead({
          ...content,
          allDue: remainingReminders,
          total: remainingReminders.length,
          undated: 0,
          uncoveredNames: [],
        })
      : digest.renderReply({ ...content, remainingCount: remainingReminders.length - reminders.length });
  };
}

function createQuestionView(context: SlackContext): ThreadPartView {
  return async (part, isFirst) => {
    const { questions: names, openCount } = part;
    const [calculateCost, renewals, details, calculateWaitingCost, capability, digestPart] =
      await Promise.all([
        loadDomainWaitingCostCalculator(context),
        loadRenewalDays(context, names),
        context.portfolio.findMany(names.map(({ domain }) => domain.name)),
        loadWaitingCostCalculator(context),
        loadRenewalCapability(context),
        loadDigestPart(context, part),
      ]);
    const notes = new Map(
      [...details].flatMap(([name, { note }]) => (note === undefined ? [] : [[name, note] as const])),
    );
    const reminders = partBlocks(digestPart, calculateWaitingCost, false, capability);
    return questionMessage({ names, openCount, calculateCost, renewals, notes, reminders }, isFirst);
  };
}
