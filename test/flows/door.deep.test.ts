import { createHmac } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Actor } from '@domain-steward/slack-workspace';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Demo, startDemo } from '../../demo/demo.ts';
import { createLog } from '../../src/lib/log.ts';
import { createTestDatabase } from '../support/database.ts';
import { DOMAINS, link, openForm, readCommandReply } from '../support/demo.ts';
import { requestByCommand, type VisibleOrder } from '../support/orders.ts';
import fc from '../support/properties.ts';

/* Requests from outside the workspace. BODIES is the number of malformed bodies, SEED chooses them. */

const BODIES = Number(process.env['BODIES'] ?? 200);
const SEED = Number(process.env['SEED'] ?? 20_260_102);
const COMMAND_LIMIT = 40;

let demo: Demo;
let url: string;
let alice: Actor;
let order: VisibleOrder;
let cleanUp: () => Promise<void>;

beforeAll(async () => {
  // The demo must listen only on this machine, whatever HOST says.
  process.env['HOST'] = '0.0.0.0';
  const database = await createTestDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), 'domain-steward-door-'));
  demo = await startDemo({
    port: 0,
    dataDir,
    databaseUrl: database.url,
    log: createLog('silent'),
    seams: { commandsPerMinute: COMMAND_LIMIT },
  });
  cleanUp = async () => {
    delete process.env['HOST'];
    await demo.stop();
    await database.drop();
    await rm(dataDir, { recursive: true, force: true });
  };
  url = `http://127.0.0.1:${demo.bot.port}`;
  alice = demo.workspace.as('U0ALICE');
  await link(demo.workspace, alice);
  order = await requestByCommand(demo.workspace, alice, '/domain renew cafe.rest');
});
afterAll(() => cleanUp());

const FORM = 'application/x-www-form-urlencoded';

function signBody(body: string, at = Math.floor(Date.now() / 1_000)): Record<string, string> {
  const mac = createHmac('sha256', demo.workspace.signingSecret).update(`v0:${at}:${body}`).digest('hex');
  return { 'x-slack-request-timestamp': String(at), 'x-slack-signature': `v0=${mac}` };
}

async function postDelivery(body: string, headers: Record<string, string>): Promise<number> {
  const response = await fetch(`${url}/slack/events`, { method: 'POST', body, headers });
  await response.arrayBuffer();
  return response.status;
}

/** Nothing has reached the service, and the order is still pending. */
function expectNoEffect(): void {
  expect(order.state).toBe('PENDING');
  expect(demo.service.requests.filter(({ task }) => task?.startsWith('domain.'))).toEqual([]);
}

const buildCommandBody = (text: string, overrides: Record<string, string> = {}) =>
  new URLSearchParams({
    command: '/domain',
    text,
    team_id: demo.workspace.teamId,
    user_id: 'U0ALICE',
    channel_id: DOMAINS,
    trigger_id: `t.${Math.random()}`,
    response_url: `${demo.workspace.url}response/none`,
    ...overrides,
  }).toString();

describe('a delivery with', () => {
  const now = () => Math.floor(Date.now() / 1_000);

  test.each<[what: string, headers: (body: string) => Record<string, string>]>([
    ['no signature', () => ({})],
    [
      'a signature made with another secret',
      (body) => ({ ...signBody(body), 'x-slack-signature': `v0=${'0'.repeat(64)}` }),
    ],
    ['the signature of another body', () => signBody('command=%2Fdomain')],
    ['a signature that is more than five minutes old', (body) => signBody(body, now() - 302)],
  ])('%s is refused', async (_what, headers) => {
    const body = buildCommandBody('renew tapas.rest');
    expect(await postDelivery(body, { 'content-type': FORM, ...headers(body) })).toBe(401);
    expectNoEffect();
  });
});

