import { startWorkspace, type Workspace } from '@domain-steward/slack-workspace';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { Secret } from '../../../src/service/secret.ts';
import { message, section } from '../../../src/slack/kit/blocks.ts';
import { postMessage, updateMessage } from '../../../src/slack/outbound/post-message.ts';
import { createSlackWeb, type SlackWeb } from '../../../src/slack/outbound/web.ts';
import { DOMAINS } from '../../support/demo.ts';

let workspace: Workspace;
let web: SlackWeb;

beforeAll(async () => {
  workspace = await startWorkspace();
  web = createSlackWeb(new Secret(workspace.botToken), workspace.apiUrl);
});
beforeEach(() => workspace.faults.clear());
afterAll(() => workspace.close());

const MESSAGE = message('cafe.rest expires', [section('*cafe.rest* expires: https://registry.example')]);
const METADATA = { event_type: 'domain_order', event_payload: { order_id: 'o-1' } };
const findMessage = (ts: string) => workspace.messages(DOMAINS).find((each) => each.ts === ts);

test('a message is posted in its thread with its metadata and without link previews', async () => {
  const head = await postMessage(web, { channelId: DOMAINS }, MESSAGE);
  const reply = await postMessage(web, { channelId: DOMAINS, threadTs: head.ts }, MESSAGE, METADATA);

  expect(findMessage(head.ts)?.thread_ts).toBeUndefined();
  expect(findMessage(head.ts)?.metadata).toBeUndefined();
  expect(findMessage(reply.ts)).toMatchObject({ thread_ts: head.ts, text: MESSAGE.text, metadata: METADATA });
  const posted = workspace.calls.findLast(({ method }) => method === 'chat.postMessage');
  expect(posted?.args).toMatchObject({ unfurl_links: 'false', unfurl_media: 'false' });
});

test('a message with refused blocks is posted and updated as text', async () => {
  workspace.faults.set({ method: 'chat.postMessage', kind: 'error', code: 'invalid_blocks', times: 1 });
  const posted = await postMessage(web, { channelId: DOMAINS }, MESSAGE, METADATA);
  expect(findMessage(posted.ts)?.text).toContain('*cafe.rest* expires:');
  expect(findMessage(posted.ts)?.metadata).toMatchObject(METADATA);

  workspace.faults.set({ method: 'chat.update', kind: 'error', code: 'invalid_blocks', times: 1 });
  await updateMessage(web, posted, message('renewed', [section('*cafe.rest* is renewed.')]));
  expect(findMessage(posted.ts)?.text).toBe('*cafe.rest* is renewed.');
});
