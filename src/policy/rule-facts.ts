import type { Amount } from '../money/amount.ts';
import type { PolicyFacts, PolicyOrder } from './evaluate.ts';
import { isGroupId, type PolicyRule, parseTagPattern } from './policy.ts';
import { toAffectedName } from './subject.ts';

/** Results omit unknown facts, which makes the evaluation stricter. */
export interface FactSources<Task extends string = string> {
  readonly directory: {
    /** Undefined if Slack can't look up the group. */
    listGroupMembers(groupId: string): Promise<readonly string[] | undefined>;
  };
  readonly ruleFacts: {
    /** Currency of the zero price for free tasks. */
    readonly currency: string;
    /** Returns known prices, keyed by name. */
    loadPrices(order: PolicyQuery<Task>): Promise<PolicyFacts['prices']>;
    /** Returns the hosts' own tags, without their parents' tags. Tags of missing hosts are unknown. */
    loadTags(hosts: readonly string[]): Promise<PolicyFacts['tags']>;
  };
}

export interface PolicyQuery<Task extends string = string> extends PolicyOrder {
  readonly task: Task;
  /** The task's input. Its period affects the price. */
  readonly input: unknown;
  readonly taskFacts: PolicyFacts['task'];
  /** Whether the task is known to be free for a name. */
  readonly isFree: (name: string) => boolean;
}

/** Loads only the facts that the rules use. @param rules the rules of all policies to evaluate */
export async function loadRuleFacts<Task extends string>(
  { directory, ruleFacts }: FactSources<Task>,
  rules: readonly PolicyRule[],
  order: PolicyQuery<Task>,
): Promise<PolicyFacts> {
  const groupIds = [...new Set(rules.flatMap(({ by }) => by.filter(isGroupId)))];
  const hosts = order.names.flatMap((name) => toAffectedName(name, order.taskFacts.nameKind).hosts);
  const usesTags = rules.some(({ names }) => names.some((name) => parseTagPattern(name) !== undefined));
  const usesPrices = rules.some(({ over }) => over !== undefined);
  const [groups, tags, prices] = await Promise.all([
    Promise.all(groupIds.map(async (id) => [id, await directory.listGroupMembers(id)] as const)),
    usesTags ? ruleFacts.loadTags([...new Set(hosts)]) : new Map<string, readonly string[]>(),
    usesPrices ? ruleFacts.loadPrices(order) : new Map<string, Amount>(),
  ]);
  return {
    task: order.taskFacts,
    tags,
    groupMembers: new Map(groups.flatMap(([id, members]) => (members ? [[id, new Set(members)]] : []))),
    prices: usesPrices ? addZeroPrices(order, prices, ruleFacts.currency) : prices,
  };
}

function addZeroPrices(
  { names, isFree }: PolicyQuery,
  prices: PolicyFacts['prices'],
  currency: string,
): PolicyFacts['prices'] {
  const zeroPrices = names.filter(isFree).map((name) => [name, { currency, minor: 0 }] as const);
  return new Map([...zeroPrices, ...prices]);
}