describe('Slack’s certificate check', () => {
  test('gets an empty 200 for unsigned GET and POST requests', async () => {
    const response = await fetch(`${url}/slack/events?ssl_check=1`);
    expect([response.status, await response.text()]).toEqual([200, '']);
    expect(await postDelivery('token=x&ssl_check=1', { 'content-type': FORM })).toBe(200);
    expect((await fetch(`${url}/slack/events`)).status).toBe(405);
  });

  const buildClickBody = () =>
    `payload=${encodeURIComponent(
      JSON.stringify({
        type: 'block_actions',
        user: { id: 'U0BOB', team_id: demo.workspace.teamId },
        team: { id: demo.workspace.teamId },
        trigger_id: 't',
        channel: { id: DOMAINS },
        actions: [
          { type: 'button', action_id: 'order_approve', block_id: 'b', action_ts: '1', value: order.id },
        ],
      }),
    )}`;
  const FLAG_PLACES: readonly (readonly [where: string, query: string, body: (payload: string) => string])[] =
    [
      ['after the body', '', (payload) => `${payload}&ssl_check=1`],
      ['before the body', '', (payload) => `ssl_check=1&${payload}`],
      ['in the query', '?ssl_check=1', (payload) => payload],
    ];

  test.each(FLAG_PLACES)(
    'runs no unsigned command or click if `ssl_check` is %s',
    async (_where, query, addFlag) => {
      const before = alice.ephemerals().length;
      for (const payload of [buildCommandBody('whoami'), buildClickBody()]) {
        const body = addFlag(payload);
        const response = await fetch(`${url}/slack/events${query}`, {
          method: 'POST',
          body,
          headers: { 'content-type': FORM },
        });
        expect([200, 401]).toContain(response.status);
        if (response.status === 200) expect(await response.text()).toBe('');
      }
      // If anything had run, its reply would have come before this one.
      await readCommandReply(demo.workspace, alice, '/domain orders');
      expect(alice.ephemerals()).toHaveLength(before + 1);
      expectNoEffect();
    },
  );

  test('doesn’t run a signed command that claims to be a check', async () => {
    const before = alice.ephemerals().length;
    const body = `ssl_check=1&${buildCommandBody('whoami')}`;
    expect(await postDelivery(body, { 'content-type': FORM, ...signBody(body) })).toBe(200);
    await readCommandReply(demo.workspace, alice, '/domain orders');
    expect(alice.ephemerals()).toHaveLength(before + 1);
  });
});

test('commands, clicks, forms and Home events from another workspace have no effect', async () => {
  const { workspace } = demo;
  const foreign = { id: 'U0MALLORY', team_id: 'T0OTHER' };
  const buildPayloadBody = (payload: unknown) => `payload=${encodeURIComponent(JSON.stringify(payload))}`;
  const bodies = [
    buildCommandBody('renew tapas.rest', { team_id: 'T0OTHER' }),
    buildCommandBody('help', { team_id: 'T0OTHER' }),
    buildPayloadBody({
      type: 'block_actions',
      user: foreign,
      team: { id: 'T0OTHER' },
      trigger_id: 't',
      channel: { id: DOMAINS },
      actions: [
        { type: 'button', action_id: 'order_approve', block_id: 'b', action_ts: '1', value: order.id },
      ],
    }),
    buildPayloadBody({
      type: 'view_submission',
      user: foreign,
      team: { id: 'T0OTHER' },
      view: {
        id: 'V0FOREIGN',
        callback_id: 'renew',
        private_metadata: JSON.stringify({ channelId: DOMAINS }),
        state: { values: { names: { names: { value: 'tapas.rest' } }, period: { period: { value: '1' } } } },
      },
    }),
  ];
  for (const body of bodies)
    expect(await postDelivery(body, { 'content-type': FORM, ...signBody(body) })).toBe(200);
  const home = JSON.stringify({
    type: 'event_callback',
    team_id: 'T0OTHER',
    event: { type: 'app_home_opened', user: 'U0ALICE', tab: 'home' },
  });
  const countPublishedHomes = () => workspace.calls.filter(({ method }) => method === 'views.publish').length;
  const before = countPublishedHomes();
  await postDelivery(home, { 'content-type': 'application/json', ...signBody(home) });
  await readCommandReply(workspace, alice, '/domain whoami');
  expectNoEffect();
  expect(countPublishedHomes(), 'Home tabs published').toBe(before);
  const helpReplies = workspace.calls.filter(
    ({ method, args }) => method === 'response_url' && JSON.stringify(args).includes('/domain renew NAME'),
  );
  expect(helpReplies.length, 'help for the other workspace').toBeLessThanOrEqual(1);
  expect(workspace.messages(DOMAINS)).toHaveLength(1);
});

