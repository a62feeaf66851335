import type { LinkPurpose } from '../../../approvals/signing/ports.ts';
import type { Interaction } from '../../feature.ts';
import { NO_SIGNING_ADDRESS, noValidKeyText, signingLinkMessage } from './link.view.ts';

/** @param subject ID of the order, key, draft or change; empty to add a key or to sign the current charter */
export async function offerLink(
  { context, person, respond }: Interaction,
  purpose: LinkPurpose,
  subject: string,
  ...otherPurposes: readonly LinkPurpose[]
): Promise<void> {
  const links: (readonly [LinkPurpose, string])[] = [];
  for (const linkPurpose of [purpose, ...otherPurposes]) {
    const address = await context.signingLinks.createLink(linkPurpose, person.id, subject);
    if (address === undefined) return respond(NO_SIGNING_ADDRESS);
    links.push([linkPurpose, address]);
  }
  await respond(signingLinkMessage(links));
}

/** Offers a link for signing protected settings, or lists people with a valid passkey if the admin has none. */
export async function offerCharterLink(
  interaction: Interaction,
  purpose: 'charter' | 'policy' | 'settings',
  subject: string,
): Promise<void> {
  const { ring } = await interaction.context.orders.signing.loadKeys();
  const keyOwners = [...new Set([...ring.validKeys.values()].map(({ owner }) => owner))];
  if (keyOwners.includes(interaction.person.id)) return offerLink(interaction, purpose, subject);
  await interaction.respond(noValidKeyText(keyOwners));
}
