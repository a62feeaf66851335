import type { DelegationAnswer } from '../registry/dns/client.ts';
import {
  ABSENT,
  createFact,
  createUnknownFact,
  type Fact,
  type Facts,
  getFactValue,
  isSameValue,
} from './facts.ts';
import type { NameHistory } from './history.ts';
import { formatDs } from './observe.ts';

/**
 * The delegation of a guarded name, according to the servers of its parent zone. A server may be outdated or
 * failing, and an answer may be forged, so the majority counts.
 */

const PARENT_FACTS = ['parent_nameservers', 'ds'] as const;
type ParentFact = (typeof PARENT_FACTS)[number];

export type KnownDelegation = Pick<NameHistory, ParentFact>;

/** If a server refuses or fails, the facts are unknown. */
export function toDelegationFacts(answer: DelegationAnswer): Pick<Facts, ParentFact> {
  switch (answer.kind) {
    case 'delegated':
      return {
        parent_nameservers: createFact(answer.nameservers),
        ds:
          answer.ds === undefined ? createUnknownFact('not_published') : createFact(answer.ds.map(formatDs)),
      };
    case 'not_delegated':
      return { parent_nameservers: ABSENT, ds: ABSENT };
    case 'unanswered':
      return { parent_nameservers: createUnknownFact(answer.failure), ds: createUnknownFact(answer.failure) };
  }
}

/**
 * Whether the facts must be stored: they differ from the known value, confirm or reject a candidate, or are
 * the first after a time without answers.
 */
export function isNewSighting(knownDelegation: KnownDelegation, facts: Facts): boolean {
  return PARENT_FACTS.some((fact) => {
    const value = getFactValue(facts[fact]);
    if (value === undefined) return false;
    const { current, candidate, unseen } = knownDelegation[fact] ?? {};
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
    const [beforeFirstSeen, afterFirstSeen] = [
      before[fact]?.current?.firstSeen,
      after[fact]?.current?.firstSeen,
    ];
    if (beforeFirstSeen === undefined || afterFirstSeen === undefined) return false;
    return beforeFirstSeen.getTime() !== afterFirstSeen.getTime();
  });
}

/**
 * A fact is unknown if its answers have no majority, or if only one of several servers answered.
 * @param answers from all servers in one lookup
 */
export function findMajorityFacts(answers: readonly Facts[]): Facts {
  return Object.fromEntries(PARENT_FACTS.map((fact) => [fact, findFactMajority(fact, answers)]));
}

function findFactMajority(fact: ParentFact, answers: readonly Facts[]): Fact {
  const facts = answers.map((answer) => answer[fact] ?? createUnknownFact('stale'));
  const knownFacts = facts.filter(({ state }) => state !== 'unseen');
  const majority = knownFacts.find(
    (candidate) =>
      knownFacts.filter((other) => isSameFact(fact, candidate, other)).length * 2 > knownFacts.length,
  );
  const hasTooFewAnswers = knownFacts.length < Math.min(2, answers.length);
  if (majority !== undefined && !hasTooFewAnswers) return majority;
  const unknownFact = knownFacts.length > 1 ? undefined : facts.find(({ state }) => state === 'unseen');
  return unknownFact ?? createUnknownFact('servers_disagree');
}

function isSameFact(fact: ParentFact, one: Fact, other: Fact): boolean {
  return isSameValue(fact, getFactValue(one) ?? [], getFactValue(other) ?? []);
}
