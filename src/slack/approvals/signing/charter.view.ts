import type { CharterProblem } from '../../../approvals/signing/difference.ts';
import type { TeamEventOf } from '../../../ledger/events.ts';
import type { EffectivePolicy } from '../../../policy/policy.ts';
import { lineSections, type Message, message, section } from '../../kit/blocks.ts';

const PROBLEM_TEXTS: Readonly<Record<CharterProblem, string>> = {
  not_signed:
    'The signature on the policy and settings isn’t valid: its passkey was revoked as compromised, belongs to a host other than PUBLIC_URL, or isn’t an admin’s.',
  rows_differ:
    'Someone changed the policy or settings in the database, so they differ from the last validly signed version.',
  events_missing:
    'Someone removed or changed passkey events in the database. No signature is valid until they’re restored from a backup.',
};

const RULES_UNTIL_SIGNED =
  'Until an admin signs again, every order must meet both the last signed version and the environment variables, and needs at least one signed approval.';

/** Shown by `policy`, `settings` and `key`. Undefined if a charter is valid or passkeys aren't used. */
export function charterNotice({ isCharterMissing, charterProblem }: EffectivePolicy): string | undefined {
  if (charterProblem !== undefined)
    return `⚠ *There’s no valid signed policy.* ${PROBLEM_TEXTS[charterProblem.problem]} ${RULES_UNTIL_SIGNED} Sign it with \`/domain key\`.`;
  return isCharterMissing
    ? '⚠ The policy and settings aren’t signed yet. Until an admin signs them with `/domain key`, only the settings from environment variables apply, and all required approvals must be signed.'
    : undefined;
}

/** The alert about a charter that has become invalid or valid. */
export function charterStatusMessage({ status }: TeamEventOf<'charter_status'>): Message {
  if (status === 'valid') {
    const title = '✅ The signed policy is valid again';
    return message(title, [section(`*${title}*`), ...lineSections(['It applies to orders from now on.'])]);
  }
  const title = '🚨 There’s no valid signed policy';
  const texts = [
    PROBLEM_TEXTS[status],
    RULES_UNTIL_SIGNED,
    status === 'events_missing'
      ? 'Copy the database before you repair anything.'
      : 'Check `/domain policy` and `/domain settings`, then sign them with `/domain key`.',
  ];
  return message(`${title}: ${texts.join(' ')}`, [section(`*${title}*`), ...lineSections(texts)]);
}
