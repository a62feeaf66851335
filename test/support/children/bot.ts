// The bot in a hurry: what a dead process left behind is taken up within seconds.
import { startBot } from '../../../src/bot.ts';
import { loadConfig } from '../../../src/config.ts';
import { fasterPace } from '../pace.ts';

const bot = await startBot(loadConfig(), { seams: { pace: fasterPace(8) } });
process.once('SIGTERM', async () => {
  await bot.stop();
  process.exit(0);
});
