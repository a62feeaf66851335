import { peopleAmong } from '../../approvals/approvers.ts';
import type { RequirementProgress } from '../../approvals/progress.ts';
import type { FactsChange } from '../../names/ports.ts';
import type { MessagePlace } from '../../outbox/notifications.ts';
import type { KnownChange, PendingChange } from '../../policy/pending-changes.ts';
import type { SlackContext } from '../context.ts';
import type { Message } from '../kit/blocks.ts';
import { announcedFacts, endedFacts, waitingFacts } from '../names/fact-changes.view.ts';
import { directMessageTo, type NotificationPlanner } from '../outbound/notify.ts';
import { confirmationRequest, confirmedMessage, withdrawnMessage } from '../policy/policy.view.ts';
import { changeEnded, changeRequest, type WaitingChange } from './pending-change.view.ts';

/* The question to a second person about what waits for one, and what became of it. */

/** What is asked, or what became of it. */
interface Question {
  readonly askedAt: Date;
  /** @param userId the reader; nobody's in a channel */
  readonly message: (userId: string) => Message | Promise<Message>;
  /** It stands in the first that takes it. */
  readonly channels: readonly MessagePlace[];
  /** Who gets it where no channel takes it. Undefined when it does not wait any more. */
  readonly asks: readonly string[] | undefined;
  /** Where everybody sees it, and its message there. */
  readonly announced?: { readonly channelId: string; readonly message: Message } | undefined;
  /** Changes with what the question shows. */
  readonly version?: string;
  /** Who asked for it, where somebody else has decided. */
  readonly tell: string | undefined;
  readonly expiresAt: Date | undefined;
}

/** Who is asked. */
interface Asked {
  /** It stands in the first that takes it. */
  readonly channels: readonly MessagePlace[];
  /** Each gets it where none does. */
  readonly people: readonly string[];
}

/** A plan that is due much later counts as written by a wrong clock. */
const LOOK_AGAIN_MS = 3_600_000;
/** Where no channel can be posted in, at most this many people are written to. */
const MAX_PEOPLE = 20;
/** Purposes begin with it; the id of the reader follows. */
const TO = 'to:';
/** The reader of a question in a channel. */
const CHANNEL = 'channel';

export function createPendingChangePlanner(context: SlackContext): NotificationPlanner {
  const { directory, now } = context;
  return async ({ id, notifications }, send) => {
    const question = await findQuestion(context, id);
    if (question === undefined) return undefined;
    const {
      askedAt: since,
      asks,
      channels,
      tell,
      expiresAt,
      message,
      announced,
      version = 'waits',
    } = question;
    const announce = async (shows: string) => {
      if (announced === undefined) return;
      const { channelId, message: notice } = announced;
      const places = [async () => ({ channelId })];
      await send({ purpose: 'notice', version: shows, since, places, message: () => notice });
    };
    const inChannels = channels.map((channel) => async () => channel);
    const show = (reader: string, shows: string) => {
      const places = reader === CHANNEL ? inChannels : [directMessageTo(directory, reader)];
      return send({
        purpose: `${TO}${reader}`,
        version: shows,
        since,
        places,
        message: () => message(reader),
      });
    };
    if (asks === undefined) {
      const standing = notifications.flatMap((each) =>
        each.message === undefined || !each.purpose.startsWith(TO) ? [] : each.purpose.slice(TO.length),
      );
      await announce('ended');
      // Who asked sees what became of it where the question stands in a channel.
      const told = tell === undefined || standing.includes(CHANNEL) ? [] : [tell];
      for (const reader of new Set([...standing, ...told])) await show(reader, 'ended');
      return undefined;
    }
    const { state, at } = await show(CHANNEL, version);
    if (state === 'refused') for (const userId of asks) await show(userId, version);
    if (at?.channelId !== announced?.channelId) await announce('waits');
    return expiresAt && { again: new Date(Math.min(expiresAt.getTime(), now().getTime() + LOOK_AGAIN_MS)) };
  };
}

