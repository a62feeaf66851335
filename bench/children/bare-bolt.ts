// Bolt and nothing else: every delivery is acknowledged, and that is all.
import { App, HTTPReceiver, LogLevel } from '@slack/bolt';

const receiver = new HTTPReceiver({
  signingSecret: process.env['SLACK_SIGNING_SECRET'] ?? '',
  endpoints: ['/slack/events'],
  port: 0,
  logLevel: LogLevel.ERROR,
});
const app = new App({
  receiver,
  authorize: async () => ({ botToken: 'xoxb-bare', botUserId: 'U0BARE' }),
  logLevel: LogLevel.ERROR,
});
app.command('/domain', async ({ ack }) => ack());
app.action(/.*/, async ({ ack }) => ack());

const server = await app.start(0);
process.on('disconnect', () => process.exit());
const address = server.address();
if (typeof address === 'object' && address !== null) process.send?.({ port: address.port });
