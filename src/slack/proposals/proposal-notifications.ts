import { findNotifiedPeople, findSilentPeople } from '../../approvals/approvers.ts';
import type { Proposal } from '../../approvals/proposals/proposal.ts';
import { buildDefaultRequirement } from '../../approvals/requirements.ts';
import { HOUR_MS } from '../../lib/duration.ts';
import type { MessagePlace } from '../../outbox/notifications.ts';
import type { SlackContext } from '../context.ts';
import { createDirectMessagePlace, type NotificationPlanner } from '../outbound/notify.ts';
import { replaceNotificationMentions } from '../outbound/plain-names.ts';
import { buildProposalView } from './views.ts';

/* Asks the people who can confirm a proposal, and tells them the outcome. */

export interface Audience {
  /** The question is posted in the first channel that accepts it. */
  readonly channels: readonly MessagePlace[];
  /** Each person gets the question if no channel accepts it. */
  readonly people: readonly string[];
}

/** If a plan is due later than this, the outbox assumes a wrong clock and runs the plan immediately. */
const MAX_PLAN_AHEAD_MS = HOUR_MS;
/** Maximum number of direct messages if no channel accepts the question. */
const MAX_DIRECT_MESSAGES = 20;
const READER_PURPOSE_PREFIX = 'to:';
/** Stands for everyone in the channel of a question, in place of a reader's ID. */
const CHANNEL_READER = 'channel';

export function createProposalPlanner(context: SlackContext): NotificationPlanner {
  const { directory, now, proposals } = context;
  return async ({ id, notifications }, sendWithMentions) => {
    const proposal = await proposals.load(id);
    if (proposal === undefined) return undefined;
    // The question stays, because its button contains the name and leads to a newer proposal.
    if (proposal.kind === 'lapse' && proposal.state === 'withdrawn') return undefined;
    const { proposer, proposedAt: occurredAt, expiresAt, endedBy, confirmations } = proposal;
    const isOpen = proposal.state === 'proposed';
    const [view, audience, progress, settings] = await Promise.all([
      buildProposalView(context, proposal, isOpen && confirmations.length === 0),
      loadAudience(context, proposal),
      isOpen ? proposals.loadProgress(proposal) : [],
      context.loadSettings(),
    ]);
    const { reminderChannel } = settings;
    const requirements = [
      buildDefaultRequirement(settings, []),
      ...progress.map(({ requirement }) => requirement),
    ];
    const silentPeople = new Set(await findSilentPeople(directory, requirements));
    silentPeople.delete(proposer);
    const send: typeof sendWithMentions = (notification) =>
      sendWithMentions(replaceNotificationMentions(directory, notification, silentPeople));
    const version = isOpen ? `waits ${confirmations.length}` : 'ended';
    const announce = async () => {
      if (view.announcement === undefined || reminderChannel === undefined) return;
      const places = [async () => ({ channelId: reminderChannel })];
      const announcementVersion = isOpen ? 'waits' : 'ended';
      await send({
        purpose: 'notice',
        version: announcementVersion,
        occurredAt,
        places,
        message: view.announcement,
      });
    };
    const sendTo = (reader: string) => {
      const userId = reader === CHANNEL_READER ? '' : reader;
      const places =
        reader === CHANNEL_READER
          ? audience.channels.map((channel) => async () => channel)
          : [createDirectMessagePlace(directory, reader)];
      const message = async () => {
        const locale = reader === CHANNEL_READER ? 'en-US' : await directory.findLocale(userId);
        const proposalReader = { userId, locale, progress };
        return isOpen ? view.question(proposalReader) : view.outcome(proposalReader);
      };
      return send({ purpose: `${READER_PURPOSE_PREFIX}${reader}`, version, occurredAt, places, message });
    };
    if (!isOpen) {
      const notifiedReaders = notifications.flatMap((notification) =>
        notification.message === undefined || !notification.purpose.startsWith(READER_PURPOSE_PREFIX)
          ? []
          : notification.purpose.slice(READER_PURPOSE_PREFIX.length),
      );
      await announce();
      // The proposer knows the outcome if they ended the proposal or see the outcome in the channel.
      const needsDirectMessage = endedBy !== proposer && !notifiedReaders.includes(CHANNEL_READER);
      for (const reader of new Set([...notifiedReaders, ...(needsDirectMessage ? [proposer] : [])]))
        await sendTo(reader);
      return undefined;
    }
    const { state, message } = await sendTo(CHANNEL_READER);
    if (state === 'refused') for (const userId of audience.people) await sendTo(userId);
    if (message?.channelId !== reminderChannel) await announce();
    return (
      expiresAt && { repeatAt: new Date(Math.min(expiresAt.getTime(), now().getTime() + MAX_PLAN_AHEAD_MS)) }
    );
  };
}

/** The people who can confirm a proposal, and where they are asked. */
export async function loadAudience(context: SlackContext, proposal: Proposal): Promise<Audience> {
  const { kind, proposer } = proposal;
  if (kind === 'facts' || kind === 'lapse') return loadConfirmerAudience(context, proposal);
  return { channels: [], people: await listOtherAdmins(context, proposer) };
}

/** The people are asked where the change was proposed, or else in the approval channel. */
async function loadConfirmerAudience(
  { proposals, loadSettings, directory }: SlackContext,
  proposal: Proposal,
): Promise<Audience> {
  const { proposer, origin } = proposal;
  const [progress, settings] = await Promise.all([proposals.loadProgress(proposal), loadSettings()]);
  const requirements = progress.map(({ requirement }) => requirement);
  if (requirements.length === 0) requirements.push(buildDefaultRequirement(settings, []));
  const { people } = await findNotifiedPeople(directory, requirements, new Map());
  // Others can't see a direct message with the proposer.
  const isOriginChannel = origin !== undefined && /^[CG]/.test(origin.channelId);
  const { approvalChannel } = settings;
  return {
    channels: [
      ...(isOriginChannel ? [origin] : []),
      ...(approvalChannel === undefined ? [] : [{ channelId: approvalChannel }]),
    ],
    people: people.filter((userId) => userId !== proposer).slice(0, MAX_DIRECT_MESSAGES),
  };
}

/** The admins who can confirm another admin's proposal. */
export async function listOtherAdmins(
  { adminsToNotify }: SlackContext,
  proposer: string,
): Promise<readonly string[]> {
  return (await adminsToNotify()).filter((admin) => admin !== proposer);
}
