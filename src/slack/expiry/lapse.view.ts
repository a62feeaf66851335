import type { ProposalOf } from '../../approvals/proposals/proposal.ts';
import { displayName } from '../../zones/names.ts';
import { button, lines, mention, message, section } from '../kit/blocks.ts';
import { buttonsHint } from '../kit/buttons-hint.view.ts';
import { requirementLines } from '../names/fact-changes.view.ts';
import { type ProposalView, proposalActions } from '../proposals/proposal.view.ts';
import { deciderText, formatName } from './expiry.view.ts';

/* The question whether a name lapses. */

export interface KnownOfLapse {
  readonly impact: readonly string[];
  /** Deadlines with costs; empty when unknown. */
  readonly waiting: string;
  /** `, about €18.00`: the price of keeping it. */
  readonly keep: string;
}

/** @param known for the person who confirms */
export function lapseView(
  proposal: ProposalOf<'lapse'>,
  { impact, waiting, keep }: KnownOfLapse,
): ProposalView {
  const { proposer, payload, subject: lapsingName = '', state, endedBy = '' } = proposal;
  const [change] = payload.names;
  const reason = change?.decision?.kind === 'lapse_confirmed' ? change.decision.reason : undefined;
  const name = formatName(lapsingName);
  const by = deciderText(proposer, reason);
  return {
    question({ progress }) {
      const shown = message(`${name}${keep}: let it lapse, says ${by}`, [
        section(
          `${name}: let it lapse?`,
          `:hourglass: Another person has to confirm; reminders continue until then`,
          by,
          ...requirementLines(progress),
        ),
        ...lines(impact),
        waiting !== '' && section(waiting),
        ...proposalActions(proposal, [
          button('lapse_confirm', 'Confirm: let it lapse', lapsingName, {
            style: 'danger',
            label: `Confirm: let it lapse: ${displayName(lapsingName)}`,
          }),
        ]),
      ]);
      return { ...shown, textOnlyHint: buttonsHint(`/domain name ${lapsingName}`) };
    },
    outcome() {
      const title =
        state === 'confirmed'
          ? `:white_check_mark: ${name} will lapse. Requested by ${by}, confirmed by ${mention(endedBy)}.`
          : `:information_source: ${name} isn’t set to lapse: the request by ${by} was withdrawn, or the name was renewed.`;
      return message(title, [section(title)]);
    },
  };
}
