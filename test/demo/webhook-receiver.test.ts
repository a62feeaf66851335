import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createReceiver } from '../../demo/webhook-receiver.ts';

/* The demo's webhook receiver, over HTTP. */

let receiver: ReturnType<typeof createReceiver>;
let changes = 0;
const server = createServer((request, response) => void receiver.receive(request, response));
beforeEach(async () => {
  receiver = createReceiver(() => {
    changes += 1;
  });
  changes = 0;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => new Promise((resolve) => server.close(resolve)));

const BODY = JSON.stringify({ type: 'test', timestamp: '2026-11-25T12:00:00Z', data: { text: 'A test.' } });

async function send(id: string, secret: string): Promise<number> {
  const at = new Date();
  const { port } = server.address() as AddressInfo;
  const { status } = await fetch(`http://127.0.0.1:${port}/webhooks`, {
    method: 'POST',
    body: BODY,
    headers: {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
      'webhook-signature': new Webhook(secret).sign(id, at, BODY),
    },
  });
  return status;
}

test('signed webhooks are shown once, newest first', async () => {
  expect(await send('msg_1', receiver.secret)).toBe(204);
  expect(await send('msg_2', receiver.secret)).toBe(204);
  expect(await send('msg_2', receiver.secret)).toBe(204);
  expect(receiver.received()).toMatchObject([
    { id: 'msg_2', type: 'test', text: 'A test.' },
    { id: 'msg_1', body: { timestamp: '2026-11-25T12:00:00Z' } },
  ]);
});

test('a webhook signed with another secret is rejected and not shown', async () => {
  expect(await send('msg_1', `whsec_${Buffer.alloc(32).toString('base64')}`)).toBe(401);
  expect(receiver.received()).toEqual([]);
  expect(changes).toBe(0);
});
