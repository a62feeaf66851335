// A bot with short leases that kills itself once, at the crash point named in the file CRASH_FILE. If the name has the
// prefix SIGSTOP, it suspends itself instead. Each SIGUSR2 advances its clock by a day.
import diagnostics from 'node:diagnostics_channel';
import { readFileSync, rmSync } from 'node:fs';
import { z } from 'zod';
import { startBot } from '../../../src/app/bot.ts';
import { loadConfig } from '../../../src/config/environment.ts';
import { addCrashPoints, addNotificationCrashPoints } from '../crash-points.ts';
import { fasterPace } from '../pace.ts';

const { CRASH_FILE, SERVICE_JSON_URL, TIMES_FASTER } = z
  .object({ CRASH_FILE: z.string(), SERVICE_JSON_URL: z.url(), TIMES_FASTER: z.coerce.number().default(8) })
  .parse(process.env);

function crashIfRequested(point: string): void {
  let requested: string | undefined;
  try {
    requested = readFileSync(CRASH_FILE, 'utf8');
  } catch {
    return;
  }
  const isSuspended = requested === `SIGSTOP ${point}`;
  if (requested !== point && !isSuspended) return;
  rmSync(CRASH_FILE);
  process.kill(process.pid, isSuspended ? 'SIGSTOP' : 'SIGKILL');
}

const bodySentMessage = z.object({ request: z.object({ origin: z.string(), method: z.string() }) });
const { origin } = new URL(SERVICE_JSON_URL);
diagnostics.subscribe('undici:request:bodySent', (message) => {
  const { request } = bodySentMessage.parse(message);
  if (request.origin === origin && request.method !== 'GET') crashIfRequested('request written');
});

const connectedMessage = z.object({ connectParams: z.object({ protocol: z.string(), host: z.string() }) });
diagnostics.subscribe('undici:client:connected', (message) => {
  const { protocol, host } = connectedMessage.parse(message).connectParams;
  if (`${protocol}//${host}` === origin) crashIfRequested('connected');
});

const DAY_MS = 86_400_000;
let days = 0;
const bot = await startBot(loadConfig(), {
  seams: {
    host: '127.0.0.1',
    pace: { ...fasterPace(TIMES_FASTER), spacingMs: 10 },
    commandsPerMinute: 100_000,
    wrapOrderStore: (store) => addCrashPoints(store, crashIfRequested),
    wrapNotificationStore: (store) => addNotificationCrashPoints(store, crashIfRequested),
    now: () => new Date(Date.now() + days * DAY_MS),
  },
});
process.on('SIGUSR2', async () => {
  days += 1;
  await bot.catchUp();
  process.stdout.write(`days gone by: ${days}\n`);
});
