// The released bot, but without the rate limit for a person's commands.
import { startBot } from '../../src/app/bot.ts';
import { loadConfig } from '../../src/config/environment.ts';

const bot = await startBot(loadConfig(), { seams: { host: '127.0.0.1', commandsPerMinute: 1_000_000 } });
process.on('disconnect', () => process.exit());
process.send?.({ port: bot.port });
