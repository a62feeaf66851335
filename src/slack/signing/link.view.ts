import type { LinkPurpose } from '../../signing/ports.ts';
import { context, type Message, mention, message, section } from '../kit/blocks.ts';

/* What somebody is told who presses a button that needs a signature. */

const LEADS: Readonly<Record<LinkPurpose, string>> = {
  order: 'Look at what is sent, and sign it, here:',
  resume: 'It was paused, so it needs your signature anew. Look at it, and sign it, here:',
  add: 'Add a passkey here:',
  vouch: 'Vouch for it with your passkey here:',
  revoke: 'Revoke it with your passkey here:',
  charter: 'Look at the policy and the settings that decide, and sign them, here:',
  policy: 'It takes effect with your signature. Look at the policy, and sign it, here:',
  settings: 'It takes effect with your signature. Look at what decides then, and sign it, here:',
};

/** The address of a page, for one person. */
export function linkMessage(purpose: LinkPurpose, address: string): Message {
  const lead = LEADS[purpose];
  return message(`${lead} ${address}`, [
    // Slack links no address by itself in text that is shown as it is.
    section(`${lead}\n<${address}>`),
    context(
      'For you alone, once, within ten minutes. If Slack opens it inside itself, open it in your browser: Safari, Chrome, Edge or Firefox.',
    ),
  ]);
}

/** Browsers sign nothing where the bot is reached. */
export const NO_PLACE_TO_SIGN =
  'Passkeys work only where the bot is reached by `https` or at `localhost`. The operator has to set PUBLIC_URL to such an address.';

/** To an admin who cannot sign what decides. @param owners whose passkeys count */
export function noKeyText(owners: readonly string[]): string {
  const others =
    owners.length === 0
      ? 'Nobody’s does yet: the operator has to put the fingerprint of the first one into SIGNING_ROOTS.'
      : `Those of ${owners.map(mention).join(', ')} do: an admin among them can sign it, or one of them can vouch for yours.`;
  return `It takes effect with a signature, and none of your passkeys counts. ${others} See \`/domain key\`.`;
}
