import { request } from 'undici';
import { z } from 'zod';
import { type Bench, type Line, quantile, type Row } from '../measure.ts';
import { command } from '../slack-load.ts';
import { Postgres, Surroundings, until } from '../surroundings.ts';

/*
 * The time from a complete command until its card is at Slack, while nothing else happens: signature, the person, the
 * account, the zone's rules, the commit, and the card. The reference is the two calls of Slack's API that this takes,
 * one after the other.
 */

const MORE_MS = 60;

const posts = z.object({ posts: z.array(z.number()) });

async function* measure({ effort, progress }: Bench): AsyncGenerator<Line> {
  const commands = effort.quick ? 3 : 20;
  const postgres = await Postgres.start();
  const s = await Surroundings.open(postgres);
  try {
    const bot = await s.start('bot.ts');
    const call = (method: string, body: string) =>
      request(`${s.peersUrl}/api/${method}`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body,
      }).then((response) => response.body.dump());
    /** @returns milliseconds until Slack had the message */
    const untilPosted = async (cause: () => Promise<unknown>): Promise<number> => {
      const startedAt = Number(process.hrtime.bigint()) / 1e6;
      await cause();
      let at: number | undefined;
      await until('the message is posted', async () => {
        at = (await s.peers.ask('posts', posts)).posts[0];
        return at !== undefined;
      });
      return (at ?? Number.NaN) - startedAt;
    };
    let name = 0;
    const round = async (amount: number) => {
      const ours: number[] = [];
      const theirs: number[] = [];
      for (let n = 0; n < amount; n += 1) {
        const asked = command(`renew card-${name++}.rest 2`, s.person(name), s.responseUrl);
        ours.push(await untilPosted(() => s.slack.deliver(bot.port, asked)));
        await s.quiet();
        const bare = async () => {
          await call('users.info', 'user=U0PERSON');
          await call('chat.postMessage', 'channel=C0BENCH&text=bare');
        };
        theirs.push(await untilPosted(bare));
      }
      return { ours, theirs };
    };
    await round(effort.quick ? 1 : 10);
    const rounds: { ours: number[]; theirs: number[] }[] = [];
    for (let n = 0; n < effort.rounds; n += 1) {
      progress(`round ${n + 1}`);
      rounds.push(await round(commands));
    }
    for (const [of, part] of [
      ['p50', 0.5],
      ['p90', 0.9],
    ] as const) {
      yield {
        row: 'card',
        what: `command until its card is posted, idle, ${of}`,
        reference: 'two undici POSTs',
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

export const card: Row = { id: 'card', seconds: 60, measure };
