import {
  failedMove,
  lapsedDelegation,
  type StoryContext,
  type StoryStep,
  setUpStory,
  startSandboxService,
  theft,
} from '@domain-steward/sandbox-service';
import { request } from 'undici';
import { afterEach, describe, expect, test } from 'vitest';
import { createFact, createUnknownFact } from '../../src/names/facts.ts';
import { collectRecentFacts, mergeObservation, type NameHistory } from '../../src/names/history.ts';
import { assessImpact } from '../../src/names/impact.ts';
import { checkNameservers } from '../../src/names/nameserver-check.ts';
import { createDnsObserver } from '../../src/names/observe.ts';
import { parseRegistryAnswer } from '../../src/names/registry-record.ts';
import {
  explainChanges,
  type IncidentKind,
  type KnownChange,
  type NameOrder,
} from '../../src/names/unexplained-changes.ts';
import { createParentZones } from '../../src/registry/dns/parent-zones.ts';
import { createTestDnsClient, startDns } from '../registry/dns/sandbox-dns.ts';

const DAY = 86_400_000;
const START = Date.UTC(2026, 10, 22);
const NAME = 'cafe.rest';
const NOBODY = { count: 0, privateCount: 0, names: [] };

let closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing) await close();
  closing = [];
});

/** The sandbox's registry and DNS, and the processing of a name's lookups, with a fake clock. */
async function arrange(orders: readonly NameOrder[] = []) {
  let now = START;
  const service = await startSandboxService({ now: () => now });
  closing.push(() => service.close());
  const dns = await startDns();
  const client = createTestDnsClient(dns, { timeoutMs: 500 });
  const observer = createDnsObserver(
    client,
    createParentZones(client, () => new Date(now)),
    () => Promise.resolve(createUnknownFact('no_tls')),
    () => new Date(now),
  );
  const scene: StoryContext = { service, dns, name: NAME };
  await setUpStory(scene);
  let history: NameHistory = {};
  let knownChanges: readonly KnownChange[] = [];
  let halfDays = 0;
  const raised: IncidentKind[] = [];
  const explained = new Set<string>();

  async function lookUp(): Promise<void> {
    const url = new URL(`domain/${NAME}`, service.rdapBootstrapUrl);
    const { statusCode, body } = await request(url);
    const record: unknown = await body.json();
    const origin = { server: 'rdap.example', isSecure: true };
    const answer =
      statusCode === 404
        ? ({ kind: 'not_found', ...origin } as const)
        : ({ kind: 'answered', body: record, ...origin } as const);
    const seenAtRegistry = parseRegistryAnswer(answer, NAME, new Date(now));
    const merged = mergeObservation(history, await observer.observe(NAME));
    const both = mergeObservation(merged.history, seenAtRegistry);
    const changes = [...merged.changes, ...both.changes];
    const found = explainChanges({ changes, history: both.history, orders, knownChanges });
    history = both.history;
    knownChanges = found.knownChanges;
    raised.push(...found.unexplainedChanges.map(({ change }) => change.kind));
    for (const { kind, orderId } of knownChanges) {
      if (orderId !== undefined) explained.add(`${kind} ${orderId}`);
    }
  }

  return {
    scene,
    client,
    raised,
    explained,
    history: () => history,
    facts: () => collectRecentFacts(history, new Date(now), 8 * DAY),
    /** Plays a story until a day, with lookups twice a day. */
    async play(steps: readonly StoryStep[], untilDay: number) {
      for (; halfDays <= untilDay * 2; halfDays += 1) {
        now = START + (halfDays * DAY) / 2;
        for (const step of steps) if (step.day * 2 === halfDays) step.run();
        await lookUp();
      }
    },
  };
}

describe('a hijack', () => {
  test('is reported step by step', async () => {
    const { scene, raised, explained, play } = await arrange();
    const steps = theft(scene);
    await play(steps, 6);
    expect(raised).toEqual(['lock', 'lock', 'pending_transfer']);
    await play(steps, 12);
    expect(raised.slice(3)).toEqual(['registrar', 'nameservers']);
    expect([...explained]).toEqual([]);
  });
});

describe('a failed nameserver change', () => {
  const order: NameOrder = {
    id: 'O1',
    task: 'nameservers',
    state: 'succeeded',
    sentAt: new Date(START + DAY),
    nameServers: ['ns1.newhost.example', 'ns2.newhost.example'],
  };

  test('is predicted by querying the new nameservers', async () => {
    const { client, facts, play } = await arrange();
    await play([], 1);
    const nameserverChecks = await checkNameservers(
      client,
      { name: NAME, currentFacts: facts() },
      order.nameServers ?? [],
    );
    const dependents = { nameservers: NOBODY, mail: NOBODY, redirects: NOBODY };
    const impact = assessImpact({
      task: 'nameservers',
      seenAt: new Date(START),
      facts: facts(),
      earlierFacts: {},
      dependents,
      nameserverChecks,
    });
    expect(impact).toMatchObject({ isInUse: 'yes', areNewNameserversReady: 'no' });
    expect(impact.items).toMatchObject([
      { code: 'new_nameservers_not_authoritative', severity: 'stops', hosts: order.nameServers },
      { code: 'mail', severity: 'stops' },
      { code: 'website', severity: 'stops' },
    ]);
  });

  test('is explained by its order, even while the mail servers are unseen', async () => {
    const { scene, raised, explained, history, play } = await arrange([order]);
    await play(failedMove(scene).slice(0, 1), 3);
    expect(raised).toEqual([]);
    expect([...explained]).toEqual(['nameservers O1']);
    expect(history().mx?.unseen?.reason).toBe('server_failure');
    expect(history().mx?.current?.value).toEqual(['10 mail.host.example']);
  });
});

describe('a lapsed delegation', () => {
  test('raises nothing, and leaves the mail servers unseen', async () => {
    const { scene, raised, facts, play } = await arrange();
    await play(lapsedDelegation(scene), 12);
    expect(raised).toEqual([]);
    expect(facts()).toMatchObject({
      parent_nameservers: createFact(['ns1.host.example', 'ns2.host.example']),
      mx: { state: 'unseen', reason: 'server_failure' },
    });
  });

  test('with a stranger’s zone changes the mail servers', async () => {
    const { scene, facts, history, play } = await arrange();
    await play(lapsedDelegation(scene), 22);
    expect(facts().mx).toEqual(createFact(['10 mail.thief.example']));
    expect(history().mx?.past.map(({ value }) => value)).toEqual([['10 mail.host.example']]);
  });
});
