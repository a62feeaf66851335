import { EVIDENCE } from '../../orders/order.ts';
import type { SlackDirectory } from '../outbound/directory.ts';
import { type NameLookup, REGISTRY_RECORD } from './audit.view.ts';

/** Looks up each person once. If a name isn't found, the id is used. */
export function createNameLookup(directory: SlackDirectory): NameLookup {
  const names = new Map<string, Promise<string>>();
  return (userId) => {
    if (userId === EVIDENCE) return Promise.resolve(REGISTRY_RECORD);
    if (!/^[UW]/.test(userId)) return Promise.resolve('Domain Steward');
    const nameLookup =
      names.get(userId) ??
      directory.findName(userId).then(
        (name) => (name === undefined ? userId : `${name} (${userId})`),
        () => userId,
      );
    names.set(userId, nameLookup);
    return nameLookup;
  };
}