/** Bodies that Slack would never send. */
const malformedBody: fc.Arbitrary<{ readonly type: string; readonly body: string }> = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 400 }).map((body) => ({ type: FORM, body })),
  fc.string({ maxLength: 200 }).map((text) => ({ type: FORM, body: `payload=${encodeURIComponent(text)}` })),
  fc.json({ maxDepth: 3 }).map((body) => ({ type: 'application/json', body })),
  fc
    .json({ maxDepth: 3 })
    .map((json) => ({ type: FORM, body: `payload=${encodeURIComponent(json)}&payload=${json}` })),
  fc
    .record({
      type: fc.constantFrom('block_actions', 'view_submission', 'message_action', 'block_suggestion', ''),
      user: fc.oneof(fc.constant(null), fc.record({ id: fc.oneof(fc.constant('U0MALLORY'), fc.integer()) })),
      trigger_id: fc.oneof(fc.constant('t'), fc.integer()),
      actions: fc.oneof(
        fc.constant([]),
        fc.constant([{ action_id: 'order_approve', action_ts: '1', value: {} }]),
        fc.constant([{ action_id: '__proto__', action_ts: '1', value: 'x' }]),
      ),
      view: fc.oneof(
        fc.constant(null),
        fc.record({
          id: fc.string(),
          callback_id: fc.constantFrom('renew', 'link', 'settings', 'constructor'),
          private_metadata: fc.string(),
          state: fc.anything({ maxDepth: 2 }),
        }),
      ),
    })
    .map((payload) => ({
      type: FORM,
      body: `payload=${encodeURIComponent(String(JSON.stringify(payload)))}`,
    })),
  fc
    .record({
      event: fc.oneof(fc.constant({ type: 'app_home_opened', user: 7 }), fc.anything({ maxDepth: 2 })),
    })
    .map((rest) => ({
      type: 'application/json',
      body: String(JSON.stringify({ type: 'event_callback', team_id: 'T0STEWARD', ...rest })),
    })),
  fc
    .array(
      fc.tuple(
        fc.constantFrom('command', 'text', 'team_id', 'user_id', 'trigger_id', '__proto__', 'a[b]'),
        fc.oneof(fc.constant('/domain'), fc.string({ maxLength: 40 })),
      ),
    )
    .map((pairs) => ({ type: FORM, body: new URLSearchParams(pairs).toString() })),
);

function measureHeapAfterGc(): number {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  collect();
  return process.memoryUsage().heapUsed;
}

test(`${BODIES} malformed bodies, half of them signed, have no effect (SEED=${SEED})`, async () => {
  const samples = fc.sample(malformedBody, { seed: SEED, numRuns: BODIES });
  const send = async ({ type, body }: (typeof samples)[number], index: number) => {
    const headers: Record<string, string> = { 'content-type': type, ...signBody(body) };
    if (index % 2 === 0) headers['x-slack-signature'] = `v0=${'a'.repeat(64)}`;
    return postDelivery(body, headers);
  };
  const statuses = new Map<number, number>();
  const sendRange = async (from: number, to: number) => {
    // Bolt answers deliveries without a listener after 3 s, so many are sent together.
    for (const status of await Promise.all(samples.slice(from, to).map((each, n) => send(each, from + n))))
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
  };
  const batchSize = Math.max(BODIES / 10, 250);
  await sendRange(0, batchSize);
  const before = measureHeapAfterGc();
  for (let from = batchSize; from < BODIES; from += batchSize) await sendRange(from, from + batchSize);
  const heapGrowth = measureHeapAfterGc() - before;

  // Bodies with a forged signature are refused.
  const refused = (statuses.get(401) ?? 0) + (statuses.get(400) ?? 0);
  expect(refused, JSON.stringify([...statuses])).toBeGreaterThanOrEqual(BODIES / 2);
  expect(heapGrowth / 1e6, 'heap growth in MB since the first batch').toBeLessThan(24);
  expectNoEffect();
  expect(await readCommandReply(demo.workspace, alice, '/domain whoami')).toContain('alice in context 4');
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
}, 120_000);

describe('public HTTP endpoints', () => {
  test('show no personal data in the metrics', async () => {
    const text = await (await fetch(`${url}/metrics`)).text();
    expect(text).toContain('domain_steward_orders{state="PENDING"} 1');
    for (const personalData of ['U0ALICE', 'alice', 'cafe.rest', order.id, DOMAINS, demo.workspace.teamId]) {
      expect(text.includes(personalData), `"${personalData}" in the metrics`).toBe(false);
    }
  });

  test('require the token for a calendar feed', async () => {
    for (const path of ['/calendar', '/calendar/.ics', `/calendar/${'A'.repeat(43)}.ics`]) {
      const response = await fetch(`${url}${path}`);
      expect([path, response.status]).toEqual([path, 404]);
      expect(await response.text()).toBe('{"error":"not found"}');
    }
  });
});

