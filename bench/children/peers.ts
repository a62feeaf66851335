// Slack's Web API, the domain service and the registry, as light as can be, in a process of their own: what they
// cost is not what is measured. Every answer has the shape that the real one has.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { z } from 'zod';

const order = z.object({ hang: z.boolean() });
let hanging = false;
let posted = 0;

/** Requests to the domain service: what about, and when the last byte was there (`process.hrtime`, ms). */
let requests: [ctid: string, at: number][] = [];

const people = { team_id: 'T0STEWARD', is_admin: false, is_owner: false, is_bot: false };

function slack(method: string, body: string): object {
  switch (method) {
    case 'auth.test':
      return { ok: true, team_id: 'T0STEWARD', user_id: 'U0STEWARD' };
    case 'users.info':
      return { ok: true, user: { id: 'U0PERSON', ...people } };
    case 'conversations.open':
      return { ok: true, channel: { id: 'D0PERSON' } };
    case 'chat.postMessage': {
      posted += 1;
      const channel = new URLSearchParams(body).get('channel');
      return { ok: true, channel, ts: `1700000000.${String(posted).padStart(6, '0')}`, message: {} };
    }
    case 'chat.update': {
      const call = new URLSearchParams(body);
      return { ok: true, channel: call.get('channel'), ts: call.get('ts'), text: '', message: {} };
    }
    default:
      return { ok: true };
  }
}

function service(url: URL): object {
  requests.push([url.searchParams.get('ctid') ?? '', Number(process.hrtime.bigint()) / 1e6]);
  return {
    stid: `20260701-app1-${requests.length}`,
    status: { code: 'S0105', text: 'The task was carried out successfully.', type: 'SUCCESS' },
    object: { type: 'Domain', value: url.pathname.split('/').at(-2) ?? '' },
  };
}

function registry(path: string, origin: string): object {
  if (path === '/rdap/bootstrap.json') return { version: '1.0', services: [[['rest'], [`${origin}/rdap/`]]] };
  const name = path.split('/').at(-1) ?? '';
  return {
    rdapConformance: ['rdap_level_0'],
    objectClassName: 'domain',
    ldhName: name,
    status: ['active'],
    events: [{ eventAction: 'expiration', eventDate: '2031-01-01T00:00:00Z' }],
  };
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = '';
  request.setEncoding('utf8');
  for await (const chunk of request) body += chunk;
  const url = new URL(request.url ?? '/', `http://${request.headers.host}`);
  if (hanging && url.pathname.startsWith('/v1/')) return;
  const answered = url.pathname.startsWith('/api/')
    ? slack(url.pathname.slice('/api/'.length), body)
    : url.pathname.startsWith('/v1/')
      ? service(url)
      : url.pathname.startsWith('/rdap/')
        ? registry(url.pathname, url.origin)
        : { ok: true };
  const text = JSON.stringify(answered);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  response.end(text);
}

const server = createServer((request, response) => {
  answer(request, response).catch(() => response.destroy());
});
process.on('message', (message) => {
  if (message === 'requests') {
    process.send?.({ requests });
    requests = [];
    return;
  }
  hanging = order.parse(message).hang;
  process.send?.({ hanging });
});
process.on('disconnect', () => process.exit());
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object' && address !== null) process.send?.({ port: address.port });
});
