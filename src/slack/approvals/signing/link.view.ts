import type { LinkPurpose } from '../../../approvals/signing/ports.ts';
import { context, type Message, mention, message, section } from '../../kit/blocks.ts';

/* What somebody is told who presses a button that needs a signature. */

const LEADS: Readonly<Record<LinkPurpose, string>> = {
  order: 'Look at what is sent, and sign it, here:',
  resume: 'It was paused, so it needs your signature anew. Look at it, and sign it, here:',
  facts: 'Check the change, and sign it, here:',
  add: 'Add a passkey here:',
  vouch: 'Vouch for it with your passkey here:',
  revoke: 'You no longer use it. What was published with it stays in force. Retire it here:',
  revoke_compromised:
    'It was lost, stolen or copied. Nothing signed with it counts any more. Revoke it as compromised here:',
  charter: 'Look at the policy and the settings that decide, and sign them, here:',
  policy: 'It takes effect with your signature. Look at the policy, and sign it, here:',
  settings: 'It takes effect with your signature. Look at what decides then, and sign it, here:',
};

/** Addresses of pages, for one person. */
export function linkMessage(links: readonly (readonly [LinkPurpose, string])[]): Message {
  const texts = links.map(([purpose, address]) => [LEADS[purpose], address] as const);
  return message(texts.map(([lead, address]) => `${lead} ${address}`).join(' '), [
    // Slack links no address by itself in text that is shown as it is.
    ...texts.map(([lead, address]) => section(`${lead}\n<${address}>`)),
    context(
      'For you alone, once, within ten minutes. If Slack opens it inside itself, open it in your browser: Safari, Chrome, Edge or Firefox.',
    ),
  ]);
}

/** Browsers sign nothing where the bot is reached. */
export const NO_PLACE_TO_SIGN =
  'Passkeys work only where the bot is reached by `https` or at `localhost`. The operator has to set PUBLIC_URL to such an address.';

/** To who has as many passkeys as a person can have. */
export const tooManyKeysText = (max: number) =>
  `You have ${max} passkeys, which is the limit. Revoke one you no longer use, then add another. If none of yours counts, ask somebody whose passkey is a root to revoke one.`;

/** To an admin who cannot sign what decides. @param owners whose passkeys count */
export function noKeyText(owners: readonly string[]): string {
  const others =
    owners.length === 0
      ? 'Nobody’s does yet: the operator has to put the fingerprint of the first one into SIGNING_ROOTS.'
      : `Those of ${owners.map(mention).join(', ')} do: an admin among them can sign it, or one of them can vouch for yours.`;
  return `It takes effect with a signature, and none of your passkeys counts. ${others} See \`/domain key\`.`;
}
