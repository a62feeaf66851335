// Slack's Web API, the domain service and the registry at the lowest possible cost, in a separate process, because
// their cost isn't measured. Every response has the form of the real one.
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { type HttpRequest, serve } from '../http.ts';

/** How the service responds from now on. */
const manner = z.object({ hang: z.boolean().default(false), afterMs: z.number().default(0) });
let hanging = false;
let afterMs = 0;
let posted = 0;
let origin = '';

/** Requests to the domain service: the order's ctid, and when the last byte arrived (`process.hrtime`, ms). */
let requests: [ctid: string, at: number][] = [];
/** Messages posted to Slack: when the last byte arrived. */
let posts: number[] = [];
/** Ephemeral responses: when the last byte arrived, and the start of the text. */
let responses: [at: number, text: string][] = [];

const CHANNEL = /(?:^|&)channel=([^&]*)/;
const TS = /(?:^|&)ts=([^&]*)/;
const CTID = /(?:^|&)ctid=([^&]*)/;
const TEXT = /"text":"([^"]{0,60})/;

/** One field of a form. The rest, which may be many kilobytes, is not decoded. */
function field(form: string, name: RegExp): string | null {
  const value = name.exec(form)?.[1];
  return value === undefined ? null : decodeURIComponent(value.replaceAll('+', ' '));
}

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
      posts.push(Number(process.hrtime.bigint()) / 1e6);
      const ts = `1700000000.${String(posted).padStart(6, '0')}`;
      return { ok: true, channel: field(body, CHANNEL), ts, message: {} };
    }
    case 'chat.update':
      return { ok: true, channel: field(body, CHANNEL), ts: field(body, TS), text: '', message: {} };
    case 'files.getUploadURLExternal':
      return { ok: true, upload_url: `${origin}/upload`, file_id: 'F0BENCH' };
    default:
      return { ok: true };
  }
}

function service(path: string, query: string): object {
  requests.push([field(query, CTID) ?? '', Number(process.hrtime.bigint()) / 1e6]);
  return {
    stid: `20260701-app1-${requests.length}`,
    status: { code: 'S0105', text: 'The task was carried out successfully.', type: 'SUCCESS' },
    object: { type: 'Domain', value: path.split('/').at(-2) ?? '' },
  };
}

function registry(path: string): object {
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

function respond(body: string): object {
  responses.push([Number(process.hrtime.bigint()) / 1e6, TEXT.exec(body)?.[1] ?? '']);
  return { ok: true };
}

/** A CSV file with this number of names to renew: `/files/ROUND/ROWS.csv`. */
function rowsOf(path: string): string {
  const [, , round = '', file = ''] = path.split('/');
  const rows = Array.from({ length: Number.parseInt(file, 10) }, (_, n) => `bulk-${round}-${n}.rest,1`);
  return ['name,period', ...rows, ''].join('\n');
}

function answer({ target, body }: HttpRequest): string | Promise<string> | undefined {
  const [path = '', query = ''] = target.split('?', 2);
  if (path.startsWith('/files/')) return rowsOf(path);
  if (path.startsWith('/api/')) return JSON.stringify(slack(path.slice('/api/'.length), body));
  if (path.startsWith('/v1/')) {
    if (hanging) return undefined;
    const json = JSON.stringify(service(path, query));
    return afterMs === 0 ? json : sleep(afterMs, json);
  }
  return JSON.stringify(path.startsWith('/rdap/') ? registry(path) : path === '/upload' ? {} : respond(body));
}

process.on('message', (message) => {
  if (message === 'requests') {
    process.send?.({ requests });
    requests = [];
    return;
  }
  if (message === 'posts') {
    process.send?.({ posts });
    posts = [];
    return;
  }
  if (message === 'responses') {
    process.send?.({ responses });
    responses = [];
    return;
  }
  ({ hang: hanging, afterMs } = manner.parse(message));
  process.send?.({ hanging });
});
process.on('disconnect', () => process.exit());

const { port } = await serve(answer);
origin = `http://127.0.0.1:${port}`;
process.send?.({ port });
