import { type SandboxDns, type SandboxService, type Scene, theft } from '@domain-steward/sandbox-service';
import type { Workspace } from '@domain-steward/slack-workspace';

/*
 * What the guided paths let happen: a guarded name is stolen, and the bot reports it within minutes; and days go by.
 */

/** What a story needs of the demo. */
export interface StoryParts {
  readonly service: SandboxService;
  readonly dns: SandboxDns;
  readonly name: string;
  /** Moves the clock of the bot and the sandbox. */
  readonly moveTime: (byMs: number) => Promise<unknown>;
  /** What was told of the name: the kinds of its incidents. */
  readonly told: () => readonly string[];
}

const HOUR_MS = 3_600_000;
/** Guarded names are looked at every few hours besides. */
const BETWEEN_LOOKS_MS = 5 * HOUR_MS;
/** More than the minute between two looks at the zone above. */
const MINUTE_MS = 80_000;
const MAX_MINUTES = 12;
/** What shows that it is stolen. */
const TOLD = ['nameservers', 'registrar'];

/** Shows a complete public record of a name. */
export function showRecord({ registry }: SandboxService, name: string): void {
  registry.show(name, {
    registrar: { ianaId: '9998', name: 'Sandbox Registrar Ltd' },
    owner: { name: 'Anna Example', organization: 'Example GmbH' },
    statuses: ['active', 'client transfer prohibited', 'client delete prohibited'],
    isSigned: true,
  });
}

/** Plays the theft of a name: its locks go, it is transferred, its date moves as after a renewal, and it leads elsewhere. */
export async function playTheft({ service, dns, name, moveTime, told }: StoryParts): Promise<void> {
  await dns.addNameserver('ns1.thief.example');
  showRecord(service, name);
  for (let looks = 0; looks < 3; looks += 1) await moveTime(BETWEEN_LOOKS_MS);
  for (const step of theft({ service, dns, name } satisfies Scene)) step.run();
  const isTold = () => TOLD.every((kind) => told().includes(kind));
  for (let minute = 0; minute < MAX_MINUTES && !isTold(); minute += 1) await moveTime(MINUTE_MS);
  if (!isTold()) throw new Error(`the theft of ${name} was not reported: ${told().join() || 'no incident'}`);
}

const DAY_MS = 24 * HOUR_MS;
const MAX_DAYS = 21;
/** What waits for a look at a registry is tried again after a quarter of an hour. */
const AGAIN_MS = HOUR_MS / 3;

/** How it stands with what mandates do: whether any of it was told, and whether any of it can still be stopped. */
function mandatesToday({ messages }: Pick<Workspace, 'messages'>) {
  const told = messages('C0EXPIRY').filter(({ text }) => text.includes('by mandate'));
  return {
    isTold: told.length > 0,
    isWaiting: told.some(({ blocks }) => JSON.stringify(blocks).includes('order_stop')),
  };
}

/** Lets days go by until a mandate says what it is about to do; after that, until it has done it. At most three weeks. */
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
