import { z } from 'zod';
import { DatabaseProxy } from '../../test/support/database-proxy.ts';
import type { Bench, Line, Row } from '../measure.ts';
import { requestOrders } from '../orders.ts';
import { buildClick, buildCommand } from '../slack-load.ts';
import { Surroundings } from '../surroundings.ts';

/*
 * Acknowledgements while neither the database nor the domain service responds: connections stay open, and nothing
 * arrives. After 2 s the bot acknowledges without a commit; Slack times out after 3 s.
 */

const PER_SECOND = 50;
const MAX_MS = 2_500;

async function* measure({ effort, progress }: Bench): AsyncGenerator<Line> {
  const amount = effort.quick ? 6 : 300;
  const slowest: number[] = [];
  for (let round = 0; round < effort.rounds; round += 1) {
    const s = await Surroundings.open();
    const proxy = new DatabaseProxy();
    try {
      const bot = await s.start('bot.ts', s.environment(await proxy.start(s.databaseUrl)));
      await requestOrders(s, [bot], amount / 3);
      const clicks = (await s.listWaitingOrders()).map((order) =>
        buildClick('order_approve', order, s.approver, s.responseUrl),
      );
      const deliveries = clicks.flatMap((click, n) => [
        click,
        buildCommand('help', s.person(n), s.responseUrl),
        buildCommand(`renew hung-${n}.rest 2`, s.person(n), s.responseUrl),
      ]);
      progress(`round ${round + 1}`);
      await s.peers.ask({ hang: true }, z.object({ hanging: z.literal(true) }));
      proxy.hang();
      slowest.push(Math.max(...(await s.slack.sendAtRate(bot.port, deliveries, PER_SECOND))));
    } finally {
      proxy.close();
      await s.close();
    }
  }
  yield {
    row: 'hung',
    what: `slowest ack of help, renew and Approve at ${PER_SECOND}/s, database and service hung`,
    reference: '',
    unit: 'ms',
    ours: slowest,
    theirs: [],
    target: { of: 'ours', kind: 'at most', value: MAX_MS },
  };
}

export const hung: Row = { id: 'hung', seconds: 60, measure };
