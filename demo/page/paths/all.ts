import type { Snapshot } from '@domain-steward/slack-workspace/protocol';
import { firstVisit } from './first-visit.ts';
import { goOnHoliday } from './holiday.ts';
import { justWatch } from './just-watch.ts';
import { loseADomain } from './lose-a-domain.ts';
import type { GuidedPath } from './path.ts';
import { signIt } from './sign-it.ts';

const PATHS: readonly [GuidedPath, ...GuidedPath[]] = [firstVisit, loseADomain, signIt, goOnHoliday];

export function pathsOf({ commands }: Pick<Snapshot, 'commands'>): readonly [GuidedPath, ...GuidedPath[]] {
  return commands.some(({ usage_hint: usage }) => usage.startsWith('link')) ? PATHS : [justWatch];
}
