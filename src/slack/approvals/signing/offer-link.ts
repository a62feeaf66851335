import type { LinkPurpose } from '../../../approvals/signing/ports.ts';
import type { Interaction } from '../../feature.ts';
import { NO_SIGNING_ADDRESS, noKeyText, signingLinkMessage } from './link.view.ts';

/** @param subject id of the order, key, draft or change; empty for adding a key and for the current charter */
export async function offerLink(
  { context, person, respond }: Interaction,
  purpose: LinkPurpose,
  subject: string,
  ...otherPurposes: readonly LinkPurpose[]
): Promise<void> {
  const links: (readonly [LinkPurpose, string])[] = [];
  for (const linkPurpose of [purpose, ...otherPurposes]) {
    const address = await context.signingLinks.open(linkPurpose, person.id, subject);
    if (address === undefined) return respond(NO_SIGNING_ADDRESS);
    links.push([linkPurpose, address]);
  }
  await respond(signingLinkMessage(links));
}

/** The link for signing protected settings. If the admin has no valid passkey, names the people who have one. */
export async function offerCharterLink(
  interaction: Interaction,
  purpose: 'charter' | 'policy' | 'settings',
  subject: string,
): Promise<void> {
  const { ring } = await interaction.context.orders.signing.loadKeys();
  const owners = [...new Set([...ring.validKeys.values()].map(({ owner }) => owner))];
  if (owners.includes(interaction.person.id)) return offerLink(interaction, purpose, subject);
  await interaction.respond(noKeyText(owners));
}
