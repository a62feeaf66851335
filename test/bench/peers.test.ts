import { request } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { startProcess } from '../../bench/processes.ts';

test('the peers respond correctly', async () => {
  const peers = await startProcess('peers.ts');
  onTestFinished(() => peers.stop());
  const origin = `http://127.0.0.1:${peers.port}`;
  const ask = async (path: string, form?: Readonly<Record<string, string>>) => {
    const body = form === undefined ? '' : new URLSearchParams(form).toString();
    return (await request(`${origin}${path}`, { method: 'POST', body })).body.json();
  };

  const card = { thread_ts: '1.1', text: '&channel=no&ts=no', channel: 'C0 ü&+', ts: '2.2' };
  expect(await ask('/api/chat.postMessage', card)).toMatchObject({
    channel: 'C0 ü&+',
    ts: '1700000000.000001',
  });
  expect(await ask('/api/chat.update', card)).toMatchObject({ channel: 'C0 ü&+', ts: '2.2' });
  expect(await ask('/api/chat.update')).toMatchObject({ channel: null, ts: null });
  expect(await ask('/v1/domain/cafe.rest/_renew?x=1&ctid=a%2Fb')).toMatchObject({
    object: { value: 'cafe.rest' },
  });
  const requests = z.object({ requests: z.array(z.tuple([z.string(), z.number()])) });
  expect(await peers.ask('requests', requests)).toEqual({ requests: [['a/b', expect.any(Number)]] });
  expect(await ask('/rdap/bootstrap.json')).toMatchObject({ services: [[['rest'], [`${origin}/rdap/`]]] });
  expect(await ask('/rdap/domain/cafe.rest')).toMatchObject({ ldhName: 'cafe.rest' });
  expect(await ask('/respond')).toEqual({ ok: true });
  const responses = z.object({ responses: z.array(z.tuple([z.number(), z.string()])) });
  await request(`${origin}/respond`, {
    method: 'POST',
    body: '{"x":1,"text":"3 names for `x`","blocks":[]}',
  });
  expect((await peers.ask('responses', responses)).responses.map(([, text]) => text)).toEqual([
    '',
    '3 names for `x`',
  ]);
  expect(await peers.ask('responses', responses), 'each response once').toEqual({ responses: [] });
});
