import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { Secret } from '../../../src/service/secret.ts';
import { createFileReader, isFileAddress } from '../../../src/slack/outbound/download.ts';

const API = 'http://127.0.0.1:1234/api/';

test.each([
  ['https://files.slack.com/files-pri/T1-F1/names.csv', true],
  ['https://files.slack-gov.com/files-pri/T1-F1/names.csv', true],
  ['http://127.0.0.1:1234/files-pri/F1/names.csv', true],
  ['http://files.slack.com/files-pri/T1-F1/names.csv', false],
  ['https://files.slack.com.evil.example/names.csv', false],
  ['https://evil.example/files.slack.com/names.csv', false],
  ['https://files.slack.com@evil.example/names.csv', false],
  ['http://127.0.0.1:4321/files-pri/F1/names.csv', false],
  ['no address', false],
])('the bot’s token goes along to %s: %s', (address, goes) => {
  expect(isFileAddress(address, API)).toBe(goes);
});

test('nothing is asked of another address', async () => {
  const read = createFileReader(new Secret('xoxb-token'), API, 1_000);
  await expect(read('https://evil.example/names.csv')).rejects.toMatchObject({ code: 'not_a_file_address' });
});

test('a compressed file is read, one that grows over the limit or cannot be decoded is not', async () => {
  const bodies = new Map<string, readonly [string, Buffer]>([
    ['/names.csv', ['gzip', gzipSync('name\ncafe.rest\n')]],
    ['/bomb.csv', ['gzip', gzipSync(Buffer.alloc(5_000))]],
    ['/odd.csv', ['zstd', Buffer.from('(\xb5')]],
  ]);
  const server = createServer(({ url = '' }, response) => {
    const [coding, body] = bodies.get(url) ?? [];
    response.writeHead(200, { 'content-encoding': coding }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const root = `http://127.0.0.1:${port}`;
  const read = createFileReader(new Secret('xoxb-token'), `${root}/api/`, 1_000);
  expect(Buffer.from(await read(`${root}/names.csv`)).toString()).toBe('name\ncafe.rest\n');
  await expect(read(`${root}/bomb.csv`)).rejects.toMatchObject({ code: 'too_large' });
  await expect(read(`${root}/odd.csv`)).rejects.toMatchObject({ code: 'content_coding' });
  server.closeAllConnections();
  server.close();
});
