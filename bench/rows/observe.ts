import { Resolver } from 'node:dns/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { z } from 'zod';
import { createUnseenFact } from '../../src/names/facts.ts';
import { createLookupPlanner, scheduleNextLookup } from '../../src/names/lookup-planner.ts';
import { createDnsObserver } from '../../src/names/observe.ts';
import { createDnsClient } from '../../src/registry/dns/client.ts';
import { createParentZones } from '../../src/registry/dns/parent-zones.ts';
import { type Bench, type Line, measureAlternately, type Row } from '../measure.ts';
import { startProcess } from '../processes.ts';

/*
 * DNS lookups of names, with the concurrency of one bot process. The reference asks as many questions, counted at the
 * server, with Node's own resolver, which supports neither DS nor DNSKEY and asks for other types instead. Also,
 * scheduling the lookups of a million names.
 */

const LEAST = 0.7;
const AT_ONCE = 8;
const PLANNED = 1_000_000;
/** If memory grew with a million names, it would grow by more. */
const FLAT_MB = 5;

async function* measure({ effort, progress }: Bench): AsyncGenerator<Line> {
  const amount = effort.quick ? 20 : 2_000;
  const dns = await startProcess('dns.ts');
  try {
    const resolver = new Resolver();
    resolver.setServers([`127.0.0.1:${dns.port}`]);
    const client = createDnsClient({
      servers: [{ address: '127.0.0.1', port: dns.port }],
      mayConnect: () => true,
    });
    const now = () => new Date();
    const observer = createDnsObserver(
      client,
      createParentZones(client, now),
      async () => createUnseenFact('stale'),
      now,
    );
    let next = 0;
    const rate = async (look: (name: string) => Promise<unknown>): Promise<number> => {
      const startedAt = performance.now();
      const last = next + amount;
      const one = async () => {
        while (next < last) await look(`name-${next++}.bench`);
      };
      await Promise.all(Array.from({ length: AT_ONCE }, one));
      return (amount * 1_000) / (performance.now() - startedAt);
    };
    const ours = (round: number) => {
      progress(round < 0 ? 'warming up' : `round ${round + 1}`);
      return rate(async (name) => {
        const { facts } = await observer.observe(name);
        if (facts.a?.state !== 'seen' || facts.parent_nameservers?.state !== 'seen')
          throw new Error(`nothing was seen of ${name}`);
      });
    };
    let questions = 0;
    const theirs = () => rate((name) => askByHand(resolver, name, questions));
    const count = async () => (await dns.ask({}, z.object({ asked: z.number() }))).asked;
    await ours(-1);
    // Besides these, the servers of the parent zone are looked up once.
    questions = Math.floor((await count()) / amount);
    await theirs();
    if ((await count()) !== questions * amount) throw new Error('the reference asks something else');
    yield {
      row: 'observe',
      what: `names looked at by DNS, ${AT_ONCE} at once`,
      reference: "Node's resolver, as many questions",
      unit: '/s',
      ...(await measureAlternately(effort.rounds, ours, theirs)),
      target: { of: 'ratio', kind: 'at least', value: LEAST },
    };
  } finally {
    await dns.stop();
  }
  yield {
    row: 'observe',
    what: `memory taken by planning looks at ${PLANNED} names`,
    reference: '',
    unit: 'MB',
    ours: [memoryOfPlanning(effort.quick ? 1_000 : PLANNED)],
    theirs: [],
    target: { of: 'ours', kind: 'at most', value: FLAT_MB },
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

async function askByHand(resolver: Resolver, name: string, questions: number): Promise<void> {
  const answers = await Promise.allSettled(QUESTIONS.slice(0, questions).map((ask) => ask(resolver, name)));
  if (answers.slice(0, 4).some(({ status }) => status === 'rejected'))
    throw new Error(`nothing was seen of ${name}`);
}

/** The largest growth of the heap while names are scheduled one after the other, in megabytes. */
function memoryOfPlanning(names: number): number {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const planner = createLookupPlanner(100_000);
  const now = new Date('2027-06-15T09:00:00Z');
  collect();
  const before = process.memoryUsage().heapUsed;
  let most = before;
  for (let n = 0; n < names; n += 1) {
    const expiresAt = new Date(now.getTime() + (n % 700) * 86_400_000);
    const name = { expiresAt, isGuarded: false, isChanging: false, hasUnconfirmedChange: false };
    const due = scheduleNextLookup('dns', name, now, (n % 1_000) / 1_000);
    planner.reserve(`registry-${n % 100}`, false, due);
    if (n % (names / 10) === 0) {
      collect();
      most = Math.max(most, process.memoryUsage().heapUsed);
    }
  }
  return (most - before) / 2 ** 20;
}

export const observe: Row = { id: 'observe', seconds: 60, measure };