describe('the demo', () => {
  const canConnect = (host: string, port: number) =>
    new Promise<boolean>((resolve) => {
      const socket = connect({ host, port });
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });

  test('listens only on loopback with its page, bot and sandbox', async () => {
    const ports = [demo.url, url, demo.service.jsonUrl].map((each) => Number(new URL(each).port));
    for (const port of ports) {
      expect(await canConnect('127.0.0.1', port), `port ${port}`).toBe(true);
      // A server that listens on all addresses answers here too.
      expect(await canConnect('127.0.0.2', port), `port ${port} on another address`).toBe(false);
    }
  });

  const fetchStatus = (host: string) =>
    new Promise<number>((resolve, reject) => {
      const { port } = new URL(demo.url);
      request({ host: '127.0.0.1', port, path: '/local/time', headers: { host } }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      })
        .on('error', reject)
        .end();
    });

  test('refuses its page to requests with another host name', async () => {
    const { port } = new URL(demo.url);
    expect(await fetchStatus(`localhost:${port}`)).toBe(200);
    for (const host of ['evil.example', `localhost.evil.example:${port}`, '0.0.0.0', '127.0.0.1.nip.io']) {
      expect([host, await fetchStatus(host)]).toEqual([host, 403]);
    }
  });
});

test('a person who sends too many commands learns when to try again; others aren’t limited', async () => {
  const carol = demo.workspace.as('U0CAROL');
  const bob = demo.workspace.as('U0BOB');
  const replies = () => carol.ephemerals().map(({ text }) => text);
  await Promise.all(Array.from({ length: COMMAND_LIMIT + 3 }, () => carol.command(DOMAINS, '/domain help')));
  await demo.workspace.waitFor(() => (replies().length >= COMMAND_LIMIT + 3 ? true : undefined), {
    what: 'a reply to every command',
  });
  const refused = replies().filter((text) => text.includes('Too many commands'));
  expect(refused).toHaveLength(3);
  expect(refused[0]).toMatch(/Try again in \d+ seconds?\.$/);
  expect(await readCommandReply(demo.workspace, bob, '/domain whoami')).not.toContain('Too many');
});

test('clicks count like commands: a person with too many learns when to try again', async () => {
  const ada = demo.workspace.as('U0ADA');
  const replies = () => ada.ephemerals().map(({ text }) => text);
  const before = replies().length;
  const { card } = order;
  await Promise.all([
    ...Array.from({ length: 5 }, () => ada.command(DOMAINS, '/domain help')),
    ...Array.from({ length: COMMAND_LIMIT - 2 }, () => ada.click(card, 'order_approve')),
  ]);
  await demo.workspace.waitFor(() => (replies().length >= before + COMMAND_LIMIT + 3 ? true : undefined), {
    what: 'a reply to every command and click',
  });
  const refused = replies().filter((text) => text.includes('Too many commands and clicks'));
  expect(refused).toHaveLength(3);
  expect(refused[0]).toMatch(/Try again in \d+ seconds?\.$/);
  expect(replies().filter((text) => text.includes('Only approvers can approve'))).not.toEqual([]);
});

test('a person who guesses passwords is limited; others aren’t', async () => {
  const bob = demo.workspace.as('U0BOB');
  const form = await openForm(demo.workspace, bob, '/domain link');
  const attempt = (password: string) => bob.submit(form, { user: 'alice', context: '4', password });
  const countRequests = () => demo.service.requests.length;
  // All at once, as a program would.
  const before = countRequests();
  const refused = await Promise.all(Array.from({ length: 13 }, (_, n) => attempt(`guess-${n}`)));
  const tooMany = refused.filter((answer) => JSON.stringify(answer).includes('Too many attempts'));
  expect(tooMany).toHaveLength(3);
  expect(countRequests() - before, 'requests to the service').toBe(10);
  const result = await attempt('alice-sandbox-password');
  expect(result, 'the right password after too many attempts').toMatchObject({
    outcome: 'errors',
    errors: { password: expect.stringMatching(/Too many attempts.*Try again in 60 minutes/) },
  });
  expect(countRequests() - before).toBe(10);
  // Correct passwords are never limited.
  for (let n = 0; n < 12; n += 1) await link(demo.workspace, alice);
});
