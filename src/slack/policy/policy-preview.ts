import { isTeamAccount } from '../../accounts/account.ts';
import { evaluateWithEnvironment, toEvaluationInput, toPolicyQuery } from '../../approvals/requirements.ts';
import { DAY_MS } from '../../lib/duration.ts';
import { mapAmountsByName } from '../../money/order-cost.ts';
import { ORDER_TASK_NAMES, type OrderTaskName } from '../../orders/order.ts';
import { findTask } from '../../orders/tasks.ts';
import type { EffectivePolicy, Policy } from '../../policy/policy.ts';
import { comparePastOrders, type PastOrder } from '../../policy/replay.ts';
import { loadRuleFacts, type PolicyQuery } from '../../policy/rule-facts.ts';
import { parseDomainName } from '../../zones/names.ts';
import { charterNotice } from '../approvals/signing/charter.view.ts';
import type { SlackContext } from '../context.ts';
import { type CommandCall, isAdmin } from '../feature.ts';
import { count, escapeText, textMessage } from '../kit/blocks.ts';
import { formatCsvFile } from '../kit/csv-file.ts';
import { findNearest } from '../kit/parse.ts';
import { formatZoneIssue } from '../names/zone-issue.view.ts';
import { orderTitle } from '../orders/order.view.ts';
import { runWithProgress } from '../outbound/progress.ts';
import { sendFile } from '../send-file.ts';
import {
  needsFile,
  POLICY_TEST,
  policyReplayMessage,
  policyTestMessage,
  REPLAY,
  REPLAY_COLUMNS,
  type ReplayRow,
  type ReplayView,
  replayCells,
} from './policy-preview.view.ts';

const DEFAULT_DAYS = 90;
const MAX_DAYS = 365;
/** A replay holds its orders in memory. If there are more, it uses only the newest. */
const MAX_PAST_ORDERS = 20_000;

type ParsedRequest = { readonly order: PolicyQuery<OrderTaskName> } | { readonly problem: string };

/** The id or mention of a person. */
const PERSON_PATTERN = /^(?:<@)?([UW][A-Z0-9]{2,})(?:\|[^<>]*)?>?$/;

/** Parses the text after `policy test`. */
function parseRequest(words: readonly string[], requesterId: string): ParsedRequest {
  const [first = '', ...rest] = words[0] === '/domain' ? words.slice(1) : words;
  const task = ORDER_TASK_NAMES.find((name) => name === first.toLowerCase());
  if (task === undefined) {
    return { problem: POLICY_TEST.unknownTask(first, findNearest(first.toLowerCase(), ORDER_TASK_NAMES)) };
  }
  const byIndex = rest.findIndex((word) => word.toLowerCase() === 'by');
  const [, person] = byIndex === -1 ? [] : (PERSON_PATTERN.exec(rest[byIndex + 1] ?? '') ?? []);
  if (byIndex !== -1 && (person === undefined || rest.length > byIndex + 2)) {
    return { problem: POLICY_TEST.unknownPerson(rest.slice(byIndex + 1).join(' ')) };
  }
  const nameWords = byIndex === -1 ? rest : rest.slice(0, byIndex);
  const names = nameWords.flatMap((word) => word.split(/[,;]+/)).filter((name) => name !== '');
  return parseNames(task, names, person ?? requesterId);
}

function parseNames(task: OrderTaskName, words: readonly string[], requesterId: string): ParsedRequest {
  const lastWord = words.at(-1);
  const hasPeriod = task === 'renew' && lastWord !== undefined && /^\d{1,2}$/.test(lastWord);
  const nameWords = hasPeriod ? words.slice(0, -1) : task === 'renew' ? words : words.slice(0, 1);
  const input = task === 'renew' ? { period: hasPeriod ? Number(lastWord) : 1 } : {};
  // The text doesn't name an account.
  const request = { task, input, requesterId, usesTeamAccount: false };
  const { zoneTask, nameField, findNames } = findTask(task);
  if (zoneTask === undefined) {
    const names = nameWords.flatMap((word) => findNames({ [nameField]: word }));
    return names.length < nameWords.length
      ? { problem: POLICY_TEST.unreadable(nameWords.join(' ')) }
      : { order: toPolicyQuery({ ...request, names }) };
  }
  if (nameWords.length === 0) return { problem: POLICY_TEST.missingName };
  const names: string[] = [];
  for (const word of nameWords) {
    const name = parseDomainName(word);
    if (!name.ok) return { problem: escapeText(formatZoneIssue(name.issue)) };
    names.push(name.value.ascii);
  }
  return { order: toPolicyQuery({ ...request, names: [...new Set(names)] }) };
}

/** The policy that would be in force if the rules were published. */
function replaceRules(current: EffectivePolicy, published: Policy, rules: Policy['rules']): EffectivePolicy {
  return { ...current, isCharterMissing: false, version: published.version + 1, rules };
}

