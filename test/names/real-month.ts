import { setMaxListeners } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type SandboxDns, startSandboxDns } from '@domain-steward/sandbox-service';
import { groupBy } from '../../src/lib/collections.ts';
import { createLog } from '../../src/lib/log.ts';
import type { Incident } from '../../src/names/incident.ts';
import { createNames, createNamesContext, type Names } from '../../src/names/names.ts';
import { createObservers } from '../../src/names/observers.ts';
import { parseDnsServers } from '../../src/registry/dns/servers.ts';
import { createRdapClient } from '../../src/registry/rdap/client.ts';
import { createBudgetStore } from '../../src/store/budgets.ts';
import { openDatabase } from '../../src/store/database.ts';
import { createIncidentStore } from '../../src/store/incidents.ts';
import { createLeaseStore } from '../../src/store/leases.ts';
import { createImpactStore, createNameRecordStore } from '../../src/store/name-records.ts';
import { createOrderStore } from '../../src/store/orders.ts';
import { createPortfolioStore } from '../../src/store/portfolio.ts';
import { newOrder } from '../orders/sample.ts';
import { BOT_SIGNER } from '../support/bot-signer.ts';
import { createTestDatabase } from '../support/database.ts';
import { newProposalStore } from '../support/proposals.ts';
import { seededRandom } from '../support/seeded.ts';
import { createTestWatchList } from '../support/unprotected.ts';

/*
 * Plays a month of watched names with real parts: PostgreSQL, DNS sockets with three servers per registry,
 * and a registry over HTTP. Only the clock is fake. Names are hijacked amid flaps and outages of every kind.
 */

export interface MonthSizes {
  readonly days: number;
  readonly guardedCount: number;
  readonly otherCount: number;
  /** The number of real changes. */
  readonly guardedChanges: number;
  readonly otherChanges: number;
  /** The number of harmless events of each kind. */
  readonly flapsPerKind: number;
  /** Minutes between two rounds while nothing happens. Around each event, a round runs every minute. */
  readonly stepMinutes: number;
}

/** A real change of a name, and when it was found. */
export interface DetectedChange {
  readonly name: string;
  readonly isGuarded: boolean;
  readonly kind: string;
  readonly changedAt: number;
  /** When its incident was opened; undefined if it was missed. */
  readonly foundAt: number | undefined;
}

export interface MonthResult {
  readonly changes: readonly DetectedChange[];
  /** Incidents of unchanged names. */
  readonly falseAlarms: readonly Incident[];
  readonly questions: number;
  readonly registryRequests: number;
}

const MINUTE_MS = 60_000;
const DAY_MINUTES = 1_440;
/** Leaves time to detect changes of names with weekly lookups. */
const DETECTION_DAYS = 8;
const START = Date.UTC(2026, 10, 1);
const OUR_NAMESERVERS = ['ns1.host.example', 'ns2.host.example'];
const THIEF_NAMESERVERS = ['ns1.thief.example'];
const LOCK_STATUSES = ['client delete prohibited', 'client transfer prohibited'];
const REGISTRY_SERVERS = ['a.nic.rest', 'b.nic.rest', 'c.nic.rest'];
/** How many minutes after an event a round runs every minute. */
const MINUTES_AFTER_EVENT = 6;
const TEAM_ID = 'T0TEAM';
const CONCURRENT_LOOKUPS = 16;

/** The registry's record of a name. */
interface RegistryRecord {
  registrar: string;
  statuses: readonly string[];
  owner: string | undefined;
  isGone: boolean;
  /** The next response shows this registrar instead. */
  flap: string | undefined;
}

