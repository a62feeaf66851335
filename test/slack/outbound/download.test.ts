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
