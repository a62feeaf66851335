import type { DelegationAnswer } from '../registry/dns/client.ts';
import { ABSENT, type Fact, type Facts, factValue, isSameValue, seen, unseen } from './facts.ts';
import type { NameHistory } from './history.ts';
import { dsText } from './observe.ts';

/*
 * What the servers of the zone above say of the delegation of a guarded name, and whether it is news. Pure. Servers of one
 * zone lag behind each other by minutes, are overloaded, and one of them may be poisoned: what one of them says counts when
 * most of them say it.
 */

/** The facts that the zone above shows. */
const PARENT_FACTS = ['parent_nameservers', 'ds'] as const;
type ParentFact = (typeof PARENT_FACTS)[number];

export type KnownDelegation = Pick<NameHistory, ParentFact>;

/** One answer as facts. A server that could not be asked, or refuses, says nothing of the name. */
export function factsOfDelegation(answer: DelegationAnswer): Pick<Facts, ParentFact> {
  switch (answer.kind) {
    case 'delegated':
      return {
        parent_nameservers: seen(answer.nameServers),
        ds: answer.ds === undefined ? unseen('not_told') : seen(answer.ds.map(dsText)),
      };
    case 'not_delegated':
      return { parent_nameservers: ABSENT, ds: ABSENT };
    case 'unanswered':
      return { parent_nameservers: unseen(answer.failure), ds: unseen(answer.failure) };
  }
}

/** Whether a look shows something else than what counts, or ends a doubt: a value seen once, or a time without sight. */
export function isNews(known: KnownDelegation, looked: Facts): boolean {
  return PARENT_FACTS.some((fact) => {
    const value = factValue(looked[fact]);
    if (value === undefined) return false;
    const { current, candidate, unseen: lost } = known[fact] ?? {};
    return (
      current === undefined ||
      candidate !== undefined ||
      lost !== undefined ||
      !isSameValue(fact, current.value, value)
    );
  });
}

/** Whether a look has confirmed that the delegation is another one than before. */
export function isChanged(before: KnownDelegation, after: KnownDelegation): boolean {
  return PARENT_FACTS.some((fact) => {
    const [was, is] = [before[fact]?.current, after[fact]?.current];
    return was !== undefined && is !== undefined && was.firstSeen.getTime() !== is.firstSeen.getTime();
  });
}

/**
 * What most of the servers that answered say. A fact of which no value has most of them is not seen; neither is one of
 * which a single server answered, where there are others.
 * @param answers of all servers of the zone that were asked at this moment
 */
export function majorityOf(answers: readonly Facts[]): Facts {
  return Object.fromEntries(PARENT_FACTS.map((fact) => [fact, majorityOfFact(fact, answers)]));
}

function majorityOfFact(fact: ParentFact, answers: readonly Facts[]): Fact {
  const facts = answers.map((answer) => answer[fact] ?? unseen('stale'));
  const said = facts.filter((each) => each.state !== 'unseen');
  const most = said.find(
    (each) => said.filter((other) => isSame(fact, each, other)).length * 2 > said.length,
  );
  const isAlone = said.length < Math.min(2, answers.length);
  if (most !== undefined && !isAlone) return most;
  return said.length > 1 ? unseen('servers_disagree') : (facts.find(isUnseen) ?? unseen('servers_disagree'));
}

function isUnseen({ state }: Fact): boolean {
  return state === 'unseen';
}

function isSame(fact: ParentFact, one: Fact, other: Fact): boolean {
  return isSameValue(fact, factValue(one) ?? [], factValue(other) ?? []);
}
