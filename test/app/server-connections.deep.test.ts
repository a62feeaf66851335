import { connect } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { boltStub, SIGNATURE_HEADER, startTestServer } from '../support/http-server.ts';

describe('connections without a request', () => {
  /** Opens connections that only send `text`. */
  async function openConnections(url: string, count: number, text: string) {
    const { port } = new URL(url);
    const sockets = Array.from({ length: count }, () => connect(Number(port), '127.0.0.1'));
    await Promise.all(
      sockets.map((socket) => {
        socket.on('error', () => undefined);
        return new Promise<void>((resolve) => {
          socket.once('connect', () => socket.write(text, () => resolve())).once('close', () => resolve());
        });
      }),
    );
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
    });
    return sockets;
  }

  const deliver = (url: string) =>
    fetch(`${url}/slack/events`, { method: 'POST', body: '{"a":1}', headers: SIGNATURE_HEADER });

  test.each([
    ['that send nothing', ''],
    ['whose headers never end', 'POST /slack/events HTTP/1.1\r\nhost: x\r\nx-slack-'],
    [
      'whose bodies never end',
      `POST /slack/events HTTP/1.1\r\nhost: x\r\ncontent-length: 500\r\nx-slack-signature: v0=0\r\n\r\n{`,
    ],
    [
      'that stay open after a refusal',
      `POST /slack/events HTTP/1.1\r\nhost: x\r\ncontent-length: 1001\r\n\r\n${'x'.repeat(1_001)}`,
    ],
  ])('%s don’t block deliveries', async (_what, text) => {
    const url = await startTestServer({ getSlackListener: () => boltStub });
    const sockets = await openConnections(url, 1_200, text);
    const response = await deliver(url);
    expect(response.status).toBe(200);
    await new Promise<void>((resolve) => {
      const checkClosed = () => {
        if (sockets.filter(({ closed }) => !closed).length <= 501) resolve();
      };
      for (const socket of sockets) socket.resume().once('close', checkClosed);
      checkClosed();
    });
  });

  test('are closed after seconds, even if there are few', { timeout: 20_000 }, async () => {
    const url = await startTestServer({ getSlackListener: () => boltStub });
    const [socket] = await openConnections(url, 1, 'POST /slack/events HTTP/1.1\r\nhost: x\r\n');
    const openedAt = performance.now();
    await new Promise((resolve) => socket?.resume().once('close', resolve));
    expect(performance.now() - openedAt).toBeGreaterThan(3_000);
    expect((await deliver(url)).status).toBe(200);
  });
});
