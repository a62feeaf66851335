import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { answerTo, useTestDemo } from '../support/demo.ts';

/* The bot only posts its answers to Slack, whatever a delivery says. */

const t = useTestDemo();

/** A stranger's server. @returns its address, and the requests it got */
async function stranger(): Promise<{ readonly url: string; readonly asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.end('ok');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`, asked };
}

/** Repeats Alice's command, correctly signed, with another response URL. */
async function whoamiWith(responseUrl: string): Promise<string> {
  await answerTo(t.workspace, t.alice, '/domain whoami');
  const delivery = t.workspace.deliveries.at(-1);
  if (delivery === undefined) throw new Error('nothing was delivered');
  const before = t.alice.ephemerals().length;
  await t.workspace.redeliver({ ...delivery, payload: { ...delivery.payload, response_url: responseUrl } });
  const told = await t.workspace.waitFor(() => t.alice.ephemerals()[before], { what: 'an answer to Alice' });
  return told.text;
}

test('an address that isn’t Slack’s isn’t called: the person is notified in another way, and the log says so', async () => {
  const { url, asked } = await stranger();
  expect(await whoamiWith(`${url}/secret-path`)).toContain('alice in context 4');
  expect(asked).toEqual([]);
  expect(t.logged()).toMatch(/"host":"127\.0\.0\.1:\d+".*ignored a response address that isn’t Slack’s/);
  expect(t.logged()).not.toContain('secret-path');
});

test.each(['', 'javascript:alert(1)', 'https://hooks.slack.com@evil.example/x'])(
  'nor is %j',
  async (address) => {
    expect(await whoamiWith(address)).toContain('alice in context 4');
  },
);
