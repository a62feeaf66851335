import type { LinkPurpose } from '../../../approvals/signing/ports.ts';
import { context, type Message, mention, message, section } from '../../kit/blocks.ts';

/* Replies to buttons that need a signature. */

const LEADS: Readonly<Record<LinkPurpose, string>> = {
  order: 'Check what will be sent, and sign it, here:',
  resume: 'It was paused, so it needs a new signature. Check it and sign it here:',
  facts: 'Check the change and sign it here:',
  add: 'Add a passkey here:',
  vouch: 'Vouch for it with your passkey here:',
  revoke: 'For a passkey you no longer use. Its signatures stay valid. Retire it here:',
  revoke_compromised:
    'For a lost, stolen or copied passkey. Its signatures become invalid. Revoke it as compromised here:',
  charter: 'Check the policy and settings, and sign them, here:',
  policy: 'It takes effect with your signature. Check the policy and sign it here:',
  settings: 'It takes effect with your signature. Check the settings and sign them here:',
};

export function linkMessage(links: readonly (readonly [LinkPurpose, string])[]): Message {
  const texts = links.map(([purpose, address]) => [LEADS[purpose], address] as const);
  return message(texts.map(([lead, address]) => `${lead} ${address}`).join(' '), [
    // Slack doesn't linkify preformatted text.
    ...texts.map(([lead, address]) => section(`${lead}\n<${address}>`)),
    context(
      'Only for you, once, within ten minutes. If Slack opens it in the app, open it in your browser: Safari, Chrome, Edge or Firefox.',
    ),
  ]);
}

/** Passkeys need HTTPS or localhost. */
export const NO_SIGNING_ADDRESS =
  'Passkeys work only over `https` or at `localhost`. The operator has to set PUBLIC_URL to such an address.';

export const tooManyKeysText = (max: number) =>
  `You have ${max} passkeys, which is the limit. Revoke one you no longer use, then add another. If none of yours is valid, ask someone with a root passkey to revoke one.`;

/** For an admin who can't sign protected settings. @param owners people with valid passkeys */
export function noKeyText(owners: readonly string[]): string {
  const others =
    owners.length === 0
      ? 'No passkey is valid yet: the operator has to put the first one’s fingerprint in SIGNING_ROOTS.'
      : `${owners.map(mention).join(', ')} have valid passkeys: an admin among them can sign it, or one of them can vouch for yours.`;
  return `It takes effect with a signature, and none of your passkeys is valid. ${others} See \`/domain key\`.`;
}
