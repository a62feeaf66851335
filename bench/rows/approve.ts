import { request } from 'undici';
import { measureIdleLatency, timeUntilRequest } from '../idle-latency.ts';
import type { Row } from '../measure.ts';
import { buildClick, buildCommand } from '../slack-load.ts';
import { waitUntil } from '../surroundings.ts';

/*
 * The time from an approver's click until its request arrives at the service, on an otherwise idle system. It includes
 * the signature, the person, the policy, the order's commit, the claim, the commit of `sentAt`, the credential and a
 * connection.
 */

const LATENCY = {
  row: 'approve',
  what: 'Approve click until its request is at the service',
  reference: 'one undici POST',
  maxMoreMs: 60,
};

export const approve: Row = {
  id: 'approve',
  seconds: 60,
  measure: (bench) =>
    measureIdleLatency(bench, LATENCY, (s, botPort) => {
      const sendBare = () =>
        request(`${s.peersUrl}/v1/domain/bare.rest/_renew?ctid=bare`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ period: 2 }),
        }).then(({ body }) => body.dump());
      let name = 0;
      return async (amount) => {
        const commands = Array.from({ length: amount }, () =>
          buildCommand(`renew idle-${name++}.rest 2`, s.person(name), s.responseUrl),
        );
        await s.slack.sendConcurrently(botPort, commands, 4);
        await waitUntil('the cards are posted', async () => (await s.listWaitingOrders()).length >= amount);
        const ours: number[] = [];
        const theirs: number[] = [];
        for (const order of await s.listWaitingOrders()) {
          const click = buildClick('order_approve', order, s.approver, s.responseUrl);
          ours.push(await timeUntilRequest(s, () => s.slack.deliver(botPort, click)));
          await s.waitUntilIdle();
          theirs.push(await timeUntilRequest(s, sendBare));
        }
        return { ours, theirs };
      };
    }),
};
