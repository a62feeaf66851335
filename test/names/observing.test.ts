import { setMaxListeners } from 'node:events';
import { type StoryContext, setUpStory, startSandboxService, theft } from '@domain-steward/sandbox-service';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createWatchedDomain } from '../../src/expiry/newly-watched.ts';
import { createLog } from '../../src/lib/log.ts';
import { findDependents } from '../../src/names/dependents.ts';
import { createFact, createUnknownFact, type Facts } from '../../src/names/facts.ts';
import { confirmTransfer, lookUpName, saveParentLookup } from '../../src/names/lookup.ts';
import { createLookupPlanner } from '../../src/names/lookup-planner.ts';
import { createDnsObserver } from '../../src/names/observe.ts';
import { NO_FAULTS } from '../../src/names/observe-delegation.ts';
import type { NameRecord, NameRecordStore } from '../../src/names/ports.ts';
import type { NameOrder } from '../../src/names/unexplained-changes.ts';
import type { Order } from '../../src/orders/order.ts';
import { createParentZones } from '../../src/registry/dns/parent-zones.ts';
import { createRdapClient, type RdapClient } from '../../src/registry/rdap/client.ts';
import { createWhoisClient, type WhoisClient } from '../../src/registry/whois/client.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { removeDomain } from '../../src/store/domain-statements.ts';
import { createNameRecordStore } from '../../src/store/name-records.ts';
import { createOrderStore } from '../../src/store/orders.ts';
import { createReminderStore } from '../../src/store/reminders.ts';
import { newOrder } from '../orders/sample.ts';
import { createTestDnsClient, startDns } from '../registry/dns/sandbox-dns.ts';
import { BOT_SIGNER } from '../support/bot-signer.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { namesContextWith } from '../support/names-context.ts';
import { createTestWatchList } from '../support/unprotected.ts';
import { startWhois } from '../support/whois-server.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const LEASE_MS = 2 * 60_000;
const START = Date.UTC(2026, 10, 22);
const NAME = 'cafe.rest';
const never = new AbortController().signal;
setMaxListeners(0, never);

let database: TestDatabase;
let db: Database;
let store: NameRecordStore;
let nowMs: number;
const now = () => new Date(nowMs);

beforeAll(async () => {
  database = await createTestDatabase();
  db = openDatabase({ url: database.url });
});
afterAll(async () => {
  await db.close();
  await database.drop();
});
beforeEach(async () => {
  nowMs = START;
  await db.prisma.domain.deleteMany();
  store = createNameRecordStore(db, 'T0TEAM');
});

async function watch(...names: readonly string[]): Promise<void> {
  const list = createTestWatchList(db);
  for (const name of names) await list.add(createWatchedDomain(name, 'U0ALICE', now()));
}

const unchanged = (updatedRecord: NameRecord) => ({ updatedRecord, observations: [], incident: undefined });

