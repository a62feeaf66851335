import type { CharterProblem } from '../../../approvals/signing/difference.ts';
import type { TeamEventOf } from '../../../ledger/events.ts';
import type { PolicyInForce } from '../../../policy/policy.ts';
import { lines, type Message, message, section } from '../../kit/blocks.ts';

/* Why no signed policy counts, and what to do. */

const PROBLEMS: Readonly<Record<CharterProblem, string>> = {
  not_signed:
    'The signature on the policy and the settings doesn’t count: its passkey was revoked as compromised, belongs to another host than PUBLIC_URL has, or isn’t an admin’s.',
  rows_differ:
    'The policy or the settings in the database differ from what was signed last: somebody changed them in the database.',
  events_missing:
    'Events about passkeys are missing from the log: somebody removed or changed them in the database. No signature counts until they are put back from a backup.',
};

const UNTIL_SIGNED =
  'Until an admin signs it again, what was signed last and the environment’s settings both apply, and every order needs at least one signed approval.';

/** What `policy`, `settings` and `key` say while no charter counts; undefined while one does, or no key is in use. */
export function charterNotice({ signsSettings, lapsed }: PolicyInForce): string | undefined {
  if (lapsed !== undefined)
    return `⚠ *No signed policy counts.* ${PROBLEMS[lapsed.problem]} ${UNTIL_SIGNED} Sign it with \`/domain key\`.`;
  return signsSettings
    ? '⚠ Nobody whose passkey counts has signed the policy and the settings yet. Until an admin does with `/domain key`, the environment’s settings decide, and every approval they ask for must be signed.'
    : undefined;
}

/** The alert when a charter stops counting or counts again; undefined for other events. */
export function charterStatusMessage({ status }: TeamEventOf<'charter_status'>): Message {
  if (status === 'counts') {
    const title = '✅ The signed policy counts again';
    return message(title, [section(`*${title}*`), ...lines(['It decides about orders from now on.'])]);
  }
  const title = '🚨 No signed policy counts';
  const texts = [
    PROBLEMS[status],
    UNTIL_SIGNED,
    status === 'events_missing'
      ? 'Keep a copy of the database as it is before you repair anything.'
      : 'Check `/domain policy` and `/domain settings`, then sign them with `/domain key`.',
  ];
  return message(`${title}: ${texts.join(' ')}`, [section(`*${title}*`), ...lines(texts)]);
}
