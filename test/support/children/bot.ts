// The bot with short leases: it takes up what a dead process left behind within seconds.
import { startBot } from '../../../src/app/bot.ts';
import { loadConfig } from '../../../src/config/environment.ts';
import { fasterPace } from '../pace.ts';

const bot = await startBot(loadConfig(), { seams: { pace: fasterPace(8) } });
process.once('SIGTERM', async () => {
  await bot.stop();
  process.exit(0);
});
