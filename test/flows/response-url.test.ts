import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { readCommandReply, useTestDemo } from '../support/demo.ts';

/* The bot sends replies only to Slack, even if a delivery has another response URL. */

const t = useTestDemo();

/** @returns the URL of a server that isn't Slack's, and the requests it received */
async function startForeignServer(): Promise<{ readonly url: string; readonly received: string[] }> {
  const received: string[] = [];
  const server = createServer((request, response) => {
    received.push(request.url ?? '');
    response.end('ok');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`, received };
}

/** Redelivers Alice's `/domain whoami`, correctly signed, with this response URL. */
async function redeliverWhoami(responseUrl: string): Promise<string> {
  await readCommandReply(t.workspace, t.alice, '/domain whoami');
  const delivery = t.workspace.deliveries.at(-1);
  if (delivery === undefined) throw new Error('no delivery');
  const before = t.alice.ephemerals().length;
  await t.workspace.redeliver({ ...delivery, payload: { ...delivery.payload, response_url: responseUrl } });
  const reply = await t.workspace.waitFor(() => t.alice.ephemerals()[before], { what: 'a reply to Alice' });
  return reply.text;
}

test('a response URL that isn’t Slack’s is ignored, and the person gets the reply another way', async () => {
  const { url, received } = await startForeignServer();
  expect(await redeliverWhoami(`${url}/secret-path`)).toContain('alice in context 4');
  expect(received).toEqual([]);
  expect(t.getLog()).toMatch(/"host":"127\.0\.0\.1:\d+".*ignored a response address that isn’t Slack’s/);
  expect(t.getLog()).not.toContain('secret-path');
});

test.each(['', 'javascript:alert(1)', 'https://hooks.slack.com@evil.example/x'])(
  'the person gets the reply even if the response URL is %j',
  async (address) => {
    expect(await redeliverWhoami(address)).toContain('alice in context 4');
  },
);
