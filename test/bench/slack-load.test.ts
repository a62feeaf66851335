import { expect, onTestFinished, test, vi } from 'vitest';
import { HttpClient, serve } from '../../bench/http.ts';
import { SlackLoad } from '../../bench/slack-load.ts';

/** A receiver, and a record of every delivery that is turned into a request, and of every sent one. */
async function scene() {
  const events: string[] = [];
  const came: string[] = [];
  const connected = vi.fn();
  const { server, port } = await serve(({ target, body }) => {
    came.push(`${target} ${body}`);
    return '{}';
  });
  const { send } = HttpClient.prototype;
  vi.spyOn(HttpClient.prototype, 'send').mockImplementation(function (this: HttpClient, ...request) {
    events.push('sent');
    return send.apply(this, request);
  });
  server.on('connection', connected);
  const load = new SlackLoad('secret');
  onTestFinished(async () => {
    vi.restoreAllMocks();
    await load.close();
    server.close();
  });
  const delivery = (name: string) => ({
    get body() {
      events.push(`made ${name}`);
      return name;
    },
  });
  return { events, came, connected, port, load, delivery };
}

test('loads that start together prepare all requests before the first is sent, with a fixed concurrency', async () => {
  const { events, came, connected, port, load, delivery } = await scene();
  await Promise.all([
    load.inTurn(port, ['a', 'b', 'c', 'd'].map(delivery), 2),
    load.inTurn(port, ['e', 'f'].map(delivery), 1),
  ]);
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  expect(events).toEqual([...names.map((name) => `made ${name}`), ...names.map(() => 'sent')]);
  expect(came.sort()).toEqual(names.map((name) => `/slack/events ${name}`));
  expect(connected).toHaveBeenCalledTimes(3);
});

test('a load at a rate prepares all requests before the first is sent, and reports how long each took', async () => {
  const { events, came, port, load, delivery } = await scene();
  const startedAt = performance.now();
  const waits = await load.atRate(port, ['a', 'b', 'c'].map(delivery), 100);
  // A timer may fire a little early.
  expect(performance.now() - startedAt).toBeGreaterThan(17);
  expect(events).toEqual(['made a', 'made b', 'made c', 'sent', 'sent', 'sent']);
  expect(came.sort()).toEqual(['/slack/events a', '/slack/events b', '/slack/events c']);
  expect(waits).toHaveLength(3);
  expect(Math.min(...waits)).toBeGreaterThan(0);
});
