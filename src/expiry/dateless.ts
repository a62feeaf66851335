import { NO_PUBLIC_RECORD } from '../rdap/client.ts';
import { NO_EXPIRATION } from '../rdap/registration.ts';
import type { WatchedDomain } from './ports.ts';

/**
 * Whether the registry of a name publishes no dates of expiry, as that of .de. Its date comes from orders and from
 * people.
 */
export function isDateless({ checkProblem }: Pick<WatchedDomain, 'checkProblem'>): boolean {
  return checkProblem === NO_PUBLIC_RECORD || checkProblem === NO_EXPIRATION;
}
