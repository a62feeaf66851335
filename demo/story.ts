import { setTimeout as sleep } from 'node:timers/promises';
import { type SandboxDns, type SandboxService, type Scene, theft } from '@domain-steward/sandbox-service';

/*
 * The second path of the guide, *Lose a domain*: a watched name is stolen step by step, and the bot reports it.
 */

/** What a story needs of the demo. */
export interface StoryParts {
  readonly service: SandboxService;
  readonly dns: SandboxDns;
  readonly name: string;
  /** Moves the clock of the bot and the sandbox. */
  readonly moveTime: (byMs: number) => Promise<unknown>;
  /** How many alarms of the name were reported. */
  readonly alarmsTold: () => number;
}

const HOUR_MS = 3_600_000;
/** Names are looked at every few hours near their end. */
const BETWEEN_LOOKS_MS = 5 * HOUR_MS;
const MAX_LOOKS = 8;
const LOOK_MS = 50;
const WAITS = 60;

/** Plays the theft of a name: its locks go, it is transferred, and its date moves as after a renewal. */
export async function playTheft({ service, dns, name, moveTime, alarmsTold }: StoryParts): Promise<void> {
  await dns.addNameserver('ns1.thief.example');
  service.registry.show(name, {
    registrar: { ianaId: '9998', name: 'Sandbox Registrar Ltd' },
    owner: { name: 'Anna Example', organization: 'Example GmbH' },
    statuses: ['active', 'client transfer prohibited', 'client delete prohibited'],
  });
  const letLook = async () => {
    await moveTime(BETWEEN_LOOKS_MS);
    await sleep(LOOK_MS * 2);
  };
  for (let looks = 0; looks < 3; looks += 1) await letLook();
  const scene: Scene = { service, dns, name };
  for (const step of theft(scene)) {
    const before = alarmsTold();
    step.run();
    for (let looks = 0; looks < MAX_LOOKS && alarmsTold() === before; looks += 1) {
      await letLook();
      for (let waits = 0; waits < WAITS && looks > 0 && alarmsTold() === before; waits += 1) {
        await sleep(LOOK_MS);
      }
    }
  }
}
