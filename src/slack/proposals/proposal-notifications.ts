import { findNotifiedPeople, findSilentPeople } from '../../approvals/approvers.ts';
import type { Proposal } from '../../approvals/proposals/proposal.ts';
import { buildDefaultRequirement } from '../../approvals/requirements.ts';
import { HOUR_MS } from '../../lib/duration.ts';
import type { MessagePlace } from '../../outbox/notifications.ts';
import type { SlackContext } from '../context.ts';
import { directMessagePlace, type NotificationPlanner } from '../outbound/notify.ts';
import { dropMentions } from '../outbound/plain-names.ts';
import { buildProposalView } from './views.ts';

/* Asks the people who can confirm a proposal, and tells them the outcome. */

export interface Audience {
  /** The question is posted in the first channel that accepts it. */
  readonly channels: readonly MessagePlace[];
  /** Each of them gets the question if no channel accepts it. */
  readonly people: readonly string[];
}

/** If a plan is due much later than this, it was written with a wrong clock. */
const MAX_PLAN_AHEAD_MS = HOUR_MS;
/** Maximum number of direct messages if no channel accepts the question. */
const MAX_PEOPLE = 20;
/** Start of a purpose. The reader's id follows. */
const TO = 'to:';
/** Used as the reader of a question in a channel. */
const CHANNEL = 'channel';

export function createProposalPlanner(context: SlackContext): NotificationPlanner {
  const { directory, now, proposals } = context;
  return async ({ id, notifications }, sendUnchanged) => {
    const proposal = await proposals.read(id);
    if (proposal === undefined) return undefined;
    // The button contains the name, so it would confirm a newer proposal.
    if (proposal.kind === 'lapse' && proposal.state === 'withdrawn') return undefined;
    const { proposer, proposedAt: since, expiresAt, endedBy, confirmations } = proposal;
    const isOpen = proposal.state === 'proposed';
    const [view, audience, progress, settings] = await Promise.all([
      buildProposalView(context, proposal, isOpen && confirmations.length === 0),
      loadAudience(context, proposal),
      isOpen ? proposals.loadProgress(proposal) : [],
      context.savedSettings(),
    ]);
    const { reminderChannel } = settings;
    const requirements = [
      buildDefaultRequirement(settings, []),
      ...progress.map(({ requirement }) => requirement),
    ];
    const silent = new Set(await findSilentPeople(directory, requirements));
    silent.delete(proposer);
    const send: typeof sendUnchanged = (wanted) => sendUnchanged(dropMentions(directory, wanted, silent));
    const version = isOpen ? `waits ${confirmations.length}` : 'ended';
    const announce = async () => {
      if (view.announcement === undefined || reminderChannel === undefined) return;
      const places = [async () => ({ channelId: reminderChannel })];
      const shown = isOpen ? 'waits' : 'ended';
      await send({ purpose: 'notice', version: shown, since, places, message: view.announcement });
    };
    const show = (reader: string) => {
      const userId = reader === CHANNEL ? '' : reader;
      const places =
        reader === CHANNEL
          ? audience.channels.map((channel) => async () => channel)
          : [directMessagePlace(directory, reader)];
      const message = async () => {
        const locale = reader === CHANNEL ? 'en-US' : await directory.findLocale(userId);
        const asReader = { userId, locale, progress };
        return isOpen ? view.question(asReader) : view.outcome(asReader);
      };
      return send({ purpose: `${TO}${reader}`, version, since, places, message });
    };
    if (!isOpen) {
      const readersShown = notifications.flatMap((each) =>
        each.message === undefined || !each.purpose.startsWith(TO) ? [] : each.purpose.slice(TO.length),
      );
      await announce();
      // In a channel, the proposer sees the outcome there.
      const needsDirectMessage =
        endedBy === undefined || endedBy === proposer || readersShown.includes(CHANNEL);
      for (const reader of new Set([...readersShown, ...(needsDirectMessage ? [] : [proposer])]))
        await show(reader);
      return undefined;
    }
    const { state, message } = await show(CHANNEL);
    if (state === 'refused') for (const userId of audience.people) await show(userId);
    if (message?.channelId !== reminderChannel) await announce();
    return (
      expiresAt && { repeatAt: new Date(Math.min(expiresAt.getTime(), now().getTime() + MAX_PLAN_AHEAD_MS)) }
    );
  };
}

/** The people who can confirm a proposal, and where they are asked. */
export async function loadAudience(context: SlackContext, proposal: Proposal): Promise<Audience> {
  const { kind, proposer } = proposal;
  if (kind === 'facts' || kind === 'lapse') return confirmersToNotify(context, proposal);
  return { channels: [], people: await otherAdmins(context, proposer) };
}

/** Asked where the change was proposed, or else in the approvers' channel. */
async function confirmersToNotify(
  { proposals, savedSettings, directory }: SlackContext,
  proposal: Proposal,
): Promise<Audience> {
  const { proposer, origin } = proposal;
  const [progress, settings] = await Promise.all([proposals.loadProgress(proposal), savedSettings()]);
  const named = progress.map(({ requirement }) => requirement);
  const requirements = named.length === 0 ? [buildDefaultRequirement(settings, [])] : named;
  const { people } = await findNotifiedPeople(directory, requirements, new Map());
  // Others can't see a direct message with the proposer.
  const isSeen = origin !== undefined && /^[CG]/.test(origin.channelId);
  const { approvalChannel } = settings;
  return {
    channels: [
      ...(isSeen ? [origin] : []),
      ...(approvalChannel === undefined ? [] : [{ channelId: approvalChannel }]),
    ],
    people: people.filter((userId) => userId !== proposer).slice(0, MAX_PEOPLE),
  };
}

/** The admins who can confirm a proposal of another admin. */
export async function otherAdmins(
  { adminsToNotify }: SlackContext,
  proposer: string,
): Promise<readonly string[]> {
  return (await adminsToNotify()).filter((admin) => admin !== proposer);
}
