import { Resolver } from 'node:dns/promises';
import { z } from 'zod';
import { createUnknownFact } from '../../src/names/facts.ts';
import { createLookupPlanner, scheduleNextLookup } from '../../src/names/lookup-planner.ts';
import { createDnsObserver } from '../../src/names/observe.ts';
import { createDnsClient } from '../../src/registry/dns/client.ts';
import { createParentZones } from '../../src/registry/dns/parent-zones.ts';
import { type Bench, createHeapMeter, type Line, measureAlternately, type Row } from '../measure.ts';
import { startProcess } from '../processes.ts';

/*
 * DNS lookups of names, with the concurrency of one bot process. The reference asks as many questions, counted at the
 * server, with Node's own resolver, which supports neither DS nor DNSKEY and asks for other types instead. Also,
 * scheduling the lookups of a million names.
 */

const MIN_RATIO = 0.7;
const CONCURRENCY = 8;
const PLANNED_NAMES = 1_000_000;
/** If memory grew with the number of names, a million names would need more. */
const MAX_MB = 5;

async function* measure({ effort, progress }: Bench): AsyncGenerator<Line> {
  const amount = effort.quick ? 20 : 2_000;
  const dns = await startProcess('dns.ts');
  try {
    const resolver = new Resolver();
    resolver.setServers([`127.0.0.1:${dns.port}`]);
    const client = createDnsClient({
      resolvers: [{ address: '127.0.0.1', port: dns.port }],
      mayConnect: () => true,
    });
    const now = () => new Date();
    const observer = createDnsObserver(
      client,
      createParentZones(client, now),
      async () => createUnknownFact('stale'),
      now,
    );
    let next = 0;
    const measureRate = async (lookUp: (name: string) => Promise<unknown>): Promise<number> => {
      const startedAt = performance.now();
      const last = next + amount;
      const lookUpNext = async () => {
        while (next < last) await lookUp(`name-${next++}.bench`);
      };
      await Promise.all(Array.from({ length: CONCURRENCY }, lookUpNext));
      return (amount * 1_000) / (performance.now() - startedAt);
    };
    const ours = (round: number) => {
      progress(round < 0 ? 'warming up' : `round ${round + 1}`);
      return measureRate(async (name) => {
        const { facts } = await observer.observe(name);
        if (facts.a?.state !== 'seen' || facts.parent_nameservers?.state !== 'seen')
          throw new Error(`no records were found for ${name}`);
      });
    };
    let questions = 0;
    const theirs = () => measureRate((name) => askDirectly(resolver, name, questions));
    const readQuestionCount = async () => (await dns.ask({}, z.object({ asked: z.number() }))).asked;
    await ours(-1);
    // Besides these, the servers of the parent zone are looked up once.
    questions = Math.floor((await readQuestionCount()) / amount);
    await theirs();
    if ((await readQuestionCount()) !== questions * amount)
      throw new Error('the reference asks a different number of questions');
    yield {
      row: 'observe',
      what: `names looked at by DNS, ${CONCURRENCY} at once`,
      reference: "Node's resolver, as many questions",
      unit: '/s',
      ...(await measureAlternately(effort.rounds, ours, theirs)),
      target: { of: 'ratio', kind: 'at least', value: MIN_RATIO },
    };
  } finally {
    await dns.stop();
  }
  yield {
    row: 'observe',
    what: `memory taken by planning looks at ${PLANNED_NAMES} names`,
    reference: '',
    unit: 'MB',
    ours: [measurePlanningMb(effort.quick ? 1_000 : PLANNED_NAMES)],
    theirs: [],
    target: { of: 'ours', kind: 'at most', value: MAX_MB },
  };
}

/** Questions like those of a lookup; the first four return records. */
const QUESTIONS: readonly ((resolver: Resolver, name: string) => Promise<unknown>)[] = [
  (resolver, name) => resolver.resolveNs(name),
  (resolver, name) => resolver.resolveNs(`parent.${name}`),
  (resolver, name) => resolver.resolve4(name),
  (resolver, name) => resolver.resolve4(`www.${name}`),
  (resolver, name) => resolver.resolveSoa(name),
  (resolver, name) => resolver.resolveCname(name),
  (resolver, name) => resolver.resolveCname(`www.${name}`),
  (resolver, name) => resolver.resolve6(name),
  (resolver, name) => resolver.resolve6(`www.${name}`),
  (resolver, name) => resolver.resolveMx(name),
  (resolver, name) => resolver.resolveCaa(name),
  (resolver, name) => resolver.resolveTxt(name),
  (resolver, name) => resolver.resolveTxt(`_dmarc.${name}`),
  (resolver, name) => resolver.resolveSrv(name),
  (resolver, name) => resolver.resolvePtr(name),
];

async function askDirectly(resolver: Resolver, name: string, questions: number): Promise<void> {
  const answers = await Promise.allSettled(QUESTIONS.slice(0, questions).map((ask) => ask(resolver, name)));
  if (answers.slice(0, 4).some(({ status }) => status === 'rejected'))
    throw new Error(`no records were found for ${name}`);
}

function measurePlanningMb(names: number): number {
  const planner = createLookupPlanner(100_000);
  const now = new Date('2027-06-15T09:00:00Z');
  const heap = createHeapMeter();
  for (let n = 0; n < names; n += 1) {
    const expiresAt = new Date(now.getTime() + (n % 700) * 86_400_000);
    const name = { expiresAt, isGuarded: false, isChanging: false, hasUnconfirmedChange: false };
    const dueAt = scheduleNextLookup('dns', name, now, (n % 1_000) / 1_000);
    planner.reserve(`registry-${n % 100}`, false, dueAt);
    if (n % (names / 10) === 0) heap.sample();
  }
  return heap.growthMb();
}

export const observe: Row = { id: 'observe', seconds: 60, measure };
