import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { askForTimeStamp, TimeStampError } from '../../src/ledger/time-stamp.ts';
import { createTimestamping } from '../../src/ledger/timestamping.ts';
import { startTimeStampingService, type TimeStampingService } from '../support/time-stamping-service.ts';
import { HOUR_MS, type LedgerRig, startLedgerRig, textOf, verifyText } from './rig.ts';

/* Time stamps of a real service: OpenSSL's. */

let service: TimeStampingService;
beforeAll(async () => {
  service = await startTimeStampingService();
});
afterAll(() => service.close());
afterEach(() => service.answers());

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex');
const TEXT = '{"n":1}';

describe('a time stamp', () => {
  const ask = (timeoutMs = 5_000) => askForTimeStamp(new URL(service.url), TEXT, { timeoutMs });

  test('is one that OpenSSL verifies too', async () => {
    const { token, at } = await ask();
    expect(await service.verify(token, hashOf(TEXT))).toBe(true);
    expect(Math.abs(at.getTime() - Date.now())).toBeLessThan(60_000);
  });

  const end = (response: ServerResponse, body: Buffer) => void response.end(body);
  /** Changes the byte of an answer that is so far from its end. */
  const flipped = (body: Buffer, fromEnd: number) => {
    const at = body.length - fromEnd;
    const copy = Buffer.from(body);
    copy[at] = (copy[at] ?? 0) ^ 1;
    return copy;
  };

  test.each<[what: string, code: string, answer: Parameters<TimeStampingService['answers']>[0]]>([
    [
      'over something else',
      'other_imprint',
      async (_, response) =>
        end(response, await service.reply(await service.requestFor(hashOf('something else')))),
    ],
    [
      'for another request',
      'other_nonce',
      async (_, response) => end(response, await service.reply(await service.requestFor(hashOf(TEXT)))),
    ],
    [
      'that is refused',
      'refused',
      async (request, response) => end(response, await service.reply(request, 'picky')),
    ],
    [
      'whose signature was changed',
      'not_signed',
      async (request, response) => end(response, flipped(await service.reply(request), 10)),
    ],
    [
      'whose certificate is not one for time stamps',
      'other_certificate',
      async (request, response) => end(response, await service.replyByOther(request)),
    ],
    ['that cannot be read', 'unreadable', (_, response) => end(response, Buffer.from('<html>'))],
    ['that is empty', 'unreadable', (_, response) => end(response, Buffer.alloc(0))],
    ['of a service that fails', 'http_500', (_, response) => void response.writeHead(500).end()],
    [
      'of a service that sends elsewhere',
      'http_302',
      (_, response) => void response.writeHead(302, { location: service.url }).end(),
    ],
    ['of a service that hangs up', 'connection', (_, response) => void response.destroy()],
    [
      'of 100 MB',
      'too_large',
      async (_, response) => {
        const piece = Buffer.alloc(1024 * 1024);
        for (let sent = 0; sent < 100 && !response.destroyed; sent += 1)
          if (!response.write(piece)) await Promise.race([once(response, 'drain'), once(response, 'close')]);
        response.end();
      },
    ],
  ])('%s is none', async (_what, code, answer) => {
    service.answers(answer);
    await expect(ask()).rejects.toMatchObject({ name: 'TimeStampError', code });
  });

  test('of a service that hangs is waited for no longer than its time', async () => {
    service.answers(() => undefined);
    await expect(ask(100)).rejects.toBeInstanceOf(TimeStampError);
  });
});

