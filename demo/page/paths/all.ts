import { firstVisit } from './first-visit.ts';
import { loseADomain } from './lose-a-domain.ts';
import type { GuidedPath } from './path.ts';

/** The guided paths, in the sequence in which they are offered. */
export const PATHS: readonly GuidedPath[] = [firstVisit, loseADomain];
