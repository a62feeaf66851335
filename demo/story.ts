import {
  type SandboxDns,
  type SandboxService,
  type StoryContext,
  theft,
} from '@domain-steward/sandbox-service';
import type { Workspace } from '@domain-steward/slack-workspace';
import { isMandateDay } from './mandate-day.ts';
import { showRecord } from './records.ts';

/* Events for the guided paths: a guarded name is stolen, and the bot reports it within minutes; and days pass. */

export interface StoryParts {
  readonly service: SandboxService;
  readonly dns: SandboxDns;
  readonly name: string;
  /** Moves the clock of the bot and the sandbox. */
  readonly moveTime: (byMs: number) => Promise<unknown>;
  /** The reported incidents of the name, by kind. */
  readonly told: () => readonly string[];
}

const HOUR_MS = 3_600_000;
/** Guarded names also get a lookup every few hours. */
const BETWEEN_LOOKS_MS = 5 * HOUR_MS;
/** More than the minute between two lookups in the parent zone. */
const MINUTE_MS = 80_000;
const MAX_MINUTES = 12;
/** The signs of the theft. */
const TOLD = ['nameservers', 'registrar'];

/**
 * Plays the theft of a name: its locks are removed, it is transferred, its date changes like after a renewal, and it
 * gets other nameservers.
 */
export async function playTheft({ service, dns, name, moveTime, told }: StoryParts): Promise<void> {
  await dns.addNameserver('ns1.thief.example');
  showRecord(service, name);
  for (let looks = 0; looks < 3; looks += 1) await moveTime(BETWEEN_LOOKS_MS);
  for (const step of theft({ service, dns, name } satisfies StoryContext)) step.run();
  const isTold = () => TOLD.every((kind) => told().includes(kind));
  for (let minute = 0; minute < MAX_MINUTES && !isTold(); minute += 1) await moveTime(MINUTE_MS);
  if (!isTold()) throw new Error(`the theft of ${name} was not reported: ${told().join() || 'no incident'}`);
}

const DAY_MS = 24 * HOUR_MS;
const MAX_DAYS = 21;
/** A postponed registry lookup is retried after a quarter of an hour. */
const AGAIN_MS = HOUR_MS / 3;

/** The status of mandates: whether an act was announced, and whether one can still be stopped. */
function mandatesToday({ messages }: Pick<Workspace, 'messages'>) {
  const told = messages('C0EXPIRY').filter(({ text }) => isMandateDay(text));
  return {
    isTold: told.length > 0,
    isWaiting: told.some(({ blocks }) => JSON.stringify(blocks).includes('order_stop')),
  };
}

/** Lets days pass until a mandate announces its acts; after that, until it has acted. At most three weeks. */
export async function passDays(
  workspace: Pick<Workspace, 'messages'>,
  moveTime: (byMs: number) => Promise<unknown>,
): Promise<void> {
  const wasTold = mandatesToday(workspace).isTold;
  for (let day = 0; day < MAX_DAYS; day += 1) {
    await moveTime(DAY_MS);
    if (wasTold && mandatesToday(workspace).isWaiting) await moveTime(AGAIN_MS);
    const { isTold, isWaiting } = mandatesToday(workspace);
    if (isTold && !(wasTold && isWaiting)) return;
  }
}