describe('anchors', () => {
  let rig: LedgerRig;
  beforeEach(async () => {
    rig = await startLedgerRig();
  });
  afterEach(() => rig.end());

  const lines: string[] = [];
  const starts = (url: string | undefined = service.url) =>
    createTimestamping({
      ...{ url, store: rig.ledgerStore, now: rig.now, signal: new AbortController().signal },
      log: pino({ level: 'info' }, { write: (line) => void lines.push(line) }),
    });
  /** An event, sealed and anchored an hour later. */
  async function anchored(): Promise<void> {
    await rig.happen();
    rig.pass(HOUR_MS);
    await rig.running.turn();
  }
  const stamped = async () =>
    (await rig.ledgerStore.anchors()).flatMap(({ n, timestamp }) => (timestamp === undefined ? [] : [n]));
  const told = () => rig.sql(`SELECT FROM events WHERE kind = 'timestamps_stalled'`);

  test('are stamped once, over the seal', async () => {
    await anchored();
    const before = service.asked();
    const stamp = starts();
    await stamp();
    await stamp();
    expect(service.asked() - before).toBe(1);
    const [anchor] = await rig.ledgerStore.anchors();
    expect(await service.verify(anchor?.timestamp ?? new Uint8Array(), anchor?.hash ?? '')).toBe(true);
  });

  test('have their stamps in a receipt, which says by whose certificate, and proves the moment to who believes it', async () => {
    const { order, statement } = await rig.order();
    await anchored();
    await starts()();
    const text = await textOf(await rig.ledger().receipt(order, statement));
    const report = await verifyText(text);
    expect(report).toMatchObject({ verdict: 'proved', differences: [] });
    expect(report.notes.join('\n')).toMatch(
      /A time stamp over seal \d+ says that it was there at \d{4}-\d\d-\d\dT[\d:]+Z, stamped by CN=Stamps of tests, .* nobody has confirmed/,
    );
    const tsa = (await service.fingerprint()).replaceAll(':', '').toLowerCase();
    const believed = await verifyText(text, { tsa });
    expect(believed).toMatchObject({ verdict: 'proved', stamped: { seal: 1 } });
    expect(believed.proved.join('\n')).toContain('was stamped by CN=Stamps of tests');
    const [line = ''] = text.split('\n').filter((each) => each.includes('"type":"anchor"'));
    expect(await service.asDocumented(text)).toContain('Verification: OK');
    const { hash, timestamp } = JSON.parse(line);
    const codes = async (changed: string) =>
      (await verifyText(text.replace(line, changed))).differences.map(({ text }) => text);
    expect(await codes(line.replace(hash, hashOf('another')))).toEqual([
      expect.stringContaining('is not the hash of seal'),
      expect.stringContaining('the time stamp of anchor'),
    ]);
    const { token } = await askForTimeStamp(new URL(service.url), TEXT, { timeoutMs: 5_000 });
    expect(await codes(line.replace(timestamp, Buffer.from(token).toString('base64')))).toEqual([
      expect.stringContaining('is over something else'),
    ]);
    const cut = Buffer.from(timestamp, 'base64').subarray(0, 100).toString('base64');
    expect((await verifyText(text.replace(timestamp, cut))).notes.join()).toContain('does not read');
  });

  test('without a service are left alone', async () => {
    await anchored();
    await createTimestamping({
      ...{ url: undefined, store: rig.ledgerStore, now: rig.now, signal: new AbortController().signal },
      log: pino({ level: 'silent' }),
    })();
    expect(await stamped()).toEqual([]);
  });

  test('are tried again, ever later, and it is said once, until one is stamped', async () => {
    service.answers((_, response) => void response.writeHead(503).end());
    await anchored();
    const stamp = starts();
    const asked = async () => {
      const before = service.asked();
      await stamp();
      return service.asked() - before;
    };
    expect(await asked()).toBe(1);
    rig.pass(59_999);
    expect(await asked(), 'before the pause is over').toBe(0);
    rig.pass(1);
    expect(await asked()).toBe(1);
    rig.pass(119_999);
    expect(await asked(), 'before a pause of twice the time').toBe(0);
    expect(await told()).toEqual([]);
    expect(lines.at(-1)).toContain('"code":"http_503"');
    for (let hour = 0; hour < 2; hour += 1) {
      rig.pass(HOUR_MS);
      expect(await asked()).toBe(1);
    }
    expect(await told()).toHaveLength(1);
    expect(await rig.sql(`SELECT FROM notifications WHERE subject_kind = 'event'`)).toHaveLength(1);
    await anchored();
    service.answers();
    rig.pass(HOUR_MS);
    expect(await asked(), 'both that waited').toBe(2);
    const all = (await rig.ledgerStore.anchors()).map(({ n }) => n);
    expect(await stamped()).toEqual(all);
  });

  test('older than three days are not stamped any more', async () => {
    await anchored();
    rig.pass(72 * HOUR_MS + 1);
    const before = service.asked();
    await starts()();
    expect(service.asked()).toBe(before);
  });

  test('of a seal that was changed since are not stamped', async () => {
    await anchored();
    await rig.sql('ALTER TABLE seals DISABLE TRIGGER ALL');
    await rig.sql(`UPDATE seals SET root = repeat('0', 64)`);
    const before = service.asked();
    await starts()();
    expect(service.asked()).toBe(before);
  });

  test('are not waited for at the end of the process', async () => {
    await anchored();
    const ending = new AbortController();
    service.answers(() => ending.abort());
    await createTimestamping({
      ...{ url: service.url, store: rig.ledgerStore, now: rig.now, signal: ending.signal },
      log: pino({ level: 'silent' }),
    })();
    expect(await stamped()).toEqual([]);
  });
});
