import type { ProposalOf } from '../../approvals/proposals/proposal.ts';
import { formatDomainName } from '../../zones/names.ts';
import { button, lineSections, mention, message, section } from '../kit/blocks.ts';
import { buttonsHint } from '../kit/buttons-hint.view.ts';
import { confirmationLines } from '../names/name-changes.view.ts';
import { type ProposalView, proposalActions } from '../proposals/proposal.view.ts';
import { formatName, personWithReason } from './expiry.view.ts';

export interface LapseDetails {
  readonly impactLines: readonly string[];
  /** Deadlines with their costs. Empty if unknown. */
  readonly deadlinesText: string;
  /** The price of keeping the name, for example `, about €18.00`. */
  readonly priceSuffix: string;
}

export function lapseView(
  proposal: ProposalOf<'lapse'>,
  { impactLines, deadlinesText, priceSuffix }: LapseDetails,
): ProposalView {
  const { proposer, payload, subject: lapsingName = '', state, endedBy = '' } = proposal;
  const [change] = payload.names;
  const reason = change?.decision?.kind === 'lapse_confirmed' ? change.decision.reason : undefined;
  const name = formatName(lapsingName);
  const requesterText = personWithReason(proposer, reason);
  return {
    question({ progress }) {
      const content = message(`${name}${priceSuffix}: let it lapse? Requested by ${requesterText}`, [
        section(
          `*Let* ${name} *lapse?*`,
          ':hourglass: Another person has to confirm. Reminders continue until then.',
          requesterText,
          ...confirmationLines(progress, proposer),
        ),
        ...lineSections(impactLines),
        deadlinesText !== '' && section(deadlinesText),
        ...proposalActions(proposal, [
          button('lapse_confirm', 'Let it lapse', lapsingName, {
            style: 'danger',
            label: `Let it lapse: ${formatDomainName(lapsingName)}`,
          }),
        ]),
      ]);
      return { ...content, textOnlyHint: buttonsHint(`/domain name ${lapsingName}`) };
    },
    outcome() {
      const title =
        state === 'confirmed'
          ? `:white_check_mark: ${name} will lapse. Requested by ${requesterText}, confirmed by ${mention(endedBy)}.`
          : `:information_source: ${name} won’t lapse, because the name was renewed or the request was withdrawn. Requested by ${requesterText}.`;
      return message(title, [section(title)]);
    },
  };
}
