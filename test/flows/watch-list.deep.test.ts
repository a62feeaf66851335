import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Demo, startDemo } from '../../demo/demo.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { DOMAINS, textOf } from '../support/demo.ts';
import { type RunningWhois, startWhois } from '../support/whois-server.ts';

/* Watching fifty names takes at most 30 seconds, with registries and WHOIS servers of all kinds. */

const DAY_MS = 86_400_000;
const LIST_MS = 30_000;
const recordOf = (name: string) =>
  `Domain: ${name}\r\nRegistrar: Caf\xe9 Names\r\nRegistry Expiry Date: 2031-05-04T10:00:00Z\r\n`;
/** Response by zone; each zone has its own server. */
const WHOIS: Readonly<Record<string, (name: string) => string | Buffer | undefined>> = {
  io: (name) => Buffer.from(recordOf(name), 'latin1'),
  hk: () => undefined,
  tw: () => Buffer.alloc(10_000_000, 'x'),
  kr: (name) => `Domain: ${name}\r\nRegistrar: LIMIT EXCEEDED\r\nRegistry Expiry Date: 2031-05-04\r\n`,
  ru: () => recordOf('other.ru'),
  kg: () => 'No match\r\n',
};

let database: TestDatabase;
let dataDir: string;
let demo: Demo;
const servers = new Map<string, RunningWhois>();

beforeAll(async () => {
  database = await createTestDatabase();
  dataDir = await mkdtemp(join(tmpdir(), 'domain-steward-list-'));
  for (const [zone, answer] of Object.entries(WHOIS))
    servers.set(zone, await startWhois((query) => answer(query.trim())));
  // Nothing listens on this port anymore.
  const refusing = await startWhois(() => undefined);
  refusing.close();
  servers.set('museum', refusing);
  const places = [...servers].map(([zone, { server }]) => `${zone}=${server.host}:${server.port}`);
  demo = await startDemo({
    ...{ port: 0, dataDir, databaseUrl: database.url, watchOnly: true },
    settings: { WHOIS: 'auto', WHOIS_SERVERS: places.join() },
  });
});
afterAll(async () => {
  await demo.stop();
  for (const server of servers.values()) server.close();
  await database.drop();
  await rm(dataDir, { recursive: true, force: true });
});

test('watching fifty names shows a line for each within 30 seconds, with no unpublished dates', async () => {
  const registered = Array.from({ length: 25 }, (_, n) => `n${n}.rest`);
  const expires = demo.service.clock.registryTime() + 100 * DAY_MS;
  for (const name of registered) demo.service.state.addDomain({ name, context: 4, expires });
  const dated = ['a.io', 'b.io', 'c.io'];
  const undated = [
    ...['free1.rest', 'free2.rest', 'a.hk', 'b.hk', 'c.hk', 'd.hk', 'e.hk', 'a.tw', 'b.tw', 'a.kr', 'b.kr'],
    ...[
      'a.ru',
      'b.ru',
      'a.kg',
      'b.kg',
      'a.museum',
      'b.museum',
      'c.museum',
      'd.museum',
      'e.museum',
      'f.museum',
    ],
    'g.museum',
  ];
  const names = [...registered, ...dated, ...undated];
  expect(names).toHaveLength(50);

  const ada = demo.workspace.as('U0ADA');
  const startedAt = performance.now();
  await ada.command(DOMAINS, `/domain watch ${names.join(' ')}`);
  const message = await demo.workspace.waitFor(
    () => ada.ephemerals().find(({ text }) => text === '50 names watched'),
    { what: 'a line per name', timeoutMs: LIST_MS },
  );
  expect(performance.now() - startedAt).toBeLessThan(LIST_MS);
  const answer = textOf(message);
  const lineOf = (name: string) => answer.split('\n').find((line) => line.includes(`*${name}*`)) ?? '';
  for (const name of registered) expect(lineOf(name)).toMatch(/in 100 days\), from the registry/);
  for (const name of dated) expect(lineOf(name)).toMatch(/4 May 2031 .*, from WHOIS · Café Names/);
  for (const name of undated) expect(lineOf(name)).toMatch(/expiry unknown/);
  const unread = undated.filter((name) => /\.(?:hk|tw|kr|ru|museum)$/.test(name));
  for (const name of unread) expect(lineOf(name)).not.toContain('publishes no dates');
}, 60_000);
