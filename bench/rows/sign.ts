import { request } from 'undici';
import { z } from 'zod';
import { parseRelyingParty } from '../../src/approvals/signing/assertion.ts';
import { openDatabase } from '../../src/store/database.ts';
import { createKeyStore, createLinkStore } from '../../src/store/signing.ts';
import { createSigningLinks } from '../../src/web/links.ts';
import { Authenticator } from '../../test/support/authenticator.ts';
import { measureIdleLatency, timeUntilRequest } from '../idle-latency.ts';
import type { Row } from '../measure.ts';
import { buildCommand } from '../slack-load.ts';
import { TEAM_ID, waitUntil } from '../surroundings.ts';

/*
 * The time from opening an order's page until its request arrives at the service, on an otherwise idle system, with a
 * passkey that responds at once. It includes the page, the verification of the signature, its second verification in the
 * transaction that marks the request as sent, and everything that a click needs.
 */

const PUBLIC_URL = 'http://localhost:3999';
const LATENCY = {
  row: 'sign',
  what: 'Page of an order opened until its request is at the service',
  reference: 'an undici GET and a POST',
  maxMoreMs: 100,
};

const pageSchema = z.object({ options: z.object({ challenge: z.string() }) });

export const sign: Row = {
  id: 'sign',
  seconds: 90,
  measure(bench) {
    const relyingParty = parseRelyingParty(PUBLIC_URL);
    if (relyingParty === undefined) throw new Error(`browsers cannot sign at ${PUBLIC_URL}`);
    const passkey = new Authenticator(relyingParty);
    const settings = { PUBLIC_URL, SIGNING_ROOTS: passkey.fingerprint };
    return measureIdleLatency(bench, { ...LATENCY, settings }, async (s, botPort) => {
      const database = openDatabase({ url: s.databaseUrl });
      s.addCleanup(() => database.close());
      const { fingerprint, publicKey, credential } = passkey;
      await createKeyStore(database, TEAM_ID).add({
        ...{ fingerprint, publicKey, credential, label: 'bench', owner: s.approver },
        ...{ host: relyingParty.id, addedAt: new Date() },
      });
      const links = createSigningLinks({
        ...{ store: createLinkStore(database), publicUrl: PUBLIC_URL, relyingParty },
        now: () => new Date(),
      });
      const post = (url: string, body: unknown) =>
        request(url, {
          method: 'POST',
          headers: { 'content-type': 'application/json', origin: PUBLIC_URL },
          body: JSON.stringify(body),
        });
      const signOn = async (url: string) => {
        const html = await (await request(url)).body.text();
        const [, json = ''] = /id="data">(.*?)<\/script>/s.exec(html) ?? [];
        const { options } = pageSchema.parse(JSON.parse(json));
        const { statusCode, body } = await post(url, passkey.answer(options.challenge));
        if (statusCode !== 200) throw new Error(await body.text());
        await body.dump();
      };
      const sendBare = async () => {
        await (await request(`${s.peersUrl}/respond`)).body.dump();
        await (await post(`${s.peersUrl}/v1/domain/bare.rest/_renew?ctid=bare`, { period: 2 })).body.dump();
      };
      let name = 0;
      return async (amount) => {
        const commands = Array.from({ length: amount }, () =>
          buildCommand(`renew signed-${name++}.rest 2`, s.person(name), s.responseUrl),
        );
        await s.slack.sendConcurrently(botPort, commands, 4);
        await waitUntil('the cards are posted', async () => (await s.listWaitingOrders()).length >= amount);
        const ours: number[] = [];
        const theirs: number[] = [];
        for (const { id } of await s.listWaitingOrders()) {
          const link = await links.createLink('order', s.approver, id);
          const url = (link ?? '').replace(PUBLIC_URL, `http://127.0.0.1:${botPort}`);
          ours.push(await timeUntilRequest(s, () => signOn(url)));
          await s.waitUntilIdle();
          theirs.push(await timeUntilRequest(s, sendBare));
        }
        return { ours, theirs };
      };
    });
  },
};