async function findQuestion(context: SlackContext, id: string): Promise<Question | undefined> {
  const { settings, prices, facts } = context.pendingChanges;
  const [ofSettings, ofPrices, ofFacts] = await Promise.all([
    settings.read(id),
    prices.read(id),
    facts.read(id),
  ]);
  if (ofSettings !== undefined) return askAdmins(context, { kind: 'settings', ...ofSettings }, ofSettings);
  if (ofPrices !== undefined) return askAdmins(context, { kind: 'prices', ...ofPrices }, ofPrices);
  return ofFacts === undefined ? askAboutPolicy(context, id) : askApprovers(context, ofFacts);
}

/** What the questions about all changes have in common, with who is asked while it waits. */
function questionOf(
  { now }: SlackContext,
  { askedBy, askedAt, expiresAt, decided }: KnownChange<unknown>,
  asked: Asked,
) {
  const tell = decided === undefined || decided.by === askedBy ? undefined : askedBy;
  const asks = decided === undefined && expiresAt > now() ? asked.people : undefined;
  return { askedAt, expiresAt, channels: asked.channels, tell, asks };
}

async function askAdmins(
  context: SlackContext,
  waiting: WaitingChange,
  known: KnownChange<unknown>,
): Promise<Question> {
  const question = questionOf(context, known, {
    channels: [],
    people: await otherAdmins(context, waiting.askedBy),
  });
  return {
    ...question,
    message: async (userId) => {
      const locale = await context.directory.localeOf(userId);
      return question.asks === undefined
        ? changeEnded(waiting, known.decided, locale)
        : changeRequest(waiting, { userId, locale });
    },
  };
}

async function askApprovers(context: SlackContext, known: KnownChange<FactsChange>): Promise<Question> {
  const { progress, ...asked } = await approversToAsk(context, known);
  const { reminderChannel: channelId } = await context.savedSettings();
  const question = questionOf(context, known, asked);
  const isWaiting = question.asks !== undefined;
  const message = isWaiting ? waitingFacts(known, progress) : endedFacts(known, known.decided);
  return {
    ...question,
    message: () => message,
    version: `waits ${known.confirmations.length}`,
    announced:
      channelId === undefined
        ? undefined
        : { channelId, message: announcedFacts(known, isWaiting ? 'waits' : known.decided) },
  };
}

/** Who may confirm a change of names, and where they are asked: where it was asked for, else in the approvers' channel. */
export async function approversToAsk(
  { facts, savedSettings, directory }: SlackContext,
  waiting: PendingChange<FactsChange>,
): Promise<Asked & { readonly progress: readonly RequirementProgress[] }> {
  const { askedBy, origin } = waiting;
  const [progress, { approvalChannel }] = await Promise.all([facts.progressOf(waiting), savedSettings()]);
  const approvers = progress.flatMap(({ requirement }) => requirement.approvers);
  const { people } = await peopleAmong(directory, approvers);
  // Others do not see a direct message with who asked.
  const isSeen = origin !== undefined && /^[CG]/.test(origin.channelId);
  return {
    progress,
    channels: [
      ...(isSeen ? [origin] : []),
      ...(approvalChannel === undefined ? [] : [{ channelId: approvalChannel }]),
    ],
    people: people.filter((userId) => userId !== askedBy).slice(0, MAX_PEOPLE),
  };
}

/** @param revision of a draft of the policy that was published */
async function askAboutPolicy(context: SlackContext, revision: string): Promise<Question> {
  const { policies, directory } = context;
  const draft = await policies.draft();
  if (draft?.published !== undefined && draft.revision === revision) {
    const { by, at } = draft.published;
    const { rules: before } = await policies.current();
    return {
      askedAt: at,
      expiresAt: undefined,
      tell: undefined,
      channels: [],
      asks: await otherAdmins(context, by),
      message: async (userId) =>
        confirmationRequest({ draft, before, locale: await directory.localeOf(userId) }, by),
    };
  }
  const published = await policies.ofRevision(revision);
  return {
    askedAt: published?.policy.confirmedAt ?? new Date(0),
    expiresAt: undefined,
    tell: published?.policy.publishedBy,
    channels: [],
    asks: undefined,
    message: async (userId) =>
      published === undefined
        ? withdrawnMessage()
        : confirmedMessage(published.policy, published.before.rules, await directory.localeOf(userId)),
  };
}

/** The admins who can confirm what one of them asks for. */
export async function otherAdmins(
  { adminsToNotify }: SlackContext,
  askedBy: string,
): Promise<readonly string[]> {
  return (await adminsToNotify()).filter((admin) => admin !== askedBy);
}
