import { request } from 'undici';
import { z } from 'zod';
import { measureIdleLatency, timeUntil } from '../idle-latency.ts';
import type { Row } from '../measure.ts';
import { buildCommand } from '../slack-load.ts';

/*
 * The time from a complete command until its card arrives at Slack, on an otherwise idle system: signature, the person,
 * the account, the zone's rules, the commit, and the card. The reference is the two calls of Slack's API that this
 * needs, one after the other.
 */

const postsSchema = z.object({ posts: z.array(z.number()) });

const LATENCY = {
  row: 'card',
  what: 'command until its card is posted',
  reference: 'two undici POSTs',
  maxMoreMs: 60,
};

export const card: Row = {
  id: 'card',
  seconds: 60,
  measure: (bench) =>
    measureIdleLatency(bench, LATENCY, (s, botPort) => {
      const call = (method: string, body: string) =>
        request(`${s.peersUrl}/api/${method}`, {
          method: 'POST',
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          body,
        }).then((response) => response.body.dump());
      const callDirectly = async () => {
        await call('users.info', 'user=U0PERSON');
        await call('chat.postMessage', 'channel=C0BENCH&text=bare');
      };
      const untilPosted = (cause: () => Promise<unknown>) =>
        timeUntil(
          'the message is posted',
          cause,
          async () => (await s.peers.ask('posts', postsSchema)).posts[0],
        );
      let name = 0;
      return async (amount) => {
        const ours: number[] = [];
        const theirs: number[] = [];
        for (let n = 0; n < amount; n += 1) {
          const renewal = buildCommand(`renew card-${name++}.rest 2`, s.person(name), s.responseUrl);
          ours.push(await untilPosted(() => s.slack.deliver(botPort, renewal)));
          await s.waitUntilIdle();
          theirs.push(await untilPosted(callDirectly));
        }
        return { ours, theirs };
      };
    }),
};
