import type { LinkPurpose } from '../../signing/ports.ts';
import type { Interaction } from '../feature.ts';
import { linkMessage, NO_PLACE_TO_SIGN } from './link.view.ts';

/* Answers a press with an address under which this person, and nobody else, signs one thing. */

/** What offering a link needs of an interaction. */
export type Offering = Pick<Interaction, 'deps' | 'person' | 'respond'>;

/** @param subject the order, key, draft or change; empty for a key to be added and for the charter in force */
export async function offerLink(
  { deps, person, respond }: Offering,
  purpose: LinkPurpose,
  subject: string,
): Promise<void> {
  const address = await deps.links.open(purpose, person.id, subject);
  await respond(address === undefined ? NO_PLACE_TO_SIGN : linkMessage(purpose, address));
}