/** Starts a registry over HTTP, which also serves the bootstrap file that points to it. */
async function startRegistry(now: () => number) {
  const records = new Map<string, RegistryRecord>();
  let requests = 0;
  let isDown = false;
  const server = createServer((request, response) => {
    const name = request.url?.split('/domain/')[1];
    const answer = (status: number, body: unknown) => {
      response.writeHead(status, { 'content-type': 'application/rdap+json' });
      response.end(JSON.stringify(body));
    };
    if (name === undefined) {
      const { port } = server.address() as AddressInfo;
      return answer(200, { services: [[['rest', 'example'], [`http://127.0.0.1:${port}/`]]] });
    }
    requests += 1;
    if (isDown) return answer(500, {});
    const record = records.get(name);
    return record === undefined || record.isGone
      ? answer(404, {})
      : answer(200, buildRdapRecord(name, record, now()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/bootstrap.json`,
    records,
    requests: () => requests,
    setDown: (down: boolean) => {
      isDown = down;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function buildRdapRecord(name: string, record: RegistryRecord, now: number) {
  const buildVcard = (fn: string) => [
    'vcard',
    [
      ['version', {}, 'text', '4.0'],
      ['fn', {}, 'text', fn],
    ],
  ];
  const registrar = record.flap ?? record.registrar;
  record.flap = undefined;
  return {
    objectClassName: 'domain',
    ldhName: name,
    status: record.statuses,
    events: [
      { eventAction: 'registration', eventDate: new Date(START - 400 * 86_400_000).toISOString() },
      { eventAction: 'expiration', eventDate: new Date(START + 400 * 86_400_000).toISOString() },
      { eventAction: 'last update of RDAP database', eventDate: new Date(now).toISOString() },
    ],
    nameservers: OUR_NAMESERVERS.map((host) => ({ objectClassName: 'nameserver', ldhName: host })),
    entities: [
      { objectClassName: 'entity', roles: ['registrar'], vcardArray: buildVcard(registrar) },
      ...(record.owner === undefined
        ? []
        : [{ objectClassName: 'entity', roles: ['registrant'], vcardArray: buildVcard(record.owner) }]),
    ],
    secureDNS: { delegationSigned: false },
  };
}

type Registry = Awaited<ReturnType<typeof startRegistry>>;

interface World {
  readonly dns: SandboxDns;
  readonly registry: Registry;
  readonly addNameserverOrder: (name: string, nameServers: readonly string[], at: number) => Promise<unknown>;
}

interface MonthEvent {
  readonly minute: number;
  readonly run: (world: World, at: number) => unknown;
}

type Change = (world: World, name: string) => void;
const changeRecord =
  (change: (record: RegistryRecord) => void): Change =>
  ({ registry }, name) => {
    const record = registry.records.get(name);
    if (record !== undefined) change(record);
  };
const DELEGATION_CHANGES: Readonly<Record<string, Change>> = {
  nameservers: ({ dns }, name) => dns.world.delegate(name, THIEF_NAMESERVERS),
  ds: ({ dns }, name) => dns.world.delegate(name, OUR_NAMESERVERS, [`12345 13 2 ${'ab'.repeat(32)}`]),
  delegation_gone: ({ dns }, name) => dns.world.undelegate(name),
};
const REGISTRY_CHANGES: Readonly<Record<string, Change>> = {
  registrar: changeRecord((record) => {
    record.registrar = 'Elsewhere Registrar Inc.';
  }),
  lock: changeRecord((record) => {
    record.statuses = ['active'];
  }),
  hold: changeRecord((record) => {
    record.statuses = ['server hold', ...LOCK_STATUSES];
  }),
  pending_transfer: changeRecord((record) => {
    record.statuses = ['pending transfer', ...LOCK_STATUSES];
  }),
  owner: changeRecord((record) => {
    record.owner = 'Mallory';
  }),
};
const HEALTH_CHANGES: Readonly<Record<string, Change>> = {
  all_lame: ({ dns }, name) => dns.world.drop(name, OUR_NAMESERVERS),
  nameserver_registrable: ({ registry }, name) => {
    const record = registry.records.get(getProvider(name));
    if (record !== undefined) record.isGone = true;
  },
};
const GUARDED_CHANGES = { ...DELEGATION_CHANGES, ...REGISTRY_CHANGES };
const OTHER_CHANGES = { ...DELEGATION_CHANGES, ...REGISTRY_CHANGES, ...HEALTH_CHANGES };

/** The domain of a nameserver that only this name uses. */
const getProvider = (name: string) => `provider-of-${name.replaceAll('.', '-')}.example`;

/** Harmless events, which last for some minutes and mustn't open incidents. */
const FLAPS: Readonly<
  Record<
    string,
    {
      readonly minutes: number;
      begin(world: World, name: string, at: number): unknown;
      end?(world: World, name: string): unknown;
    }
  >
> = {
  'one server is poisoned': {
    minutes: 5,
    begin: ({ dns }, name) => dns.world.delegateAt('a.nic.rest', name, THIEF_NAMESERVERS),
    end: ({ dns }) => dns.world.clearDeviations(),
  },
  'one server has lost the name': {
    minutes: 5,
    begin: ({ dns }, name) => dns.world.delegateAt('b.nic.rest', name, undefined),
    end: ({ dns }) => dns.world.clearDeviations(),
  },
  'all servers flap for less than a minute': {
    minutes: 1,
    begin: ({ dns }, name) => dns.world.delegate(name, THIEF_NAMESERVERS),
    end: ({ dns }, name) => dns.world.delegate(name, OUR_NAMESERVERS),
  },
  'the servers are in another order': {
    minutes: 1,
    begin: ({ dns }, name) => dns.world.delegate(name, OUR_NAMESERVERS.toReversed()),
  },
  'one server refuses': createServerFault('refused', 'c.nic.rest', 10),
  'one server answers for another name': createServerFault('wrong_question', 'a.nic.rest', 1),
  'one server sends garbage': createServerFault('garbage', 'b.nic.rest', 1),
  'one server is silent': createServerFault('silence', 'b.nic.rest', 1),
  'one server asks for TCP': createServerFault('truncate', 'c.nic.rest', 3),
  'all servers refuse': {
    minutes: 12,
    begin({ dns }) {
      for (const server of REGISTRY_SERVERS) dns.faults.set({ kind: 'refused', match: { server } });
    },
    end: ({ dns }) => dns.faults.clear(),
  },
  'the resolver fails': createServerFault('servfail', 'resolver', 40),
  'the registry is down for a day': {
    minutes: DAY_MINUTES,
    begin: ({ registry }) => registry.setDown(true),
    end: ({ registry }) => registry.setDown(false),
  },
  'the registry shows another registrar once': {
    minutes: 1,
    begin: changeRecord((record) => {
      record.flap = 'Flapping Registrar';
    }),
  },
  'the registry hides the owner for a day': {
    minutes: DAY_MINUTES,
    begin: changeRecord((record) => {
      record.owner = undefined;
    }),
    end: changeRecord((record) => {
      record.owner = 'Anna Example';
    }),
  },
  'an order moves the name': {
    minutes: 1,
    begin: async ({ dns, addNameserverOrder }, name, at) => {
      await addNameserverOrder(name, ['ns1.newhost.example', 'ns2.newhost.example'], at);
      dns.world.delegate(name, ['ns1.newhost.example', 'ns2.newhost.example']);
    },
  },
};

function createServerFault(
  kind: 'refused' | 'wrong_question' | 'garbage' | 'silence' | 'truncate' | 'servfail',
  server: string,
  minutes: number,
) {
  return {
    minutes,
    begin: ({ dns }: World) => dns.faults.set({ kind, match: { server } }),
    end: ({ dns }: World) => dns.faults.clear(),
  };
}

/** Plays the month. @param onDay is called once a day */
export async function playMonth(
  sizes: MonthSizes,
  seed: number,
  onDay: (day: number) => void = () => undefined,
): Promise<MonthResult> {
  const random = seededRandom(seed);
  const pickBelow = (limit: number) => Math.floor(random() * limit);
  const clock = { ms: START };
  const now = () => new Date(clock.ms);
  const testDatabase = await createTestDatabase();
  const database = openDatabase({ url: testDatabase.url });
  const dns = await startSandboxDns({ serversPerRegistry: REGISTRY_SERVERS.length });
  const registry = await startRegistry(() => clock.ms);
  const rdap = createRdapClient({ bootstrapUrl: registry.url, userAgent: 'test', now, spacingMs: 0 });
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  const incidents = createIncidentStore(database, TEAM_ID);
  const orders = createOrderStore(database, BOT_SIGNER);
  const names = createNames(
    createNamesContext({
      records: createNameRecordStore(database, TEAM_ID),
      impacts: createImpactStore(database, TEAM_ID),
      incidents,
      pollNotifications: () => undefined,
      certificateWarningDays: [14],
      orders,
      portfolio: createPortfolioStore(database, TEAM_ID),
      rdap,
      ...createObservers(parseDnsServers(dns.resolver), now),
      leases: createLeaseStore(database),
      proposals: newProposalStore(database, TEAM_ID),
      budgets: createBudgetStore(database, TEAM_ID),
      processId: 'month',
      now,
      log: createLog('silent'),
      signal: stop.signal,
    }),
  );
  let orderCount = 0;
  const addNameserverOrder: World['addNameserverOrder'] = (name, nameServers, at) => {
    orderCount += 1;
    const id = `order-${orderCount}`;
    const sentAt = new Date(at);
    const [item] = newOrder([name], { id }).items;
    if (item === undefined) throw new Error('missing item');
    const nameserverOrder = newOrder([name], {
      ...{ id, deliveryId: id, state: 'SUCCEEDED', task: 'nameservers', createdAt: sentAt },
      input: { name, nameServers },
      items: [{ ...item, state: 'SUCCEEDED', sentAt, answeredAt: sentAt, attempts: 1 }],
    });
    return orders.create({ order: nameserverOrder, log: [] });
  };
  const world: World = { dns, registry, addNameserverOrder };

  const guarded = Array.from({ length: sizes.guardedCount }, (_, n) => `guarded-${n}.rest`);
  const others = Array.from({ length: sizes.otherCount }, (_, n) => `other-${n}.rest`);
  for (const host of [...OUR_NAMESERVERS, ...THIEF_NAMESERVERS, 'ns1.newhost.example', 'ns2.newhost.example'])
    await dns.addNameserver(host);
  const newRecord = (): RegistryRecord => ({
    registrar: 'Our Registrar Ltd',
    statuses: ['active', ...LOCK_STATUSES],
    owner: 'Anna Example',
    isGone: false,
    flap: undefined,
  });
  for (const name of [...guarded, ...others]) {
    dns.world.serve(name, [...OUR_NAMESERVERS, 'ns1.newhost.example', 'ns2.newhost.example'], []);
    dns.world.delegate(name, OUR_NAMESERVERS);
    registry.records.set(name, newRecord());
  }
  for (const provider of ['host.example', 'thief.example', 'newhost.example'])
    registry.records.set(provider, newRecord());
  const watchList = createTestWatchList(database);
  const watched = [...guarded, ...others].map((name) => ({ name }));
  await watchList.importBatch(watched, 'U0ALICE', now());
  await database.prisma.domain.updateMany({ where: { name: { in: guarded } }, data: { tags: ['guarded'] } });

  const events: MonthEvent[] = [];
  const madeChanges = new Map<string, { isGuarded: boolean; kind: string; changedAt: number }>();
  const planChange = (name: string, isGuarded: boolean, kind: string, change: Change) => {
    if (kind === 'nameserver_registrable') {
      dns.world.delegate(name, [...OUR_NAMESERVERS, `ns1.${getProvider(name)}`]);
      registry.records.set(getProvider(name), newRecord());
    }
    const minute = DAY_MINUTES + pickBelow((sizes.days - 1 - DETECTION_DAYS) * DAY_MINUTES);
    const run = (_: World, at: number) => {
      madeChanges.set(name, { isGuarded, kind, changedAt: at });
      change(world, name);
    };
    events.push({ minute, run });
  };
  const usedNames = { guarded: 0, others: 0 };
  for (; usedNames.guarded < sizes.guardedChanges; usedNames.guarded += 1) {
    const [kind, change] =
      Object.entries(GUARDED_CHANGES)[usedNames.guarded % Object.keys(GUARDED_CHANGES).length] ?? [];
    if (kind !== undefined && change !== undefined)
      planChange(guarded[usedNames.guarded] ?? '', true, kind, change);
  }
  for (; usedNames.others < sizes.otherChanges; usedNames.others += 1) {
    const [kind, change] =
      Object.entries(OTHER_CHANGES)[usedNames.others % Object.keys(OTHER_CHANGES).length] ?? [];
    if (kind !== undefined && change !== undefined)
      planChange(others[usedNames.others] ?? '', false, kind, change);
  }
  // Each flap affects a different name; outages affect all names.
  for (let n = 0; n < sizes.flapsPerKind; n += 1) {
    for (const { minutes, begin, end } of Object.values(FLAPS)) {
      const pool = usedNames.guarded < sizes.guardedCount ? guarded : others;
      const name = pool === guarded ? guarded[usedNames.guarded++] : others[usedNames.others++];
      if (name === undefined) throw new Error('more flaps than names');
      const minute = 120 + pickBelow((sizes.days - 2) * DAY_MINUTES);
      events.push({ minute, run: (_, at) => begin(world, name, at) });
      if (end !== undefined) events.push({ minute: minute + minutes, run: () => end(world, name) });
    }
  }

  const eventsByMinute = new Map<number, MonthEvent[]>();
  const minutesToRun = new Set<number>();
  for (const each of events) {
    eventsByMinute.set(each.minute, [...(eventsByMinute.get(each.minute) ?? []), each]);
    for (let n = -1; n <= MINUTES_AFTER_EVENT; n += 1) minutesToRun.add(each.minute + n);
  }
  for (let minute = 0; minute < sizes.days * DAY_MINUTES; minute += sizes.stepMinutes)
    minutesToRun.add(minute);

  let questions = 0;
  try {
    for (const minute of [...minutesToRun]
      .filter((each) => each < sizes.days * DAY_MINUTES)
      .sort((a, b) => a - b)) {
      clock.ms = START + minute * MINUTE_MS;
      for (const event of eventsByMinute.get(minute) ?? []) await event.run(world, clock.ms);
      await runMinute(names, clock, sizes.guardedCount);
      questions += dns.clearQuestions();
      if (minute % DAY_MINUTES === 0) onDay(minute / DAY_MINUTES);
    }
    const openIncidents = await incidents.listAllOpen(10_000);
    const changedNamesIncidents = (
      await Promise.all([...madeChanges.keys()].map((name) => incidents.listForName(name, 10)))
    ).flat();
    return {
      changes: [...madeChanges].map(([name, change]) => ({
        name,
        ...change,
        foundAt: changedNamesIncidents
          .filter((incident) => incident.name === name && incident.openedAt.getTime() >= change.changedAt)
          .map(({ openedAt }) => openedAt.getTime())
          .sort((a, b) => a - b)[0],
      })),
      falseAlarms: [
        ...openIncidents.filter(({ name }) => !madeChanges.has(name)),
        ...changedNamesIncidents.filter(
          ({ name, openedAt }) => openedAt.getTime() < (madeChanges.get(name)?.changedAt ?? 0),
        ),
      ],
      questions,
      registryRequests: registry.requests(),
    };
  } finally {
    stop.abort(new Error('the month is over'));
    await rdap.close();
    await registry.close();
    await dns.close();
    await database.close();
    await testDatabase.drop();
  }
}

/** Looks up guarded names once a second, and then all names that are due. */
async function runMinute(names: Names, clock: { ms: number }, guardedCount: number): Promise<void> {
  const seconds = Math.min(58, 4 + Math.ceil(guardedCount / 15));
  for (let second = 0; second < seconds; second += 1) {
    clock.ms += 1_000;
    await names.lookUpGuarded();
  }
  for (;;) {
    const due = await names.claimDue(CONCURRENT_LOOKUPS);
    if (due.length === 0) return;
    await Promise.all(due.map(names.lookUp));
  }
}

/** Formats a Markdown table: the changes of each kind, how many were found, and how long that took. */
export function formatTable({ changes }: MonthResult): string {
  const groups = groupBy(
    changes.toSorted((a, b) => Number(b.isGuarded) - Number(a.isGuarded)),
    ({ isGuarded, kind }) => `${isGuarded ? 'guarded' : 'other'} | \`${kind}\``,
  );
  const rows = [...groups].map(([group, all]) => {
    const delays = all
      .flatMap(({ changedAt, foundAt }) => (foundAt === undefined ? [] : foundAt - changedAt))
      .sort((a, b) => a - b);
    const formatDelay = (index: number) => formatDuration(delays[index]);
    return `| ${group} | ${all.length} | ${delays.length} | ${formatDelay(Math.floor(delays.length / 2))} | ${formatDelay(delays.length - 1)} |`;
  });
  return [
    '| name | change | there were | found | median | longest |',
    '| --- | --- | --- | --- | --- | --- |',
    ...rows,
  ].join('\n');
}

function formatDuration(ms: number | undefined): string {
  if (ms === undefined) return '–';
  if (ms < 10 * MINUTE_MS) return `${Math.round(ms / 1_000)} s`;
  return ms < 48 * 60 * MINUTE_MS ? `${(ms / 3_600_000).toFixed(1)} h` : `${(ms / 86_400_000).toFixed(1)} d`;
}
