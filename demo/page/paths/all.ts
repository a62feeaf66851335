import { firstVisit } from './first-visit.ts';
import { goOnHoliday } from './holiday.ts';
import { loseADomain } from './lose-a-domain.ts';
import type { GuidedPath } from './path.ts';
import { signIt } from './sign-it.ts';

/** In the order in which they are offered. */
export const PATHS: readonly GuidedPath[] = [firstVisit, loseADomain, signIt, goOnHoliday];
