import { afterAll, beforeAll, expect, test } from 'vitest';
import { Replicas } from '../support/replicas.ts';

/*
 * Several bots on one database, and people who press again and again: each click may reach another bot. With more of
 * everything, and with bots that are killed all the while: `npm run test:torture`.
 */

const PATIENCE_MS = 120_000;
const ORDERS = 10;
const CLICKS = 10;

let replicas: Replicas;
beforeAll(async () => {
  replicas = await Replicas.start(2);
}, PATIENCE_MS);
afterAll(() => replicas.close());

test(
  'every order goes out once, however many clicks reach whichever bot',
  async () => {
    const { site } = replicas;
    const names = await replicas.asked(ORDERS, 'pressed');
    await Promise.all(names.map((name) => replicas.press(name, CLICKS)));
    const settled = await Promise.all(names.map((name) => site.settles(name, 'replicas')));
    expect(settled.map(({ state }) => state)).toEqual(names.map(() => 'SUCCEEDED'));
    const sent = site.s.service.requests.filter(({ task }) => task === 'domain.renew');
    expect(sent, 'requests').toHaveLength(ORDERS);
  },
  PATIENCE_MS,
);

test(
  'a bot that is killed while people press: another one goes on',
  async () => {
    const { site } = replicas;
    const names = await replicas.asked(4, 'killed');
    const pressing = Promise.all(names.map((name) => replicas.press(name, CLICKS)));
    await replicas.replaceOne(0);
    await pressing;
    await Promise.all(names.map((name) => site.settles(name, 'one is killed')));
  },
  PATIENCE_MS,
);