describe('the names to look up', () => {
  test('are those on the watch list', async () => {
    await watch('cafe.rest', 'bar.rest');
    expect(await store.find('cafe.rest')).toMatchObject({ name: 'cafe.rest', history: {}, knownChanges: [] });
    await db.run(removeDomain('bar.rest'));
    expect(await store.find('bar.rest')).toBeUndefined();
    expect(await store.claimDue(now(), LEASE_MS, 10)).toEqual(['cafe.rest']);
  });

  test('are claimed by one process until its claim expires', async () => {
    await watch('cafe.rest', 'bar.rest', 'deli.rest');
    const claims = await Promise.all([1, 2, 3].map(() => store.claimDue(now(), LEASE_MS, 1)));
    expect(claims.flat().sort()).toEqual(['bar.rest', 'cafe.rest', 'deli.rest']);
    expect(await store.claimDue(now(), LEASE_MS, 10)).toEqual([]);
    await db.prisma.domain.updateMany({ data: { leaseUntil: new Date(0) } });
    expect(await store.claimDue(now(), LEASE_MS, 10)).toHaveLength(3);
  });

  test('are looked up on time after the database clock goes back', async () => {
    await watch('cafe.rest');
    await store.claimDue(now(), LEASE_MS, 1);
    await db.prisma.domain.updateMany({ data: { leaseUntil: new Date(Date.now() + 6 * HOUR_MS) } });
    expect(await store.claimDue(now(), LEASE_MS, 1)).toEqual(['cafe.rest']);
  });

  test('requested by a person come before others', async () => {
    await watch('cafe.rest', 'bar.rest', 'deli.rest');
    nowMs += 1_000;
    await store.requestLookup('deli.rest', now());
    expect(await store.claimDue(now(), LEASE_MS, 1)).toEqual(['deli.rest']);
  });

  test('keep a lookup that was saved meanwhile', async () => {
    await watch('cafe.rest');
    const known = await store.find('cafe.rest');
    if (known === undefined) throw new Error('missing name');
    expect(await store.save(known, unchanged({ ...known, isUrgent: false }))).toBe(true);
    expect(await store.save(known, unchanged({ ...known, isUrgent: true }))).toBe(false);
    expect(await store.find('cafe.rest')).toMatchObject({ isUrgent: false, version: 1 });
  });

  test('that depend on another one are found by their records', async () => {
    await watch('cafe.rest', 'bar.rest', 'deli.rest');
    const bar = await store.find('bar.rest');
    if (bar === undefined) throw new Error('missing name');
    const seenNow = { value: ['10 mail.cafe.rest'], firstSeen: now(), lastSeen: now() };
    const mx = { current: seenNow, candidate: undefined, past: [], unseen: undefined };
    await store.save(bar, unchanged({ ...bar, history: { mx } }));
    expect(await store.findPossibleDependents('cafe.rest')).toMatchObject([
      { name: 'bar.rest', mailServers: ['mail.cafe.rest'] },
    ]);
  });
});

test('a new expiry clears decisions about the old one, so that the owner is asked again', async () => {
  await watch('cafe.rest');
  const decided = { snoozedUntil: now(), snoozedBy: 'U0BOB', lapseReason: 'old', lapseRequestedBy: 'U0BOB' };
  await db.prisma.domain.updateMany({
    data: { ...decided, expiresAt: now(), expirySource: 'rdap', ownerId: 'U0BOB' },
  });
  const known = await store.find('cafe.rest');
  if (known === undefined) throw new Error('missing name');
  const at = new Date(now().getTime() + 365 * DAY_MS);
  await store.save(known, unchanged({ ...known, expiry: { at, source: 'rdap' } }));
  expect(await db.prisma.domain.findFirst()).toMatchObject({
    snoozedUntil: null,
    snoozedBy: null,
    lapseReason: null,
    lapseRequestedBy: null,
  });
  const reminders = createReminderStore(db, 'T0TEAM');
  expect(await reminders.listUnaskedNames('2030-01-01', now(), new Date(at.getTime() + 1))).toMatchObject([
    { name: 'cafe.rest', lapse: undefined },
  ]);
});

test('characters that PostgreSQL can’t store are replaced in stored facts', async () => {
  await watch('cafe.rest');
  const known = await store.find('cafe.rest');
  if (known === undefined) throw new Error('missing name');
  const seen = { registrar: ['name:A\0B\ud800'] };
  expect(
    await store.save(known, { ...unchanged(known), observations: [{ origin: 'registry', at: now(), seen }] }),
  ).toBe(true);
  expect((await store.listRegistrySightings('cafe.rest'))[0]?.seen).toEqual({
    registrar: ['name:A\ufffdB\ufffd'],
  });
});

test.each(['UPDATE observations SET origin = name', 'DELETE FROM observations', 'TRUNCATE observations'])(
  'observations can only be added: %s',
  async (statement) => {
    await watch('cafe.rest');
    const known = await store.find('cafe.rest');
    if (known === undefined) throw new Error('missing name');
    const seen = { origin: 'registry', at: now(), seen: { registrar: ['name:Ours'] } } as const;
    await store.save(known, { ...unchanged(known), observations: [seen] });
    await expect(db.prisma.$executeRawUnsafe(statement)).rejects.toThrow('observations are only added');
    expect(await store.listRegistrySightings('cafe.rest')).toContainEqual({ at: now(), seen: seen.seen });
  },
);

