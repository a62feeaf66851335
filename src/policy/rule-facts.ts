import type { Amount } from '../money/amount.ts';
import type { PolicyFacts, PolicyOrder } from './evaluate.ts';
import { isGroup, type PolicyRule, tagOfPattern } from './policy.ts';
import { subjectOf } from './subject.ts';

/* Reads the facts that the evaluation of an order needs. Only facts that a rule looks at are read. */

/**
 * The sources of facts. A source leaves out what it does not know, and the evaluation counts that against the order.
 */
export interface FactSources<Task extends string = string> {
  readonly directory: {
    /** The members of a group; undefined when Slack does not tell. */
    membersOf(groupId: string): Promise<readonly string[] | undefined>;
  };
  readonly ruleFacts: {
    /** Of the amount of zero for what is known to cost nothing. */
    readonly currency: string;
    /** Known prices per name. */
    pricesOf(order: FactOrder<Task>): Promise<PolicyFacts['prices']>;
    /** The tags of hosts themselves, without their parents; one that is missing is one whose tags are not known. */
    tagsOf(hosts: readonly string[]): Promise<PolicyFacts['tags']>;
  };
}

/** An order with everything that its facts are read by. */
export interface FactOrder<Task extends string = string> extends PolicyOrder {
  readonly task: Task;
  /** The task's input; its period matters. */
  readonly input: unknown;
  readonly facts: PolicyFacts['task'];
  /** Whether the task is known to cost nothing for a name. */
  readonly isFree: (name: string) => boolean;
}

/**
 * Gathers what rules look at.
 * @param rules of every policy that the order is to be evaluated under
 */
export async function gatherFacts<Task extends string>(
  { directory, ruleFacts }: FactSources<Task>,
  rules: readonly PolicyRule[],
  order: FactOrder<Task>,
): Promise<PolicyFacts> {
  const groupIds = [...new Set(rules.flatMap(({ by }) => by.filter(isGroup)))];
  const hosts = order.names.flatMap((name) => subjectOf(name, order.facts.nameKind).hosts);
  const usesTags = rules.some(({ names }) => names.some((name) => tagOfPattern(name) !== undefined));
  const usesPrices = rules.some(({ over }) => over !== undefined);
  const [members, tags, prices] = await Promise.all([
    Promise.all(groupIds.map(async (id) => [id, await directory.membersOf(id)] as const)),
    usesTags ? ruleFacts.tagsOf([...new Set(hosts)]) : new Map<string, readonly string[]>(),
    usesPrices ? ruleFacts.pricesOf(order) : new Map<string, Amount>(),
  ]);
  return {
    task: order.facts,
    tags,
    groups: new Map(members.flatMap(([id, users]) => (users === undefined ? [] : [[id, new Set(users)]]))),
    prices: usesPrices ? withFreeNames(order, prices, ruleFacts.currency) : prices,
  };
}

function withFreeNames(
  { names, isFree }: FactOrder,
  prices: PolicyFacts['prices'],
  currency: string,
): PolicyFacts['prices'] {
  const free = names.filter(isFree).map((name) => [name, { currency, minor: 0 }] as const);
  return new Map([...free, ...prices]);
}
