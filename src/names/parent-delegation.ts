import type { DelegationAnswer } from '../registry/dns/client.ts';
import {
  ABSENT,
  createFact,
  createUnseenFact,
  type Fact,
  type Facts,
  getFactValue,
  isSameValue,
} from './facts.ts';
import type { NameHistory } from './history.ts';
import { formatDs } from './observe.ts';

/**
 * The delegation of a guarded name, according to the servers of its parent zone. A server may be outdated or failing,
 * and an answer may be forged, so the majority counts. Pure.
 */

const PARENT_FACTS = ['parent_nameservers', 'ds'] as const;
type ParentFact = (typeof PARENT_FACTS)[number];

export type KnownDelegation = Pick<NameHistory, ParentFact>;

/** A refusal or failure says nothing about the name. */
export function toDelegationFacts(answer: DelegationAnswer): Pick<Facts, ParentFact> {
  switch (answer.kind) {
    case 'delegated':
      return {
        parent_nameservers: createFact(answer.nameServers),
        ds: answer.ds === undefined ? createUnseenFact('not_published') : createFact(answer.ds.map(formatDs)),
      };
    case 'not_delegated':
      return { parent_nameservers: ABSENT, ds: ABSENT };
    case 'unanswered':
      return { parent_nameservers: createUnseenFact(answer.failure), ds: createUnseenFact(answer.failure) };
  }
}

/**
 * Whether the facts are new: they differ from the known value, settle an unconfirmed one, or end a time without
 * answers.
 */
export function isNewSighting(known: KnownDelegation, facts: Facts): boolean {
  return PARENT_FACTS.some((fact) => {
    const value = getFactValue(facts[fact]);
    if (value === undefined) return false;
    const { current, candidate, unseen } = known[fact] ?? {};
    return (
      current === undefined ||
      candidate !== undefined ||
      unseen !== undefined ||
      !isSameValue(fact, current.value, value)
    );
  });
}

/** Whether the lookup confirmed a different delegation. */
export function hasNewDelegation(before: KnownDelegation, after: KnownDelegation): boolean {
  return PARENT_FACTS.some((fact) => {
    const [old, current] = [before[fact]?.current, after[fact]?.current];
    return (
      old !== undefined && current !== undefined && old.firstSeen.getTime() !== current.firstSeen.getTime()
    );
  });
}

/**
 * A fact without a majority counts as missing, and so does one with a single answer if there are more servers.
 * @param answers from all servers in one lookup
 */
export function findMajority(answers: readonly Facts[]): Facts {
  return Object.fromEntries(PARENT_FACTS.map((fact) => [fact, findFactMajority(fact, answers)]));
}

function findFactMajority(fact: ParentFact, answers: readonly Facts[]): Fact {
  const facts = answers.map((answer) => answer[fact] ?? createUnseenFact('stale'));
  const answered = facts.filter((each) => each.state !== 'unseen');
  const majority = answered.find(
    (each) => answered.filter((other) => isSame(fact, each, other)).length * 2 > answered.length,
  );
  const isSingleAnswer = answered.length < Math.min(2, answers.length);
  if (majority !== undefined && !isSingleAnswer) return majority;
  return answered.length > 1
    ? createUnseenFact('servers_disagree')
    : (facts.find(isUnseen) ?? createUnseenFact('servers_disagree'));
}

function isUnseen({ state }: Fact): boolean {
  return state === 'unseen';
}

function isSame(fact: ParentFact, one: Fact, other: Fact): boolean {
  return isSameValue(fact, getFactValue(one) ?? [], getFactValue(other) ?? []);
}
