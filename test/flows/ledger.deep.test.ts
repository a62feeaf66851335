import { nodeCryptography, type Report, verify } from 'domain-steward-verify';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DOMAINS, readCommandReply, textOf, until, useTestDemo } from '../support/demo.ts';
import { requestByCommand } from '../support/orders.ts';
import { type Receiver, startReceiver, WEBHOOK_SECRET } from '../support/webhook-receiver.ts';

/* The separate verifier proves decisions from a file, the key's fingerprint and an anchor. */

const HOUR_MS = 60 * 60_000;
let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
  settings['WEBHOOK_URLS'] = receiver.url;
});
afterAll(() => receiver.close());
const settings: Record<string, string> = { ALERT_CHANNEL: DOMAINS, WEBHOOK_SECRET };
const t = useTestDemo({ settings });

/** Sends a command and downloads the file from the direct message. */
async function downloadFile(
  userId: string,
  command: string,
): Promise<{ readonly name: string; readonly text: string; readonly reply: string }> {
  const directMessagesWithFiles = () =>
    t.workspace.messages(`D${userId.slice(1)}`).filter(({ files }) => files !== undefined);
  const before = directMessagesWithFiles().length;
  const reply = await readCommandReply(t.workspace, t.workspace.as(userId), command);
  const file = await t.workspace.waitFor(() => directMessagesWithFiles()[before]?.files?.[0], {
    what: `the file of ${command}`,
  });
  const text = await (await fetch(new URL(file.url_private_download, t.workspace.url))).text();
  return { name: file.name, text, reply };
}

function verifyText(text: string, key: string, anchors: readonly string[] = []): Promise<Report> {
  const chunks = (async function* () {
    yield Buffer.from(text);
  })();
  const parsedAnchors = anchors.map((anchor) => {
    const [n, hash = ''] = anchor.split(':');
    return { n: Number(n), hash };
  });
  return verify(chunks, { key, anchors: parsedAnchors, roots: undefined }, nodeCryptography);
}

const readLoggedFingerprint = () => /"fingerprint":"(SHA256:[^"]+)"/.exec(t.getLog())?.[1] ?? '';

test('a receipt proves its order, and the ledger proves all orders, up to a published anchor', async () => {
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest 2');
  await t.bob.click(order.card, 'order_approve');
  await order.waitForResult('SUCCEEDED');
  await t.demo.moveTime(HOUR_MS);
  const anchor = await t.workspace.waitFor(
    () => {
      const [dayMessage] = t.workspace
        .messages(DOMAINS)
        .filter((message) => textOf(message).includes('Anchors of the audit log for '));
      const [reply] = t.workspace
        .messages(DOMAINS)
        .filter(({ thread_ts }) => thread_ts !== undefined && thread_ts === dayMessage?.ts);
      return reply && /\d+:[0-9a-f]{64}/.exec(textOf(reply))?.[0];
    },
    { what: 'the hourly anchor in the day’s thread' },
  );
  await until('the anchor in a webhook', async () =>
    receiver.received.some(({ body }) => JSON.stringify(body).includes(`"anchor":"${anchor}"`)),
  );

  const receipt = await downloadFile('U0ALICE', `/domain receipt ${order.id}`);
  expect(receipt.name).toBe(`domain-steward-receipt-${order.id}.jsonl`);
  const report = await verifyText(receipt.text, readLoggedFingerprint(), [anchor]);
  expect(report).toMatchObject({
    verdict: 'proved',
    order: order.id,
    anchored: { seal: expect.any(Number) },
  });
  const kinds = receipt.text.split('\n').flatMap((line) => /"kind":"(\w+)"/.exec(line)?.[1] ?? []);
  expect(kinds).toEqual(expect.arrayContaining(['requested', 'approved', 'sending', 'answered']));
  expect((await verifyText(receipt.text.replace('U0BOB', 'U0EVE'), readLoggedFingerprint())).verdict).toBe(
    'differs',
  );

  const ledger = await downloadFile('U0ADA', '/domain ledger');
  expect(ledger.reply).toContain(readLoggedFingerprint());
  expect(await verifyText(ledger.text, readLoggedFingerprint(), [anchor])).toMatchObject({
    verdict: 'proved',
    differences: [],
  });
  const today = new Date().toISOString().slice(0, 10);
  const rangeFile = await downloadFile('U0ADA', `/domain ledger ${today} 2100-01-01`);
  expect(rangeFile.name).toBe(`domain-steward-ledger-${today}-to-2100-01-01.jsonl`);
  expect((await verifyText(rangeFile.text, readLoggedFingerprint())).verdict).toBe('proved');
});

test('the metrics show the times of the last seal, anchor and webhook, and pending webhooks', async () => {
  const readMetric = async (name: string) => {
    const text = await (await fetch(`${t.botUrl}/metrics`)).text();
    return Number(new RegExp(`^domain_steward_${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
  };
  const getDemoSeconds = () => Date.now() / 1_000 + HOUR_MS / 1_000;
  for (const what of ['seal', 'anchor', 'webhook'])
    expect(
      Math.abs((await readMetric(`last_${what}_timestamp_seconds`)) - getDemoSeconds()),
      what,
    ).toBeLessThan(60);
  await until('no webhook is pending', async () => (await readMetric('webhook_waiting_seconds')) === 0);

  receiver.respondWith((response) => void response.writeHead(503).end());
  await t.alice.command(DOMAINS, '/domain watch noodle.rest');
  await until('the log is sealed', async () => (await readMetric('unsealed_seconds')) === 0);
  await t.demo.moveTime(HOUR_MS);
  await until(
    'the anchor’s webhook is pending',
    async () => (await readMetric('webhook_waiting_seconds')) > 0,
  );
  receiver.respondWith((response) => void response.end());
  await t.demo.moveTime(HOUR_MS);
  await until('no webhook is pending', async () => (await readMetric('webhook_waiting_seconds')) === 0);
});

test('an unknown order has no receipt, and only admins get the ledger', async () => {
  expect(await readCommandReply(t.workspace, t.alice, '/domain receipt zzzzzzzzzzzz')).toContain(
    'zzzzzzzzzzzz',
  );
  expect(await readCommandReply(t.workspace, t.alice, '/domain ledger')).toMatch(/Only admins/);
  expect(await readCommandReply(t.workspace, t.ada, '/domain ledger 2026-13-01')).toContain('isn’t a date');
});

test('a row changed with the triggers disabled is found and reported within an hour', async () => {
  const client = new pg.Client({ connectionString: t.databaseUrl });
  await client.connect();
  await client.query('ALTER TABLE events DISABLE TRIGGER USER');
  await client.query(`UPDATE events SET actor = 'U0MALLORY' WHERE kind = 'approved'`);
  await client.query('ALTER TABLE events ENABLE TRIGGER USER');
  await client.end();
  await t.demo.moveTime(HOUR_MS);
  const findAlarm = (channel: string) => () =>
    t.workspace
      .messages(channel)
      .find((message) => textOf(message).includes('The ledger doesn’t match the log'));
  for (const channel of [DOMAINS, 'D0ADA'])
    expect(
      textOf(await t.workspace.waitFor(findAlarm(channel), { what: `the alarm in ${channel}` })),
    ).toContain('Someone changed them in the database');
});
