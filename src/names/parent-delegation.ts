import type { DelegationAnswer } from '../registry/dns/client.ts';
import { ABSENT, type Fact, type Facts, factValue, isSameValue, seen, unseen } from './facts.ts';
import type { NameHistory } from './history.ts';
import { dsText } from './observe.ts';

/**
 * A guarded name's delegation, from its parent zone's servers. Servers may be outdated, fail or be poisoned, so the
 * majority is used. Pure.
 */

const PARENT_FACTS = ['parent_nameservers', 'ds'] as const;
type ParentFact = (typeof PARENT_FACTS)[number];

export type KnownDelegation = Pick<NameHistory, ParentFact>;

/** A refusal or failure is no statement about the name. */
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

/** Differs from the known value, or resolves an uncertainty: a single sighting, or a time without answers. */
export function isNewSighting(known: KnownDelegation, facts: Facts): boolean {
  return PARENT_FACTS.some((fact) => {
    const value = factValue(facts[fact]);
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

/** The lookup confirmed another delegation. */
export function isChanged(before: KnownDelegation, after: KnownDelegation): boolean {
  return PARENT_FACTS.some((fact) => {
    const [was, is] = [before[fact]?.current, after[fact]?.current];
    return was !== undefined && is !== undefined && was.firstSeen.getTime() !== is.firstSeen.getTime();
  });
}

/**
 * Facts without a majority are missing; so is a fact with a single answer when there are more servers.
 * @param answers from all servers of one lookup
 */
export function findMajority(answers: readonly Facts[]): Facts {
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
