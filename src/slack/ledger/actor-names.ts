import { EVIDENCE_ACTOR } from '../../orders/order.ts';
import type { SlackDirectory } from '../outbound/directory.ts';
import { type PersonNameLookup, REGISTRY_RECORD_ACTOR } from './audit.view.ts';

/** Looks up each person once. If a name isn't found, the id is used. */
export function createPersonNameLookup(directory: SlackDirectory): PersonNameLookup {
  const namePromises = new Map<string, Promise<string>>();
  return (userId) => {
    if (userId === EVIDENCE_ACTOR) return Promise.resolve(REGISTRY_RECORD_ACTOR);
    if (!/^[UW]/.test(userId)) return Promise.resolve('Domain Steward');
    const namePromise =
      namePromises.get(userId) ??
      directory.findName(userId).then(
        (name) => (name === undefined ? userId : `${name} (${userId})`),
        () => userId,
      );
    namePromises.set(userId, namePromise);
    return namePromise;
  };
}
