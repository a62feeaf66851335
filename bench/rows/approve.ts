import { request } from 'undici';
import { z } from 'zod';
import { type Bench, type Line, quantile, type Row } from '../measure.ts';
import { command, press } from '../slack-load.ts';
import { Postgres, Surroundings, until } from '../surroundings.ts';

/*
 * The time from an approver's click until its request is at the service, while nothing else happens. It includes the
 * signature, the person, the policy, the order's commit, the claim, the committed mark of sending, the credential
 * and a connection.
 */

const MORE_MS = 60;

const seen = z.object({ requests: z.array(z.tuple([z.string(), z.number()])) });

async function* measure({ effort, progress }: Bench): AsyncGenerator<Line> {
  const clicks = effort.quick ? 3 : 20;
  const postgres = await Postgres.start();
  const s = await Surroundings.open(postgres);
  try {
    const bot = await s.start('bot.ts');
    const post = () =>
      request(`${s.peersUrl}/v1/domain/bare.rest/_renew?ctid=bare`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ period: 2 }),
      }).then(({ body }) => body.dump());
    /** @returns milliseconds until the service had the request */
    const untilRequest = async (cause: () => Promise<unknown>): Promise<number> => {
      const startedAt = Number(process.hrtime.bigint()) / 1e6;
      await cause();
      let at: number | undefined;
      await until('the request is at the service', async () => {
        at = (await s.peers.ask('requests', seen)).requests[0]?.[1];
        return at !== undefined;
      });
      return (at ?? Number.NaN) - startedAt;
    };

    let name = 0;
    const prepare = async (amount: number) => {
      const asked = Array.from({ length: amount }, () =>
        command(`renew idle-${name++}.rest 2`, s.person(name), s.responseUrl),
      );
      await s.slack.inTurn(bot.port, asked, 4);
      await until('the cards are posted', async () => (await s.waiting()).length >= amount);
    };
    const round = async (amount: number) => {
      await prepare(amount);
      const ours: number[] = [];
      const theirs: number[] = [];
      for (const order of await s.waiting()) {
        const click = press('order_approve', order, s.approver, s.responseUrl);
        ours.push(await untilRequest(() => s.slack.deliver(bot.port, click)));
        await s.quiet();
        theirs.push(await untilRequest(post));
      }
      return { ours, theirs };
    };
    await round(effort.quick ? 1 : 10);
    const rounds: { ours: number[]; theirs: number[] }[] = [];
    for (let n = 0; n < effort.rounds; n += 1) {
      progress(`round ${n + 1}`);
      rounds.push(await round(clicks));
    }
    for (const [of, part] of [
      ['p50', 0.5],
      ['p90', 0.9],
    ] as const) {
      yield {
        row: 'approve',
        what: `Approve click until its request is at the service, idle, ${of}`,
        reference: 'one undici POST',
        unit: 'ms',
        ours: rounds.map(({ ours }) => quantile(ours, part)),
        theirs: rounds.map(({ theirs }) => quantile(theirs, part)),
        ...(of === 'p50' ? { target: { of: 'difference', kind: 'at most', value: MORE_MS } } : {}),
      };
    }
  } finally {
    await s.close();
    await postgres.stop();
  }
}

export const approve: Row = { id: 'approve', seconds: 60, measure };
