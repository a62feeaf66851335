// Slack's Web API, the domain service and the registry at the lowest possible cost, in a separate process, because
// their cost isn't measured. Responses have the format of the real ones.
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { type HttpRequest, serve } from '../http.ts';

const behaviorSchema = z.object({ hang: z.boolean().default(false), afterMs: z.number().default(0) });
let isHanging = false;
let delayMs = 0;
let postCount = 0;
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

/** Doesn't decode the rest of the form, which may have many kilobytes. */
function readField(form: string, name: RegExp): string | null {
  const value = name.exec(form)?.[1];
  return value === undefined ? null : decodeURIComponent(value.replaceAll('+', ' '));
}

const PERSON = { team_id: 'T0STEWARD', is_admin: false, is_owner: false, is_bot: false };

function answerSlack(method: string, body: string): object {
  switch (method) {
    case 'auth.test':
      return { ok: true, team_id: 'T0STEWARD', user_id: 'U0STEWARD' };
    case 'users.info':
      return { ok: true, user: { id: 'U0PERSON', ...PERSON } };
    case 'conversations.open':
      return { ok: true, channel: { id: 'D0PERSON' } };
    case 'chat.postMessage': {
      postCount += 1;
      posts.push(Number(process.hrtime.bigint()) / 1e6);
      const ts = `1700000000.${String(postCount).padStart(6, '0')}`;
      return { ok: true, channel: readField(body, CHANNEL), ts, message: {} };
    }
    case 'chat.update':
      return { ok: true, channel: readField(body, CHANNEL), ts: readField(body, TS), text: '', message: {} };
    case 'files.getUploadURLExternal':
      return { ok: true, upload_url: `${origin}/upload`, file_id: 'F0BENCH' };
    default:
      return { ok: true };
  }
}

function answerService(path: string, query: string): object {
  requests.push([readField(query, CTID) ?? '', Number(process.hrtime.bigint()) / 1e6]);
  return {
    stid: `20260701-app1-${requests.length}`,
    status: { code: 'S0105', text: 'The task was carried out successfully.', type: 'SUCCESS' },
    object: { type: 'Domain', value: path.split('/').at(-2) ?? '' },
  };
}

function answerRegistry(path: string): object {
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

function recordResponse(body: string): object {
  responses.push([Number(process.hrtime.bigint()) / 1e6, TEXT.exec(body)?.[1] ?? '']);
  return { ok: true };
}

/** @param path `/files/ROUND/ROWS.csv` */
function buildCsv(path: string): string {
  const [, , round = '', file = ''] = path.split('/');
  const rows = Array.from({ length: Number.parseInt(file, 10) }, (_, n) => `bulk-${round}-${n}.rest,1`);
  return ['name,period', ...rows, ''].join('\n');
}

function answerRequest({ target, body }: HttpRequest): string | Promise<string> | undefined {
  const [path = '', query = ''] = target.split('?', 2);
  if (path.startsWith('/files/')) return buildCsv(path);
  if (path.startsWith('/api/')) return JSON.stringify(answerSlack(path.slice('/api/'.length), body));
  if (path.startsWith('/v1/')) {
    if (isHanging) return undefined;
    const json = JSON.stringify(answerService(path, query));
    return delayMs === 0 ? json : sleep(delayMs, json);
  }
  return JSON.stringify(
    path.startsWith('/rdap/') ? answerRegistry(path) : path === '/upload' ? {} : recordResponse(body),
  );
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
  ({ hang: isHanging, afterMs: delayMs } = behaviorSchema.parse(message));
  process.send?.({ hanging: isHanging });
});
process.on('disconnect', () => process.exit());

const { port } = await serve(answerRequest);
origin = `http://127.0.0.1:${port}`;
process.send?.({ port });