describe('redirects that orders have set', () => {
  /** Saves a succeeded redirect order, requested this many minutes after the start. */
  async function redirect(minutes: number, source: string, target: string, changes: Partial<Order> = {}) {
    const createdAt = new Date(START + minutes * 60_000);
    const id = `redirect-${minutes}`;
    const about = { id, deliveryId: id, state: 'SUCCEEDED', task: 'redirect', createdAt } as const;
    const order = newOrder([source], { ...about, input: { source, target }, ...changes });
    expect(await createOrderStore(db, BOT_SIGNER).create({ order, log: [] })).toBeUndefined();
  }
  const findSources = async (name: string) =>
    findDependents(name, await store.findPossibleDependents(name)).redirects.names;

  test('lead to the target of the latest live order of each source', async () => {
    const demo = { account: { ...newOrder([]).account, context: 1 } };
    await redirect(0, 'www.bar.rest', 'https://cafe.rest/menu');
    await redirect(1, 'deli.rest/old', 'cafe.rest');
    await redirect(2, 'info@pub.rest', 'anna@cafe.rest');
    await redirect(3, 'shop.cafe.rest', 'https://cafe.rest/shop');
    await redirect(4, 'demo.rest', 'https://cafe.rest', demo);
    await redirect(5, 'moved.rest', 'https://cafe.rest');
    await redirect(6, 'moved.rest', 'https://elsewhere.example');
    await redirect(7, 'safe.rest', 'https://cafe.rest');
    await redirect(8, 'safe.rest', 'https://elsewhere.example', demo);
    await redirect(9, 'other.rest', 'https://notcafe.rest/cafe.rest');
    await redirect(10, 'accent.rest', 'https://Café.rest.');
    expect(await findSources('cafe.rest')).toEqual(['deli.rest', 'pub.rest', 'safe.rest', 'www.bar.rest']);
    expect(await findSources('xn--caf-dma.rest')).toEqual(['accent.rest']);
    await redirect(11, 'pub.rest', 'https://cafe.rest', { isPrivate: true });
    await redirect(12, 'secret.rest', 'https://cafe.rest', { isPrivate: true });
    const { redirects } = findDependents('cafe.rest', await store.findPossibleDependents('cafe.rest'));
    expect(redirects.privateCount).toBe(1);
    expect(redirects.names).toEqual(['deli.rest', 'pub.rest', 'safe.rest', 'www.bar.rest']);
  });
});

describe('WHOIS', () => {
  test('is queried once a day if the zone has no RDAP, and its registrar opens no incident', async () => {
    let registrar = 'Example Registrar';
    const server = await startWhois(
      () => `Domain Name: cafe.hk\nRegistrar: ${registrar}\nExpiry Date: 03-04-2027\n`,
    );
    const whois = createWhoisClient({ servers: new Map([['hk', server.server]]), now, spacingMs: 0 });
    const t = await arrange({ whois });
    await watch('cafe.hk');
    const known = () => store.find('cafe.hk');
    await lookUpName(t.deps, 'cafe.hk', never);
    expect(await known()).toMatchObject({
      expiry: { at: new Date('2027-04-03'), source: 'whois' },
      doubt: undefined,
      whois: { at: now(), registrar },
    });
    registrar = 'Thief Names';
    for (const hours of [1, 22, 2]) {
      nowMs += hours * HOUR_MS;
      await store.requestLookup('cafe.hk', now());
      await lookUpName(t.deps, 'cafe.hk', never);
      expect(await known()).toMatchObject({ expiry: { source: 'whois' }, doubt: undefined });
    }
    expect(server.queries).toHaveLength(2);
    const { history, knownChanges, whois: last } = (await known()) ?? {};
    expect(last?.registrar).toBe('Thief Names');
    expect(JSON.stringify(history)).not.toContain('Thief');
    expect(knownChanges).toEqual([]);
    server.close();
    await t.close();
  });
});

