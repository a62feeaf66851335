// A bot with short leases: it takes over a dead bot's work within seconds.
import { startBot } from '../../../src/app/bot.ts';
import { loadConfig } from '../../../src/config/environment.ts';
import { fasterPace } from '../pace.ts';

const bot = await startBot(loadConfig(), { seams: { pace: fasterPace(8) } });
process.once('SIGTERM', async () => {
  await bot.stopBot();
  process.exit(0);
});