/** `policy test LINE` */
export async function runPolicyTest(call: CommandCall, words: readonly string[]): Promise<void> {
  const { context, person } = call;
  const parsed = parseRequest(words, person.id);
  if ('problem' in parsed) return call.respond(parsed.problem);
  const [settings, current, published, draft, account] = await Promise.all([
    context.savedSettings(),
    context.orders.policy.current(),
    context.policies.current(),
    context.policies.findDraft(),
    context.accounts.findDefault(parsed.order.requester),
  ]);
  const order = { ...parsed.order, usesTeamAccount: account !== undefined && isTeamAccount(account) };
  const policy = draft === undefined ? current : replaceRules(current, published, draft.rules);
  const [facts, cost] = await Promise.all([
    loadRuleFacts(context.orders, policy.rules, order),
    context.orders.priceOrder(order),
  ]);
  const { task, names, requester } = order;
  const isDraft = draft !== undefined;
  await call.respond(
    policyTestMessage(
      { task, names, requester, isDraft, version: policy.version, cost, notice: charterNotice(policy) },
      evaluateWithEnvironment(policy, settings, order, facts),
    ),
  );
}

/** `policy replay [DAYS]` */
export async function runReplay(call: CommandCall, words: readonly string[]): Promise<void> {
  const { context, person } = call;
  if (!isAdmin(context, person)) return call.respond(REPLAY.adminsOnly);
  const [word = String(DEFAULT_DAYS), ...more] = words;
  const days = /^\d{1,4}$/.test(word) && more.length === 0 ? Number(word) : 0;
  if (days < 1 || days > MAX_DAYS) return call.respond(REPLAY.invalidDays(words.join(' '), MAX_DAYS));
  const draft = await context.policies.findDraft();
  if (draft === undefined) return call.respond(REPLAY.noDraft);
  const view = await runWithProgress(
    call.respond,
    () => textMessage(REPLAY.inProgress),
    () => replayOrders(context, days, draft.rules),
  );
  await call.respond(policyReplayMessage(view));
  if (!needsFile(view.changedRows)) return;
  await call.respond(
    await sendFile(call, {
      text: await formatCsvFile([REPLAY_COLUMNS, ...view.changedRows.map(replayCells)]),
      filename: `domain-steward-policy-replay-${days}-days.csv`,
      description: `The list of ${count(view.changedRows.length, 'order')} with different requirements under the draft`,
    }),
  );
}

async function replayOrders(
  context: SlackContext,
  days: number,
  rules: Policy['rules'],
): Promise<ReplayView> {
  const to = context.now();
  const from = new Date(to.getTime() - days * DAY_MS);
  const [settings, published, current] = await Promise.all([
    context.savedSettings(),
    context.policies.current(),
    context.orders.policy.current(),
  ]);
  const draft = replaceRules(current, published, rules);
  const { directory, ruleFacts } = context.orders;
  const membersByGroup = new Map<string, ReturnType<typeof directory.listGroupMembers>>();
  const listGroupMembers = (groupId: string) => {
    const members = membersByGroup.get(groupId) ?? directory.listGroupMembers(groupId);
    membersByGroup.set(groupId, members);
    return members;
  };
  const pastOrders: PastOrder<PolicyQuery<OrderTaskName>>[] = [];
  const rowsById = new Map<string, Pick<ReplayRow, 'title' | 'requester' | 'requestedAt'>>();
  let isTruncated = false;
  for await (const logged of context.events.read(from, new Date(to.getTime() + 1))) {
    if ('event' in logged || logged.entry.kind !== 'requested') continue;
    const { order, entry } = logged;
    const { id, requesterId } = order;
    const request = toPolicyQuery(toEvaluationInput(order));
    const loadPrices = async () => mapAmountsByName(entry.price);
    const sources = { directory: { listGroupMembers }, ruleFacts: { ...ruleFacts, loadPrices } };
    const facts = await loadRuleFacts(sources, [...published.rules, ...rules], request);
    pastOrders.push({ orderId: id, order: request, facts, requirements: order.requirements });
    rowsById.set(id, { title: orderTitle(order), requester: requesterId, requestedAt: order.createdAt });
    if (pastOrders.length > MAX_PAST_ORDERS) {
      const droppedOrder = pastOrders.shift();
      if (droppedOrder !== undefined) rowsById.delete(droppedOrder.orderId);
      isTruncated = true;
    }
  }
  const result = comparePastOrders(
    ({ order, facts }) => evaluateWithEnvironment(draft, settings, order, facts).requirements,
    pastOrders,
  );
  const changed = result.changedOrders.flatMap((changedOrder): ReplayRow[] => {
    const row = rowsById.get(changedOrder.orderId);
    return row === undefined ? [] : [{ order: changedOrder, ...row }];
  });
  return { days, replay: result, changedRows: changed.reverse(), isTruncated, notice: charterNotice(draft) };
}
