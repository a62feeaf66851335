// The bot in a hurry: what a dead process left behind is taken up within seconds.
import { loadConfig } from '../../../src/config.ts';
import { startBot } from '../../../src/main.ts';

const bot = await startBot(loadConfig(), { speedup: 8 });
process.once('SIGTERM', async () => {
  await bot.stop();
  process.exit(0);
});
