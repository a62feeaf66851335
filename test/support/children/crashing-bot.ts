// The bot with short leases, which kills itself once at the crash point in the file CRASH_FILE. With SIGSTOP in front
// of the point it suspends itself there. Each SIGUSR2 moves its clock by a day.
import diagnostics from 'node:diagnostics_channel';
import { readFileSync, rmSync } from 'node:fs';
import { z } from 'zod';
import { startBot } from '../../../src/app/bot.ts';
import { loadConfig } from '../../../src/config/environment.ts';
import { withCrashPoints, withNotificationCrashPoints } from '../crash-points.ts';
import { fasterPace } from '../pace.ts';

const { CRASH_FILE, SERVICE_JSON_URL, TIMES_FASTER } = z
  .object({ CRASH_FILE: z.string(), SERVICE_JSON_URL: z.url(), TIMES_FASTER: z.coerce.number().default(8) })
  .parse(process.env);

function at(point: string): void {
  let wanted: string | undefined;
  try {
    wanted = readFileSync(CRASH_FILE, 'utf8');
  } catch {
    return;
  }
  const isSuspended = wanted === `SIGSTOP ${point}`;
  if (wanted !== point && !isSuspended) return;
  rmSync(CRASH_FILE);
  process.kill(process.pid, isSuspended ? 'SIGSTOP' : 'SIGKILL');
}

const written = z.object({ request: z.object({ origin: z.string(), method: z.string() }) });
const { origin } = new URL(SERVICE_JSON_URL);
diagnostics.subscribe('undici:request:bodySent', (message) => {
  const { request } = written.parse(message);
  if (request.origin === origin && request.method !== 'GET') at('request written');
});

const connected = z.object({ connectParams: z.object({ protocol: z.string(), host: z.string() }) });
diagnostics.subscribe('undici:client:connected', (message) => {
  const { protocol, host } = connected.parse(message).connectParams;
  if (`${protocol}//${host}` === origin) at('connected');
});

const DAY_MS = 86_400_000;
let days = 0;
const bot = await startBot(loadConfig(), {
  seams: {
    host: '127.0.0.1',
    pace: { ...fasterPace(TIMES_FASTER), spacingMs: 10 },
    commandsPerMinute: 100_000,
    wrapOrderStore: (store) => withCrashPoints(store, at),
    wrapNotificationStore: (store) => withNotificationCrashPoints(store, at),
    now: () => new Date(Date.now() + days * DAY_MS),
  },
});
process.on('SIGUSR2', async () => {
  days += 1;
  await bot.catchUp();
  process.stdout.write(`days gone by: ${days}\n`);
});