/** The sandbox's registry and DNS, and lookups of a name there, saved in PostgreSQL. */
async function arrange(
  options: {
    readonly endsInDays?: number;
    readonly orders?: readonly NameOrder[];
    readonly isGuarded?: boolean;
    readonly whois?: WhoisClient;
  } = {},
) {
  const service = await startSandboxService({ now: () => nowMs });
  const dns = await startDns();
  const client = createTestDnsClient(dns, { timeoutMs: 500 });
  const scene: StoryContext = { service, dns, name: NAME };
  await setUpStory(scene);
  service.registry.show(NAME, { expires: nowMs + (options.endsInDays ?? 300) * DAY_MS });
  await watch(NAME);
  const rdap: RdapClient = createRdapClient({
    bootstrapUrl: service.rdapBootstrapUrl,
    userAgent: 'test',
    now,
    spacingMs: 0,
  });
  const deps = namesContextWith({
    records: store,
    rdap,
    whois: options.whois ?? { fetchRecord: async () => ({ kind: 'no_server' }) },
    observer: createDnsObserver(
      client,
      createParentZones(client, now),
      async () => createUnknownFact('no_tls'),
      now,
    ),
    observeDelegation: async () => ({}),
    planner: createLookupPlanner(3_600),
    loadActivity: async () => ({
      orders: options.orders ?? [],
      hasOpenOrder: false,
      incidents: [],
      isGuarded: options.isGuarded ?? false,
    }),
    now,
    log: createLog('silent'),
    random: () => 0,
  });
  const known = async () => {
    const found = await store.find(NAME);
    if (found === undefined) throw new Error('missing record');
    return found;
  };
  return {
    service,
    dns,
    scene,
    deps,
    known,
    lookUp: () => lookUpName(deps, NAME, never),
    hoursTo: (at: Date) => (at.getTime() - nowMs) / HOUR_MS,
    rdapRequests: () => service.requestsFor({ task: 'rdap.domain' }).length,
    async close() {
      await rdap.close();
      await service.close();
    },
  };
}

