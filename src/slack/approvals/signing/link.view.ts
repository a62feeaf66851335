import type { LinkPurpose } from '../../../approvals/signing/ports.ts';
import { context, joinWords, type Message, mention, message, section } from '../../kit/blocks.ts';

const INSTRUCTIONS: Readonly<Record<LinkPurpose, string>> = {
  order: 'Review what will be sent, then sign it here:',
  resume: 'It was paused, so it needs a new signature. Review it, then sign it here:',
  facts: 'Review the change, then sign it here:',
  add: 'Add a passkey here:',
  vouch: 'Vouch for it with your own passkey here:',
  revoke: 'If you no longer use this passkey, retire it here. A policy signed with it stays in force:',
  revoke_compromised:
    'If this passkey was lost, stolen or copied, revoke it as compromised here. All its signatures become invalid:',
  charter: 'Review the policy and settings, then sign them here:',
  policy: 'It takes effect when you sign it. Review the policy, then sign it here:',
  settings: 'They take effect when you sign them. Review the settings, then sign them here:',
};

export function signingLinkMessage(links: readonly (readonly [LinkPurpose, string])[]): Message {
  const texts = links.map(([purpose, address]) => [INSTRUCTIONS[purpose], address] as const);
  return message(texts.map(([instruction, address]) => `${instruction} ${address}`).join(' '), [
    // Slack doesn't make links clickable in preformatted text.
    ...texts.map(([instruction, address]) => section(`${instruction}\n<${address}>`)),
    context(
      'This link is only for you. It works once and expires in 10 minutes. If it opens inside Slack, open it in Safari, Chrome, Edge or Firefox instead.',
    ),
  ]);
}

export const NO_SIGNING_ADDRESS =
  'Passkeys work only over `https` or at `localhost`. Your operator has to set PUBLIC_URL to such an address.';

export const tooManyKeysText = (max: number) =>
  `You have ${max} passkeys, which is the limit. Revoke one you no longer use, then add another. If none of yours is valid, ask someone with a root passkey to revoke one.`;

/** Tells an admin without a valid passkey who has one. */
export function noValidKeyText(keyOwners: readonly string[]): string {
  const ownersText =
    keyOwners.length === 0
      ? 'No passkey is valid yet. Your operator has to add the first one’s fingerprint to SIGNING_ROOTS.'
      : `${joinWords(keyOwners.map(mention))} ${keyOwners.length === 1 ? 'has a valid passkey and' : 'have valid passkeys. One of them'} can vouch for yours, or sign this if they’re an admin.`;
  return `This needs a signature, and none of your passkeys is valid. ${ownersText} See \`/domain key\`.`;
}
