import {
  type SandboxDns,
  type SandboxService,
  type StoryContext,
  theft,
} from '@domain-steward/sandbox-service';
import type { Workspace } from '@domain-steward/slack-workspace';
import { isMandateDay } from './mandate-day.ts';
import { showRecord } from './records.ts';

export interface StoryParts {
  readonly service: SandboxService;
  readonly dns: SandboxDns;
  readonly name: string;
  /** Moves the clock of the bot and the sandbox. */
  readonly moveTime: (byMs: number) => Promise<unknown>;
  /** The reported incidents of the name, by kind. */
  readonly listReportedKinds: () => readonly string[];
}

const HOUR_MS = 3_600_000;
/** Guarded names also get a full lookup every few hours. */
const LOOKUP_INTERVAL_MS = 5 * HOUR_MS;
/** Longer than the minute between two lookups in the parent zone. */
const STEP_MS = 80_000;
const MAX_STEPS = 12;
const EXPECTED_KINDS = ['nameservers', 'registrar'];

/** Plays the theft of a guarded name, and moves the clock until the bot has reported it. */
export async function playTheft({
  service,
  dns,
  name,
  moveTime,
  listReportedKinds,
}: StoryParts): Promise<void> {
  await dns.addNameserver('ns1.thief.example');
  showRecord(service, name);
  for (let lookups = 0; lookups < 3; lookups += 1) await moveTime(LOOKUP_INTERVAL_MS);
  for (const step of theft({ service, dns, name } satisfies StoryContext)) step.run();
  const isReported = () => EXPECTED_KINDS.every((kind) => listReportedKinds().includes(kind));
  for (let step = 0; step < MAX_STEPS && !isReported(); step += 1) await moveTime(STEP_MS);
  if (!isReported())
    throw new Error(`the theft of ${name} was not reported: ${listReportedKinds().join() || 'no incident'}`);
}

const DAY_MS = 24 * HOUR_MS;
const MAX_DAYS = 21;
/** Longer than the quarter of an hour after which a postponed registry lookup is retried. */
const RETRY_MS = HOUR_MS / 3;

function checkMandates({ messages }: Pick<Workspace, 'messages'>) {
  const announcements = messages('C0EXPIRY').filter(({ text }) => isMandateDay(text));
  return {
    isAnnounced: announcements.length > 0,
    canBeStopped: announcements.some(({ blocks }) => JSON.stringify(blocks).includes('order_stop')),
  };
}

/** Lets days pass until a mandate has announced renewals, or has sent those that it announced. At most three weeks. */
export async function passDays(
  workspace: Pick<Workspace, 'messages'>,
  moveTime: (byMs: number) => Promise<unknown>,
): Promise<void> {
  const wasAnnounced = checkMandates(workspace).isAnnounced;
  for (let day = 0; day < MAX_DAYS; day += 1) {
    await moveTime(DAY_MS);
    if (wasAnnounced && checkMandates(workspace).canBeStopped) await moveTime(RETRY_MS);
    const { isAnnounced, canBeStopped } = checkMandates(workspace);
    if (isAnnounced && !(wasAnnounced && canBeStopped)) return;
  }
}
