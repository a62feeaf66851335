// Only Bolt and Prisma: acknowledges, and runs one query for each delivery.
import { PrismaPg } from '@prisma/adapter-pg';
import { App, HTTPReceiver, LogLevel } from '@slack/bolt';
import { PrismaClient } from '../../dist/store/generated/client.js';

const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: process.env.DATABASE_URL }) });
await prisma.$queryRaw`SELECT 1`;
const receiver = new HTTPReceiver({
  signingSecret: process.env.SLACK_SIGNING_SECRET,
  endpoints: ['/slack/events'],
  logLevel: LogLevel.ERROR,
});
const app = new App({
  receiver,
  authorize: async () => ({ botToken: 'xoxb-bare', botUserId: 'U0BARE' }),
  logLevel: LogLevel.ERROR,
});
app.command('/domain', async ({ ack, body }) => {
  await ack();
  await prisma.account.findMany({ where: { userId: body.user_id } });
});
app.action(/.*/, async ({ ack, action }) => {
  await ack();
  await prisma.order.updateMany({ where: { id: action.value }, data: { updatedAt: new Date() } });
});
const server = await app.start(0);
process.stdout.write(`${JSON.stringify({ port: server.address().port, msg: 'ready' })}\n`);