describe('a lookup', () => {
  test('saves the registry and DNS facts, and schedules the next lookup', async () => {
    const t = await arrange();
    await t.lookUp();
    const { history, nextDnsLookupAt, nextRegistryLookupAt, isUrgent } = await t.known();
    expect(history.mx?.current?.value).toEqual(['10 mail.host.example']);
    expect(history.registrar?.current?.value).toEqual(['iana:9998', 'name:Sandbox Registrar Ltd']);
    expect(t.hoursTo(nextDnsLookupAt)).toBe(24);
    expect(t.hoursTo(nextRegistryLookupAt)).toBe(7 * 24);
    expect(isUrgent).toBe(false);
    await t.close();
  });

  test('requested by a person during another lookup follows it', async () => {
    const t = await arrange();
    const observer = {
      ...t.deps.observer,
      async observe(...given: Parameters<typeof t.deps.observer.observe>) {
        const seen = await t.deps.observer.observe(...given);
        nowMs += 1_000;
        await store.requestLookup(NAME, now());
        return seen;
      },
    };
    await lookUpName(namesContextWith({ ...t.deps, observer }), NAME, never);
    const { nextDnsLookupAt, nextRegistryLookupAt } = await t.known();
    expect([nextDnsLookupAt, nextRegistryLookupAt].map(t.hoursTo)).toEqual([0, 0]);
    expect(await store.claimDue(now(), LEASE_MS, 1)).toEqual([NAME]);
    await t.lookUp();
    expect(t.hoursTo((await t.known()).nextRegistryLookupAt)).toBe(7 * 24);
    await t.close();
  });

  test('is repeated if a person confirms a transfer during it', async () => {
    const t = await arrange();
    const rdap = {
      async fetchRecord(...given: Parameters<typeof t.deps.rdap.fetchRecord>) {
        const answer = await t.deps.rdap.fetchRecord(...given);
        nowMs += 1_000;
        await confirmTransfer(t.deps, NAME);
        return answer;
      },
    };
    await lookUpName(namesContextWith({ ...t.deps, rdap }), NAME, never);
    expect(t.hoursTo((await t.known()).nextRegistryLookupAt)).toBe(0);
    await t.close();
  });

  test('reports a new delegation fault, even if other parts are never seen', async () => {
    const t = await arrange();
    const lookUpWith = (facts: Facts) =>
      lookUpName(namesContextWith({ ...t.deps, observeDelegation: async () => facts }), NAME, never);
    const neverSeen = {
      registrable_domains: createUnknownFact('registry_unavailable'),
      mismatched_ds: createUnknownFact('not_published'),
    };
    await lookUpWith({ ...NO_FAULTS, ...neverSeen });
    const before = now();
    nowMs += DAY_MS;
    const hosts = createFact(['ns1.host.example']);
    await lookUpWith({ ...NO_FAULTS, ...neverSeen, silent_nameservers: hosts });
    nowMs += DAY_MS;
    await lookUpWith({ ...NO_FAULTS, ...neverSeen, silent_nameservers: hosts });
    expect(await store.listNewlyFaultyNames(before, new Date(START + DAY_MS)), 'after one lookup').toEqual(
      [],
    );
    expect(await store.listNewlyFaultyNames(new Date(START + DAY_MS), now())).toEqual([
      { name: NAME, faults: ['lame'] },
    ]);
    await t.close();
  });

  test('at the parent zone confirms a change at the second sighting, even after reversals', async () => {
    const t = await arrange({ isGuarded: true });
    await t.lookUp();
    const sight = async (...hosts: readonly string[]) => {
      nowMs += 60_000;
      const facts = { parent_nameservers: createFact(hosts), ds: createFact([]) };
      return saveParentLookup(t.deps, { name: NAME, at: now(), facts });
    };
    const ours = (await t.known()).history.parent_nameservers?.current?.value ?? [];
    for (let times = 0; times < 3; times += 1) {
      expect([await sight('ns1.thief.example'), await sight('ns1.thief.example')]).toEqual([false, true]);
      expect([await sight(...ours), await sight(...ours)]).toEqual([false, true]);
    }
    await t.close();
  });

  test('sends no query before it is due', async () => {
    const t = await arrange();
    await t.lookUp();
    const [questions, requests] = [t.dns.questions.length, t.rdapRequests()];
    nowMs += 2 * HOUR_MS;
    await t.lookUp();
    expect([t.dns.questions.length, t.rdapRequests()]).toEqual([questions, requests]);
    nowMs += DAY_MS;
    await t.lookUp();
    expect(t.dns.questions.length).toBeGreaterThan(questions);
    expect(t.rdapRequests(), 'the registry is queried weekly').toBe(requests);
    await t.close();
  });

  test('waits for the registry’s budget, and then uses its slot', async () => {
    const t = await arrange();
    // Urgent and routine lookups get half a lookup a second each.
    for (let others = 0; others < 16; others += 1) t.deps.planner.reserve('rest', false, now());
    await t.lookUp();
    expect(t.rdapRequests()).toBe(0);
    const waiting = await t.known();
    expect(waiting).toMatchObject({
      isRegistryReserved: true,
      nextRegistryLookupAt: new Date(START + 2_000),
    });
    for (let others = 0; others < 100; others += 1) t.deps.planner.reserve('rest', false, now());
    nowMs += 2_000;
    await t.lookUp();
    expect(t.rdapRequests()).toBe(1);
    expect(await t.known()).toMatchObject({ isRegistryReserved: false });
    await t.close();
  });

  test('without a registry response is retried after an hour, and keeps the known facts', async () => {
    const t = await arrange();
    await t.lookUp();
    nowMs += 8 * DAY_MS;
    t.service.faults.set({ kind: 'status_500', match: { task: 'rdap.domain' } });
    await t.lookUp();
    const { history, nextRegistryLookupAt } = await t.known();
    expect(history.registration).toMatchObject({
      current: { value: ['registered'] },
      unseen: { reason: 'registry_unavailable' },
    });
    expect(t.hoursTo(nextRegistryLookupAt)).toBe(1);
    await t.close();
  });

  test('saves a change at its second sighting, with the former value and the explaining order', async () => {
    const t = await arrange();
    await t.lookUp();
    theft(t.scene)[0]?.run();
    nowMs += 8 * DAY_MS;
    await t.lookUp();
    const suspected = await t.known();
    expect(suspected.knownChanges).toEqual([]);
    expect(t.hoursTo(suspected.nextRegistryLookupAt), 'the second lookup comes soon').toBe(0.5);
    nowMs += HOUR_MS;
    await t.lookUp();
    const { knownChanges, history } = await t.known();
    expect(knownChanges.map(({ kind, orderId }) => [kind, orderId])).toEqual([
      ['lock', undefined],
      ['lock', undefined],
    ]);
    expect(history.statuses?.past[0]?.value).toContain('client transfer prohibited');
    await t.close();
  });
});
